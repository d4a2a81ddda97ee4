//! What a connection owns at each of its stages.

use std::sync::Arc;

use crate::choices::ClientHello;
use crate::client_hello::{HelloReader, Offer};
use crate::handshake::Handshake;
use crate::traffic::Traffic;
use crate::{Context, ServerNames};

pub(super) enum Stage {
    /// The ClientHello is not complete.
    Hello {
        names: Arc<ServerNames>,
        ask: bool,
        received: Vec<u8>,
        reader: HelloReader,
    },
    /// The caller has been asked for the context.
    Asked(Box<Asked>),
    /// rustls shakes hands.
    Handshaking(Box<Handshaking>),
    /// Application data flows.
    Open(Box<Traffic>),
    /// An error has been given.
    Failed,
}

pub(super) struct Asked {
    pub(super) names: Arc<ServerNames>,
    pub(super) received: Vec<u8>,
    pub(super) hello: ClientHello,
    /// What else it says; name and protocols are in `hello`.
    pub(super) offer: Offer,
}

pub(super) struct Handshaking {
    pub(super) handshake: Handshake,
    pub(super) context: Context,
    pub(super) server_name: Option<String>,
    pub(super) schemes: Vec<u16>,
}
