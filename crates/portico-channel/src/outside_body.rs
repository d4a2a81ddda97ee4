//! A body outside of its record, cut into records that a channel can carry one after the other.

use std::ops::Range;
use std::rc::Rc;

use crate::event_writer::to_word;
use crate::external::{External, LentBytes};
use crate::layout::{command, response_flag};
use crate::record_reader::RecordView;

/// Bytes of `RESPOND` before its payload.
const RESPOND_BYTES: usize = 44;
/// Bytes of the others before their payload.
const SIZED_BYTES: usize = 20;

/// Where the body of a piece travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// In its record.
    Inside,
    /// Beside it: the record has the flag `EXTERNAL`.
    Beside,
}

/// A `RESPOND`, `DATA` or `RAW` whose body lies outside, and how much of it has been cut off. The first piece is a
/// record of the same kind, the others are `DATA` (of `RAW`: `RAW`); the last has the flags `END` and `ACK`.
#[derive(Debug)]
pub struct OutsideBody {
    kind: u32,
    flags: u32,
    token: u32,
    sequence: u32,
    /// What stands before the body in the first piece; empty once that has been cut off.
    head: Vec<u8>,
    at: usize,
    length: usize,
    /// Keeps the body for later pieces.
    owner: Option<Rc<dyn LentBytes>>,
}

impl OutsideBody {
    /// Of a record; `length` bytes of body follow it or lie elsewhere.
    #[must_use]
    pub fn new(record: RecordView<'_>, length: usize) -> Self {
        let (start, texts) = if record.kind() == command::RESPOND {
            let texts = u64::from(record.word(6)) + u64::from(record.word(7));
            (RESPOND_BYTES, usize::try_from(texts).unwrap_or(usize::MAX))
        } else {
            (SIZED_BYTES, 0)
        };
        // Without what pads the texts: that must not stand before the body.
        let end = start.saturating_add(texts).min(record.size());
        let head = record.bytes(0, to_word(end)).unwrap_or_default();
        Self {
            kind: record.kind(),
            flags: record.flags() & !response_flag::EXTERNAL,
            token: record.word(2),
            sequence: if record.kind() == command::RAW {
                0
            } else {
                record.word(3)
            },
            head: head.to_vec(),
            at: 0,
            length,
            owner: None,
        }
    }

    /// The connection's token.
    #[must_use]
    pub fn token(&self) -> u32 {
        self.token
    }

    /// The request's sequence number, 0 for `RAW`.
    #[must_use]
    pub fn sequence(&self) -> u32 {
        self.sequence
    }

    /// Whether there are no further pieces.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.head.is_empty() && self.at == self.length
    }

    /// Whether the last piece ends the answer.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.flags & response_flag::END != 0 && self.kind != command::RAW
    }

    /// Keeps the body beyond the submission.
    pub fn keep(&mut self, external: External<'_>) {
        if self.owner.is_none() {
            self.owner = Some(external.keep());
        }
    }

    /// Who keeps the body, if it is kept.
    #[must_use]
    pub fn owner(&self) -> Option<Rc<dyn LentBytes>> {
        self.owner.clone()
    }

    /// The whole body as its owner has it now; `None` if the memory has been taken away, or is less than it was.
    #[must_use]
    pub fn bytes<'a>(&self, owner: &'a dyn LentBytes) -> Option<&'a [u8]> {
        owner.bytes()?.get(..self.length)
    }

    /// Cuts the next piece off, `most` bytes of body at most. Returns the record without body and padding, and which
    /// bytes of the body belong to it. With [`Placing::Inside`] these follow it, and padding to four bytes.
    pub fn cut(&mut self, most: usize, placing: Placing) -> (Vec<u8>, Range<usize>) {
        let end = self.length.min(self.at.saturating_add(most));
        let piece = self.at..end;
        self.at = end;
        let last_only = response_flag::END | response_flag::ACK;
        let is_first = !self.head.is_empty();
        let mut flags = if is_first {
            self.flags
        } else {
            self.flags & last_only
        };
        if end < self.length {
            flags &= !last_only;
        }
        if placing == Placing::Beside {
            flags |= response_flag::EXTERNAL;
        }
        let mut record = std::mem::take(&mut self.head);
        if !is_first {
            record.resize(SIZED_BYTES, 0);
            set_word(&mut record, 2, self.token);
            set_word(&mut record, 3, self.sequence);
        }
        let (kind, length_word) = match self.kind {
            command::RESPOND if is_first => (command::RESPOND, 8),
            command::RAW => (command::RAW, 4),
            _ => (command::DATA, 4),
        };
        let inside = match placing {
            Placing::Inside => piece.len(),
            Placing::Beside => 0,
        };
        let size = (record.len() + inside).next_multiple_of(4);
        set_word(&mut record, 0, to_word(size));
        set_word(&mut record, 1, kind | flags << 8);
        set_word(&mut record, length_word, to_word(piece.len()));
        if placing == Placing::Beside {
            record.resize(size, 0);
        }
        (record, piece)
    }
}

