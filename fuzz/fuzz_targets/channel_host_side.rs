//! Anything in the host's side of a channel: the application's end neither panics nor lets through a record that is
//! not whole.

#![no_main]

use std::os::fd::AsFd;

use libfuzzer_sys::fuzz_target;
use portico_application::AttachedEngine;
use portico_channel::shared::{Capacity, HostEnd};
use portico_channel::{CommandWriter, EventWriter, Records};
use portico_sys::bell;

fuzz_target!(|input: &[u8]| {
    let capacity = Capacity {
        events: 4096,
        commands: 4096,
    };
    let Ok((mut host, memory)) = HostEnd::create(capacity) else {
        return;
    };
    let copy = memory.as_fd().try_clone_to_owned().unwrap();
    let (_host_ringer, app_bell) = bell().unwrap();
    let (ringer, _host_bell) = bell().unwrap();
    let mut engine = AttachedEngine::open(app_bell, vec![(memory, ringer)]).unwrap();
    let mut space = vec![0; 8192];
    for piece in input.split(|byte| *byte == 0xff) {
        let Some((first, rest)) = piece.split_first() else {
            continue;
        };
        match first % 4 {
            0 => {
                let _ = host.events.write(rest);
            }
            1 => {
                let place = u64::from(*first) * 64 % 12_288;
                let _ = rustix::io::pwrite(&copy, rest, place);
            }
            2 => {
                let mut commands = CommandWriter::new();
                commands.data(7, 1, 0, rest);
                let _ = engine.submit(commands.as_bytes(), None);
            }
            _ => {}
        }
        let mut events = EventWriter::new(&mut space);
        engine.take(&mut events);
        for record in Records::new(events.written()) {
            assert!(record.is_ok());
        }
    }
});
