//! One connection, server side. Its stages:
//!
//! ```text
//! Hello ──(ClientHello complete)──> Asked ──provide──> Handshaking ──> Open
//!   └────────(without `ask`)───────────────────────────^
//! any ──(error, refuse)──> Failed
//! ```

mod stage;

use std::sync::Arc;

use crate::alert::Alert;
use crate::choices::{AlpnChoice, ClientHello, Refusal};
use crate::client_hello::{HelloReader, MAX_RECORDS_BYTES, Offer, Peek};
use crate::handshake::{Handshake, Step};
use crate::key_log::KeyLogLines;
use crate::{
    Context, ServerNames, SessionInfo, Sink, TlsError, VerifyError, error_map, hello_rules,
};

use stage::{Asked, Handshaking, Stage};

/// Most bytes kept while the application chooses a context: the longest ClientHello, and a record of early data.
const MAX_WAITING_BYTES: usize = MAX_RECORDS_BYTES + 20 * 1024;

/// What a call of [`Connection::handle_input`] or [`Connection::provide`] brought. Each flag is told once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The connection awaits [`Connection::provide`] or [`Connection::refuse`]; see [`Connection::client_hello`].
    /// Input may still be handed over; it is kept (bounded) until then.
    pub client_hello: bool,
    /// The handshake is complete: [`Connection::session_info`] is there and writing is possible. Plaintext of the same call
    /// came after it.
    pub handshake_done: bool,
    /// The peer has sent close_notify: no plaintext will come any more. Writing is still possible.
    pub peer_closed: bool,
}

/// A TLS connection of a server. After an error or [`Connection::refuse`] nothing but dropping makes sense.
pub struct Connection {
    stage: Stage,
    session_info: Option<Box<SessionInfo>>,
    key_log: Option<Arc<KeyLogLines>>,
}

impl Connection {
    /// A connection that has received nothing. With `ask`, the handshake stops at the ClientHello until the caller
    /// [provides](Connection::provide) a context; otherwise `names` decides.
    #[must_use]
    pub fn new(names: Arc<ServerNames>, ask: bool) -> Self {
        let stage = Stage::Hello {
            names,
            ask,
            received: Vec::new(),
            reader: HelloReader::default(),
        };
        Self {
            stage,
            session_info: None,
            key_log: None,
        }
    }

    /// Takes received bytes, in pieces of any size. They are decrypted in place: what `input` holds afterwards is
    /// unspecified. Plaintext is appended to `plaintext`, and what must be sent to the peer (handshake messages,
    /// tickets, alerts) to `output`.
    ///
    /// # Errors
    /// The peer broke the protocol, closed it with an alert, or no agreement was possible. `output` then holds the
    /// alert, if one is due; `plaintext` holds what came before and is authentic. [`Connection::session_info`] tells whether
    /// the handshake had been completed before the error.
    pub fn handle_input(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let result = match &mut self.stage {
            Stage::Open(traffic) => return traffic.handle_input(input, plaintext, output),
            Stage::Hello { received, .. } => {
                received.extend_from_slice(input);
                self.look_at_hello(plaintext, output)
            }
            Stage::Asked(asked) => {
                asked.received.extend_from_slice(input);
                if asked.received.len() > MAX_WAITING_BYTES {
                    output.extend_from_slice(&Alert::UnexpectedMessage.plain_record());
                    Err(Alert::UnexpectedMessage.error())
                } else {
                    Ok(Status::default())
                }
            }
            Stage::Handshaking(stage) => {
                stage.handshake.receive(input);
                self.shake(plaintext, output)
            }
            Stage::Failed => Err(Alert::InternalError.error()),
        };
        self.settle(result)
    }

    /// What the client asked for, from [`Status::client_hello`] until [`Connection::provide`].
    #[must_use]
    pub fn client_hello(&self) -> Option<&ClientHello> {
        match &self.stage {
            Stage::Asked(asked) => Some(&asked.hello),
            _ => None,
        }
    }

