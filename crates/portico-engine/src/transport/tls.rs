//! The TLS layer of a connection: its session, what waits for the kernel, and what the application has to be told.

use std::sync::Arc;

use portico_tls::{AlpnChoice, Context, Refusal, ServerNames, SessionInfo, Sink, TlsError};

use crate::buffer_pool::BufferPool;
use crate::limits::TLS_JOINED_BYTES;

/// The version's number (RFC 8446, 4.1.2).
const TLS13: u16 = 0x0304;

/// Where the connection is.
///
/// ```text
/// Handshake ──(ClientHello)──▶ AwaitsContext ──▶ AwaitsProtocol ──▶ Handshake ──▶ Established
///     └── any of them ──▶ Failed
/// ```
///
/// The application is asked for a context or a protocol only where the listener wants that.
pub(super) enum Stage {
    /// Messages of the handshake are exchanged.
    Handshake,
    /// A ClientHello waits for the context of its server name (`SERVER_NAME`).
    AwaitsContext {
        /// Whether the application has been asked.
        asked: bool,
    },
    /// A ClientHello waits for its protocol (`ALPN`).
    AwaitsProtocol {
        /// Whether the application has been asked.
        asked: bool,
        /// The context that it has chosen.
        context: Option<Context>,
    },
    /// Application data flows.
    Established {
        /// Whether the application has been told (`SECURE`).
        announced: bool,
    },
    /// Nothing can be read or written any more but the alert.
    Failed {
        /// What went wrong, until the application has been told.
        error: Option<TlsError>,
    },
}

/// What a step of the session brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// The handshake is complete.
    pub(super) handshake_done: bool,
    /// The peer has ended its side.
    pub(super) peer_closed: bool,
    /// The session has failed.
    pub(super) failed: bool,
}

/// What the listener wants to be asked about a ClientHello.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Questions {
    pub(super) server_name: bool,
    pub(super) alpn: bool,
}

/// TLS state of a connection.
pub(crate) struct TlsLayer {
    session: portico_tls::Connection,
    pub(super) stage: Stage,
    /// Records that wait for the kernel, from the shard's pool while there are some.
    wire: Vec<u8>,
    wire_sent: usize,
    /// Lines for the key log, oldest first, until the application has been told.
    pub(super) key_log: Vec<Vec<u8>>,
    /// Whether our side has been ended (close_notify, or an alert).
    closed: bool,
    /// Whether the wire has session tickets that may wait for an answer.
    tickets: bool,
}

impl std::fmt::Debug for TlsLayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsLayer")
            .field("queued", &self.queued())
            .finish_non_exhaustive()
    }
}

impl TlsLayer {
    /// A connection that has received nothing. `ask`: the application chooses context or protocol.
    pub(crate) fn new(names: Arc<ServerNames>, ask: bool) -> Self {
        Self {
            session: portico_tls::Connection::new(names, ask),
            stage: Stage::Handshake,
            wire: Vec::new(),
            wire_sent: 0,
            key_log: Vec::new(),
            closed: false,
            tickets: false,
        }
    }

    pub(super) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// What the client asked for, while the application is asked about it.
    pub(super) fn client_hello(&self) -> Option<&portico_tls::ClientHello> {
        self.session.client_hello()
    }

    /// What the handshake found out, until it is forgotten.
    pub(super) fn session_info(&self) -> Option<&SessionInfo> {
        self.session.session_info()
    }

    /// The application has been told of the handshake: an idle connection keeps nothing of what it settled.
    pub(super) fn forget_handshake(&mut self) {
        self.session.take_session_info();
        self.stage = Stage::Established { announced: true };
    }

    /// Takes received bytes and appends their plaintext.
    pub(super) fn decrypt(
        &mut self,
        bytes: &mut [u8],
        plaintext: &mut impl Sink,
        questions: Questions,
        pool: &mut BufferPool,
    ) -> Outcome {
        prepare(&mut self.wire, pool);
        let result = self.session.handle_input(bytes, plaintext, &mut self.wire);
        self.note(result, plaintext, questions)
    }

