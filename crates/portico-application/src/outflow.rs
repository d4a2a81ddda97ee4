//! Windows: how much of each answer the host takes before its client has read some.
//!
//! Beyond the window of an answer its records wait here, in the application's own memory, and nobody else's do. A large
//! body stays where the program has it until the window lets the next piece of it be copied. Small answers, complete in
//! one record, are not looked at.

use std::collections::{HashMap, VecDeque};

use portico_channel::layout::{command, response_flag};
use portico_channel::shared::ANSWER_WINDOW_BYTES;
use portico_channel::{External, OutsideBody, Placing, RecordView, padded};

/// Bytes of a body that travel in one record.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// One answer, or the bytes of a connection that was taken over.
#[derive(Debug)]
struct Flow {
    /// The request's number, 0 for a byte stream.
    sequence: u32,
    /// Bytes of records sent.
    sent: u64,
    /// Up to where more may be sent.
    granted: u64,
    held: VecDeque<Held>,
}

/// What waits for the window.
#[derive(Debug)]
enum Held {
    Record { bytes: Vec<u8>, ends: bool },
    Body(OutsideBody),
}

/// What the window lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parcel<'a> {
    /// A record.
    Record(&'a [u8]),
    /// A record but for its body, and the body.
    Piece { record: &'a [u8], body: &'a [u8] },
    /// The program has taken the memory of a body away before it was sent: the connection can't go on.
    Gone,
}

/// A connection with answers in work.
#[derive(Debug, Default)]
struct Connection {
    flows: Vec<Flow>,
    /// The end of the connection, which comes behind what is held.
    shutdown: Option<Vec<u8>>,
}

/// Answers in work, by connection.
#[derive(Debug, Default)]
pub(crate) struct Outflow {
    connections: HashMap<u32, Connection>,
}

impl Outflow {
    /// Whether a record may be sent now. If not, it is kept, and comes out of [`Outflow::credit`].
    #[inline]
    pub(crate) fn admit(&mut self, record: RecordView<'_>, parts: &[&[u8]]) -> bool {
        let is_whole =
            record.kind() == command::RESPOND && record.flags() & response_flag::END != 0;
        if is_whole && self.connections.is_empty() {
            return true;
        }
        match record.kind() {
            command::RESPOND | command::DATA | command::END | command::INFORM | command::RAW => {
                self.admit_output(record, parts)
            }
            command::SHUTDOWN => match self.connections.get_mut(&record.word(2)) {
                Some(connection) if connection.flows.iter().any(|flow| !flow.held.is_empty()) => {
                    connection.shutdown = Some(parts.concat());
                    false
                }
                _ => true,
            },
            command::DESTROY if record.word(3) != 0 => {
                self.forget_answer(record.word(2), record.word(3));
                true
            }
            command::DESTROY => {
                self.forget(record.word(2));
                true
            }
            _ => true,
        }
    }

    fn admit_output(&mut self, record: RecordView<'_>, parts: &[&[u8]]) -> bool {
        let token = record.word(2);
        let sequence = match record.kind() {
            command::RAW => 0,
            _ => record.word(3),
        };
        let ends = record.kind() == command::END
            || (!matches!(record.kind(), command::INFORM | command::RAW)
                && record.flags() & response_flag::END != 0);
        let bytes = parts.iter().map(|part| length_of(part)).sum::<u64>();
        let connection = self.connections.entry(token).or_default();
        let place = connection
            .flows
            .iter()
            .position(|flow| flow.sequence == sequence);
        let Some(flow) = place.and_then(|place| connection.flows.get_mut(place)) else {
            if !ends {
                connection.enter(sequence).sent = bytes;
            } else if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
            return true;
        };
        if !flow.held.is_empty() || flow.sent >= flow.granted {
            flow.held.push_back(Held::Record {
                bytes: parts.concat(),
                ends,
            });
            return false;
        }
        flow.sent += bytes;
        if ends {
            connection.remove(sequence);
            if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
        }
        true
    }

