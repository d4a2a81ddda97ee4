//! The session against the client of another implementation, the `h2` crate, over a pipe in memory.
//!
//! A case is a list of exchanges that run side by side. Each names what it sends and what it wants back; the server
//! says what it has received, so that an answer can be paired with its request.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::HashMap;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use portico_http::h2::hpack::OutgoingField;
use portico_http::h2::{
    ErrorCode, Event, LocalSettings, Received, Session, SessionOptions, StreamKey,
};
use portico_http::semantics::FIELD_NAMES;
use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

/// One request and its answer.
#[derive(Clone, Debug)]
struct Exchange {
    upload: usize,
    request_trailers: bool,
    answer: usize,
    answer_trailers: bool,
    inform: bool,
    priority: Option<u8>,
    fields: Vec<(usize, String)>,
    fate: Fate,
}

/// How an exchange ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Complete,
    /// The client gives up after so many bytes.
    Cancel(usize),
    /// The server gives up instead of an answer.
    Reset,
}

/// The connection that exchanges run on.
#[derive(Clone, Debug)]
struct Setup {
    client_window: u32,
    client_connection_window: u32,
    client_frame_size: u32,
    client_table: u32,
    server: LocalSettings,
    server_connection_window: u32,
    /// Bytes that the server reads at once.
    read: usize,
    /// Bytes of output that it has room for in a turn.
    room: usize,
}

/// Bytes that tell an answer from others.
fn pattern(id: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 7 + id * 13) as u8).collect()
}

fn sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(7, |sum, &byte| (sum * 31 + u64::from(byte)) % 1_000_003)
}

/// What the server knows of a request.
#[derive(Default)]
struct Application {
    id: usize,
    wants: HashMap<String, String>,
    received: Vec<u8>,
    unreleased: u32,
    fields_sum: u64,
    body: Vec<u8>,
    sent: usize,
}

/// Answers requests until the client goes.
async fn serve(mut pipe: DuplexStream, setup: Setup) -> Session {
    let options = SessionOptions {
        settings: setup.server,
        connection_window: setup.server_connection_window,
        ..SessionOptions::default()
    };
    let mut session = Session::new(&options, 0);
    let mut applications: HashMap<StreamKey, Application> = HashMap::new();
    let (mut input, mut out) = (Vec::new(), Vec::new());
    session.start(&mut out);
    let mut buffer = vec![0; setup.read];
    loop {
        pipe.write_all(&out).await.unwrap();
        out.clear();
        let count = pipe.read(&mut buffer).await.unwrap();
        if count == 0 {
            return session;
        }
        input.extend_from_slice(&buffer[..count]);
        loop {
            let Received { consumed, event } = session.receive(&input, 0, &mut out).unwrap();
            let is_end = event == Event::NeedMore;
            handle(&mut session, &mut applications, event, &input, &mut out);
            input.drain(..consumed);
            if is_end {
                break;
            }
        }
        while let Some(frame) = session.next_data(setup.room, &mut out) {
            let application = applications.get_mut(&frame.stream).unwrap();
            let (from, to) = (application.sent, application.sent + frame.bytes);
            out.extend_from_slice(&application.body[from..to]);
            application.sent = to;
            if frame.is_last {
                applications.remove(&frame.stream);
            }
        }
    }
}

fn handle(
    session: &mut Session,
    applications: &mut HashMap<StreamKey, Application>,
    event: Event,
    input: &[u8],
    out: &mut Vec<u8>,
) {
    match event {
        Event::Request(key) => {
            let section = session.section();
            let head = session.head().unwrap();
            let mut application = Application::default();
            for field in head.fields(section) {
                let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                let (name, value) = (field.name(section.bytes()), field.value(section.bytes()));
                application.fields_sum += sum(name) + sum(value);
                application.wants.insert(text(name), text(value));
            }
            let is_complete = head.is_complete;
            application.id = application.wants["id"].parse().unwrap();
            applications.insert(key, application);
            if is_complete {
                answer(session, key, applications, 0, out);
            }
        }
        Event::Data {
            stream,
            bytes,
            is_last,
        } => {
            let application = applications.get_mut(&stream).unwrap();
            application
                .received
                .extend_from_slice(&input[bytes.clone()]);
            application.unreleased += bytes.len() as u32;
            // Not at once: the window has to bear it.
            if application.unreleased > 500 || is_last {
                session.release(stream, application.unreleased, out);
                application.unreleased = 0;
            }
            if is_last {
                answer(session, stream, applications, 0, out);
            }
        }
        Event::Trailers(key) => {
            let section = session.section();
            let value = section.fields()[0].value(section.bytes());
            let trailer = sum(value);
            answer(session, key, applications, trailer, out);
        }
        Event::Reset { stream, .. } => {
            applications.remove(&stream);
            session.let_go(stream, out);
        }
        _ => {}
    }
}