    /// Goes on behind a ClientHello with the context that was chosen, if any, and this protocol.
    pub(super) fn proceed(
        &mut self,
        alpn: AlpnChoice<'_>,
        plaintext: &mut impl Sink,
        pool: &mut BufferPool,
    ) -> Outcome {
        prepare(&mut self.wire, pool);
        let context = match std::mem::replace(&mut self.stage, Stage::Handshake) {
            Stage::AwaitsProtocol { context, .. } => context,
            _ => None,
        };
        let result = self
            .session
            .provide(context.as_ref(), alpn, plaintext, &mut self.wire);
        self.note(result, plaintext, Questions::default())
    }

    /// Refuses a ClientHello.
    pub(super) fn refuse(&mut self, why: Refusal, pool: &mut BufferPool) {
        prepare(&mut self.wire, pool);
        let error = self.session.refuse(why, &mut self.wire);
        self.fail(error);
    }

    /// Whether the application is to be asked for the protocol of the ClientHello that waits.
    pub(super) fn asks_protocol(&self, questions: Questions) -> bool {
        questions.alpn
            && self
                .client_hello()
                .is_some_and(|hello| !hello.alpn.is_empty())
    }

    fn note(
        &mut self,
        result: Result<portico_tls::Status, TlsError>,
        plaintext: &mut impl Sink,
        questions: Questions,
    ) -> Outcome {
        self.key_log.append(&mut self.session.take_key_log());
        let mut status = match result {
            Ok(status) => status,
            Err(error) => {
                self.fail(error);
                return Outcome {
                    failed: true,
                    ..Outcome::default()
                };
            }
        };
        if status.client_hello {
            let is_named = self
                .client_hello()
                .is_some_and(|hello| hello.server_name.is_some());
            if is_named && questions.server_name {
                self.stage = Stage::AwaitsContext { asked: false };
            } else if self.asks_protocol(questions) {
                self.stage = Stage::AwaitsProtocol {
                    asked: false,
                    context: None,
                };
            } else {
                let provided =
                    self.session
                        .provide(None, AlpnChoice::Context, plaintext, &mut self.wire);
                self.key_log.append(&mut self.session.take_key_log());
                match provided {
                    Ok(provided) => status = provided,
                    Err(error) => {
                        self.fail(error);
                        return Outcome {
                            failed: true,
                            ..Outcome::default()
                        };
                    }
                }
            }
        }
        if status.handshake_done {
            self.stage = Stage::Established { announced: false };
            // The client of TLS 1.3 has all that it waits for: what is left to send is tickets (RFC 8446, 4.6.1).
            self.tickets = self
                .session_info()
                .is_some_and(|info| info.version == TLS13);
        }
        Outcome {
            handshake_done: status.handshake_done,
            peer_closed: status.peer_closed,
            failed: false,
        }
    }

    fn fail(&mut self, error: TlsError) {
        self.stage = Stage::Failed { error: Some(error) };
        self.closed = true;
    }

    /// Encrypts plaintext for the wire. The error: our side has been ended already.
    pub(super) fn encrypt(&mut self, plaintext: &[u8], pool: &mut BufferPool) -> Result<(), ()> {
        if self.queued() == 0 {
            self.wire.clear();
            self.wire_sent = 0;
        }
        prepare(&mut self.wire, pool);
        self.session
            .write(plaintext, &mut self.wire)
            .map_err(|_| ())
    }

    /// Whether what waits for the kernel is session tickets, which may wait a little longer. Says so once.
    pub(super) fn take_tickets(&mut self) -> bool {
        std::mem::take(&mut self.tickets) && self.queued() <= TLS_JOINED_BYTES
    }

    /// Bytes that wait for the kernel.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.wire.len() - self.wire_sent
    }

    pub(super) fn unsent(&self) -> &[u8] {
        self.wire.get(self.wire_sent..).unwrap_or_default()
    }

    /// The first `count` waiting bytes have been sent.
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
