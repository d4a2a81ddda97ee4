//! TLS connections over real sockets, with rustls as the client.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use portico_channel::layout::response_flag as flag;
use portico_channel::layout::{command, event, scheme, timeout_kind};
use portico_engine::ListenerOptions;
use portico_tls::{Context, ContextOptions, Identity};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use support::{Event, Server, send};

const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

/// A self-signed certificate for these names, and the context with it.
fn identity(names: &[&str]) -> (CertificateDer<'static>, ContextOptions) {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let der = made.cert.der().clone();
    let identity = Identity {
        chain: vec![der.to_vec()],
        key: made.signing_key.serialize_der(),
    };
    (
        der,
        ContextOptions {
            identities: vec![identity],
            ..ContextOptions::default()
        },
    )
}

fn client_config(certificates: &[CertificateDer<'static>], alpn: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates {
        roots.add(certificate.clone()).unwrap();
    }
    let mut config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

type Tls = StreamOwned<ClientConnection, TcpStream>;

struct Secure {
    server: Server,
    certificate: CertificateDer<'static>,
}

impl Secure {
    fn new(change: impl FnOnce(&mut ListenerOptions, &mut ContextOptions)) -> Self {
        let (certificate, mut context) = identity(&["localhost"]);
        let mut options = ListenerOptions {
            tls: 1,
            ..ListenerOptions::default()
        };
        change(&mut options, &mut context);
        let server = Server::with_context(options, Some(Context::new(&context).unwrap()));
        Self {
            server,
            certificate,
        }
    }

    /// A client whose blocking work runs on a thread, so that the test can drive the server.
    fn client<T: Send + 'static>(
        &self,
        name: &'static str,
        alpn: &[&str],
        work: impl FnOnce(Tls) -> T + Send + 'static,
    ) -> std::thread::JoinHandle<T> {
        let config = client_config(std::slice::from_ref(&self.certificate), alpn);
        let stream = self.server.connect();
        std::thread::spawn(move || {
            let name = ServerName::try_from(name).unwrap();
            work(StreamOwned::new(
                ClientConnection::new(config, name).unwrap(),
                stream,
            ))
        })
    }
}

/// Drives the server until the client is through, and returns what came meanwhile.
fn finish<T>(server: &mut Server, client: std::thread::JoinHandle<T>) -> (T, Vec<Event>) {
    let mut events = Vec::new();
    while !client.is_finished() {
        events.extend(server.turn(Duration::from_millis(5)));
    }
    events.extend(server.settle());
    (client.join().unwrap(), events)
}

fn get(tls: &mut Tls, expected: usize) -> Vec<u8> {
    tls.write_all(GET.as_bytes()).unwrap();
    let mut body = vec![0; expected];
    tls.read_exact(&mut body).unwrap();
    body
}

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn requests_and_answers_go_through_tls() {
    let mut secure = Secure::new(|_, _| {});
    let client = secure.client("localhost", &[], |mut tls| {
        for _ in 0..3 {
            assert_eq!(get(&mut tls, HEAD.len()), HEAD.as_bytes());
        }
        tls.conn.send_close_notify();
        tls.flush().unwrap();
        let mut rest = Vec::new();
        tls.read_to_end(&mut rest).unwrap();
        rest
    });
    let events = secure
        .server
        .until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [event::OPEN, event::SECURE, event::REQUEST]);
    let request = events.last().unwrap().read::<event::Request>();
    assert_eq!(u32::from(request.scheme), scheme::HTTPS);
    let done = events[1].read::<event::Secure>();
    assert_eq!(done.version, 0x0304);
    assert_eq!(done.bytes(done.server_name), b"localhost");
    secure.server.answer(&events[2], b"hello");
    for _ in 0..2 {
        let request = secure.server.request();
        secure.server.answer(&request, b"hello");
    }
    let (rest, events) = finish(&mut secure.server, client);
    assert!(rest.is_empty());
    assert_eq!(events.last().unwrap().kind, event::CLOSED);
}

#[test]
fn a_large_answer_goes_through_tls_to_a_slow_reader() {
    let mut secure = Secure::new(|_, _| {});
    let body = vec![b'b'; 3_000_000];
    let expected = body.clone();
    let client = secure.client("localhost", &[], move |mut tls| {
        tls.write_all(GET.as_bytes()).unwrap();
        let mut answer = Vec::new();
        tls.read_to_end(&mut answer).unwrap();
        answer.ends_with(&expected)
    });
    let request = secure.server.request();
    secure
        .server
        .answer_flags(&request, &body, flag::CLOSE | flag::ACK);
    let (complete, events) = finish(&mut secure.server, client);
    assert!(complete);
    assert_eq!(
        events
            .iter()
            .filter(|event| event.kind == event::CLOSED)
            .count(),
        1
    );
}

