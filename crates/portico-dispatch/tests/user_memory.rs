//! What members of one user have the host keep, all of them together. Alone in its process: resident memory is measured.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portico_channel::CommandWriter;
use portico_channel::layout::command;
use portico_dispatch::{BreakReason, BrokenMember, QueueOptions, UserMemory};
use portico_engine::ListenerOptions;
use support::{App, Host, RawMember, resident, until};

/// One at a time, for the measurements.
static ALONE: Mutex<()> = Mutex::new(());

/// A host with an application that behaves, and a prefix for those that don't.
fn host() -> (Host, App) {
    let mut host = Host::new();
    host.route("/good/", 1, QueueOptions::default());
    let good = host.app(1);
    host.route("/raw/", 3, QueueOptions::default());
    (host, good)
}

fn still_serves(host: &Host, good: &mut App) {
    let mut client = host.connect();
    client.get("/good/");
    let request = good.request();
    good.answer(&request, "good");
    assert_eq!(client.answer().text(), "good");
}

/// Has members of one user write until one of them is dropped, or each has written `each` bytes. Returns how many bytes
/// they have got in by then, and who was dropped.
fn write_until_dropped(
    host: &Host,
    members: &mut [RawMember],
    each: usize,
    record: impl Fn(usize) -> Vec<u8>,
) -> (usize, Vec<BrokenMember>) {
    let mut total = 0;
    for member in members {
        let mut sent = 0;
        while sent < each {
            let bytes = record(sent);
            if member.write(&bytes) {
                sent += bytes.len();
                continue;
            }
            let broken = host.shards[0].broken_members();
            if !broken.is_empty() {
                return (total + sent, broken);
            }
            std::thread::yield_now();
        }
        total += sent;
    }
    let mut broken = Vec::new();
    until(|| {
        broken.extend(host.shards[0].broken_members());
        !broken.is_empty()
    });
    (total, broken)
}

#[test]
fn unfinished_records_of_one_user_are_bounded_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut host, mut good) = host();
    let user = UserMemory::limited();
    let mut members: Vec<_> = (0..8)
        .map(|_| RawMember::attach_of(&mut host, 3, Arc::clone(&user)))
        .collect();
    let mut other = RawMember::attach(&mut host, 3);
    let part = |_| {
        let mut writer = CommandWriter::new();
        let piece = vec![7u8; 256 * 1024];
        let piece_bytes = piece.len() as u32;
        writer.write(0, command::Part { piece_bytes }, &[&piece]);
        writer.as_bytes().to_vec()
    };
    let before = resident();
    let (sent, broken) = write_until_dropped(&host, &mut members, 15 << 20, part);
    // Eight might have 128 MiB. The fifth is the first for which there is no room, whatever it has written since.
    assert!((60 << 20..80 << 20).contains(&sent), "{sent}");
    let reason = BreakReason::UserMemory;
    assert_eq!(
        broken,
        [BrokenMember {
            id: members[4].id,
            reason
        }]
    );
    let kept = resident().saturating_sub(before);
    assert!(kept < 96 << 20, "{kept}");
    // Another user's are counted by themselves; what the first one's member had is free again when it goes.
    for member in members.iter().take(4) {
        host.shards[0].detach(member.id);
    }
    drop(members);
    for _ in 0..40 {
        until(|| other.write(&part(0)));
    }
    let mut again = RawMember::attach_of(&mut host, 3, user);
    let mut writer = CommandWriter::new();
    writer.unlisted(99, 0, &[0], &[]);
    for _ in 0..40 {
        until(|| again.write(&part(0)));
    }
    until(|| again.write(writer.as_bytes()));
    // It breaks by its own record, not for want of memory; the other one not at all.
    let mut broken = Vec::new();
    until(|| {
        broken.extend(host.shards[0].broken_members());
        !broken.is_empty()
    });
    let (id, reason) = (again.id, BreakReason::Rules);
    assert_eq!(broken, [BrokenMember { id, reason }]);
    still_serves(&host, &mut good);
}

#[test]
fn templates_of_one_user_are_bounded_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut host, mut good) = host();
    let user = UserMemory::limited();
    let mut members: Vec<_> = (0..18)
        .map(|_| RawMember::attach_of(&mut host, 3, Arc::clone(&user)))
        .collect();
    let lines = format!("x: {}\r\n", "y".repeat((64 << 10) - 64));
    let template = |sent: usize| {
        let mut writer = CommandWriter::new();
        let number = (sent / lines.len() % 255 + 1) as u32;
        writer.template(number, b"OK", lines.as_bytes());
        writer.as_bytes().to_vec()
    };
    // Numbers that are used again and again cost what they cost once.
    for sent in 0..1000 {
        let bytes = template(sent % 10 * lines.len());
        until(|| members[17].write(&bytes));
    }
    let before = resident();
    let (sent, broken) = write_until_dropped(&host, &mut members[..17], 16 << 20, template);
    assert!((250 << 20..260 << 20).contains(&sent), "{sent}");
    let reason = BreakReason::UserMemory;
    assert_eq!(
        broken,
        [BrokenMember {
            id: members[16].id,
            reason
        }]
    );
    let kept = resident().saturating_sub(before);
    assert!(kept < 300 << 20, "{kept}");
    still_serves(&host, &mut good);
}

#[test]
fn requests_that_members_of_one_user_have_not_taken_are_bounded_together() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let large = ListenerOptions {
        max_header_size: 64 * 1024,
        ..ListenerOptions::default()
    };
    let mut host = Host::with(1, large);
    let options = QueueOptions {
        length: 10_000,
        wait: Duration::from_secs(60),
        ..QueueOptions::default()
    };
    host.route("/raw/", 3, options);
    let user = UserMemory::limited();
    let members: Vec<_> = (0..12)
        .map(|_| RawMember::attach_of(&mut host, 3, Arc::clone(&user)))
        .collect();
    let value = "v".repeat(60_000);
    let request = format!("GET /raw/ HTTP/1.1\r\nHost: a\r\nX-Large: {value}\r\n\r\n");
    let mut clients: Vec<_> = (0..300).map(|_| host.connect()).collect();
    for client in &mut clients {
        client.send(request.repeat(8));
    }
    let given = |host: &Host| {
        let stats = host.shards[0].stats();
        let given: u32 = stats.members.iter().map(|member| member.untaken).sum();
        (given, stats.queues[0].waiting)
    };
    until(|| {
        let (given, waiting) = given(&host);
        given + waiting == 2400
    });
    // Twelve might have 192 MiB, and none of them is dropped.
    let bytes = given(&host).0 as usize * request.len();
    assert!((50 << 20..130 << 20).contains(&bytes), "{bytes}");
    assert!(host.shards[0].broken_members().is_empty());
    // Another user's member gets what waits, and so does one of the user's that is not behind.
    let (before, _) = given(&host);
    let mut same = RawMember::attach_of(&mut host, 3, user);
    same.request();
    let mut other = RawMember::attach(&mut host, 3);
    other.request();
    until(|| given(&host).0 > before + 8);
    // What a member had that goes is free for the others.
    let (before, _) = given(&host);
    for member in &members[..6] {
        host.shards[0].detach(member.id);
    }
    until(|| given(&host).0 >= before);
}