/// Answers a request that has ended.
fn answer(
    session: &mut Session,
    key: StreamKey,
    applications: &mut HashMap<StreamKey, Application>,
    trailer: u64,
    out: &mut Vec<u8>,
) {
    let application = applications.get_mut(&key).unwrap();
    let wants = |name: &str| application.wants.get(name).cloned();
    if wants("reset").is_some() {
        applications.remove(&key);
        return session.reset(key, ErrorCode(0x77), out).unwrap();
    }
    if wants("inform").is_some() {
        let hint = OutgoingField::new(b"link", b"</style.css>");
        session.inform(key, 103, [hint], out).unwrap();
    }
    application.body = pattern(application.id, wants("length").unwrap().parse().unwrap());
    let length = application.body.len();
    let (received, fields) = (sum(&application.received), application.fields_sum);
    let values = [application.id as u64, received, fields, trailer].map(|value| value.to_string());
    let names = [&b"X-Id"[..], b"X-Received", b"X-Fields", b"X-Trailer"];
    let fields = names
        .into_iter()
        .zip(&values)
        .map(|(name, value)| OutgoingField::new(name, value.as_bytes()));
    let has_trailers = wants("trailers").is_some();
    let is_last = length == 0 && !has_trailers;
    session.respond(key, 200, fields, is_last, out).unwrap();
    if is_last {
        applications.remove(&key);
        return;
    }
    session.queue(key, length as u64).unwrap();
    if has_trailers {
        let digest = [OutgoingField::new(b"Digest", values[0].as_bytes())];
        session.end_with_trailers(key, digest, out).unwrap();
    } else {
        session.end(key, out).unwrap();
    }
}

/// The client's side of one exchange: what is wrong with it.
async fn exchange(
    mut client: h2::client::SendRequest<Bytes>,
    id: usize,
    exchange: Exchange,
) -> Result<(), String> {
    let mut request = Request::builder().method("POST").uri("https://a.example/x");
    let mut sent_fields = 0;
    let mut field = |name: &str, value: &str| {
        sent_fields += sum(name.as_bytes()) + sum(value.as_bytes());
        (name.to_owned(), HeaderValue::from_str(value).unwrap())
    };
    let mut fields = vec![
        field("id", &id.to_string()),
        field("length", &exchange.answer.to_string()),
    ];
    for (wanted, name) in [
        (exchange.answer_trailers, "trailers"),
        (exchange.inform, "inform"),
        (exchange.fate == Fate::Reset, "reset"),
    ] {
        fields.extend(wanted.then(|| field(name, "1")));
    }
    let urgency = exchange.priority.map(|urgency| format!("u={urgency}, i"));
    fields.extend(urgency.map(|urgency| field("priority", &urgency)));
    for (name, value) in &exchange.fields {
        fields.push(field(FIELD_NAMES[*name], value));
    }
    for (name, value) in fields {
        request = request.header(name, value);
    }
    let body = pattern(id + 1, exchange.upload);
    let is_empty = body.is_empty() && !exchange.request_trailers;
    client = client.ready().await.map_err(|error| error.to_string())?;
    let (response, mut send) = client
        .send_request(request.body(()).unwrap(), is_empty)
        .map_err(|error| error.to_string())?;
    if !is_empty {
        let mut trailers = HeaderMap::new();
        trailers.insert("digest", HeaderValue::from_static("of the request"));
        send.send_data(Bytes::from(body.clone()), !exchange.request_trailers)
            .map_err(|error| error.to_string())?;
        if exchange.request_trailers {
            send.send_trailers(trailers)
                .map_err(|error| error.to_string())?;
        }
    }
    let response = match (response.await, exchange.fate) {
        (Ok(response), Fate::Complete | Fate::Cancel(_)) => response,
        (Err(error), Fate::Reset) if error.reason() == Some(0x77.into()) => return Ok(()),
        (other, _) => return Err(format!("{other:?}")),
    };
    let said = |name: &str| -> u64 { response.headers()[name].to_str().unwrap().parse().unwrap() };
    let trailer = match exchange.request_trailers {
        true => sum(b"of the request"),
        false => 0,
    };
    let expected = [id as u64, sum(&body), sent_fields, trailer];
    let heard = ["x-id", "x-received", "x-fields", "x-trailer"].map(said);
    if heard != expected {
        return Err(format!("{heard:?}, not {expected:?}"));
    }
    let mut answer = response.into_body();
    let mut received = Vec::new();
    while let Some(part) = answer.data().await {
        let part = part.map_err(|error| error.to_string())?;
        received.extend_from_slice(&part);
        let flow = answer.flow_control();
        flow.release_capacity(part.len())
            .map_err(|error| error.to_string())?;
        if matches!(exchange.fate, Fate::Cancel(after) if received.len() >= after) {
            return Ok(());
        }
    }
    if received != pattern(id, exchange.answer) {
        return Err(format!("another answer, of {} bytes", received.len()));
    }
    let trailers = answer.trailers().await.map_err(|error| error.to_string())?;
    let digest = trailers.and_then(|trailers| trailers.get("digest").cloned());
    let expected = exchange
        .answer_trailers
        .then(|| HeaderValue::from(id as u64));
    if digest != expected {
        return Err(format!("{digest:?}, not {expected:?}"));
    }
    Ok(())
}

