//! What the unit tests of the dispatcher share.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use portico_channel::EventWriter;
use portico_channel::schema::Record;
use portico_channel::shared::{ApplicationEnd, Capacity, HostEnd};
use portico_sys::bell;

use crate::host_wide::HostWide;
use crate::member::{Member, NewMember};
use crate::user_memory::UserMemory;
use crate::{MemberId, QueueId};

/// An event with so many bytes behind its words.
pub(crate) fn record<R: Record>(words: R, payload: usize) -> Vec<u8> {
    let mut memory = vec![0; payload + 128];
    let mut writer = EventWriter::new(&mut memory);
    writer.write(0, words, 0, payload).unwrap();
    writer.written().to_vec()
}

/// A member of a queue, its application's end, and what is rung when there is something to read.
pub(crate) fn member(
    id: u32,
    queue: QueueId,
    host_wide: &HostWide,
    memory: Arc<UserMemory>,
) -> (Member, ApplicationEnd, portico_sys::Bell) {
    let (end, channel) = HostEnd::create(Capacity {
        events: 256 * 1024,
        commands: 4096,
    })
    .unwrap();
    let application = ApplicationEnd::open(channel).unwrap();
    let (_, own) = bell().unwrap();
    let (ringer, bell) = bell().unwrap();
    let member = NewMember {
        id: MemberId(id),
        queue,
        end,
        bell: own,
        ringer: Arc::new(ringer),
        load: Arc::default(),
        memory,
    };
    let member = Member::new(member, host_wide.queue(queue));
    (member, application, bell)
}
