//! All interleavings of the ring, of the streams between processes and of falling asleep:
//! `RUSTFLAGS="--cfg loom" cargo test -p portico-channel --test loom --release`.
#![cfg(loom)]

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use portico_channel::shared::{Capacity, pair};
use portico_channel::{Sleeper, ring};

const RECORD: [u8; 12] = [12, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0];

#[test]
fn bytes_are_seen_after_they_are_written_and_written_over_after_they_are_read() {
    loom::model(|| {
        let (mut writer, mut reader) = ring(64);
        // All but two records' room is used up, so that the third wraps around.
        writer.reserve(40).unwrap()[..4].copy_from_slice(&[40, 0, 0, 0]);
        writer.commit(40);
        reader.consume(40);
        let sender = loom::thread::spawn(move || {
            for _ in 0..3 {
                loop {
                    if let Some(space) = writer.reserve(12) {
                        space[..12].copy_from_slice(&RECORD);
                        writer.commit(12);
                        break;
                    }
                    loom::thread::yield_now();
                }
            }
        });
        for _ in 0..3 {
            loop {
                let bytes = reader.peek();
                if !bytes.is_empty() {
                    assert_eq!(bytes[..12], RECORD);
                    reader.consume(12);
                    break;
                }
                loom::thread::yield_now();
            }
        }
        sender.join().unwrap();
    });
}

/// An eventfd for loom.
#[derive(Default)]
struct Bell {
    rung: Mutex<bool>,
    changed: Condvar,
}

#[test]
fn no_side_sleeps_over_a_record() {
    loom::model(|| {
        let (mut writer, mut reader) = ring(64);
        let sleeper = Arc::new(Sleeper::default());
        let bell = Arc::new(Bell::default());
        let done = Arc::new(AtomicBool::new(false));
        let sender = {
            let (sleeper, bell) = (Arc::clone(&sleeper), Arc::clone(&bell));
            loom::thread::spawn(move || {
                writer.reserve(12).unwrap()[..12].copy_from_slice(&RECORD);
                writer.commit(12);
                if sleeper.must_be_woken() {
                    *bell.rung.lock().unwrap() = true;
                    bell.changed.notify_one();
                }
            })
        };
        sleeper.fall_asleep();
        if reader.is_empty() {
            // A lost wake-up is a deadlock here, which loom reports.
            let mut rung = bell.rung.lock().unwrap();
            while !*rung {
                rung = bell.changed.wait(rung).unwrap();
            }
        }
        sleeper.wake_up();
        assert_eq!(reader.peek()[..12], RECORD);
        done.store(true, Ordering::Relaxed);
        sender.join().unwrap();
    });
}

const SMALL: Capacity = Capacity {
    events: 4096,
    commands: 4096,
};

/// Two records of three quarters of the memory: the second wraps around and writes over the first.
#[test]
fn what_a_process_reads_is_what_the_other_wrote() {
    loom::model(|| {
        let (mut host, mut application) = pair(SMALL).unwrap();
        let writer = loom::thread::spawn(move || {
            for round in 1..=2u8 {
                while !host.events.write(&[round; 3072]).unwrap() {
                    loom::thread::yield_now();
                }
            }
        });
        let mut bytes = [0; 3072];
        for round in 1..=2u8 {
            while application.events.copy(&mut bytes).unwrap() < bytes.len() {
                loom::thread::yield_now();
            }
            assert_eq!(bytes, [round; 3072]);
            application.events.take(bytes.len()).unwrap();
        }
        writer.join().unwrap();
    });
}

/// Rings, or waits until it has been rung.
fn wake(bell: &Bell) {
    *bell.rung.lock().unwrap() = true;
    bell.changed.notify_one();
}

fn wait(bell: &Bell) {
    let mut rung = bell.rung.lock().unwrap();
    while !*rung {
        rung = bell.changed.wait(rung).unwrap();
    }
    *rung = false;
}

#[test]
fn no_process_sleeps_over_a_command() {
    loom::model(|| {
        let (mut host, mut application) = pair(SMALL).unwrap();
        let bell = Arc::new(Bell::default());
        // As a member is attached: it must ring from the first command on.
        host.host().fall_asleep();
        let rings = Arc::clone(&bell);
        let writer = loom::thread::spawn(move || {
            for _ in 0..2 {
                assert!(application.commands.write(&RECORD).unwrap());
                if application.host().must_be_woken() {
                    wake(&rings);
                }
            }
        });
        let mut taken = 0;
        while taken < 24 {
            host.host().fall_asleep();
            let there = host.commands.available().unwrap();
            if there == 0 {
                wait(&bell);
            }
            host.host().wake_up();
            let there = host.commands.available().unwrap();
            host.commands.take(there).unwrap();
            taken += there;
        }
        writer.join().unwrap();
    });
}

/// The writer finds no room, says so, and looks again before it waits; the reader rings when it has made room.
#[test]
fn who_waits_for_room_is_woken_when_there_is_some() {
    loom::model(|| {
        let (mut host, mut application) = pair(SMALL).unwrap();
        let bell = Arc::new(Bell::default());
        let rings = Arc::clone(&bell);
        assert!(host.events.write(&[1; 4096]).unwrap());
        let reader = loom::thread::spawn(move || {
            application.events.take(4096).unwrap();
            if application.host_wants_room().must_be_woken() {
                wake(&rings);
            }
            application
        });
        if !host.events.write(&RECORD).unwrap() {
            host.wants_room().fall_asleep();
            while !host.events.write(&RECORD).unwrap() {
                wait(&bell);
            }
        }
        let application = reader.join().unwrap();
        assert_eq!(application.events.available(), Ok(12));
    });
}
