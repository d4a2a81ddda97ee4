//! What a member has been sent and has not taken: kept, so that nothing is lost when it dies.

use std::collections::VecDeque;

use portico_channel::layout::{event, request_flag};
use portico_channel::shared::{Broken, StreamWriter};
use portico_channel::{RecordView, Records};

use crate::limits::BACKLOG_FREE_BYTES;
use crate::user_memory::Share;

/// A request in the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Untaken {
    /// Where its record begins in the stream.
    position: u64,
    /// Its body had not arrived when it was sent.
    is_upload: bool,
}

/// Bytes of the stream that the member has not taken, in order: the first ones are in its channel's memory too, the
/// rest found no room there yet.
#[derive(Debug)]
pub(crate) struct Backlog {
    bytes: VecDeque<u8>,
    /// Position in the stream of the first of `bytes`.
    start: u64,
    /// Position up to which the channel's memory has them.
    sent: u64,
    requests: VecDeque<Untaken>,
    /// Those of `requests` without their body.
    uploads: usize,
    /// What the member's user has of this memory.
    share: Share,
}

impl Backlog {
    /// Of a member whose user has this share.
    pub(crate) fn new(share: Share) -> Self {
        Self {
            bytes: VecDeque::new(),
            start: 0,
            sent: 0,
            requests: VecDeque::new(),
            uploads: 0,
            share,
        }
    }

    /// Whether the member is behind, and its user's members together are further behind than they may be.
    pub(crate) fn is_crowded(&self) -> bool {
        self.is_crowded_by(1)
    }

    /// The same for so many times as far.
    pub(crate) fn is_crowded_by(&self, times: usize) -> bool {
        self.len() > BACKLOG_FREE_BYTES && self.share.is_over(times)
    }

    /// Bytes kept.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Requests that have not been taken, as of the last [`Backlog::settle`].
    pub(crate) fn untaken(&self) -> u32 {
        u32::try_from(self.requests.len()).unwrap_or(u32::MAX)
    }

    /// Those of them that had their body.
    pub(crate) fn untaken_whole(&self) -> u32 {
        u32::try_from(self.requests.len() - self.uploads).unwrap_or(u32::MAX)
    }

    /// Position up to which the member has taken them, as of the last [`Backlog::settle`].
    pub(crate) fn taken(&self) -> u64 {
        self.start
    }

    /// Whether some bytes wait for room.
    pub(crate) fn is_waiting(&self) -> bool {
        self.sent < self.end()
    }

    /// Appends whole records and sends them as far as there is room. One that the channel can never hold is the end of
    /// it.
    pub(crate) fn push(&mut self, records: &[u8], writer: &mut StreamWriter) -> Result<(), Broken> {
        let position = self.end();
        let mut all = Records::new(records);
        loop {
            let offset = all.offset();
            let Some(Ok(record)) = all.next() else { break };
            if record.size() > writer.capacity() {
                return Err(Broken);
            }
            if record.kind() == event::REQUEST {
                let is_upload = record.flags() & request_flag::COMPLETE == 0;
                self.uploads += usize::from(is_upload);
                self.requests.push_back(Untaken {
                    position: position + to_u64(offset),
                    is_upload,
                });
            }
        }
        let was_waiting = self.is_waiting();
        self.bytes.extend(records);
        self.count();
        if !was_waiting && writer.write(records)? {
            self.sent = self.end();
        }
        Ok(())
    }

    /// Looks at how far the member has read, forgets what it has taken, and sends what waits.
    pub(crate) fn settle(&mut self, writer: &mut StreamWriter) -> Result<(), Broken> {
        let taken = writer.taken()?;
        let gone = usize::try_from(taken.saturating_sub(self.start)).unwrap_or(usize::MAX);
        self.bytes.drain(..gone.min(self.bytes.len()));
        self.start = taken;
        if self.bytes.len() < self.bytes.capacity() / 4 {
            // What is kept for the next burst is not counted.
            let room = (2 * self.bytes.len()).max(BACKLOG_FREE_BYTES);
            self.bytes.shrink_to(room);
            self.count();
        }
        while let Some(request) = self
            .requests
            .pop_front_if(|request| request.position < taken)
        {
            self.uploads -= usize::from(request.is_upload);
        }
        self.send(writer)
    }

