//! The TLS layer of a connection: between the socket's bytes and those of HTTP.
//!
//! ```text
//! socket ── receive ──▶ session ── plaintext ──▶ parsing
//! socket ◀── wire ◀──── session ◀── queued output, a batch at a time
//! ```

use std::sync::Arc;

use portico_tls::{AlpnChoice, Context, Refusal, ServerNames, Status, TlsError};

use super::{AfterFlush, Connection, Stop};
use crate::buffer_pool::BufferPool;
use crate::core::Core;
use crate::limits::TLS_BATCH_BYTES;

/// What the application has been asked about a ClientHello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// Nothing.
    None,
    /// The context for its server name; `told` once the event is written.
    ServerName { told: bool },
    /// The protocol.
    Alpn { told: bool },
}

/// TLS state of a connection.
pub(crate) struct TlsState {
    pub(super) session: portico_tls::Connection,
    /// Records that wait for the kernel, from the shard's pool while there are some.
    wire: Vec<u8>,
    wire_sent: usize,
    pub(super) question: Question,
    /// The answer about the server name, until that about the protocol is there.
    chosen: Option<Context>,
    /// The handshake is complete and the application has not been told.
    pub(super) secure_untold: bool,
    /// What went wrong, until the application has been told.
    pub(super) error: Option<TlsError>,
    /// Lines for the key log, oldest first, until they are told.
    pub(super) key_log: Vec<Vec<u8>>,
    /// Whether our side has been ended in TLS.
    closed: bool,
    pub(super) failed: bool,
}

impl std::fmt::Debug for TlsState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsState")
            .field("question", &self.question)
            .finish_non_exhaustive()
    }
}

impl TlsState {
    /// A connection that has received nothing. `ask`: the application chooses context or protocol.
    pub(crate) fn new(names: Arc<ServerNames>, ask: bool) -> Self {
        Self {
            session: portico_tls::Connection::new(names, ask),
            wire: Vec::new(),
            wire_sent: 0,
            question: Question::None,
            chosen: None,
            secure_untold: false,
            error: None,
            key_log: Vec::new(),
            closed: false,
            failed: false,
        }
    }

    /// Bytes that wait for the kernel.
    pub(super) fn queued(&self) -> usize {
        self.wire.len() - self.wire_sent
    }

    pub(super) fn unsent(&self) -> &[u8] {
        self.wire.get(self.wire_sent..).unwrap_or_default()
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.wire_sent = (self.wire_sent + count).min(self.wire.len());
    }

    /// Gives the empty buffer back.
    pub(super) fn tidy(&mut self, pool: &mut BufferPool) {
        if self.queued() == 0 && self.wire.capacity() > 0 {
            self.wire_sent = 0;
            pool.give(std::mem::take(&mut self.wire));
        }
    }

    /// Ends our side. Returns whether there is something to send for it.
    pub(super) fn close_notify(&mut self, pool: &mut BufferPool) -> bool {
        if self.closed {
            return false;
        }
        self.closed = true;
        prepare(&mut self.wire, pool);
        self.session.close_notify(&mut self.wire);
        self.queued() > 0
    }
}

/// Makes sure that the wire has a buffer.
fn prepare(wire: &mut Vec<u8>, pool: &mut BufferPool) {
    if wire.capacity() == 0 {
        *wire = pool.take();
    }
}

impl Connection {
    /// Takes bytes of the socket; their plaintext is appended to `plaintext`.
    pub(super) fn decrypt(&mut self, core: &mut Core, bytes: &mut [u8], plaintext: &mut Vec<u8>) {
        let Some(tls) = &mut self.tls else { return };
        prepare(&mut tls.wire, &mut core.buffers);
        let result = tls.session.handle_input(bytes, plaintext, &mut tls.wire);
        self.note_tls(core, result);
    }

    /// Notes what the session says.
    fn note_tls(&mut self, core: &mut Core, result: Result<Status, TlsError>) {
        let ask_server_name = core
            .listeners
            .find(self.listener)
            .is_some_and(|listener| listener.options.ask_server_name);
        let Some(tls) = &mut self.tls else { return };
        tls.key_log.append(&mut tls.session.take_key_log());
        match result {
            Ok(status) => {
                if status.client_hello {
                    let named = tls
                        .session
                        .client_hello()
                        .is_some_and(|hello| hello.server_name.is_some());
                    tls.question = if named && ask_server_name {
                        Question::ServerName { told: false }
                    } else {
                        Question::Alpn { told: false }
                    };
                }
                if status.handshake_done {
                    tls.secure_untold = true;
                    self.input.message_started_ms = core.clock.now_ms();
                    self.handshake_done(core);
                }
                if status.peer_closed {
                    self.input.ended = true;
                    self.input.readable = false;
                }
            }
            Err(error) => self.tls_failed(core, error),
        }
        if self.tls.as_ref().is_some_and(|tls| tls.queued() > 0) || self.output.queued() > 0 {
            self.mark_dirty(core);
        } else if let Some(tls) = &mut self.tls {
            tls.tidy(&mut core.buffers);
        }
    }