fn set_word(bytes: &mut [u8], index: usize, value: u32) {
    if let Some(place) = bytes.get_mut(index * 4..index * 4 + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;
    use crate::{CommandWriter, Records, Response};

    /// All pieces, put together as a channel would.
    fn pieces(body: &mut OutsideBody, bytes: &[u8], most: usize, placing: Placing) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        while !body.is_done() {
            let (mut record, piece) = body.cut(most, placing);
            if placing == Placing::Inside {
                record.extend_from_slice(&bytes[piece]);
                record.resize(record.len().next_multiple_of(4), 0);
            }
            all.push(record);
        }
        all
    }

    #[test]
    fn a_body_is_cut_into_records_that_hold_all_of_it() {
        let mut writer = CommandWriter::new();
        writer.respond(
            7,
            3,
            &Response {
                status: 200,
                flags: response_flag::END | response_flag::CLOSE | response_flag::ACK,
                reason: b"Fine",
                fields: b"A: b\r\n",
                ..Response::default()
            },
        );
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        let bytes: Vec<u8> = (0..=100).collect();
        for (most, count) in [(1000, 1), (101, 1), (50, 3), (7, 15)] {
            let mut body = OutsideBody::new(record, bytes.len());
            assert!(body.ends() && !body.is_done());
            let all = pieces(&mut body, &bytes, most, Placing::Inside);
            assert_eq!(all.len(), count);
            let mut joined = Vec::new();
            for (index, piece) in all.iter().enumerate() {
                let record = Records::new(piece).next().unwrap().unwrap();
                assert_eq!((record.word(2), record.word(3)), (7, 3));
                assert_eq!(record.size(), piece.len());
                let (start, length) = match record.kind() {
                    command::RESPOND => {
                        assert_eq!((index, record.word(4)), (0, 200));
                        assert_eq!(record.bytes(44, 10), Some(&b"FineA: b\r\n"[..]));
                        assert_ne!(record.flags() & response_flag::CLOSE, 0);
                        (54, record.word(8))
                    }
                    command::DATA => (20, record.word(4)),
                    other => panic!("{other}"),
                };
                joined.extend_from_slice(record.bytes(start, length).unwrap());
                let last = index + 1 == all.len();
                let wanted = response_flag::END | response_flag::ACK;
                assert_eq!(record.flags() & wanted, if last { wanted } else { 0 });
            }
            assert_eq!(joined, bytes);
        }
    }

    #[test]
    fn pieces_of_a_byte_stream_stay_raw_and_may_travel_beside() {
        let mut writer = CommandWriter::new();
        writer.raw(9, response_flag::ACK, b"");
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        let mut body = OutsideBody::new(record, 10);
        assert_eq!((body.token(), body.sequence(), body.ends()), (9, 0, false));
        let all = pieces(&mut body, &[0; 10], 6, Placing::Beside);
        let lengths: Vec<_> = all
            .iter()
            .map(|piece| {
                let record = Records::new(piece).next().unwrap().unwrap();
                assert_eq!(record.kind(), command::RAW);
                assert_ne!(record.flags() & response_flag::EXTERNAL, 0);
                (record.word(4), record.flags() & response_flag::ACK)
            })
            .collect();
        assert_eq!(lengths, [(6, 0), (4, response_flag::ACK)]);
    }

    #[test]
    fn a_body_without_bytes_is_one_record() {
        let mut writer = CommandWriter::new();
        writer.data(1, 2, response_flag::END, b"");
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        let mut body = OutsideBody::new(record, 0);
        assert_eq!(pieces(&mut body, b"", 10, Placing::Inside).len(), 1);
    }
}
