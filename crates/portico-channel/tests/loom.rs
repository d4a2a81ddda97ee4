//! All interleavings of the ring and of falling asleep: `RUSTFLAGS="--cfg loom" cargo test -p portico-channel --test
//! loom --release`.
#![cfg(loom)]

use loom::sync::atomic::{AtomicBool, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
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
fn nobody_sleeps_over_a_record() {
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
