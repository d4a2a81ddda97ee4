//! Windows: how much of each answer the host takes before its client has read some.
//!
//! Beyond the window of an answer its records wait here, in the application's own memory, and no other answer's do. A
//! large body stays where the program has it until the window lets the next piece of it be copied and the channel has
//! room for it. Small answers, complete in one record, are not looked at.

use std::collections::{HashMap, VecDeque};

use portico_channel::layout::{command, response_flag};
use portico_channel::{External, OutsideBody, Placing, RecordView};

use crate::flow::{Flow, Gone, Held, PIECE_BYTES, Parcel, Room, Sent, length_of};
use crate::scan::Over;

/// A connection with answers in work.
#[derive(Debug, Default)]
struct Connection {
    flows: Vec<Flow>,
    /// The end of the connection, which comes behind what is held.
    shutdown: Option<Vec<u8>>,
}

/// Answers in work, by connection.
#[derive(Debug, Default)]
pub(crate) struct AnswerWindows {
    connections: HashMap<u32, Connection>,
    /// Answers whose windows are open and for which the channel had no room: tokens and sequence numbers, in order. One
    /// that has gone since may be among them.
    stalled: VecDeque<(u32, u32)>,
}

impl AnswerWindows {
    /// Whether a record may be sent now. If not, it is kept, and comes out of [`AnswerWindows::credit`].
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
            command::SHUTDOWN => match self.connections.get_mut(&record.token()) {
                Some(connection) if connection.flows.iter().any(|flow| !flow.held.is_empty()) => {
                    connection.shutdown = Some(parts.concat());
                    false
                }
                _ => true,
            },
            command::RESET => {
                self.forget_answer(record.token(), record.sequence());
                true
            }
            command::DESTROY => {
                self.forget(Over::Connection(record.token()));
                true
            }
            _ => true,
        }
    }

    fn admit_output(&mut self, record: RecordView<'_>, parts: &[&[u8]]) -> bool {
        let token = record.token();
        let sequence = record.sequence();
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

    /// Sends as much of a body outside of its record as the window allows and the channel takes, and keeps the rest.
    /// `room` is what there is before; `send` says what is left behind each record.
    pub(crate) fn lend(
        &mut self,
        record: RecordView<'_>,
        external: External<'_>,
        room: Room,
        mut send: impl FnMut(Parcel<'_>) -> Room,
    ) {
        let length = external.bytes().len();
        let mut body = OutsideBody::new(record, length);
        let is_whole = record.kind() == command::RESPOND && body.ends();
        if is_whole && length <= PIECE_BYTES && self.connections.is_empty() && room == Room::Left {
            let (record, piece) = body.cut(length, Placing::Inside);
            let body = external.bytes().get(piece).unwrap_or_default();
            let record = &record;
            send(Parcel::Piece { record, body });
            return;
        }
        let (token, sequence) = (body.token(), body.sequence());
        let connection = self.connections.entry(token).or_default();
        let flow = connection.enter(sequence);
        if flow.held.is_empty() && room == Room::Left {
            flow.send_body(&mut body, external.bytes(), &mut send);
        }
        if !body.is_done() {
            body.keep(external);
            flow.held.push_back(Held::Body(body));
            if flow.stalls() {
                self.stalled.push_back((token, sequence));
            }
        } else if body.ends() {
            connection.remove(body.sequence());
            if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
        }
    }

    /// The host takes more of an answer. `send` gets what was kept and may go now, if the channel has room.
    pub(crate) fn credit(
        &mut self,
        token: u32,
        sequence: u32,
        granted: u64,
        room: Room,
        send: impl FnMut(Parcel<'_>) -> Room,
    ) {
        let connection = self.connections.get_mut(&token);
        let Some(flow) = connection.and_then(|connection| connection.flow(sequence)) else {
            return;
        };
        flow.granted = flow.granted.max(granted);
        if room == Room::Left {
            self.send_held(token, sequence, send);
        } else if flow.stalls() {
            self.stalled.push_back((token, sequence));
        }
    }

    /// Whether [`AnswerWindows::send_stalled`] would do something.
    pub(crate) fn has_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    /// The channel has room again, for the answer that has waited longest. `send` gets what was kept of it and may go,
    /// with the token.
    pub(crate) fn send_stalled(&mut self, mut send: impl FnMut(u32, Parcel<'_>) -> Room) {
        let Some((token, sequence)) = self.stalled.pop_front() else {
            return;
        };
        let connection = self.connections.get_mut(&token);
        if let Some(flow) = connection.and_then(|connection| connection.flow(sequence)) {
            flow.is_stalled = false;
            self.send_held(token, sequence, |parcel| send(token, parcel));
        }
    }

    /// Sends what is kept of an answer as far as its window and the channel allow.
    fn send_held(&mut self, token: u32, sequence: u32, mut send: impl FnMut(Parcel<'_>) -> Room) {
        let Some(connection) = self.connections.get_mut(&token) else {
            return;
        };
        match connection
            .flow(sequence)
            .map(|flow| flow.send_held(&mut send))
        {
            Some(Ok(Sent::All { ended: true })) => connection.remove(sequence),
            Some(Ok(Sent::UntilFull)) => self.stalled.push_back((token, sequence)),
            Some(Err(Gone)) => {
                self.connections.remove(&token);
                send(Parcel::Gone);
                return;
            }
            Some(Ok(Sent::All { ended: false })) | None => {}
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

    /// A connection, or one exchange of it, is over.
    #[inline]
    pub(crate) fn forget(&mut self, over: Over) {
        if self.connections.is_empty() {
            return;
        }
        match over {
            Over::Connection(token) => {
                self.connections.remove(&token);
            }
            Over::Exchange(token, sequence) => self.forget_answer(token, sequence),
        }
    }
}

impl Connection {
    fn flow(&mut self, sequence: u32) -> Option<&mut Flow> {
        self.flows.iter_mut().find(|flow| flow.sequence == sequence)
    }

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

#[cfg(test)]
mod tests;
