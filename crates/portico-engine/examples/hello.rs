//! A server that answers every request with 200 "Hello, world!" through the same records as JavaScript does.
//!
//! Shows what the engine costs without JavaScript: `cargo run --release -p portico-engine --example hello -- 8080`,
//! with a second number on so many threads of the engine.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use portico_channel::layout::{event, request_flag, response_flag};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_engine::{ListenerOptions, Shard, ThreadedEngine, TurnOutcome};
use portico_sys::{Epoll, Interest, ReadyList};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const EVENT_BYTES: usize = 64 * 1024;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let port = arguments
        .next()
        .map_or(Ok(8080), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("http://{}", listener.local_addr()?);
    match arguments.next() {
        Some(threads) => threaded(listener.into(), threads.parse()?),
        None => inline(listener.into()),
    }
}

fn inline(listener: OwnedFd) -> Result<()> {
    let mut shard = Shard::new()?;
    shard.listen(listener, 511, ListenerOptions::default())?;
    let mut memory = vec![0u8; EVENT_BYTES];
    let mut commands = CommandWriter::new();
    keep_head(&mut commands);
    shard.apply(commands.as_bytes(), None)?;
    loop {
        let mut events = EventWriter::new(&mut memory);
        shard.turn(Some(Duration::from_secs(60)), &mut events);
        commands.clear();
        answer_all(events.written(), &mut commands);
        shard.apply(commands.as_bytes(), None)?;
    }
}

fn threaded(listener: OwnedFd, threads: usize) -> Result<()> {
    let mut engine = ThreadedEngine::new(threads)?;
    engine.listen(listener, 511, ListenerOptions::default())?;
    let readiness = Epoll::new()?;
    // As libuv does with a descriptor that is not its own: level-triggered.
    readiness.add(&engine, 0, Interest::Readable)?;
    let mut ready = ReadyList::new(1);
    let mut memory = vec![0u8; EVENT_BYTES];
    let mut commands = CommandWriter::new();
    keep_head(&mut commands);
    loop {
        let mut events = EventWriter::new(&mut memory);
        let outcome = engine.take(&mut events);
        answer_all(events.written(), &mut commands);
        engine.submit(commands.as_bytes(), None)?;
        commands.clear();
        if outcome == TurnOutcome::Idle {
            readiness.wait(&mut ready, None, |_| {})?;
        }
    }
}

fn keep_head(commands: &mut CommandWriter) {
    commands.template(1, b"OK", b"Content-Type: text/plain\r\n");
}

fn answer_all(events: &[u8], commands: &mut CommandWriter) {
    for record in Records::new(events).flatten() {
        if record.kind() == event::REQUEST {
            answer(commands, record.token(), record.sequence(), record.flags());
        }
    }
}

fn answer(commands: &mut CommandWriter, token: u32, sequence: u32, request: u32) {
    let keep = request & request_flag::KEEP_ALIVE != 0;
    let connection = if keep {
        response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE
    } else {
        response_flag::CONNECTION_CLOSE | response_flag::CLOSE
    };
    let body = b"Hello, world!";
    let response = Response {
        status: 200,
        flags: response_flag::END
            | response_flag::DATE
            | response_flag::CONTENT_LENGTH
            | connection,
        template: 1,
        body,
        content_length: body.len() as u64,
        ..Response::default()
    };
    commands.respond(token, sequence, &response);
}
