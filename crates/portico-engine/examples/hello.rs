//! A server that answers every request with 200 "Hello, world!" through the same records as JavaScript does.
//!
//! Shows what the engine costs without JavaScript: `cargo run --release -p portico-engine --example hello -- 8080`.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::time::Duration;

use portico_channel::layout::{event, request_flag, response_flag};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_engine::{ListenerOptions, Shard};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args()
        .nth(1)
        .map_or(Ok(8080), |port| port.parse::<u16>())?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    println!("http://{}", listener.local_addr()?);
    let mut shard = Shard::new()?;
    shard.listen(OwnedFd::from(listener), 511, ListenerOptions::default())?;
    let mut memory = vec![0u8; 64 * 1024];
    let mut commands = CommandWriter::new();
    commands.template(1, b"OK", b"Content-Type: text/plain\r\n");
    shard.apply(commands.as_bytes(), None)?;
    loop {
        let mut events = EventWriter::new(&mut memory);
        shard.turn(Some(Duration::from_secs(60)), &mut events);
        commands.clear();
        for record in Records::new(events.written()).flatten() {
            if record.kind() == event::REQUEST {
                answer(
                    &mut commands,
                    record.word(2),
                    record.word(3),
                    record.flags(),
                );
            }
        }
        shard.apply(commands.as_bytes(), None)?;
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