#[test]
fn no_timer_cuts_off_an_answer_that_a_tls_client_reads_slowly() {
    for close in [false, true] {
        let mut secure = Secure::new(|options, _| {
            options.keep_alive_timeout = Duration::from_millis(40);
            options.keep_alive_timeout_buffer = Duration::ZERO;
        });
        let body = vec![b'b'; 24 << 20];
        let length = body.len();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let client = secure.client("localhost", &[], move |mut tls| {
            tls.write_all(GET.as_bytes()).unwrap();
            wait.recv().unwrap();
            let mut answer = Vec::new();
            // An end without close_notify is an error.
            let end = tls.read_to_end(&mut answer);
            (answer.len() > length, end.is_ok())
        });
        let request = secure.server.request();
        let flags = if close { flag::CLOSE } else { 0 };
        secure.server.answer_flags(&request, &body, flags);
        // Several times as long as the timer.
        for _ in 0..20 {
            let events = secure.server.turn(Duration::from_millis(10));
            assert!(events.is_empty(), "{events:?}");
        }
        go.send(()).unwrap();
        if !close {
            let timeout = secure.server.next(event::TIMEOUT);
            let token = timeout.token;
            secure
                .server
                .commands
                .write(0, command::Destroy { token }, &[]);
            secure.server.submit();
        }
        let (outcome, _) = finish(&mut secure.server, client);
        assert_eq!(outcome, (true, true), "close {close}");
    }
}

#[test]
fn what_a_tls_client_sent_before_its_end_is_handed_over_and_answered() {
    // By close_notify, and by a FIN alone.
    for notify in [true, false] {
        let mut secure = Secure::new(|_, _| {});
        let size = 1_000_000;
        let client = secure.client("localhost", &[], move |mut tls| {
            let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n\r\n");
            tls.write_all(head.as_bytes()).unwrap();
            tls.write_all(&vec![b'u'; size]).unwrap();
            if notify {
                tls.conn.send_close_notify();
            }
            tls.flush().unwrap();
            tls.sock.shutdown(std::net::Shutdown::Write).unwrap();
            let mut answer = Vec::new();
            tls.read_to_end(&mut answer).unwrap();
            answer.len()
        });
        let events = secure
            .server
            .until(|events| events.iter().any(|event| event.kind == event::PEER_END));
        let of_body = events.iter().filter(|event| event.kind == event::BODY);
        assert_eq!(
            of_body.map(|event| event.piece().len()).sum::<usize>(),
            size
        );
        let request = events
            .iter()
            .find(|event| event.kind == event::REQUEST)
            .unwrap();
        secure.server.answer(request, &vec![b'd'; size]);
        let (received, events) = finish(&mut secure.server, client);
        assert!(received > size, "{received}");
        assert_eq!(events.last().unwrap().kind, event::CLOSED);
    }
}

