//! What any user may write to the host's control socket: bytes to lines, lines to requests, requests to the registry.
//!
//! The first byte says in what pieces the bytes arrive, and which user writes the first line. Lines are found as the
//! obvious model finds them; whatever users ask for in whatever order, the registry stays consistent.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use portico_host::lines::LineBuffer;
use portico_host::protocol::{Request, Reserve};
use portico_host::registry::{Owner, Registry};
use portico_host::users;

/// Lines of more bytes are refused, here.
const LINE_BYTES: usize = 512;
/// Requests of one input.
const MAX_REQUESTS: usize = 64;

fuzz_target!(|data: &[u8]| {
    let Some((&first, bytes)) = data.split_first() else {
        return;
    };
    let lines = lines_in_pieces(bytes, usize::from(first % 16) + 1);
    assert_eq!(lines, lines_at_once(bytes));
    let mut registry = Registry::default();
    let mut now = Instant::now();
    for (number, line) in lines.iter().take(MAX_REQUESTS).enumerate() {
        now += Duration::from_secs(u64::from(first >> 4));
        let user = (u32::from(first) + u32::try_from(number).unwrap_or(0)) % 3;
        if let Ok(request) = Request::parse(line) {
            // What is understood can be said again.
            let again = String::from_utf8(request.to_line()).unwrap();
            assert_eq!(Request::parse(again.trim_end()).as_ref(), Ok(&request));
            apply(&mut registry, request, user, now);
            check(&registry);
        }
    }
});

fn lines_in_pieces(bytes: &[u8], piece: usize) -> Vec<String> {
    let mut buffer = LineBuffer::with_limit(LINE_BYTES);
    let mut lines = Vec::new();
    for bytes in bytes.chunks(piece) {
        buffer.push(bytes);
        loop {
            match buffer.next_line() {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => break,
                Err(_) => return lines,
            }
        }
    }
    lines
}

fn lines_at_once(bytes: &[u8]) -> Vec<String> {
    let whole = |line: &[u8]| (line.len() < LINE_BYTES).then(|| String::from_utf8(line.to_vec()).ok())?;
    let mut lines: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
    // What follows the last line end is no line yet.
    lines.pop();
    lines.into_iter().map_while(whole).collect()
}

fn apply(registry: &mut Registry, request: Request, user: u32, now: Instant) {
    let owner = Owner {
        uid: 10_000 + user,
        gids: vec![20_000 + user],
    };
    match request {
        Request::Register(register) => {
            if let Ok(prefix) = users::parse_prefix(&register.prefix) {
                let allowed = registry.check(&prefix, &owner);
                let registered = registry.register(&prefix, owner, register.process);
                assert_eq!(allowed.is_ok(), registered.is_ok());
            }
        }
        Request::Leave => {
            let oldest = registry.members().keys().next().copied();
            oldest.map(|member| registry.leave(now, member));
        }
        Request::Status => {
            let newest = registry.members().keys().next_back().copied();
            newest.map(|member| registry.gone(now, member));
        }
        Request::Stop { .. } => drop(registry.expire(now)),
        Request::Reserve(Reserve::Add(mut record)) => {
            // Names would be looked up in this machine's databases.
            record.users.retain(|name| name.parse::<u32>().is_ok());
            record.groups.retain(|name| name.parse::<u32>().is_ok());
            if let Ok(reservation) = users::reservation(&record) {
                let mut rules = registry.rules().clone();
                if rules.reservations.add(reservation).is_ok() {
                    let before = registry.routes().table.len();
                    if registry.apply(rules).is_err() {
                        assert_eq!(registry.routes().table.len(), before);
                    }
                }
            }
        }
        _ => {}
    }
}

fn check(registry: &Registry) {
    let routes = registry.routes();
    assert_eq!(routes.table.len(), registry.queues().len());
    for (id, queue) in registry.queues() {
        assert_eq!(routes.table.get_exact(&queue.prefix), Some(id));
        for member in &queue.members {
            let member = &registry.members()[member];
            assert!(member.queue == *id && !member.leaving);
        }
    }
    for member in registry.members().values().filter(|member| !member.leaving) {
        assert!(registry.queues().contains_key(&member.queue));
    }
}
