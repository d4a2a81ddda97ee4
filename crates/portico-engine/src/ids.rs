//! Numbers of the engine's interface.

/// Number of a listener of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenerId(pub u32);
