//! Requests through a shard and a channel to an application in this process, for counting instructions:
//!
//! `cargo build --profile quick -p portico-dispatch --features rustix/use-libc-auxv --example hello_through_a_channel`,
//! `valgrind --tool=callgrind --separate-threads=yes hello_through_a_channel 2500`, and again with 500: the second
//! thread is the host's; the difference counts. Without that feature rustix reads an address that valgrind hides.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use portico_application::AttachedEngine;
use portico_channel::layout::{event, response_flag as flag};
use portico_channel::shared::{Capacity, HostEnd};
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_dispatch::{Endpoint, MemberId, NewMember, QueueId, Routes, ShardThread, UserMemory};
use portico_engine::ListenerOptions;
use portico_router::{Scheme, UrlPrefix};
use portico_sys::bell;

const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: localhost:8080\r\nConnection: keep-alive\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: u32 = std::env::args()
        .nth(1)
        .map_or(Ok(10_000), |text| text.parse())?;
    let socket = TcpListener::bind("127.0.0.1:0")?;
    let address = socket.local_addr()?;
    socket.set_nonblocking(true)?;
    let shard = ShardThread::start_all(1)?.remove(0);
    let endpoint = Endpoint {
        scheme: Scheme::Http,
        port: address.port(),
    };
    shard.listen(socket.into(), ListenerOptions::default(), endpoint)?;
    let mut routes = Routes::default();
    let prefix = UrlPrefix::parse(&format!("http://*:{}/", address.port()))?;
    routes.table.insert(prefix, QueueId(1))?;
    shard.set_routes(Arc::new(routes));
    let mut engine = attach(&shard)?;
    let mut memory = vec![0; 64 * 1024];
    let mut client = TcpStream::connect(address)?;
    client.set_nodelay(true)?;
    let mut commands = CommandWriter::new();
    commands.template(1, b"OK", b"Content-Type: text/plain\r\n");
    let mut answer = [0; 1024];
    for _ in 0..count {
        client.write_all(REQUEST)?;
        let mut answered = false;
        while !answered {
            let mut events = EventWriter::new(&mut memory);
            engine.take(&mut events);
            for record in Records::new(events.written()).flatten() {
                if record.kind() == event::REQUEST {
                    commands.respond(record.token(), record.sequence(), &hello());
                    answered = true;
                }
            }
            std::thread::yield_now();
        }
        engine.submit(commands.as_bytes(), None)?;
        commands.clear();
        let length = client.read(&mut answer)?;
        assert!(
            answer
                .get(..length)
                .is_some_and(|bytes| bytes.ends_with(b"Hello, world!"))
        );
    }
    Ok(())
}

fn hello() -> Response<'static> {
    Response {
        status: 200,
        flags: flag::END
            | flag::DATE
            | flag::CONTENT_LENGTH
            | flag::CONNECTION_KEEP_ALIVE
            | flag::KEEP_ALIVE,
        template: 1,
        body: b"Hello, world!",
        content_length: 13,
        ..Response::default()
    }
}

fn attach(shard: &ShardThread) -> Result<AttachedEngine, Box<dyn std::error::Error>> {
    let (end, memory) = HostEnd::create(Capacity {
        events: 1 << 20,
        commands: 1 << 20,
    })?;
    let (host_ringer, app_bell) = bell()?;
    let (ringer, host_bell) = bell()?;
    shard.attach(NewMember {
        id: MemberId(1),
        queue: QueueId(1),
        end,
        bell: host_bell,
        ringer: Arc::new(host_ringer),
        load: Arc::default(),
        memory: UserMemory::unlimited(),
    })?;
    Ok(AttachedEngine::open(app_bell, vec![(memory, ringer)])?)
}
