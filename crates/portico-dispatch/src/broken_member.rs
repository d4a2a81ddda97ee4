//! Members that are dropped, and why.

use crate::MemberId;

/// A member that was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenMember {
    /// Its number.
    pub id: MemberId,
    /// Why.
    pub reason: BreakReason,
}

/// Why a member was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakReason {
    /// Its channel held what no application may write, or it took nothing for too long.
    Rules,
    /// It began a record and did not finish it in time.
    Unfinished,
    /// The members of its user had as much kept for them as there may be.
    UserMemory,
}

impl BreakReason {
    /// What it did, for the log and for its process.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Rules => "its channel held what no application may write",
            Self::Unfinished => "it began to write a record and did not finish it within 30 s",
            Self::UserMemory => {
                "the processes of its user have the host keep as many untaken requests, unfinished records or response heads as one user may"
            }
        }
    }
}
