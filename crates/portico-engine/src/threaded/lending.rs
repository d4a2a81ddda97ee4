//! Large bodies on their way to an engine thread.
//!
//! The thread must not read the application's memory, which JavaScript may move or free at any time. So a body crosses
//! in copied pieces, and only so many bytes are on their way at once: the rest stays where it is until the thread has
//! sent a piece and gives its buffer back. What comes behind a body that waits, waits with it.
//!
//! ```text
//! body [ sent | on its way: copied pieces | waits in the application's memory ]
//! ```
//!
//! The answer whose turn it is on its connection (the oldest of those in work) has a window of its own; later ones share
//! a small one, so that a client which pipelines and does not read costs no more than one that asks once.

use std::collections::{HashMap, VecDeque};

use portico_channel::layout::command;
use portico_channel::{External, OutsideBody, Placing, RecordView};

use crate::limits::{LENT_BYTES, LENT_PIECE_BYTES, LENT_SMALL_WINDOW_BYTES, LENT_WINDOW_BYTES};

/// Something for the engine thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parcel<'a> {
    /// A record.
    Record(&'a [u8]),
    /// A record and the piece of a body that it says lies beside it.
    Piece { record: &'a [u8], body: &'a [u8] },
    /// The application has taken the memory of a body away before it was sent: the connection can't go on.
    Gone { token: u32 },
}

/// A piece that the engine thread has sent or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub(super) token: u32,
    /// 0: of a byte stream.
    pub(super) sequence: u32,
    pub(super) bytes: usize,
}

#[derive(Debug)]
enum Waiting {
    Record(Vec<u8>),
    Body(OutsideBody),
}

/// An answer, or the byte stream of a connection (number 0).
#[derive(Debug)]
struct Flow {
    sequence: u32,
    /// Bytes on their way.
    away: usize,
    waiting: VecDeque<Waiting>,
}

/// A connection with bodies on their way.
#[derive(Debug, Default)]
struct Connection {
    /// In the order of the requests.
    flows: Vec<Flow>,
    /// Bytes on their way, of all flows.
    away: usize,
    /// What concerns the whole connection and comes behind all that waits.
    behind: VecDeque<Waiting>,
}

/// Bodies on their way to one engine thread.
#[derive(Debug, Default)]
pub(super) struct Lending {
    connections: HashMap<u32, Connection>,
    /// Bytes on their way, of all connections.
    away: usize,
}

impl Lending {
    /// Whether no body is on its way.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Whether something waits for pieces to come back.
    pub(super) fn waits(&self) -> bool {
        self.connections.values().any(Connection::waits)
    }

    /// Whether a record must wait behind a body; then it is kept.
    pub(super) fn keeps(&mut self, record: RecordView<'_>, bytes: &[u8]) -> bool {
        let token = record.token();
        let Some(connection) = self.connections.get_mut(&token) else {
            return false;
        };
        let queue = match record.kind() {
            command::RESPOND | command::DATA | command::END | command::INFORM => connection
                .flow(record.sequence())
                .map(|flow| &mut flow.waiting)
                .filter(|waiting| !waiting.is_empty()),
            command::RAW | command::SHUTDOWN if connection.waits() => Some(&mut connection.behind),
            // Of one answer: what waits of it is not sent.
            command::RESET => {
                connection.give_up(record.sequence());
                None
            }
            command::DESTROY => {
                self.forget(token);
                None
            }
            _ => None,
        };
        let Some(queue) = queue else {
            return false;
        };
        queue.push_back(Waiting::Record(bytes.to_vec()));
        true
    }

    /// A record with a large body. `send` gets the pieces that may go now.
    pub(super) fn lend(
        &mut self,
        record: RecordView<'_>,
        external: External<'_>,
        mut send: impl FnMut(Parcel<'_>),
    ) {
        let mut body = OutsideBody::new(record, external.bytes().len());
        let connection = self.connections.entry(body.token()).or_default();
        if body.sequence() == 0 && connection.waits() {
            body.keep(external);
            connection.behind.push_back(Waiting::Body(body));
            return;
        }
        let index = connection.enter(body.sequence());
        while !body.is_done()
            && let Some(most) = connection.next_piece(index, self.away)
        {
            self.away += connection.send_piece(index, &mut body, external.bytes(), most, &mut send);
        }
        if !body.is_done()
            && let Some(flow) = connection.flows.get_mut(index)
        {
            body.keep(external);
            flow.waiting.push_back(Waiting::Body(body));
        }
    }

    /// The engine thread has sent a piece: what waits may follow.
    pub(super) fn returned(&mut self, piece: Returned, mut send: impl FnMut(Parcel<'_>)) {
        self.away = self.away.saturating_sub(piece.bytes);
        let Some(connection) = self.connections.get_mut(&piece.token) else {
            return;
        };
        connection.away = connection.away.saturating_sub(piece.bytes);
        if let Some(flow) = connection.flow(piece.sequence) {
            flow.away = flow.away.saturating_sub(piece.bytes);
        }
        if connection.send_waiting(&mut self.away, &mut send).is_err() {
            self.connections.remove(&piece.token);
            send(Parcel::Gone { token: piece.token });
        } else if connection.flows.is_empty() {
            self.connections.remove(&piece.token);
        }
    }

    /// A connection has gone. Its pieces still come back.
    pub(super) fn forget(&mut self, token: u32) {
        self.connections.remove(&token);
    }

    /// The peer has given up an exchange: what waits of its answer is not sent.
    pub(super) fn give_up(&mut self, token: u32, sequence: u32) {
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.give_up(sequence);
        }
    }
}

/// The memory of a body has gone.
struct Gone;

impl Connection {
    /// Nothing more of an answer is sent.
    fn give_up(&mut self, sequence: u32) {
        if let Some(flow) = self.flow(sequence) {
            flow.waiting.clear();
        }
    }

