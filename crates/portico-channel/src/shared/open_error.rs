//! Why the memory of the other side is refused.

use std::io;

/// Why a descriptor is not taken as a channel.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// A system call failed.
    System(io::Error),
    /// The descriptor is no channel: its size, seals or first word say so.
    NotAChannel,
    /// The other side speaks another version of the layout.
    Version {
        /// Ours, [`LAYOUT_VERSION`](crate::layout::LAYOUT_VERSION).
        ours: u32,
        /// What the memory says.
        theirs: u32,
    },
    /// The other side speaks this version of the layout, but was built from other tables of records.
    Records {
        /// Its fingerprint; 0 if it is older than fingerprints are.
        theirs: u32,
    },
}

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::System(error) => write!(f, "the channel's memory can't be mapped: {error}"),
            Self::NotAChannel => f.write_str("the descriptor is not a channel's memory"),
            Self::Version { ours, theirs } => write!(
                f,
                "the channel's layout has version {theirs}, and this program speaks version {ours}"
            ),
            Self::Records { theirs } => {
                let advice = match theirs {
                    0 => "the host is the older one: upgrade it",
                    _ => "install the same version of both, then restart the older one",
                };
                write!(
                    f,
                    "the host and this application's `portico` package were built from different tables of records, so \
                     neither would understand the other: {advice}"
                )
            }
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<rustix::io::Errno> for OpenError {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::System(errno.into())
    }
}
