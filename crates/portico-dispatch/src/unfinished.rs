//! A record that comes in parts, until it is whole: bounded by itself, for its user, and in time.

use std::sync::Arc;
use std::time::Duration;

use crate::BreakReason;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::limits::{RECORD_BYTES, UNFINISHED_MS};
use crate::user_memory::{Share, UserMemory};

/// The parts of one member that have come.
#[derive(Debug)]
pub(crate) struct Unfinished {
    bytes: Vec<u8>,
    share: Share,
    /// When the first part came.
    since_ms: u64,
}

impl Unfinished {
    pub(crate) fn new(memory: &Arc<UserMemory>) -> Self {
        Self {
            bytes: Vec::new(),
            share: memory.for_unfinished(),
            since_ms: 0,
        }
    }

    /// Adds a part.
    ///
    /// # Errors
    /// Why the member can't be kept: no record has a part like this, or its user has no memory left.
    pub(crate) fn add(&mut self, part: &[u8], now_ms: u64) -> Result<(), BreakReason> {
        let length = self.bytes.len() + part.len();
        if part.is_empty() || length > RECORD_BYTES {
            return Err(BreakReason::Rules);
        }
        if self.bytes.is_empty() {
            self.since_ms = now_ms;
        }
        let before = self.bytes.capacity();
        if length > before {
            // Memory counts, not bytes in it; as a vector grows by itself, but not beyond a record.
            let capacity = length.max(before.saturating_mul(2).min(RECORD_BYTES));
            if !self.share.take(capacity - before) {
                return Err(BreakReason::UserMemory);
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The whole record. Its memory is not its user's any more: it is applied at once.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.share.give(usize::MAX);
        std::mem::take(&mut self.bytes)
    }

    /// When its time is over; `None`: there is none.
    fn deadline_ms(&self) -> Option<u64> {
        (!self.bytes.is_empty()).then(|| self.since_ms.saturating_add(UNFINISHED_MS))
    }
}

impl Dispatcher {
    /// Has the time of a member's unfinished record looked at.
    pub(crate) fn watch_unfinished(&mut self, index: MemberIndex) {
        if !self.unfinished.contains(&index) {
            self.unfinished.push(index);
        }
    }

    /// Time until the first unfinished record is too old; `None`: there are none.
    pub(crate) fn until_unfinished_ends(&self) -> Option<Duration> {
        let deadlines = self.unfinished.iter().filter_map(|index| {
            let member = self.members.get(*index)?.as_ref()?;
            member.unfinished.deadline_ms()
        });
        let first = deadlines.min()?;
        Some(Duration::from_millis(first.saturating_sub(self.now_ms)))
    }

    /// Marks members whose record has been unfinished for too long; the next round drops them.
    pub(crate) fn expire_unfinished(&mut self) {
        let now_ms = self.now_ms;
        let mut late = Vec::new();
        let Self {
            unfinished,
            members,
            ..
        } = self;
        unfinished.retain(|index| {
            let member = members.get_mut(*index).and_then(Option::as_mut);
            let Some(member) = member else {
                return false;
            };
            let deadline_ms = member.unfinished.deadline_ms();
            let is_late = deadline_ms.is_some_and(|deadline_ms| deadline_ms <= now_ms);
            if is_late {
                member.break_off(BreakReason::Unfinished);
                late.push(*index);
            }
            deadline_ms.is_some() && !is_late
        });
        for index in late {
            self.activate(index);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {

    use portico_channel::CommandWriter;
    use portico_channel::layout::command;
    use portico_channel::shared::{ApplicationEnd, Capacity, HostEnd};
    use portico_engine::Shard;
    use portico_sys::bell;

    use super::*;
    use crate::commands::CommandBuffer;
    use crate::member::Member;
    use crate::{MemberId, NewMember, QueueId};

    #[test]
    fn a_record_that_stays_unfinished_breaks_the_channel_in_time() {
        let mut dispatcher = Dispatcher::new(
            0,
            0,
            true,
            Arc::default(),
            crate::caching::Caching::unused(),
        );
        let mut shard = Shard::with_slots(0, 16).unwrap();
        let capacity = Capacity {
            events: 1 << 16,
            commands: 1 << 16,
        };
        let (end, channel) = HostEnd::create(capacity).unwrap();
        let (_ringer, its_bell) = bell().unwrap();
        let (ringer, _bell) = bell().unwrap();
        let member = Member::new(
            NewMember {
                id: MemberId(1),
                queue: QueueId(1),
                end,
                bell: its_bell,
                ringer: Arc::new(ringer),
                load: Arc::default(),
                memory: UserMemory::limited(),
            },
            Arc::default(),
        );
        dispatcher.attach(member, &shard).unwrap();
        let mut application = ApplicationEnd::open(channel).unwrap();
        let mut writer = CommandWriter::new();
        writer.write(0, command::Part { piece_bytes: 4 }, &[b"abcd"]);
        let mut buffer = CommandBuffer::default();
        let mut write = |dispatcher: &mut Dispatcher, now_ms| {
            dispatcher.now_ms = now_ms;
            assert!(application.commands.write(writer.as_bytes()).unwrap());
            dispatcher.serve(0, &mut shard, &mut buffer);
            dispatcher.expire_unfinished();
        };
        let is_broken = |dispatcher: &mut Dispatcher| dispatcher.member(0).unwrap().is_broken();

        assert_eq!(dispatcher.patience(), None);
        write(&mut dispatcher, 1_000);
        // The thread wakes by itself to look.
        let left = Some(Duration::from_millis(UNFINISHED_MS));
        assert_eq!(dispatcher.patience(), left);
        // More parts give no more time.
        write(&mut dispatcher, 1_000 + UNFINISHED_MS - 1);
        assert_eq!(dispatcher.patience(), Some(Duration::from_millis(1)));
        assert!(!is_broken(&mut dispatcher));
        write(&mut dispatcher, 1_000 + UNFINISHED_MS);
        assert!(is_broken(&mut dispatcher));
        let reason = dispatcher.member(0).unwrap().break_reason();
        assert_eq!(reason, BreakReason::Unfinished);
        let seconds = format!("within {} s", UNFINISHED_MS / 1000);
        assert!(reason.text().ends_with(&seconds), "{}", reason.text());
        assert!(dispatcher.active.contains(&0), "the next round drops it");
        assert_eq!(dispatcher.patience(), None);
    }
}