    fn waits(&self) -> bool {
        !self.behind.is_empty() || self.flows.iter().any(|flow| !flow.waiting.is_empty())
    }

    fn flow(&mut self, sequence: u32) -> Option<&mut Flow> {
        self.flows.iter_mut().find(|flow| flow.sequence == sequence)
    }

    /// Index of an answer's flow, which is made if there is none.
    fn enter(&mut self, sequence: u32) -> usize {
        let is_later = |flow: &Flow| flow.sequence.wrapping_sub(sequence) <= u32::MAX / 2;
        let index = self.flows.iter().position(is_later);
        let index = index.unwrap_or(self.flows.len());
        if self
            .flows
            .get(index)
            .is_none_or(|flow| flow.sequence != sequence)
        {
            let flow = Flow {
                sequence,
                away: 0,
                waiting: VecDeque::new(),
            };
            self.flows.insert(index, flow);
        }
        index
    }

    /// Length of the piece of a flow that may go now, if one may; `away` bytes are on their way to the thread.
    fn next_piece(&self, index: usize, away: usize) -> Option<usize> {
        let (used, window) = if index > 0 {
            (self.away, LENT_SMALL_WINDOW_BYTES)
        } else if away < LENT_BYTES {
            (self.flows.first()?.away, LENT_WINDOW_BYTES)
        } else {
            (self.flows.first()?.away, LENT_SMALL_WINDOW_BYTES)
        };
        (used < window).then_some(LENT_PIECE_BYTES.min(window))
    }

    /// Sends a piece of a body that lies in `bytes`, `most` bytes long at most. Returns its length.
    fn send_piece(
        &mut self,
        index: usize,
        body: &mut OutsideBody,
        bytes: &[u8],
        most: usize,
        send: &mut impl FnMut(Parcel<'_>),
    ) -> usize {
        let (record, piece) = body.cut(most, Placing::Beside);
        let piece = bytes.get(piece).unwrap_or_default();
        send(Parcel::Piece {
            record: &record,
            body: piece,
        });
        self.away += piece.len();
        if let Some(flow) = self.flows.get_mut(index) {
            flow.away += piece.len();
        }
        piece.len()
    }

    /// Sends what may go now, and forgets what is done.
    fn send_waiting(
        &mut self,
        away: &mut usize,
        send: &mut impl FnMut(Parcel<'_>),
    ) -> Result<(), Gone> {
        loop {
            let mut index = 0;
            while index < self.flows.len() {
                self.send_flow(index, away, send)?;
                let is_done = |flow: &Flow| flow.away == 0 && flow.waiting.is_empty();
                if self.flows.get(index).is_some_and(is_done) {
                    self.flows.remove(index);
                } else {
                    index += 1;
                }
            }
            if self.flows.iter().any(|flow| !flow.waiting.is_empty()) {
                return Ok(());
            }
            match self.behind.pop_front() {
                Some(Waiting::Record(bytes)) => send(Parcel::Record(&bytes)),
                Some(body) => {
                    let index = self.enter(0);
                    if let Some(flow) = self.flows.get_mut(index) {
                        flow.waiting.push_back(body);
                    }
                }
                None => return Ok(()),
            }
        }
    }

    fn send_flow(
        &mut self,
        index: usize,
        away: &mut usize,
        send: &mut impl FnMut(Parcel<'_>),
    ) -> Result<(), Gone> {
        let take = |connection: &mut Self| {
            let flow = connection.flows.get_mut(index)?;
            flow.waiting.pop_front()
        };
        while let Some(waiting) = take(self) {
            let mut body = match waiting {
                Waiting::Record(bytes) => {
                    send(Parcel::Record(&bytes));
                    continue;
                }
                Waiting::Body(body) => body,
            };
            while !body.is_done()
                && let Some(most) = self.next_piece(index, *away)
            {
                let owner = body.owner().ok_or(Gone)?;
                let bytes = body.bytes(&*owner).ok_or(Gone)?;
                *away += self.send_piece(index, &mut body, bytes, most, send);
            }
            if !body.is_done()
                && let Some(flow) = self.flows.get_mut(index)
            {
                flow.waiting.push_front(Waiting::Body(body));
                return Ok(());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
