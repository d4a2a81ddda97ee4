use portico_channel::shared::ANSWER_WINDOW_BYTES;
use portico_channel::{CommandWriter, Records};

use super::*;

fn submit(windows: &mut AnswerWindows, write: impl FnOnce(&mut CommandWriter)) -> bool {
    let mut writer = CommandWriter::new();
    write(&mut writer);
    let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
    windows.admit(record, &[writer.as_bytes()])
}

#[test]
fn what_is_beyond_the_window_waits_for_credit_and_the_end_waits_behind_it() {
    let mut windows = AnswerWindows::default();
    let piece = vec![1; 64 * 1024];
    let mut sent = 0;
    while submit(&mut windows, |writer| writer.data(7, 1, 0, &piece)) {
        sent += 1;
    }
    assert_eq!(sent, 4);
    // Another answer of the connection, and another connection.
    assert!(submit(&mut windows, |writer| writer.data(7, 2, 0, &piece)));
    assert!(submit(&mut windows, |writer| writer.data(8, 1, 0, &piece)));
    assert!(!submit(&mut windows, |writer| writer.end(7, 1, 0, b"")));
    assert!(!submit(&mut windows, |writer| writer.write(
        1,
        command::Shutdown { token: 7 },
        &[]
    )));
    let mut kinds = Vec::new();
    windows.credit(7, 1, 2 * ANSWER_WINDOW_BYTES, Room::Left, |parcel| {
        let Parcel::Record(bytes) = parcel else {
            panic!("{parcel:?}");
        };
        kinds.push(Records::new(bytes).next().unwrap().unwrap().kind());
        Room::Left
    });
    assert_eq!(kinds, [command::DATA, command::END, command::SHUTDOWN]);
    windows.forget(Over::Connection(7));
    windows.forget(Over::Connection(8));
    assert!(windows.connections.is_empty());
}

#[test]
fn of_an_answer_that_is_given_up_nothing_is_kept_and_of_others_all() {
    let mut windows = AnswerWindows::default();
    let piece = vec![1; 64 * 1024];
    for sequence in [1, 2, 4] {
        while submit(&mut windows, |writer| writer.data(7, sequence, 0, &piece)) {}
    }
    assert!(submit(&mut windows, |writer| writer.reset(7, 2)));
    // This one its client has given up.
    windows.forget(Over::Exchange(7, 4));
    let mut kept = 0;
    for sequence in [1, 2, 4] {
        windows.credit(7, sequence, 2 * ANSWER_WINDOW_BYTES, Room::Left, |_| {
            kept += sequence;
            Room::Left
        });
    }
    assert_eq!(kept, 1);
}

#[test]
fn answers_that_are_complete_leave_nothing() {
    let mut windows = AnswerWindows::default();
    assert!(submit(&mut windows, |writer| writer.data(7, 1, 0, b"a")));
    assert!(submit(&mut windows, |writer| writer.end(7, 1, 0, b"")));
    assert!(submit(&mut windows, |writer| writer.end(9, 4, 0, b"")));
    assert!(windows.connections.is_empty());
}

#[test]
fn a_large_body_is_copied_only_as_far_as_the_window_reaches() {
    let mut windows = AnswerWindows::default();
    let body: Vec<u8> = (0..900_000u32).map(|index| (index / 7) as u8).collect();
    let mut writer = CommandWriter::new();
    writer.data(7, 1, response_flag::END, b"");
    let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
    let mut sent = Vec::new();
    windows.lend(record, body.as_slice().into(), Room::Left, |parcel| {
        note(&mut sent, parcel)
    });
    assert!(sent.len() < 2 * ANSWER_WINDOW_BYTES as usize);
    assert!(!submit(&mut windows, |writer| writer.write(
        1,
        command::Shutdown { token: 7 },
        &[]
    )));
    let mut granted = ANSWER_WINDOW_BYTES;
    while sent.len() < body.len() {
        let before = sent.len();
        granted += ANSWER_WINDOW_BYTES / 2;
        windows.credit(7, 1, granted, Room::Left, |parcel| note(&mut sent, parcel));
        assert!(sent.len() > before && sent.len() as u64 <= granted + PIECE_BYTES as u64);
    }
    assert_eq!(sent, body);
    assert!(windows.connections.is_empty());
}

#[test]
fn while_the_channel_is_full_bodies_stay_where_they_are_and_then_take_turns() {
    let mut windows = AnswerWindows::default();
    let body = vec![1u8; 3 * PIECE_BYTES];
    let mut copied = Vec::new();
    for token in [7, 8, 9] {
        let mut writer = CommandWriter::new();
        writer.data(token, 1, response_flag::END, b"");
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        // The first piece fills the channel.
        let room = if token == 7 { Room::Left } else { Room::Full };
        windows.lend(record, body.as_slice().into(), room, |parcel| {
            note(&mut copied, parcel);
            Room::Full
        });
    }
    assert_eq!(copied.len(), PIECE_BYTES);
    // Its window moves, too, while there is no room.
    windows.credit(7, 1, 2 * ANSWER_WINDOW_BYTES, Room::Full, |parcel| {
        note(&mut copied, parcel)
    });
    assert_eq!(copied.len(), PIECE_BYTES);
    let mut turns = Vec::new();
    while windows.has_stalled() {
        windows.send_stalled(|token, parcel| {
            turns.push(token);
            note(&mut copied, parcel);
            Room::Full
        });
    }
    assert_eq!(turns, [7, 8, 9, 7, 8, 9, 8, 9]);
    assert_eq!(copied.len(), 3 * body.len());
    assert!(windows.connections.is_empty());
}

#[test]
fn an_answer_that_waits_for_room_may_go_before_there_is_some() {
    let mut windows = AnswerWindows::default();
    let body = vec![1u8; PIECE_BYTES];
    for (token, sequence) in [(7, 1), (7, 2), (8, 1)] {
        let mut writer = CommandWriter::new();
        writer.data(token, sequence, 0, b"");
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        windows.lend(record, body.as_slice().into(), Room::Full, |_| {
            panic!("no room")
        });
    }
    windows.forget(Over::Exchange(7, 1));
    windows.forget(Over::Connection(8));
    let mut sent = Vec::new();
    while windows.has_stalled() {
        windows.send_stalled(|token, parcel| {
            sent.push(token);
            note(&mut Vec::new(), parcel)
        });
    }
    assert_eq!(sent, [7]);
}

/// Appends the body of a piece.
fn note(sent: &mut Vec<u8>, parcel: Parcel<'_>) -> Room {
    match parcel {
        Parcel::Piece { body, .. } => sent.extend_from_slice(body),
        Parcel::Record(record) => {
            let record = Records::new(record).next().unwrap().unwrap();
            assert_eq!(record.kind(), command::SHUTDOWN);
        }
        Parcel::Gone => panic!("nothing was taken away"),
    }
    Room::Left
}