    /// Goes on after [`Status::client_hello`], with this context (`None`: the names decide) and this ALPN answer.
    /// Does nothing at other times.
    ///
    /// # Errors
    /// As [`Connection::handle_input`].
    pub fn provide(
        &mut self,
        context: Option<&Context>,
        alpn: AlpnChoice<'_>,
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let asked = match std::mem::replace(&mut self.stage, Stage::Failed) {
            Stage::Asked(asked) => *asked,
            other => {
                self.stage = other;
                return Ok(Status::default());
            }
        };
        let Asked {
            names,
            received,
            hello,
            mut offer,
        } = asked;
        offer.server_name = hello.server_name;
        let result = self.begin(&names, context, offer, alpn, received, output);
        let result = result.and_then(|()| self.shake(plaintext, output));
        self.settle(result)
    }

    /// Ends the handshake after [`Status::client_hello`] with an alert, and gives the error to report.
    pub fn refuse(&mut self, why: Refusal, output: &mut Vec<u8>) -> TlsError {
        let (alert, error) = match why {
            Refusal::ServerName => (
                Alert::UnrecognizedName,
                TlsError::new(
                    "ERR_SSL_UNRECOGNIZED_NAME",
                    "no TLS context for this server name",
                ),
            ),
            Refusal::Alpn => (Alert::NoApplicationProtocol, error_map::no_protocol()),
            Refusal::Internal => (Alert::InternalError, Alert::InternalError.error()),
        };
        if matches!(self.stage, Stage::Asked(_)) {
            output.extend_from_slice(&alert.plain_record());
        }
        self.stage = Stage::Failed;
        error
    }

    /// Encrypts bytes into records of at most 16,384 bytes and appends them to `output`.
    ///
    /// # Errors
    /// Before the handshake is complete, or after [`Connection::close_notify`] or an error.
    pub fn write(&mut self, plaintext: &[u8], output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write_parts(&[plaintext], output)
    }

    /// As [`Connection::write`] for the concatenation of the parts (a head and its body in one record).
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write_parts(&mut self, parts: &[&[u8]], output: &mut Vec<u8>) -> Result<(), TlsError> {
        match &mut self.stage {
            Stage::Open(traffic) => traffic.write(parts, output),
            _ => Err(TlsError::new(
                "EPIPE",
                "the TLS connection is not open for writing",
            )),
        }
    }

    /// Appends a close_notify alert, once; nothing can be written after it. Before the end of the handshake it
    /// appends nothing.
    pub fn close_notify(&mut self, output: &mut Vec<u8>) {
        if let Stage::Open(traffic) = &mut self.stage {
            traffic.close_notify(output);
        }
    }

