//! Bytes that this process has received and sent on each of its connections, while it happens.
//!
//! The host has the exact figures, framing and its own fields included, and tells them with `CLOSED`. Until then these
//! stand for `socket.bytesRead` and `socket.bytesWritten`: whoever asks whether anything was sent, or how much of a stream,
//! gets its answer.

use portico_channel::RecordView;
use portico_channel::layout::{command, event};

/// Words of `REQUEST` before its field table.
const REQUEST_WORDS: usize = 11;
/// Bytes of one entry of a field table.
const FIELD_BYTES: usize = 16;
/// Bytes of the shortest head of an answer: status line and blank line.
const SHORTEST_HEAD_BYTES: u64 = 17;

/// Counts by connection. A slot that is taken anew begins at zero.
#[derive(Debug)]
pub(crate) struct Traffic {
    slot_mask: u32,
    counts: Vec<Count>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    token: u32,
    read: u64,
    written: u64,
}

impl Traffic {
    /// `slot_mask` is what is left of a token's slot without the number of the shard.
    pub(crate) fn new(slot_mask: u32) -> Self {
        Self {
            slot_mask,
            counts: Vec::new(),
        }
    }

    /// Bytes read and written so far; `None` of a connection that nothing was counted of.
    pub(crate) fn of(&self, token: u32) -> Option<(u64, u64)> {
        let count = self.counts.get(self.index(token))?;
        (count.token == token).then_some((count.read, count.written))
    }

    /// An event record of a connection, whole and with true lengths.
    #[inline]
    pub(crate) fn count_event(&mut self, kind: u32, token: u32, record: &[u8]) {
        let word = |index: usize| match record.get(index * 4..index * 4 + 4) {
            Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        let bytes = match kind {
            event::REQUEST => {
                let fields = usize::try_from(word(4) >> 16).unwrap_or(0);
                let head = REQUEST_WORDS * 4 + fields * FIELD_BYTES;
                u64::try_from(record.len().saturating_sub(head)).unwrap_or(0)
            }
            event::BODY | event::RAW => u64::from(word(5)),
            _ => return,
        };
        self.count_mut(token).read += bytes;
    }

    /// A command record. Its words say how long its body is, wherever that lies.
    #[inline]
    pub(crate) fn count_command(&mut self, record: RecordView<'_>) {
        let bytes = match record.kind() {
            command::RESPOND => {
                SHORTEST_HEAD_BYTES
                    + u64::from(record.word(6))
                    + u64::from(record.word(7))
                    + u64::from(record.word(8))
            }
            command::DATA | command::RAW | command::END | command::INFORM => {
                u64::from(record.word(4))
            }
            _ => return,
        };
        self.count_mut(record.word(2)).written += bytes;
    }

    fn index(&self, token: u32) -> usize {
        usize::try_from(token & self.slot_mask).unwrap_or(usize::MAX)
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
    use portico_channel::{CommandWriter, Records};

    use super::*;

    #[test]
    fn a_connection_is_counted_by_itself_and_its_slot_begins_anew() {
        let mut traffic = Traffic::new(0xff);
        let mut writer = CommandWriter::new();
        writer.data(0x107, 1, 0, b"12345");
        writer.data(0x108, 1, 0, b"1");
        for record in Records::new(writer.as_bytes()) {
            traffic.count_command(record.unwrap());
        }
        let mut raw = [0; 24];
        raw[20] = 9;
        traffic.count_event(event::RAW, 0x107, &raw);
        assert_eq!(traffic.of(0x107), Some((9, 5)));
        assert_eq!(traffic.of(0x108), Some((0, 1)));
        assert_eq!(traffic.of(0x207), None);
        traffic.count_event(event::BODY, 0x207, &raw);
        assert_eq!((traffic.of(0x207), traffic.of(0x107)), (Some((9, 0)), None));
    }
}
