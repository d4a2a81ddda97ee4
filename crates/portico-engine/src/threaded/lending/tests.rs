#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

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
        writer.write(1, command::Shutdown { token: 7 }, &[]);
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
    // The same where the peer has given it up.
    lend(&mut lending, 7, 3, &body);
    lending.give_up(7, 3);
    assert!(!lending.waits());
    assert!(give_back(&mut lending, 7, 3, LENT_WINDOW_BYTES).is_empty());
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
