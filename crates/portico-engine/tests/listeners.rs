//! Listeners and where connections come from: closed ones, adopted sockets, Unix sockets, IPv6.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::Read;
use std::time::Duration;

use portico_channel::layout::{event, open_flag};
use portico_engine::ListenerOptions;
use support::{Server, read_answer, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

#[test]
fn a_closed_listener_refuses_and_its_connections_live_on() {
    let mut server = Server::new();
    let mut client = server.connect();
    server.turn(Duration::from_millis(100));
    server.shard.close_listener(server.listener);
    assert!(std::net::TcpStream::connect(server.address).is_err());
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    assert_eq!(read_answer(&mut client).1, b"x");
}

#[test]
fn an_adopted_socket_is_a_connection() {
    let mut server = Server::new();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = std::net::TcpStream::connect(outside.local_addr().unwrap()).unwrap();
    let (socket, _) = outside.accept().unwrap();
    let listener = server.shard.create_listener(ListenerOptions::default());
    server.shard.adopt(listener, socket.into()).unwrap();
    send(&mut client, GET);
    let request = server.request();
    server.answer(&request, b"x");
    assert_eq!(read_answer(&mut client).1, b"x");
    assert_eq!(server.shard.connection_count(listener), 1);
}

#[test]
fn a_unix_socket_serves_too() {
    let path = std::env::temp_dir().join(format!("portico-engine-{}.sock", std::process::id()));
    let socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let mut server = Server::new();
    server
        .shard
        .listen(socket.into(), 16, ListenerOptions::default())
        .unwrap();
    let mut client = std::os::unix::net::UnixStream::connect(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::io::Write::write_all(&mut client, GET.as_bytes()).unwrap();
    let events = server.until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    assert_eq!(
        (events[0].kind, events[0].flags),
        (event::OPEN, open_flag::UNIX)
    );
    let ends = events[0].read::<event::Open>().endpoints;
    assert_eq!((ends.remote_family, ends.local_family), (0, 0));
    server.answer(&events[1], b"x");
    let mut answer = [0; 39];
    client.read_exact(&mut answer).unwrap();
    assert!(answer.ends_with(b"x"));
}

#[test]
fn ipv6_addresses_are_told() {
    let socket = std::net::TcpListener::bind("[::1]:0").unwrap();
    let address = socket.local_addr().unwrap();
    let mut server = Server::new();
    server
        .shard
        .listen(socket.into(), 16, ListenerOptions::default())
        .unwrap();
    let mut client = std::net::TcpStream::connect(address).unwrap();
    send(&mut client, GET);
    let open = server.next(event::OPEN);
    let ends = open.read::<event::Open>().endpoints;
    assert_eq!((ends.remote_family, ends.local_family), (6, 6));
    let loopback = std::net::Ipv6Addr::LOCALHOST.octets();
    assert_eq!(
        (ends.remote_address, ends.local_address),
        (loopback, loopback)
    );
}
