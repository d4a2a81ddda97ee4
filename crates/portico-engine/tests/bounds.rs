//! What becomes of connections and heads beyond the engine's bounds, and of others meanwhile.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use portico_channel::layout::{command, event};
use portico_engine::ListenerOptions;
use portico_http::ParseErrorCode;
use support::{Event, Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

fn serve(server: &mut Server, client: &mut TcpStream) -> Event {
    send(client, GET);
    let request = server.request();
    server.answer(&request, b"served");
    assert_eq!(read_answer(client).1, b"served");
    request
}

#[test]
fn a_connection_for_which_there_is_no_slot_is_closed_and_the_others_are_served() {
    let options = ListenerOptions {
        notify_open: true,
        ..ListenerOptions::default()
    };
    let mut server = Server::with_slots(options, 2);
    let (mut first, mut second) = (server.connect(), server.connect());
    server.collect(event::OPEN, 2);
    let mut beyond = server.connect();
    send(&mut beyond, GET);
    // Nothing is told of it.
    assert!(server.settle().is_empty());
    assert_eq!(beyond.read(&mut [0]).unwrap_or(0), 0);
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(outside.local_addr().unwrap()).unwrap();
    let (socket, _) = outside.accept().unwrap();
    let refused = server.shard.adopt(server.listener, socket.into());
    let errno = refused.unwrap_err().raw_os_error();
    assert_eq!(errno, Some(portico_sys::Errno::NFILE.raw_os_error()));
    assert_eq!(server.shard.connection_count(server.listener), 2);
    assert_eq!(server.shard.counters().connections_open, 2);
    let request = serve(&mut server, &mut first);
    serve(&mut server, &mut second);
    // The end of one makes room for one.
    server.commands.write(
        0,
        command::Destroy {
            token: request.token,
        },
        &[],
    );
    server.submit();
    server.next(event::CLOSED);
    let mut third = server.connect();
    assert_ne!(serve(&mut server, &mut third).token, request.token);
    assert_eq!(server.shard.counters().connections_open, 2);
}

#[test]
fn a_head_beyond_what_an_event_can_hold_is_refused_whatever_the_listener_allows() {
    const MOST: usize = 8 * 1024 * 1024;
    const MARGIN: usize = 64 * 1024;
    let mut server = Server::with(ListenerOptions {
        max_header_size: 8 * MOST,
        ..ListenerOptions::default()
    });
    let mut other = server.connect();
    for bytes in [MOST - MARGIN, MOST + MARGIN] {
        let mut client = server.connect();
        let mut sending = client.try_clone().unwrap();
        let (go_on, may_go_on) = mpsc::channel();
        let before = server.shard.counters().bytes_read + (bytes / 2) as u64;
        let sender = std::thread::spawn(move || {
            send(&mut sending, "GET / HTTP/1.1\r\nHost: x\r\nLong: ");
            send(&mut sending, vec![b'v'; bytes / 2]);
            may_go_on.recv().unwrap();
            send(&mut sending, vec![b'v'; bytes / 2]);
            send(&mut sending, "\r\n\r\n");
        });
        while server.shard.counters().bytes_read < before {
            server.turn(Duration::from_millis(20));
        }
        serve(&mut server, &mut other);
        go_on.send(()).unwrap();
        if bytes < MOST {
            let request = server.request();
            assert_eq!(request.field(1).1.len(), bytes);
            server.answer(&request, b"long");
            assert_eq!(read_answer(&mut client).1, b"long");
        } else {
            let error = server.next(event::CLIENT_ERROR);
            let code = ParseErrorCode::HeaderOverflow.number();
            assert_eq!(error.read::<event::ClientError>().code, u32::from(code));
            assert!(error.packet().len() <= MOST + MARGIN);
            while !sender.is_finished() {
                server.turn(Duration::from_millis(5));
            }
        }
        sender.join().unwrap();
    }
    serve(&mut server, &mut other);
}
