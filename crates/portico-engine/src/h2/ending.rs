//! How far the end of a connection has got; [`closing`](super::closing) brings it about.

/// How far the end has got.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// The peer broke the protocol, or the transport failed: nothing more is read.
    pub(super) has_failed: bool,
    /// That is to be told to the application first.
    pub(super) fails_when_told: bool,
    /// The application wants the connection to end.
    pub(super) is_closing: bool,
    /// The peer has been told so.
    pub(super) is_said: bool,
    /// The application has taken a body away of which a part was promised.
    pub(super) is_body_gone: bool,
}