/// Runs a case; what is wrong with it.
fn run(setup: &Setup, exchanges: &[Exchange]) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (near, far) = tokio::io::duplex(1 << 22);
        let server = tokio::spawn(serve(far, setup.clone()));
        let (client, connection) = h2::client::Builder::new()
            .initial_window_size(setup.client_window)
            .initial_connection_window_size(setup.client_connection_window)
            .max_frame_size(setup.client_frame_size)
            .header_table_size(setup.client_table)
            .handshake::<_, Bytes>(near)
            .await
            .map_err(|error| error.to_string())?;
        let connection = tokio::spawn(connection);
        let running: Vec<_> = exchanges
            .iter()
            .enumerate()
            .map(|(id, one)| tokio::spawn(exchange(client.clone(), id, one.clone())))
            .collect();
        let limit = std::time::Duration::from_secs(60);
        for (id, one) in running.into_iter().enumerate() {
            let ended = tokio::time::timeout(limit, one).await;
            let ended = ended.map_err(|_| format!("exchange {id} hangs"))?;
            ended
                .unwrap()
                .map_err(|error| format!("exchange {id}: {error}"))?;
        }
        drop(client);
        let ended = connection.await.unwrap();
        ended.map_err(|error| format!("the connection: {error}"))?;
        let session = server.await.unwrap();
        match session.open_streams() {
            0 => Ok(()),
            count => Err(format!("{count} streams are left")),
        }
    })
}

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let size = || prop_oneof![Just(0_usize), 1..300_usize, 1..70_000_usize];
    // Fields without a meaning for a session.
    let field = (76..100_usize, "[!-~]{0,30}");
    let fate = prop_oneof![
        8 => Just(Fate::Complete),
        1 => (0..20_000_usize).prop_map(Fate::Cancel),
        1 => Just(Fate::Reset),
    ];
    let one = (
        (size(), size()),
        (any::<bool>(), any::<bool>(), any::<bool>()),
        proptest::option::of(0..8_u8),
        proptest::collection::vec(field, 0..8),
        fate,
    );
    let exchange = one.prop_map(|(sizes, flags, priority, fields, fate)| Exchange {
        upload: sizes.0,
        answer: sizes.1,
        request_trailers: flags.0,
        answer_trailers: flags.1,
        inform: flags.2,
        priority,
        fields,
        fate,
    });
    proptest::collection::vec(exchange, 1..25)
}

fn setups() -> impl Strategy<Value = Setup> {
    let window = || prop_oneof![Just(65_535_u32), 1000..100_000_u32];
    (
        (window(), 65_535..200_000_u32, 16_384..40_000_u32),
        prop_oneof![Just(4096_u32), 0..8192_u32],
        (window(), 0..8192_u32, 2..40_u32),
        65_535..200_000_u32,
        (1..20_000_usize, 300..70_000_usize),
    )
        .prop_map(
            |(client, client_table, server, connection, (read, room))| Setup {
                client_window: client.0,
                client_connection_window: client.1,
                client_frame_size: client.2,
                client_table,
                server: LocalSettings {
                    initial_window_size: server.0,
                    header_table_size: server.1,
                    max_concurrent_streams: server.2,
                    ..LocalSettings::default()
                },
                server_connection_window: connection,
                read,
                room,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_answer_is_that_of_its_request(setup in setups(), exchanges in exchanges()) {
        prop_assert_eq!(run(&setup, &exchanges), Ok(()));
    }
}
