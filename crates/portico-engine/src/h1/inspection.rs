//! Where HTTP/1 stands on a connection, in words.

use super::H1;
use super::input::Phase;
use crate::exchange::BodyWish;

impl H1 {
    /// What is received next, whether it is wanted, and what waits for its turn.
    pub(crate) fn inspect(&self) -> String {
        let phase = match self.input.phase {
            Phase::Head => "at a head".into(),
            Phase::Sized { left } => format!("in a body with {left} bytes to come"),
            Phase::Chunked(_) => "in a chunked body".into(),
            Phase::Upgrade { .. } => "at an upgrade".into(),
            Phase::Waiting => "at a head that waits for the cache".into(),
            Phase::Raw => "byte stream".into(),
            Phase::Ignored { .. } => "drops what comes".into(),
            Phase::Stopped => "reads nothing more".into(),
        };
        let wish = match self.body_wish() {
            BodyWish::Bytes => "",
            BodyWish::Nothing => " that is held",
            BodyWish::End => " that is dropped",
        };
        let held = if self.input.held { " to be parsed" } else { "" };
        format!(
            "{phase}{wish}, {} bytes kept{held}, request {} came last, {} in work, {} bytes of answers wait for their turn",
            self.input.rest.len(),
            self.exchanges.last(),
            self.exchanges.len(),
            self.exchanges.held_bytes(),
        )
    }
}