    /// Whether the handshake is still going on.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        !matches!(self.stage, Stage::Open(_) | Stage::Failed)
    }

    /// What the handshake settled; `None` before its end and after [`Connection::take_session_info`].
    #[must_use]
    pub fn session_info(&self) -> Option<&SessionInfo> {
        self.session_info.as_deref()
    }

    /// As [`Connection::session_info`], and forgets it: an idle connection then keeps nothing but its keys.
    pub fn take_session_info(&mut self) -> Option<Box<SessionInfo>> {
        self.session_info.take()
    }

    /// Lines for the key log since the last call, each ending in a line feed, in the format of
    /// `SSLKEYLOGFILE`. Empty unless the context has `key_log`. Look after each `handle_input` and `provide` during
    /// the handshake.
    pub fn take_key_log(&mut self) -> Vec<Vec<u8>> {
        self.key_log
            .as_ref()
            .map_or_else(Vec::new, |lines| lines.take())
    }

    #[cfg(test)]
    pub(crate) fn traffic_mut(&mut self) -> Option<&mut crate::traffic::Traffic> {
        match &mut self.stage {
            Stage::Open(traffic) => Some(traffic),
            _ => None,
        }
    }

    fn look_at_hello(
        &mut self,
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let Stage::Hello {
            names,
            ask,
            received,
            reader,
        } = &mut self.stage
        else {
            return Ok(Status::default());
        };
        let (complete, mut offer) = match reader.look(received) {
            Peek::Incomplete => return Ok(Status::default()),
            Peek::Other => (false, Offer::default()),
            Peek::Hello(offer) => (true, *offer),
            Peek::Excessive => {
                output.extend_from_slice(&Alert::DecodeError.plain_record());
                return Err(Alert::DecodeError.error());
            }
        };
        if complete {
            // Versions are the listener's, whichever context is chosen.
            let highest_version = names.default_context().highest_version();
            hello_rules::refuse(&offer, highest_version).map_err(|(alert, error)| {
                output.extend_from_slice(&alert.plain_record());
                error
            })?;
        }
        let (names, received) = (Arc::clone(names), std::mem::take(received));
        if *ask && complete {
            let hello = ClientHello {
                server_name: offer.server_name.take(),
                alpn: std::mem::take(&mut offer.alpn),
            };
            self.stage = Stage::Asked(Box::new(Asked {
                names,
                received,
                hello,
                offer,
            }));
            return Ok(Status {
                client_hello: true,
                ..Status::default()
            });
        }
        self.begin(&names, None, offer, AlpnChoice::Context, received, output)?;
        let start = output.len();
        let status = self.shake(plaintext, output)?;
        if complete {
            return Ok(status);
        }
        // rustls would go on where no name was found and the application was not asked (an alert before the ClientHello).
        // The client gets nothing of that, so it still reads alerts in the clear.
        output.truncate(start);
        output.extend_from_slice(&Alert::UnexpectedMessage.plain_record());
        Err(Alert::UnexpectedMessage.error())
    }

    /// Starts rustls with the context for this client.
    fn begin(
        &mut self,
        names: &ServerNames,
        context: Option<&Context>,
        offer: Offer,
        alpn: AlpnChoice<'_>,
        received: Vec<u8>,
        output: &mut Vec<u8>,
    ) -> Result<(), TlsError> {
        let context = context.unwrap_or_else(|| names.select(offer.server_name.as_deref()));
        if !context.has_identity() {
            output.extend_from_slice(&Alert::HandshakeFailure.plain_record());
            return Err(error_map::no_identity());
        }
        let (config, lines) = context.config(names.default_context(), offer.sessions, alpn);
        self.key_log = lines;
        let handshake = Handshake::new(config, received, offer.early_data)?;
        let context = context.clone();
        self.stage = Stage::Handshaking(Box::new(Handshaking {
            handshake,
            context,
            server_name: offer.server_name,
            schemes: offer.schemes,
        }));
        Ok(())
    }

    fn shake(
        &mut self,
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let Stage::Handshaking(stage) = &mut self.stage else {
            return Ok(Status::default());
        };
        match stage.handshake.proceed(output)? {
            Step::Waiting => Ok(Status::default()),
            Step::Done => self.open(plaintext, output),
        }
    }

    /// The handshake is complete: judge the client's certificates, take the keys, and go on with what came after.
    fn open(
        &mut self,
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let Stage::Handshaking(stage) = std::mem::replace(&mut self.stage, Stage::Failed) else {
            return Ok(Status::default());
        };
        let Handshaking {
            mut handshake,
            context,
            server_name,
            schemes,
        } = *stage;
        let mut info = handshake.session_info();
        info.server_name = server_name;
        info.client_schemes = schemes;
        let (mut traffic, mut rest) = handshake.into_traffic()?;
        if let Some(auth) = context.client_auth() {
            info.certificate_requested = true;
            info.verify_error = auth.verify(&info.peer_certificates);
            if auth.rejects() && info.verify_error != VerifyError::Ok {
                let why = info.verify_error;
                traffic.abort(Alert::for_certificate(why, info.version), output);
                return Err(error_map::rejected(why));
            }
        }
        self.session_info = Some(Box::new(info));
        let after = traffic.handle_input(&mut rest, plaintext, output)?;
        self.stage = Stage::Open(Box::new(traffic));
        Ok(Status {
            handshake_done: true,
            ..after
        })
    }

    fn settle(&mut self, result: Result<Status, TlsError>) -> Result<Status, TlsError> {
        if result.is_err() {
            self.stage = Stage::Failed;
        }
        result
    }
}
