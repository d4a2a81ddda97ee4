//! Bytes that this process has received and sent on each of its connections, while it happens.
//!
//! The host has the exact figures, framing and its own fields included, and tells them with `CLOSED`. Until then these
//! stand for `socket.bytesRead` and `socket.bytesWritten`: whoever asks whether anything was sent, or how much of a stream,
//! gets its answer.

use portico_channel::RecordView;
use portico_channel::layout::{command, event};
use portico_channel::schema::Record;
use portico_channel::token::Division;

/// Bytes of the shortest head of an answer: status line and blank line.
const SHORTEST_HEAD_BYTES: u64 = 17;

/// Counts by connection. A slot that is taken anew begins at zero.
#[derive(Debug)]
pub(crate) struct Traffic {
    division: Division,
    counts: Vec<Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    token: u32,
    read: u64,
    written: u64,
}

impl Traffic {
    /// Of one of the shards that the slots are divided among.
    pub(crate) fn new(division: Division) -> Self {
        Self {
            division,
            counts: Vec::new(),
        }
    }

    /// Bytes read and written so far; `None` of a connection that nothing was counted of.
    pub(crate) fn of(&self, token: u32) -> Option<(u64, u64)> {
        let count = self.counts.get(self.index(token))?;
        (count.token == token).then_some((count.read, count.written))
    }

    /// An event record.
    #[inline]
    pub(crate) fn count_event(&mut self, record: RecordView<'_>) {
        let bytes = match record.kind() {
            event::REQUEST => record.read::<event::Request>().map(|request| {
                let head = event::Request::payload_offset(request.field_count as usize);
                u64::try_from(record.size()).unwrap_or(0) - u64::from(head)
            }),
            event::BODY => record
                .read::<event::Body>()
                .map(|body| u64::from(body.bytes.length)),
            event::RAW => record
                .read::<event::Raw>()
                .map(|raw| u64::from(raw.bytes.length)),
            _ => None,
        };
        if let Some(bytes) = bytes {
            self.count_mut(record.token()).read += bytes;
        }
    }

    /// A command record. Its words say how long its body is, wherever that lies.
    #[inline]
    pub(crate) fn count_command(&mut self, record: RecordView<'_>) {
        let bytes = match record.kind() {
            command::RESPOND => record.read::<command::Respond>().map(|head| {
                SHORTEST_HEAD_BYTES
                    + u64::from(head.reason_bytes)
                    + u64::from(head.fields_bytes)
                    + u64::from(head.body_bytes)
            }),
            command::DATA => record
                .read::<command::Data>()
                .map(|data| u64::from(data.body_bytes)),
            command::RAW => record
                .read::<command::Raw>()
                .map(|raw| u64::from(raw.body_bytes)),
            command::END => record
                .read::<command::End>()
                .map(|end| u64::from(end.trailers_bytes)),
            command::INFORM => record.read::<command::Inform>().map(|inform| {
                SHORTEST_HEAD_BYTES
                    + u64::from(inform.reason_bytes)
                    + u64::from(inform.fields_bytes)
            }),
            _ => None,
        };
        if let Some(bytes) = bytes {
            self.count_mut(record.token()).written += bytes;
        }
    }

    fn index(&self, token: u32) -> usize {
        usize::try_from(self.division.own_slot_of(token)).unwrap_or(usize::MAX)
    }

    fn count_mut(&mut self, token: u32) -> &mut Count {
        let index = self.index(token);
        if index >= self.counts.len() {
            self.counts.resize(index + 1, Count::default());
        }
        // In bounds: the line above saw to it.
        let count = &mut self.counts[index];
        if count.token != token {
            *count = Count {
                token,
                ..Count::default()
            };
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use portico_channel::{CommandWriter, EventWriter, Records};

    use super::*;

    #[test]
    fn a_connection_is_counted_by_itself_and_its_slot_begins_anew() {
        let mut traffic = Traffic::new(Division::among(64));
        let mut writer = CommandWriter::new();
        writer.data(1 << 20 | 7, 1, 0, b"12345");
        writer.data(1 << 20 | 8, 1, 0, b"1");
        for record in Records::new(writer.as_bytes()) {
            traffic.count_command(record.unwrap());
        }
        let mut memory = [0; 256];
        let mut events = EventWriter::new(&mut memory);
        let (token, sequence) = (1 << 20 | 7, 0);
        let raw = |bytes| event::Raw {
            token,
            sequence,
            bytes,
        };
        events.tell_bytes(0, &[0; 9], raw).unwrap();
        count(&mut traffic, events.written());
        assert_eq!(traffic.of(1 << 20 | 7), Some((9, 5)));
        assert_eq!(traffic.of(1 << 20 | 8), Some((0, 1)));
        assert_eq!(traffic.of(2 << 20 | 7), None);
        let mut memory = [0; 256];
        let mut events = EventWriter::new(&mut memory);
        let body = |bytes| event::Body {
            token: 2 << 20 | 7,
            sequence: 1,
            bytes,
        };
        events.tell_bytes(0, &[0; 9], body).unwrap();
        count(&mut traffic, events.written());
        assert_eq!(
            (traffic.of(2 << 20 | 7), traffic.of(1 << 20 | 7)),
            (Some((9, 0)), None)
        );
    }

    fn count(traffic: &mut Traffic, events: &[u8]) {
        for record in Records::new(events) {
            traffic.count_event(record.unwrap());
        }
    }
}