    /// Sends as much of a body outside of its record as the window allows, and keeps the rest.
    pub(crate) fn lend(
        &mut self,
        record: RecordView<'_>,
        external: External<'_>,
        mut send: impl FnMut(Parcel<'_>),
    ) {
        let length = external.bytes().len();
        let mut body = OutsideBody::new(record, length);
        let is_whole = record.kind() == command::RESPOND && body.ends();
        if is_whole && length <= PIECE_BYTES && self.connections.is_empty() {
            let (record, piece) = body.cut(length, Placing::Inside);
            let body = external.bytes().get(piece).unwrap_or_default();
            let record = &record;
            return send(Parcel::Piece { record, body });
        }
        let token = body.token();
        let connection = self.connections.entry(token).or_default();
        let flow = connection.enter(body.sequence());
        if flow.held.is_empty() {
            flow.send_body(&mut body, external.bytes(), &mut send);
        }
        if !body.is_done() {
            body.keep(external);
            flow.held.push_back(Held::Body(body));
        } else if body.ends() {
            connection.remove(body.sequence());
            if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
        }
    }

    /// The host takes more of an answer. `send` gets what was kept and may go now.
    pub(crate) fn credit(
        &mut self,
        token: u32,
        sequence: u32,
        granted: u64,
        mut send: impl FnMut(Parcel<'_>),
    ) {
        let Some(connection) = self.connections.get_mut(&token) else {
            return;
        };
        let flow = connection
            .flows
            .iter_mut()
            .find(|flow| flow.sequence == sequence);
        match flow.map(|flow| flow.credit(granted, &mut send)) {
            Some(Ok(true)) => connection.remove(sequence),
            Some(Err(Gone)) => {
                self.connections.remove(&token);
                return send(Parcel::Gone);
            }
            Some(Ok(false)) | None => {}
        }
        if connection.flows.iter().all(|flow| flow.held.is_empty())
            && let Some(shutdown) = connection.shutdown.take()
        {
            send(Parcel::Record(&shutdown));
        }
        if connection.flows.is_empty() {
            self.connections.remove(&token);
        }
    }

    /// An answer was given up: what is kept of it is not sent.
    fn forget_answer(&mut self, token: u32, sequence: u32) {
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.flows.retain(|flow| flow.sequence != sequence);
            if connection.flows.is_empty() && connection.shutdown.is_none() {
                self.connections.remove(&token);
            }
        }
    }

    /// A connection has gone.
    #[inline]
    pub(crate) fn forget(&mut self, token: u32) {
        if !self.connections.is_empty() {
            self.connections.remove(&token);
        }
    }
}

/// The memory of a body has gone.
struct Gone;

impl Connection {
    /// The flow of an answer, which is made if there is none.
    fn enter(&mut self, sequence: u32) -> &mut Flow {
        let place = self
            .flows
            .iter()
            .position(|flow| flow.sequence == sequence)
            .unwrap_or(self.flows.len());
        if place == self.flows.len() {
            self.flows.push(Flow::new(sequence));
        }
        &mut self.flows[place]
    }

    fn remove(&mut self, sequence: u32) {
        self.flows.retain(|flow| flow.sequence != sequence);
    }
}

impl Flow {
    fn new(sequence: u32) -> Self {
        Self {
            sequence,
            sent: 0,
            granted: ANSWER_WINDOW_BYTES,
            held: VecDeque::new(),
        }
    }