#[test]
fn a_large_request_goes_through_tls() {
    let mut secure = Secure::new(|_, _| {});
    let client = secure.client("localhost", &[], |mut tls| {
        tls.write_all(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
            .unwrap();
        tls.write_all(&vec![b'x'; 1_000_000]).unwrap();
        let mut answer = vec![0; HEAD.len()];
        tls.read_exact(&mut answer).unwrap();
    });
    let events = secure.server.until(|events| {
        let bodies = events.iter().filter(|event| event.kind == event::BODY);
        bodies.map(|event| event.piece().len()).sum::<usize>() == 1_000_000
    });
    let request = events
        .iter()
        .find(|event| event.kind == event::REQUEST)
        .unwrap();
    secure.server.answer(request, b"hello");
    finish(&mut secure.server, client);
}

#[test]
fn the_application_chooses_the_context_and_the_protocol() {
    let mut secure = Secure::new(|options, _| {
        options.ask_server_name = true;
        options.ask_alpn = true;
    });
    let (other, context) = identity(&["other.example"]);
    let number = secure
        .server
        .shard
        .add_tls_context(Context::new(&context).unwrap());
    secure.certificate = other;
    let client = secure.client("other.example", &["one", "two"], |mut tls| {
        get(&mut tls, HEAD.len());
        tls.conn.alpn_protocol().map(<[u8]>::to_vec)
    });
    let question = secure.server.next(event::SERVER_NAME);
    let asked = question.read::<event::ServerName>();
    assert_eq!(asked.bytes(asked.name), b"other.example");
    secure.server.commands.write(
        0,
        command::ServerName {
            token: question.token,
            context: number,
        },
        &[],
    );
    secure.server.submit();
    let question = secure.server.next(event::ALPN);
    let asked = question.read::<event::Alpn>();
    assert_eq!(
        (asked.bytes(asked.name), asked.bytes(asked.protocols)),
        (&b"other.example"[..], &b"\x03one\x03two"[..])
    );
    secure.server.commands.write(
        0,
        command::Alpn {
            token: question.token,
            protocol_bytes: 3,
        },
        &[b"two"],
    );
    secure.server.submit();
    let events = secure
        .server
        .until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let done = events
        .iter()
        .find(|event| event.kind == event::SECURE)
        .unwrap();
    let done = done.read::<event::Secure>();
    assert_eq!(done.bytes(done.alpn), b"two");
    secure.server.answer(events.last().unwrap(), b"hello");
    assert_eq!(finish(&mut secure.server, client).0, Some(b"two".to_vec()));
}

#[test]
fn a_refused_name_and_a_refused_protocol_end_the_handshake() {
    for refuse_name in [true, false] {
        let mut secure = Secure::new(|options, _| {
            options.ask_server_name = refuse_name;
            options.ask_alpn = !refuse_name;
        });
        let client = secure.client("localhost", &["one"], |mut tls| {
            tls.write_all(b"x").is_err()
        });
        let kind = if refuse_name {
            event::SERVER_NAME
        } else {
            event::ALPN
        };
        let question = secure.server.next(kind);
        if refuse_name {
            secure.server.commands.write(
                0,
                command::ServerName {
                    token: question.token,
                    context: u32::MAX,
                },
                &[],
            );
        } else {
            secure.server.commands.write(
                0,
                command::Alpn {
                    token: question.token,
                    protocol_bytes: 0,
                },
                &[],
            );
        }
        secure.server.submit();
        let (refused, events) = finish(&mut secure.server, client);
        assert!(refused);
        let kinds: Vec<u32> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, [event::TLS_ERROR, event::CLOSED]);
        assert_eq!(events[0].token, question.token);
    }
}

#[test]
fn names_choose_their_contexts() {
    let mut secure = Secure::new(|_, _| {});
    let (other, context) = identity(&["a.example"]);
    let number = secure
        .server
        .shard
        .add_tls_context(Context::new(&context).unwrap());
    secure
        .server
        .shard
        .add_server_name(secure.server.listener, "*.example", number);
    secure.certificate = other;
    let client = secure.client("a.example", &[], |mut tls| get(&mut tls, HEAD.len()));
    let request = secure.server.request();
    secure.server.answer(&request, b"hello");
    finish(&mut secure.server, client);
}

#[test]
fn plain_text_on_a_tls_port_is_an_error_of_an_unknown_connection() {
    let mut secure = Secure::new(|_, _| {});
    let mut client = secure.server.connect();
    send(&mut client, GET);
    let error = secure.server.next(event::TLS_ERROR);
    assert_eq!(error.token, 0);
    let error = error.read::<event::TlsError>();
    assert!(!error.bytes(error.text).is_empty());
    let mut rest = Vec::new();
    let _ = client.read_to_end(&mut rest);
    secure.server.settle();
    assert_eq!(secure.server.shard.counters().connections_open, 0);
}

#[test]
fn a_slow_handshake_is_told() {
    let mut secure =
        Secure::new(|options, _| options.handshake_timeout = Duration::from_millis(50));
    let _client = secure.server.connect();
    let timeout = secure.server.next(event::TIMEOUT);
    assert_eq!(
        timeout.read::<event::Timeout>().deadline,
        timeout_kind::HANDSHAKE
    );
}

#[test]
fn secrets_are_told_line_by_line() {
    let mut secure = Secure::new(|_, context| context.key_log = true);
    let client = secure.client("localhost", &[], |mut tls| get(&mut tls, HEAD.len()));
    let events = secure
        .server
        .until(|events| events.iter().any(|event| event.kind == event::REQUEST));
    let lines: Vec<_> = events
        .iter()
        .filter(|event| event.kind == event::KEY_LOG)
        .collect();
    assert!(lines.len() >= 4, "{}", lines.len());
    for line in lines {
        let line = line.read::<event::KeyLog>();
        assert!(line.bytes(line.line).ends_with(b"\n"));
    }
    secure.server.answer(events.last().unwrap(), b"hello");
    finish(&mut secure.server, client);
}

