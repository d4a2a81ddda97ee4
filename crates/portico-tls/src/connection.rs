//! One connection, server side.

use std::sync::Arc;

use crate::{Context, Facts, ServerNames, Sink, TlsError};

/// What a call of [`Connection::handle_input`] or [`Connection::provide`] brought. Each flag is told once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The connection awaits [`Connection::provide`] or [`Connection::refuse`]; see [`Connection::client_hello`].
    /// Input may still be handed over; it is kept (bounded) until then.
    pub client_hello: bool,
    /// The handshake is complete: [`Connection::facts`] is there and writing is possible. Plaintext of the same call
    /// came after it.
    pub handshake_done: bool,
    /// The peer has sent close_notify: no plaintext will come any more. Writing is still possible.
    pub peer_closed: bool,
}

/// What a client asked for, where the caller wanted to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientHello {
    /// The SNI name, as sent.
    pub server_name: Option<String>,
    /// The protocols offered by ALPN, each with a length byte before it, as on the wire; empty: none.
    pub alpn: Vec<u8>,
}

/// Which protocol to answer to a client's ALPN offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AlpnChoice<'a> {
    /// The context's own list decides.
    #[default]
    Context,
    /// This one.
    Protocol(&'a [u8]),
    /// None: go on as if nothing had been offered.
    Ignore,
}

/// Why a ClientHello is refused: it decides the alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No context for this name: unrecognized_name.
    ServerName,
    /// No protocol of those offered: no_application_protocol.
    Alpn,
    /// The application failed to answer: internal_error.
    Internal,
}

/// A TLS connection of a server. After an error or [`Connection::refuse`] nothing but dropping makes sense.
pub struct Connection {
    names: Arc<ServerNames>,
}

impl Connection {
    /// A connection that has received nothing. With `ask`, the handshake stops at the ClientHello until the caller
    /// [provides](Connection::provide) a context; otherwise `names` decides.
    #[must_use]
    pub fn new(names: Arc<ServerNames>, ask: bool) -> Self {
        let _ = ask;
        Self { names }
    }

    /// Takes received bytes, in pieces of any size. They are decrypted in place: what `input` holds afterwards is
    /// unspecified. Plaintext is appended to `plaintext`, and what must be sent to the peer (handshake messages,
    /// tickets, alerts) to `output`.
    ///
    /// # Errors
    /// The peer broke the protocol, closed it with an alert, or no agreement was possible. `output` then holds the
    /// alert, if one is due; `plaintext` holds what came before and is authentic.
    pub fn handle_input(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        let _ = (input, plaintext, output, &self.names);
        Ok(Status::default())
    }

    /// What the client asked for, from [`Status::client_hello`] until [`Connection::provide`].
    #[must_use]
    pub fn client_hello(&self) -> Option<&ClientHello> {
        None
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
        let _ = (context, alpn, plaintext, output);
        Ok(Status::default())
    }

    /// Ends the handshake after [`Status::client_hello`] with an alert, and gives the error to report.
    pub fn refuse(&mut self, why: Refusal, output: &mut Vec<u8>) -> TlsError {
        let _ = (why, output);
        TlsError::new("ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME", "refused")
    }

    /// Encrypts bytes into records of at most 16,384 bytes and appends them to `output`.
    ///
    /// # Errors
    /// Before the handshake is complete, after [`Connection::close_notify`], or when a key's limit is used up
    /// (TLS 1.2 only, after 2^32 records).
    pub fn write(&mut self, plaintext: &[u8], output: &mut Vec<u8>) -> Result<(), TlsError> {
        self.write_parts(&[plaintext], output)
    }

    /// As [`Connection::write`] for the concatenation of the parts (a head and its body in one record).
    ///
    /// # Errors
    /// As [`Connection::write`].
    pub fn write_parts(&mut self, parts: &[&[u8]], output: &mut Vec<u8>) -> Result<(), TlsError> {
        let _ = (parts, output);
        Ok(())
    }

    /// Appends a close_notify alert, once; nothing can be written after it. Before the end of the handshake it
    /// appends nothing or the plain alert.
    pub fn close_notify(&mut self, output: &mut Vec<u8>) {
        let _ = output;
    }

    /// Whether the handshake is still going on.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        true
    }

    /// What the handshake settled; `None` before its end and after [`Connection::take_facts`].
    #[must_use]
    pub fn facts(&self) -> Option<&Facts> {
        None
    }

    /// As [`Connection::facts`], and forgets it: an idle connection then keeps nothing but its keys.
    pub fn take_facts(&mut self) -> Option<Box<Facts>> {
        None
    }

    /// Lines for the key log since the last call, each ending in a line feed, in the format of
    /// `SSLKEYLOGFILE`. Empty unless the context has `key_log`. Look after each `handle_input` and `provide` during
    /// the handshake.
    pub fn take_key_log(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }
}