    /// Sends pieces of a body that lies in `bytes` until the window is full.
    fn send_body(
        &mut self,
        body: &mut OutsideBody,
        bytes: &[u8],
        send: &mut impl FnMut(Parcel<'_>),
    ) {
        while !body.is_done() && self.sent < self.granted {
            let (record, piece) = body.cut(PIECE_BYTES, Placing::Inside);
            let body = bytes.get(piece).unwrap_or_default();
            self.sent += u64::try_from(padded(record.len() + body.len())).unwrap_or(u64::MAX);
            let record = &record;
            send(Parcel::Piece { record, body });
        }
    }

    /// Sends what the moved window allows. Returns whether the answer has ended.
    fn credit(&mut self, granted: u64, send: &mut impl FnMut(Parcel<'_>)) -> Result<bool, Gone> {
        self.granted = self.granted.max(granted);
        let mut ended = false;
        while self.sent < self.granted
            && let Some(held) = self.held.pop_front()
        {
            match held {
                Held::Record { bytes, ends } => {
                    self.sent += length_of(&bytes);
                    ended |= ends;
                    send(Parcel::Record(&bytes));
                }
                Held::Body(mut body) => {
                    let owner = body.owner().ok_or(Gone)?;
                    let bytes = body.bytes(&*owner).ok_or(Gone)?;
                    self.send_body(&mut body, bytes, send);
                    if body.is_done() {
                        ended |= body.ends();
                    } else {
                        self.held.push_front(Held::Body(body));
                    }
                }
            }
        }
        Ok(ended)
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use portico_channel::{CommandWriter, Records};

    use super::*;

    fn submit(outflow: &mut Outflow, write: impl FnOnce(&mut CommandWriter)) -> bool {
        let mut writer = CommandWriter::new();
        write(&mut writer);
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        outflow.admit(record, &[writer.as_bytes()])
    }

    #[test]
    fn what_is_beyond_the_window_waits_for_credit_and_the_end_waits_behind_it() {
        let mut outflow = Outflow::default();
        let piece = vec![1; 64 * 1024];
        let mut sent = 0;
        while submit(&mut outflow, |writer| writer.data(7, 1, 0, &piece)) {
            sent += 1;
        }
        assert_eq!(sent, 4);
        // Another answer of the connection, and another connection.
        assert!(submit(&mut outflow, |writer| writer.data(7, 2, 0, &piece)));
        assert!(submit(&mut outflow, |writer| writer.data(8, 1, 0, &piece)));
        assert!(!submit(&mut outflow, |writer| writer.end(7, 1, 0, b"")));
        assert!(!submit(&mut outflow, |writer| writer.simple(
            command::SHUTDOWN,
            1,
            7
        )));
        let mut kinds = Vec::new();
        outflow.credit(7, 1, 2 * ANSWER_WINDOW_BYTES, |parcel| {
            let Parcel::Record(bytes) = parcel else {
                panic!("{parcel:?}");
            };
            kinds.push(Records::new(bytes).next().unwrap().unwrap().kind());
        });
        assert_eq!(kinds, [command::DATA, command::END, command::SHUTDOWN]);
        outflow.forget(7);
        outflow.forget(8);
        assert!(outflow.connections.is_empty());
    }

    #[test]
    fn of_an_answer_that_is_given_up_nothing_is_kept_and_of_others_all() {
        let mut outflow = Outflow::default();
        let piece = vec![1; 64 * 1024];
        for sequence in [1, 2] {
            while submit(&mut outflow, |writer| writer.data(7, sequence, 0, &piece)) {}
        }
        assert!(submit(&mut outflow, |writer| writer.record(
            command::DESTROY,
            0,
            &[7, 2],
            &[]
        )));
        let mut kept = 0;
        for sequence in [1, 2] {
            outflow.credit(7, sequence, 2 * ANSWER_WINDOW_BYTES, |_| kept += sequence);
        }
        assert_eq!(kept, 1);
    }

    #[test]
    fn answers_that_are_complete_leave_nothing() {
        let mut outflow = Outflow::default();
        assert!(submit(&mut outflow, |writer| writer.data(7, 1, 0, b"a")));
        assert!(submit(&mut outflow, |writer| writer.end(7, 1, 0, b"")));
        assert!(submit(&mut outflow, |writer| writer.end(9, 4, 0, b"")));
        assert!(outflow.connections.is_empty());
    }

    #[test]
    fn a_large_body_is_copied_only_as_far_as_the_window_reaches() {
        let mut outflow = Outflow::default();
        let body: Vec<u8> = (0..900_000u32).map(|index| (index / 7) as u8).collect();
        let mut writer = CommandWriter::new();
        writer.data(7, 1, response_flag::END, b"");
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        let mut sent = Vec::new();
        outflow.lend(record, body.as_slice().into(), |parcel| {
            note(&mut sent, parcel)
        });
        assert!(sent.len() < 2 * ANSWER_WINDOW_BYTES as usize);
        assert!(!submit(&mut outflow, |writer| writer.simple(
            command::SHUTDOWN,
            1,
            7
        )));
        let mut granted = ANSWER_WINDOW_BYTES;
        while sent.len() < body.len() {
            let before = sent.len();
            granted += ANSWER_WINDOW_BYTES / 2;
            outflow.credit(7, 1, granted, |parcel| note(&mut sent, parcel));
            assert!(sent.len() > before && sent.len() as u64 <= granted + PIECE_BYTES as u64);
        }
        assert_eq!(sent, body);
        assert!(outflow.connections.is_empty());
    }

    /// Appends the body of a piece.
    fn note(sent: &mut Vec<u8>, parcel: Parcel<'_>) {
        match parcel {
            Parcel::Piece { body, .. } => sent.extend_from_slice(body),
            Parcel::Record(record) => {
                let record = Records::new(record).next().unwrap().unwrap();
                assert_eq!(record.kind(), command::SHUTDOWN);
            }
            Parcel::Gone => panic!("nothing was taken away"),
        }
    }
}
