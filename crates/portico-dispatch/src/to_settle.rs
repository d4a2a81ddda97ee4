//! Members that were given something in this turn, each once: they are looked at and woken at its end.

use crate::client::MemberIndex;
use crate::member::Member;

/// The members, in the order in which they were given something first.
#[derive(Debug, Default)]
pub(crate) struct ToSettle {
    members: Vec<MemberIndex>,
}

impl ToSettle {
    #[inline]
    pub(crate) fn add(&mut self, index: MemberIndex, member: &mut Member) {
        if !member.set_to_settle(true) {
            self.members.push(index);
        }
    }

    /// A member is gone.
    pub(crate) fn forget(&mut self, index: MemberIndex) {
        self.members.retain(|other| *other != index);
    }

    /// All of them, for whoever settles them; that gives no member anything, so none is added meanwhile.
    pub(crate) fn take(&mut self) -> Vec<MemberIndex> {
        std::mem::take(&mut self.members)
    }

    /// Gives the memory back.
    pub(crate) fn reuse(&mut self, memory: Vec<MemberIndex>) {
        self.members = memory;
    }
}
