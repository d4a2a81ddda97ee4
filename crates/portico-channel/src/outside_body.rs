//! A body outside of its record, cut into records that a channel can carry one after the other.

use std::ops::Range;
use std::rc::Rc;

use crate::command_writer::opening;
use crate::event_writer::to_word;
use crate::external::{External, LentBytes};
use crate::layout::{command, response_flag};
use crate::padded;
use crate::record_reader::RecordView;

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
    first: First,
    is_raw: bool,
    flags: u32,
    token: u32,
    sequence: u32,
    at: usize,
    length: usize,
    /// Keeps the body for later pieces.
    owner: Option<Rc<dyn LentBytes>>,
}

/// What the first piece is.
#[derive(Debug)]
enum First {
    /// A head: its words, and reason and field lines.
    Head(command::Respond, Vec<u8>),
    /// Like the others, but for its flags.
    Bytes,
    /// It has been cut off.
    Gone,
}

impl OutsideBody {
    /// Of a record; `length` bytes of body follow it or lie elsewhere.
    #[must_use]
    pub fn new(record: RecordView<'_>, length: usize) -> Self {
        let first = match record.kind() {
            command::RESPOND => record.read::<command::Respond>().map(|head| {
                let texts = [head.reason(), head.fields()].concat();
                First::Head(*head, texts)
            }),
            _ => None,
        };
        Self {
            first: first.unwrap_or(First::Bytes),
            is_raw: record.kind() == command::RAW,
            flags: record.flags() & !response_flag::EXTERNAL,
            token: record.token(),
            sequence: record.sequence(),
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
        matches!(self.first, First::Gone) && self.at == self.length
    }

    /// Whether the last piece ends the answer.
    #[must_use]
    pub fn ends(&self) -> bool {
        self.flags & response_flag::END != 0 && !self.is_raw
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
        let first = std::mem::replace(&mut self.first, First::Gone);
        let mut flags = match first {
            First::Gone => self.flags & last_only,
            _ => self.flags,
        };
        if end < self.length {
            flags &= !last_only;
        }
        let inside = match placing {
            Placing::Inside => piece.len(),
            Placing::Beside => 0,
        };
        if placing == Placing::Beside {
            flags |= response_flag::EXTERNAL;
        }
        let (token, sequence) = (self.token, self.sequence);
        let body_bytes = to_word(piece.len());
        let mut record = match first {
            First::Head(words, texts) => {
                let words = command::Respond {
                    body_bytes,
                    ..words
                };
                let mut record = opening(flags, words, texts.len() + inside);
                record.extend_from_slice(&texts);
                record
            }
            _ if self.is_raw => {
                let words = command::Raw {
                    token,
                    sequence,
                    body_bytes,
                };
                opening(flags, words, inside)
            }
            _ => {
                let words = command::Data {
                    token,
                    sequence,
                    body_bytes,
                };
                opening(flags, words, inside)
            }
        };
        if placing == Placing::Beside {
            record.resize(padded(record.len()), 0);
        }
        (record, piece)
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
                assert_eq!((record.token(), record.sequence()), (7, 3));
                assert_eq!(record.size(), piece.len());
                match record.kind() {
                    command::RESPOND => {
                        let head = record.read::<command::Respond>().unwrap();
                        assert_eq!((index, head.status), (0, 200));
                        assert_eq!([head.reason(), head.fields()].concat(), b"FineA: b\r\n");
                        assert_ne!(record.flags() & response_flag::CLOSE, 0);
                        joined.extend_from_slice(head.body());
                    }
                    command::DATA => {
                        joined.extend_from_slice(record.read::<command::Data>().unwrap().body());
                    }
                    other => panic!("{other}"),
                }
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
                (
                    record.read::<command::Raw>().unwrap().body_bytes,
                    record.flags() & response_flag::ACK,
                )
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
