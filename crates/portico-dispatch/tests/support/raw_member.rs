//! A member without the manners of `AttachedEngine`: it writes what it likes.

use std::sync::Arc;
use std::time::Instant;

use portico_channel::Records;
use portico_channel::layout::event;
use portico_channel::shared::{ApplicationEnd, Capacity, HostEnd};
use portico_dispatch::{MemberId, NewMember, QueueId, UserMemory};
use portico_sys::{Bell, Ringer, bell};

use super::{Host, PATIENCE};

pub(crate) struct RawMember {
    pub(crate) id: MemberId,
    pub(crate) end: ApplicationEnd,
    ringer: Ringer,
    /// Never looked at.
    _bell: Bell,
}

impl RawMember {
    pub(crate) fn attach(host: &mut Host, queue: u32) -> Self {
        Self::attach_of(host, queue, UserMemory::limited())
    }

    /// Of a user with this account.
    pub(crate) fn attach_of(host: &mut Host, queue: u32, memory: Arc<UserMemory>) -> Self {
        let id = host.new_id();
        let (end, channel) = HostEnd::create(Capacity {
            events: 1 << 20,
            commands: 1 << 20,
        })
        .unwrap();
        let (ringer, host_bell) = bell().unwrap();
        let (host_ringer, bell) = bell().unwrap();
        host.shards[0]
            .attach(NewMember {
                id,
                queue: QueueId(queue),
                end,
                bell: host_bell,
                ringer: Arc::new(host_ringer),
                load: Arc::default(),
                memory,
            })
            .unwrap();
        Self {
            id,
            end: ApplicationEnd::open(channel).unwrap(),
            ringer,
            _bell: bell,
        }
    }

    /// Token and number of the first request.
    #[track_caller]
    pub(crate) fn request(&mut self) -> (u32, u32) {
        let start = Instant::now();
        let mut memory = vec![0; 65536];
        loop {
            let count = self.end.events.copy(&mut memory).unwrap();
            for record in Records::new(&memory[..count]).flatten() {
                if record.kind() == event::REQUEST {
                    let found = (record.token(), record.sequence());
                    self.end.events.take(count).unwrap();
                    return found;
                }
            }
            assert!(start.elapsed() < PATIENCE);
            std::thread::yield_now();
        }
    }

    /// Whether there was room.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> bool {
        let written = self.end.commands.write(bytes).unwrap();
        // A bell holds so many rings; who rings a host that is awake may ring in vain later.
        if self.end.host().must_be_woken() {
            self.ringer.ring();
        }
        written
    }
}