    /// Nothing can be read or written any more but the alert.
    fn tls_failed(&mut self, core: &mut Core, error: TlsError) {
        let Some(tls) = &mut self.tls else { return };
        tls.error = Some(error);
        tls.failed = true;
        tls.closed = true;
        tls.question = Question::None;
        self.output.queue.clear(&mut core.buffers);
        self.exchanges.clear();
        self.input.rest = Vec::new();
        self.input.held = false;
        self.input.ignore_the_rest();
        self.schedule(core);
    }

    /// Ends the connection once its error has been told and the alert is out.
    pub(super) fn close_if_tls_failed(&mut self, core: &mut Core) {
        if self
            .tls
            .as_ref()
            .is_some_and(|tls| tls.failed && tls.error.is_none())
        {
            self.output.after = AfterFlush::Close;
            self.mark_dirty(core);
        }
    }

    /// `SERVER_NAME`: a context's number, 0 for the listener's own choice, all ones to refuse.
    pub(crate) fn choose_context(&mut self, core: &mut Core, number: u32) {
        let context = core.contexts.find(number).cloned();
        let Some(tls) = &mut self.tls else { return };
        if !matches!(tls.question, Question::ServerName { .. }) {
            return;
        }
        if number == u32::MAX || (number != 0 && context.is_none()) {
            return self.refuse_hello(core, Refusal::ServerName);
        }
        tls.chosen = context;
        tls.question = Question::Alpn { told: false };
        self.ask_alpn_or_go_on(core);
        self.schedule(core);
    }

    /// Goes on with the handshake unless the protocol is to be asked for.
    pub(super) fn ask_alpn_or_go_on(&mut self, core: &mut Core) {
        let ask = core
            .listeners
            .find(self.listener)
            .is_some_and(|listener| listener.options.ask_alpn);
        let Some(tls) = &mut self.tls else { return };
        let offers = tls
            .session
            .client_hello()
            .is_some_and(|hello| !hello.alpn.is_empty());
        if !(ask && offers) {
            self.go_on(core, AlpnChoice::Context);
        }
    }

    /// `ALPN`: the protocol, `None` to go on without.
    pub(crate) fn choose_protocol(&mut self, core: &mut Core, protocol: Option<&[u8]>) {
        if !self
            .tls
            .as_ref()
            .is_some_and(|tls| matches!(tls.question, Question::Alpn { .. }))
        {
            return;
        }
        match protocol {
            None => self.go_on(core, AlpnChoice::Ignore),
            Some([]) => self.refuse_hello(core, Refusal::Alpn),
            Some(protocol) => self.go_on(core, AlpnChoice::Protocol(protocol)),
        }
        self.schedule(core);
    }

    fn go_on(&mut self, core: &mut Core, alpn: AlpnChoice<'_>) {
        let Some(tls) = &mut self.tls else { return };
        tls.question = Question::None;
        prepare(&mut tls.wire, &mut core.buffers);
        let context = tls.chosen.take();
        let mut plaintext = Vec::new();
        let result = tls
            .session
            .provide(context.as_ref(), alpn, &mut plaintext, &mut tls.wire);
        if !plaintext.is_empty() {
            self.input.rest.extend_from_slice(&plaintext);
            self.input.held = true;
        }
        self.note_tls(core, result);
    }

    fn refuse_hello(&mut self, core: &mut Core, why: Refusal) {
        let Some(tls) = &mut self.tls else { return };
        prepare(&mut tls.wire, &mut core.buffers);
        let error = tls.session.refuse(why, &mut tls.wire);
        self.tls_failed(core, error);
        self.mark_dirty(core);
    }

    /// Encrypts a batch of the queued output if the wire is empty. Batches bound the memory, and make few large
    /// records of many small pieces.
    pub(super) fn encrypt(&mut self, core: &mut Core) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        if tls.queued() > 0 || self.output.queue.is_empty() || tls.session.is_handshaking() {
            return Ok(());
        }
        tls.wire.clear();
        tls.wire_sent = 0;
        prepare(&mut tls.wire, &mut core.buffers);
        let mut left = TLS_BATCH_BYTES;
        while left > 0 {
            let Ok(run) = self.output.queue.front() else {
                return Err(self.body_gone());
            };
            let batch = run.get(..left).unwrap_or(run);
            if batch.is_empty() {
                break;
            }
            let count = batch.len();
            // It fails only where our side has been ended already.
            if tls.session.write(batch, &mut tls.wire).is_err() {
                return Err(Stop::Close(portico_sys::Errno::PIPE.raw_os_error()));
            }
            self.output.advance(count);
            left -= count;
        }
        Ok(())
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.tls
            .as_ref()
            .is_some_and(|tls| tls.session.is_handshaking())
    }
}
