//! The TLS layer between the socket and the protocol.
//!
//! ```text
//! socket ── receive ──▶ session ── plaintext ──▶ protocol
//! socket ◀── wire ◀──── session ◀── queued output, a batch at a time
//! ```

use portico_sys::Errno;
use portico_tls::{AlpnChoice, Refusal};

use super::Transport;
use super::output::AfterFlush;
use super::tls::{Outcome, Questions, Stage, TlsLayer};
use crate::core::Core;
use crate::file_range::Gone;
use crate::limits::{FILE_READ_BYTES, TLS_BATCH_BYTES, TLS_JOINED_BYTES};
use crate::segments::Run;
use crate::stop::Stop;

/// What a step of the TLS layer means for the protocol on top of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TlsChange {
    #[default]
    Nothing,
    /// The handshake is complete: requests may come from now on.
    Established,
    /// Nothing can be read or written any more.
    Failed,
}

impl Transport {
    /// Whether there is a TLS layer.
    #[inline]
    pub(crate) fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// The server name of the handshake, until what it settled is forgotten.
    pub(crate) fn server_name(&self) -> Option<&str> {
        self.tls.as_ref()?.session_info()?.server_name.as_deref()
    }

    /// The protocol of the handshake (ALPN), until what it found is forgotten.
    pub(crate) fn alpn(&self) -> Option<&[u8]> {
        self.tls.as_ref()?.session_info()?.alpn.as_deref()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }

    /// Takes bytes of the socket; their plaintext is appended to `plaintext`.
    pub(crate) fn decrypt(
        &mut self,
        core: &mut Core,
        bytes: &mut [u8],
        plaintext: &mut Vec<u8>,
    ) -> TlsChange {
        let questions = self.questions(core);
        let Some(tls) = &mut self.tls else {
            return TlsChange::Nothing;
        };
        let outcome = tls.decrypt(bytes, plaintext, questions, &mut core.buffers);
        self.note_outcome(core, outcome)
    }

    /// `SERVER_NAME`: a context's number, 0 for the listener's own choice, all ones to refuse.
    pub(crate) fn choose_context(
        &mut self,
        core: &mut Core,
        number: u32,
        plaintext: &mut Vec<u8>,
    ) -> TlsChange {
        let context = core.contexts.find(number).cloned();
        let questions = self.questions(core);
        let Some(tls) = self.tls_at(|stage| matches!(stage, Stage::AwaitsContext { .. })) else {
            return TlsChange::Nothing;
        };
        if number == u32::MAX || (number != 0 && context.is_none()) {
            return self.refuse_hello(core, Refusal::ServerName);
        }
        tls.stage = Stage::AwaitsProtocol {
            asked: false,
            context,
        };
        let change = if tls.asks_protocol(questions) {
            TlsChange::Nothing
        } else {
            self.proceed(core, AlpnChoice::Context, plaintext)
        };
        self.schedule(core);
        change
    }

    /// `ALPN`: the protocol, `None` to go on without, an empty one to refuse.
    pub(crate) fn choose_protocol(
        &mut self,
        core: &mut Core,
        protocol: Option<&[u8]>,
        plaintext: &mut Vec<u8>,
    ) -> TlsChange {
        if self
            .tls_at(|stage| matches!(stage, Stage::AwaitsProtocol { .. }))
            .is_none()
        {
            return TlsChange::Nothing;
        }
        let change = match protocol {
            None => self.proceed(core, AlpnChoice::Ignore, plaintext),
            Some([]) => self.refuse_hello(core, Refusal::Alpn),
            Some(protocol) => self.proceed(core, AlpnChoice::Protocol(protocol), plaintext),
        };
        self.schedule(core);
        change
    }

    /// Ends the connection once the application knows of its failure and the alert is out.
    pub(crate) fn close_if_tls_failed(&mut self, core: &mut Core) {
        if self
            .tls_at(|stage| matches!(stage, Stage::Failed { error: None }))
            .is_some()
        {
            self.output.set_after(AfterFlush::Close);
            self.flush_later(core);
        }
    }

    /// Encrypts a batch of the queued output if next to nothing is on the wire, and what ends our side behind the last.
    /// Batches bound the memory, and make few large records of many small pieces; tickets, an answer and its
    /// close_notify go in one send.
    pub(super) fn encrypt(&mut self, core: &mut Core) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        if tls.queued() > TLS_JOINED_BYTES || self.output.queue().is_empty() || tls.is_handshaking()
        {
            return Ok(());
        }
        let mut left = TLS_BATCH_BYTES;
        while left > 0 {
            let batch = match self.output.queue().front() {
                Ok(Run::Bytes(run)) => run.get(..left).unwrap_or(run),
                Ok(Run::File(range)) => {
                    core.file_bytes.resize(FILE_READ_BYTES, 0);
                    let buffer = core.file_bytes.get_mut(..left).unwrap_or_default();
                    let Ok(count) = range.read(buffer) else {
                        return Err(self.body_gone());
                    };
                    core.file_bytes.get(..count).unwrap_or_default()
                }
                Err(Gone) => return Err(self.body_gone()),
            };
            if batch.is_empty() {
                break;
            }
            let count = batch.len();
            // It fails only where our side has been ended already.
            if tls.encrypt(batch, &mut core.buffers).is_err() {
                return Err(Stop::Close(Errno::PIPE.raw_os_error()));
            }
            self.output.advance(count);
            left -= count;
        }
        if self.output.after() != AfterFlush::Continue && self.output.queue().is_empty() {
            tls.close_notify(&mut core.buffers);
        }
        Ok(())
    }

    fn proceed(
        &mut self,
        core: &mut Core,
        alpn: AlpnChoice<'_>,
        plaintext: &mut Vec<u8>,
    ) -> TlsChange {
        let Some(tls) = &mut self.tls else {
            return TlsChange::Nothing;
        };
        let outcome = tls.proceed(alpn, plaintext, &mut core.buffers);
        self.note_outcome(core, outcome)
    }

    fn refuse_hello(&mut self, core: &mut Core, why: Refusal) -> TlsChange {
        if let Some(tls) = &mut self.tls {
            tls.refuse(why, &mut core.buffers);
        }
        let failed = Outcome {
            failed: true,
            ..Outcome::default()
        };
        self.note_outcome(core, failed)
    }

    fn note_outcome(&mut self, core: &mut Core, outcome: Outcome) -> TlsChange {
        let mut change = TlsChange::Nothing;
        if outcome.handshake_done {
            self.handshake_done(core);
            change = TlsChange::Established;
        }
        if outcome.peer_closed {
            self.end_input();
        }
        if outcome.failed {
            self.output.clear(&mut core.buffers);
            self.schedule(core);
            change = TlsChange::Failed;
        }
        if self.queued() > 0 {
            self.flush_later(core);
        } else if let Some(tls) = &mut self.tls {
            tls.tidy(&mut core.buffers);
        }
        change
    }

    /// The TLS layer, if it is at such a stage.
    fn tls_at(&mut self, is_wanted: impl Fn(&Stage) -> bool) -> Option<&mut TlsLayer> {
        self.tls.as_deref_mut().filter(|tls| is_wanted(&tls.stage))
    }

    fn questions(&self, core: &Core) -> Questions {
        core.listeners
            .find(self.listener)
            .map_or_else(Questions::default, |listener| Questions {
                server_name: listener.options.ask_server_name,
                alpn: listener.options.ask_alpn,
            })
    }
}