#[test]
fn a_tunnel_ends_each_side_on_its_own() {
    let mut secure = Secure::new(|_, _| {});
    let client = secure.client("localhost", &[], |mut tls| {
        tls.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: t\r\n\r\n")
            .unwrap();
        let mut all = Vec::new();
        tls.read_to_end(&mut all).unwrap();
        all
    });
    let request = secure.server.request();
    secure.server.commands.write(
        0,
        command::TakeOver {
            token: request.token,
        },
        &[],
    );
    secure.server.commands.raw(request.token, 0, b"data");
    secure.server.commands.write(
        0,
        command::Shutdown {
            token: request.token,
        },
        &[],
    );
    secure.server.submit();
    assert_eq!(finish(&mut secure.server, client).0, b"data");
}

/// A client whose socket keeps the bounds of each send.
struct Datagrams {
    socket: rustix::fd::OwnedFd,
    connection: ClientConnection,
}

impl Datagrams {
    /// Connected by a pair of sockets, whose other end the server has.
    fn connect(secure: &mut Secure) -> Self {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, theirs) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        let listener = secure.server.listener;
        secure.server.shard.adopt(listener, theirs).unwrap();
        let config = client_config(std::slice::from_ref(&secure.certificate), &[]);
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(config, name).unwrap();
        Self { socket, connection }
    }

    /// Sends what the client has to send.
    fn send(&mut self) {
        let mut bytes = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut bytes).unwrap();
        }
        rustix::io::write(&self.socket, &bytes).unwrap();
    }

    /// How many sends have come, each of which is handed to the client; and what it read in them.
    fn receive(&mut self) -> (usize, String) {
        let (mut count, mut text) = (0, Vec::new());
        let mut buffer = [0; 32 * 1024];
        while let Ok(length) = rustix::io::read(&self.socket, &mut buffer)
            && length > 0
        {
            count += 1;
            let mut bytes = &buffer[..length];
            while !bytes.is_empty() {
                self.connection.read_tls(&mut bytes).unwrap();
                let state = self.connection.process_new_packets().unwrap();
                let start = text.len();
                text.resize(start + state.plaintext_bytes_to_read(), 0);
                let read = self.connection.reader().read(&mut text[start..]);
                text.truncate(start + read.unwrap_or(0));
            }
        }
        (count, String::from_utf8(text).unwrap())
    }

    /// Shakes hands as far as the client's last message, which goes with a request.
    fn ask(&mut self, secure: &mut Secure) -> Event {
        self.send();
        assert!(secure.server.turn(Duration::ZERO).is_empty());
        assert_eq!(self.receive().0, 1);
        let request = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        self.connection
            .writer()
            .write_all(request.as_bytes())
            .unwrap();
        self.send();
        let events = secure.server.turn(Duration::ZERO);
        let request = events.into_iter().find(|e| e.kind == event::REQUEST);
        request.unwrap()
    }
}

#[test]
fn tickets_answer_and_end_of_a_connection_go_in_one_send() {
    let mut secure = Secure::new(|_, _| {});
    secure.server.shard.expect_answers_after_turns();
    let mut client = Datagrams::connect(&mut secure);
    let request = client.ask(&mut secure);
    assert_eq!(client.receive(), (0, String::new()));
    assert!(secure.server.shard.has_pending_events());
    secure
        .server
        .answer_flags(&request, b"hello", flag::END | flag::CLOSE);
    let (sends, text) = client.receive();
    assert!(text.ends_with("\r\n\r\nhello"), "{text}");
    assert_eq!(sends, 1);
    // The close_notify came with it.
    assert_eq!(client.connection.reader().read(&mut [0]).unwrap(), 0);
}

#[test]
fn tickets_do_not_wait_for_an_answer_longer_than_until_the_next_turn() {
    for expects in [true, false] {
        let mut secure = Secure::new(|_, _| {});
        if expects {
            secure.server.shard.expect_answers_after_turns();
        }
        let mut client = Datagrams::connect(&mut secure);
        client.ask(&mut secure);
        assert_eq!(client.receive().0, usize::from(!expects));
        assert_eq!(secure.server.shard.has_pending_events(), expects);
        secure.server.turn(Duration::ZERO);
        assert_eq!(client.receive().0, usize::from(expects));
        assert!(!secure.server.shard.has_pending_events());
    }
}
