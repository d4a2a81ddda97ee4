//! What the caller may be asked about a ClientHello, and what it may answer.

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
