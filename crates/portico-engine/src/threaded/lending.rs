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
                if let Some(flow) = connection.flow(record.sequence()) {
                    flow.waiting.clear();
                }
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
}

/// The memory of a body has gone.
struct Gone;

impl Connection {
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
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use portico_channel::layout::response_flag;
    use portico_channel::{CommandWriter, Records};

    use super::*;

    /// What went to the engine thread: kinds of records and lengths of bodies.
    type Sent = Vec<(u32, usize)>;

    fn note(sent: &mut Sent) -> impl FnMut(Parcel<'_>) {
        |parcel| {
            let (record, length) = match parcel {
                Parcel::Record(record) => (record, 0),
                Parcel::Piece { record, body } => (record, body.len()),
                Parcel::Gone { .. } => return sent.push((0, 0)),
            };
            let kind = Records::new(record).next().unwrap().unwrap().kind();
            sent.push((kind, length));
        }
    }

    fn with_record<R>(
        write: impl FnOnce(&mut CommandWriter),
        then: impl FnOnce(RecordView<'_>, &[u8]) -> R,
    ) -> R {
        let mut writer = CommandWriter::new();
        write(&mut writer);
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        then(record, writer.as_bytes())
    }

    fn lend(lending: &mut Lending, token: u32, sequence: u32, body: &[u8]) -> Sent {
        let mut sent = Sent::new();
        with_record(
            |writer| writer.data(token, sequence, response_flag::END, b""),
            |record, _| lending.lend(record, body.into(), note(&mut sent)),
        );
        sent
    }

    fn give_back(lending: &mut Lending, token: u32, sequence: u32, bytes: usize) -> Sent {
        let mut sent = Sent::new();
        let piece = Returned {
            token,
            sequence,
            bytes,
        };
        lending.returned(piece, note(&mut sent));
        sent
    }

    fn bytes_of(sent: &Sent) -> usize {
        sent.iter().map(|(_, bytes)| bytes).sum()
    }

    #[test]
    fn a_body_goes_in_pieces_as_its_window_allows_and_what_is_behind_waits_with_it() {
        let mut lending = Lending::default();
        let body = vec![1; LENT_WINDOW_BYTES + LENT_PIECE_BYTES + 5];
        let sent = lend(&mut lending, 7, 1, &body);
        assert_eq!(bytes_of(&sent), LENT_WINDOW_BYTES);
        assert!(lending.waits());
        let kept = |lending: &mut Lending, write: fn(&mut CommandWriter)| {
            with_record(write, |record, bytes| lending.keeps(record, bytes))
        };
        assert!(kept(&mut lending, |writer| writer.data(7, 1, 0, b"more")));
        assert!(kept(&mut lending, |writer| {
            writer.simple(command::SHUTDOWN, 1, 7);
        }));
        assert!(!kept(&mut lending, |writer| writer.data(7, 2, 0, b"another")));
        assert!(!kept(&mut lending, |writer| writer.data(8, 1, 0, b"other")));
        let sent = give_back(&mut lending, 7, 1, LENT_PIECE_BYTES);
        assert_eq!(sent, [(command::DATA, LENT_PIECE_BYTES)]);
        let sent = give_back(&mut lending, 7, 1, LENT_PIECE_BYTES);
        let kinds = [
            (command::DATA, 5),
            (command::DATA, 0),
            (command::SHUTDOWN, 0),
        ];
        assert_eq!(sent, kinds);
        assert!(!lending.waits() && !lending.is_empty());
        give_back(&mut lending, 7, 1, LENT_WINDOW_BYTES + 5 - LENT_PIECE_BYTES);
        assert!(lending.is_empty());
        assert_eq!(lending.away, 0);
    }

    #[test]
    fn later_answers_share_a_small_window_until_their_turn_comes() {
        let mut lending = Lending::default();
        let body = vec![1; 2 * LENT_WINDOW_BYTES];
        // The third and the second are given before the first.
        assert_eq!(
            bytes_of(&lend(&mut lending, 7, 3, &body)),
            LENT_WINDOW_BYTES
        );
        assert_eq!(
            bytes_of(&lend(&mut lending, 7, 2, &body)),
            LENT_WINDOW_BYTES
        );
        for sequence in 4..1000 {
            assert!(lend(&mut lending, 7, sequence, &body).is_empty());
        }
        assert_eq!(
            bytes_of(&lend(&mut lending, 7, 1, &body)),
            LENT_WINDOW_BYTES
        );
        // The engine thread sends them in their order; each gets on, and nothing is left at the end.
        let mut away: VecDeque<(u32, usize)> = VecDeque::new();
        away.push_back((1, LENT_WINDOW_BYTES));
        away.push_back((2, LENT_WINDOW_BYTES));
        away.push_back((3, LENT_WINDOW_BYTES));
        let mut total = 3 * LENT_WINDOW_BYTES;
        while let Some((sequence, bytes)) = away.pop_front() {
            let mut pieces = Vec::new();
            let piece = Returned {
                token: 7,
                sequence,
                bytes,
            };
            lending.returned(piece, |parcel| {
                if let Parcel::Piece { record, body } = parcel {
                    let record = Records::new(record).next().unwrap().unwrap();
                    pieces.push((record.sequence(), body.len()));
                }
            });
            total += pieces.iter().map(|(_, bytes)| bytes).sum::<usize>();
            for piece in pieces {
                let place = away.partition_point(|&(sequence, _)| sequence <= piece.0);
                away.insert(place, piece);
            }
            let waiting: usize = away.iter().map(|(_, bytes)| bytes).sum();
            assert!(waiting <= 4 * LENT_WINDOW_BYTES, "{waiting}");
        }
        assert_eq!(total, 999 * 2 * LENT_WINDOW_BYTES);
        assert!(lending.is_empty());
    }

    #[test]
    fn many_connections_share_what_may_be_on_its_way() {
        let mut lending = Lending::default();
        let body = vec![1; 2 * LENT_WINDOW_BYTES];
        for token in 1..=1000 {
            lend(&mut lending, token, 1, &body);
        }
        assert!(lending.away <= LENT_BYTES + LENT_WINDOW_BYTES + 1000 * LENT_SMALL_WINDOW_BYTES);
        for token in 1..=1000 {
            lending.forget(token);
        }
        let away = lending.away;
        give_back(&mut lending, 1, 1, away);
        assert!(lending.is_empty() && lending.away == 0);
    }

    #[test]
    fn while_much_is_on_its_way_each_answer_gets_a_piece_at_a_time_and_comes_to_its_end() {
        const WIDE: u32 = (LENT_BYTES / LENT_WINDOW_BYTES) as u32;
        let mut lending = Lending::default();
        let body = vec![1; 2 * LENT_WINDOW_BYTES];
        let mut away: VecDeque<(u32, usize)> = VecDeque::new();
        for token in 1..=WIDE + 4 {
            let sent = lend(&mut lending, token, 1, &body);
            let wide = token <= WIDE;
            let bytes = if wide {
                LENT_WINDOW_BYTES
            } else {
                LENT_SMALL_WINDOW_BYTES
            };
            assert_eq!(bytes_of(&sent), bytes, "{token}");
            assert!(sent.iter().all(|(_, bytes)| *bytes <= LENT_PIECE_BYTES));
            away.extend(sent.iter().map(|(_, bytes)| (token, *bytes)));
        }
        assert_eq!(lending.away, LENT_BYTES + 4 * LENT_SMALL_WINDOW_BYTES);
        // The last ones are sent first: that no other gets on does not stop them.
        away.rotate_right(4);
        let mut total = lending.away;
        while let Some((token, bytes)) = away.pop_front() {
            let sent = give_back(&mut lending, token, 1, bytes);
            if token > WIDE && lending.away > LENT_BYTES {
                assert!(bytes_of(&sent) <= LENT_PIECE_BYTES);
            }
            total += bytes_of(&sent);
            away.extend(sent.iter().map(|(_, bytes)| (token, *bytes)));
            assert!(lending.away <= LENT_BYTES + 4 * LENT_SMALL_WINDOW_BYTES);
        }
        assert_eq!(total, (WIDE as usize + 4) * body.len());
        assert!(lending.is_empty() && lending.away == 0);
    }

    #[test]
    fn what_waits_of_an_answer_that_is_given_up_is_let_go() {
        let mut lending = Lending::default();
        let body = vec![1; 2 * LENT_WINDOW_BYTES];
        lend(&mut lending, 7, 1, &body);
        assert!(lending.waits());
        let is_kept = with_record(
            |writer| writer.reset(7, 1),
            |record, bytes| lending.keeps(record, bytes),
        );
        assert!(!is_kept && !lending.waits());
        assert!(give_back(&mut lending, 7, 1, LENT_WINDOW_BYTES).is_empty());
        assert!(lending.is_empty());
    }

    #[test]
    fn a_body_whose_memory_has_gone_ends_its_connection() {
        use std::cell::Cell;
        use std::rc::Rc;
        /// Bytes that can be taken away.
        #[derive(Debug)]
        struct Taken(Vec<u8>, Rc<Cell<bool>>);
        impl portico_channel::LentBytes for Taken {
            fn bytes(&self) -> Option<&[u8]> {
                // As a detached `ArrayBuffer` shows: no bytes.
                Some(if self.1.get() { &[] } else { &self.0[..] })
            }
        }
        let gone = Rc::new(Cell::new(false));
        let body = vec![1; 2 * LENT_WINDOW_BYTES];
        let mut lending = Lending::default();
        let keep = || {
            let owner: Rc<dyn portico_channel::LentBytes> =
                Rc::new(Taken(body.clone(), Rc::clone(&gone)));
            Some(owner)
        };
        with_record(
            |writer| writer.data(7, 1, response_flag::END, b""),
            |record, _| lending.lend(record, External::lent(&body, &keep), |_| {}),
        );
        assert_eq!(give_back(&mut lending, 7, 1, 1).len(), 1);
        gone.set(true);
        assert_eq!(give_back(&mut lending, 7, 1, LENT_PIECE_BYTES), [(0, 0)]);
        assert!(lending.is_empty());
    }
}