    /// The records from the first request on that the member has not taken, in order.
    pub(crate) fn untaken_records(&mut self, mut each: impl FnMut(RecordView<'_>, &[u8])) {
        let Some(first) = self.requests.front() else {
            return;
        };
        let skip = usize::try_from(first.position.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let bytes = self.bytes.make_contiguous();
        let bytes = bytes.get(skip..).unwrap_or_default();
        let mut records = Records::new(bytes);
        loop {
            let offset = records.offset();
            let Some(Ok(record)) = records.next() else {
                return;
            };
            each(
                record,
                bytes.get(offset..records.offset()).unwrap_or_default(),
            );
        }
    }

    /// Sends what waits, whole records only: the reader must never see half of one.
    fn send(&mut self, writer: &mut StreamWriter) -> Result<(), Broken> {
        if !self.is_waiting() {
            return Ok(());
        }
        let skip = usize::try_from(self.sent - self.start).unwrap_or(usize::MAX);
        let bytes = self.bytes.make_contiguous();
        let waiting = bytes.get(skip..).unwrap_or_default();
        for record in Records::new(waiting).flatten() {
            let from = usize::try_from(self.sent - self.start).unwrap_or(usize::MAX) - skip;
            let bytes = waiting.get(from..from + record.size()).unwrap_or_default();
            if !writer.write(bytes)? {
                break;
            }
            self.sent += to_u64(record.size());
        }
        Ok(())
    }

    /// Memory counts, not bytes in it.
    fn count(&mut self) {
        let counted = self.bytes.capacity().saturating_sub(BACKLOG_FREE_BYTES);
        self.share.set(counted);
    }

    fn end(&self) -> u64 {
        self.start + to_u64(self.bytes.len())
    }
}

fn to_u64(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use portico_channel::EventWriter;
    use portico_channel::shared::{ApplicationEnd, Capacity, HostEnd};

    use super::*;
    use crate::limits::BACKLOG_BYTES_OF_A_USER;
    use crate::user_memory::UserMemory;

    fn channel() -> (HostEnd, ApplicationEnd) {
        let (host, fd) = HostEnd::create(Capacity {
            events: 4096,
            commands: 4096,
        })
        .unwrap();
        (host, ApplicationEnd::open(fd).unwrap())
    }

    fn record(kind: u32, token: u32, payload: usize) -> Vec<u8> {
        let mut memory = vec![0; payload + 64];
        let mut writer = EventWriter::new(&mut memory);
        let body = event::Body {
            token,
            ..event::Body::default()
        };
        writer.write(0, body, 0, payload).unwrap();
        let mut bytes = writer.written().to_vec();
        bytes[4] = kind as u8;
        bytes
    }

    fn untaken(backlog: &mut Backlog) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        backlog.untaken_records(|record, bytes| {
            assert_eq!(bytes.len(), record.size());
            found.push((record.kind(), record.token()));
        });
        found
    }

    #[test]
    fn what_the_member_has_read_is_taken_and_the_rest_is_kept() {
        let (mut host, mut application) = channel();
        let mut backlog = Backlog::new(UserMemory::unlimited().for_backlog());
        for token in 1..=3 {
            let request = record(event::REQUEST, token, 40);
            backlog.push(&request, &mut host.events).unwrap();
        }
        assert_eq!(backlog.untaken(), 3);
        application.events.take(64).unwrap();
        backlog.settle(&mut host.events).unwrap();
        assert_eq!(backlog.untaken(), 2);
        assert_eq!(
            untaken(&mut backlog),
            [(event::REQUEST, 2), (event::REQUEST, 3)]
        );
    }

    #[test]
    fn what_finds_no_room_is_sent_when_there_is_some() {
        let (mut host, mut application) = channel();
        let mut backlog = Backlog::new(UserMemory::unlimited().for_backlog());
        for token in 1..=5 {
            let request = record(event::REQUEST, token, 1000);
            backlog.push(&request, &mut host.events).unwrap();
        }
        assert!(backlog.is_waiting());
        assert_eq!(application.events.available().unwrap(), 1024 * 4);
        let mut seen = vec![0; 4096];
        let bytes = application.events.copy(&mut seen).unwrap();
        application.events.take(bytes).unwrap();
        backlog.settle(&mut host.events).unwrap();
        assert!(!backlog.is_waiting());
        assert_eq!(untaken(&mut backlog), [(event::REQUEST, 5)]);
        assert_eq!(backlog.len(), 1024);
    }

    #[test]
    fn records_before_the_first_untaken_request_are_not_told() {
        let (mut host, _application) = channel();
        let mut backlog = Backlog::new(UserMemory::unlimited().for_backlog());
        let mut both = record(event::OPEN, 7, 0);
        both.extend(record(event::REQUEST, 7, 8));
        both.extend(record(event::BODY, 7, 8));
        backlog.push(&both, &mut host.events).unwrap();
        assert_eq!(
            untaken(&mut backlog),
            [(event::REQUEST, 7), (event::BODY, 7)]
        );
    }

    #[test]
    fn memory_is_counted_while_there_is_more_of_it_than_each_member_may_have() {
        let (mut host, mut application) = channel();
        let user = UserMemory::limited();
        let mut backlog = Backlog::new(user.for_backlog());
        let mut others = user.for_backlog();
        others.set(BACKLOG_BYTES_OF_A_USER);
        let piece = record(event::BODY, 7, 2000);
        for _ in 0..10 {
            backlog.push(&piece, &mut host.events).unwrap();
        }
        assert!(!others.is_over(1), "it has no more than each may have");
        while backlog.len() <= BACKLOG_FREE_BYTES {
            assert!(!backlog.is_crowded());
            backlog.push(&piece, &mut host.events).unwrap();
        }
        assert!(backlog.is_crowded() && others.is_over(1));
        assert!(!backlog.is_crowded_by(2));
        // What is taken is free again, with the room that it needed.
        let mut seen = vec![0; 4096];
        while backlog.len() > 0 {
            let bytes = application.events.copy(&mut seen).unwrap();
            application.events.take(bytes).unwrap();
            backlog.settle(&mut host.events).unwrap();
        }
        assert!(backlog.bytes.capacity() <= BACKLOG_FREE_BYTES);
        assert!(!others.is_over(1));
    }
}
