//! A client whose bytes are chosen elsewhere: for the tests and for the fuzzer. The first byte chooses what is
//! attacked: the ClientHello, the flights of a handshake, the verification of certificates, or an open connection.
//!
//! Nothing may panic or hang. As long as what is sent keeps to the protocol, an open connection must deliver just what
//! was sent, and everything it answers must open under the peer's keys, key updates included.

use std::sync::{Arc, LazyLock, Mutex};

use portico_tls::{AlpnChoice, Connection, ContextOptions, Refusal, ServerNames, TlsError};
use rustls::{ClientConfig, KeyLog};

use super::common::{
    Issued, Pair, TLS12, TLS13, ca_params, client_config, client_params, ec_key, issue, names,
    options, self_signed, server,
};
use super::early_client;
use super::peer_keys::PeerKey;

/// Content types.
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
const KEY_UPDATES: [&[u8]; 2] = [&[24, 0, 0, 1, 0], &[24, 0, 0, 1, 1]];
/// No run needs more.
const MAX_STEPS: usize = 200;

/// What all runs share.
struct World {
    plain: Arc<ServerNames>,
    asking: Arc<ServerNames>,
    root: Issued,
    inter: Issued,
    client: Issued,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let root = self_signed(ca_params("root"), ec_key());
    let mut constrained = ca_params("inter");
    constrained.name_constraints = Some(rcgen::NameConstraints {
        permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("test".into())],
        excluded_subtrees: vec![rcgen::GeneralSubtree::DnsName("no.test".into())],
    });
    let inter = issue(constrained, ec_key(), &root);
    let client = issue(client_params("client.test"), ec_key(), &inter);
    let base = ContextOptions {
        alpn: vec![b"http/1.1".to_vec()],
        ..options(&server())
    };
    let asking = ContextOptions {
        request_cert: true,
        reject_unauthorized: false,
        ca: vec![root.der.clone()],
        ..base.clone()
    };
    World {
        plain: names(&base),
        asking: names(&asking),
        root,
        inter,
        client,
    }
});

/// Bytes that decide; zeros when they are used up.
struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        usize::from(u16::from_be_bytes([self.byte(), self.byte()]))
    }

    fn bytes(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    fn is_used_up(&self) -> bool {
        self.0.is_empty()
    }
}

/// Carries one run out.
pub(crate) fn run(bytes: &[u8]) {
    let mut choices = Choices(bytes);
    match choices.byte() % 4 {
        0 => first_bytes(&mut choices),
        1 => handshake(&mut choices),
        2 => certificates(&mut choices),
        _ => open_connection(&mut choices),
    }
}

/// The rest is what a client says first.
fn first_bytes(choices: &mut Choices<'_>) {
    let flags = choices.byte();
    let piece = usize::from(choices.byte()).max(1) * if flags & 1 == 0 { 1 } else { 256 };
    let asked = flags & 2 != 0;
    let mut server = Connection::new(Arc::clone(&WORLD.plain), asked);
    let mut input = choices.0.to_vec();
    let (mut plaintext, mut output) = (Vec::new(), Vec::new());
    for piece in input.chunks_mut(piece) {
        let before = output.len();
        let status = match server.handle_input(piece, &mut plaintext, &mut output) {
            Ok(status) => status,
            Err(error) => return check_alert(&error, output.len() > before),
        };
        if status.client_hello {
            let hello = server.client_hello().expect("there is one to ask about");
            assert!(hello.server_name.as_deref() != Some(""));
            let protocol = hello
                .alpn
                .split_first()
                .and_then(|(length, rest)| rest.get(..usize::from(*length)));
            let protocol = protocol.map(<[u8]>::to_vec);
            let alpn = match (&protocol, flags & 12) {
                (Some(protocol), 4) => AlpnChoice::Protocol(protocol),
                (_, 8) => AlpnChoice::Ignore,
                (_, 12) => {
                    server.refuse(Refusal::Alpn, &mut output);
                    return;
                }
                _ => AlpnChoice::Context,
            };
            let before = output.len();
            let result = server.provide(None, alpn, &mut plaintext, &mut output);
            if let Err(error) = result {
                return check_alert(&error, output.len() > before);
            }
        }
    }
    assert!(plaintext.is_empty(), "no key has been agreed on");
}

/// No client is turned away without an alert, but for those who sent one and those who would not understand it.
fn check_alert(error: &TlsError, alerted: bool) {
    const SILENT: [&str; 6] = [
        "ERR_SSL_SSLV3_",
        "ERR_SSL_TLSV1_",
        "ERR_SSL_TLSV13_",
        "ERR_SSL_UNKNOWN_ALERT_TYPE",
        "ERR_SSL_HTTP_REQUEST",
        "ERR_SSL_HTTPS_PROXY_REQUEST",
    ];
    let silent = SILENT.iter().any(|code| error.code().starts_with(code));
    assert!(alerted || silent, "no alert for {error}");
}

fn config(flags: u8) -> ClientConfig {
    let versions = if flags & 1 == 0 { TLS13 } else { TLS12 };
    let identity = (flags & 2 != 0).then(|| WORLD.client.identity_with(&[&WORLD.inter]));
    let mut config = client_config(versions, identity);
    config.enable_secret_extraction = true;
    if flags & 8 != 0 {
        // The second flight of a TLS 1.3 client that guessed the group wrongly.
        let mut provider = rustls::crypto::aws_lc_rs::default_provider();
        provider.kx_groups.reverse();
        provider.cipher_suites.reverse();
        let resumption = config.resumption.clone();
        config = super::common::client_config_with(provider, versions, None);
        config.enable_secret_extraction = true;
        config.resumption = resumption;
    }
    config
}

/// A handshake whose flights are changed on the way.
fn handshake(choices: &mut Choices<'_>) {
    let flags = choices.byte();
    let names = if flags & 4 == 0 {
        &WORLD.plain
    } else {
        &WORLD.asking
    };
    let early = flags & 32 != 0;
    let config = if early {
        early_client::client(&WORLD.client)
    } else {
        Arc::new(config(flags))
    };
    if flags & 16 != 0 && !early {
        // So that there is a session to resume.
        let mut pair = Pair::new(&config, names);
        pair.pump().expect("nothing is wrong with it");
    }
    let mut pair = Pair::new(&config, names);
    if let Some(mut data) = pair.client.early_data() {
        for _ in 0..choices.byte() % 4 {
            let bytes = vec![7; choices.number() % 16_385];
            std::io::Write::write(&mut data, &bytes).expect("what is too much is not taken");
        }
    }
    for _ in 0..6 {
        let mut flight = Vec::new();
        while pair.client.wants_write() {
            pair.client.write_tls(&mut flight).unwrap();
        }
        if flight.is_empty() {
            if pair.client.is_handshaking() {
                return;
            }
            pair.send(b"some data");
            continue;
        }
        let mut flight = change(flight, choices);
        let mut output = Vec::new();
        let piece = usize::from(choices.byte())
            .wrapping_sub(1)
            .clamp(1, flight.len().max(1));
        for piece in flight.chunks_mut(piece) {
            let before = pair.server.is_handshaking();
            let length = output.len();
            let result = pair
                .server
                .handle_input(piece, &mut pair.plaintext, &mut output);
            let status = match result {
                Ok(status) => status,
                Err(error) => return check_alert(&error, output.len() > length),
            };
            assert!(!status.handshake_done || before);
        }
        pair.hand_over(&output);
        if pair.client_error.is_some() {
            return;
        }
    }
    assert!(b"some data".repeat(6).starts_with(&pair.plaintext));
}

/// Changes records, or their order.
fn change(flight: Vec<u8>, choices: &mut Choices<'_>) -> Vec<u8> {
    let mut records = split(&flight);
    for _ in 0..choices.byte() % 8 {
        if records.is_empty() {
            break;
        }
        let at = usize::from(choices.byte()) % records.len();
        match choices.byte() % 8 {
            0 => {
                let place = choices.number() % records[at].len();
                records[at][place] ^= choices.byte().max(1);
            }
            1 => {
                let length = choices.number() % records[at].len();
                records[at].truncate(length.max(1));
            }
            2 => {
                let copy = records[at].clone();
                records.push(copy);
            }
            3 => drop(records.remove(at)),
            4 => records.rotate_left(at),
            5 => {
                let kind = choices.byte();
                let content = choices.bytes();
                let mut record = vec![kind, 3, 3, 0, content.len() as u8];
                record.extend_from_slice(content);
                records.insert(at, record);
            }
            6 => {
                // The same content in smaller records.
                let size = usize::from(choices.byte()).max(1);
                let record = records.remove(at);
                let Some((header, body)) = record.split_at_checked(5) else {
                    continue;
                };
                let body = body.to_vec();
                for piece in body.chunks(size).rev() {
                    let mut part = vec![header[0], 3, 3];
                    part.extend((piece.len() as u16).to_be_bytes());
                    part.extend_from_slice(piece);
                    records.insert(at, part);
                }
            }
            _ => {
                let place = choices.number() % records[at].len();
                let piece = choices.bytes();
                records[at].splice(place..place, piece.iter().copied());
            }
        }
    }
    records.concat()
}

fn split(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Vec::new();
    while let Some((header, _)) = bytes.split_first_chunk::<5>() {
        let length = 5 + usize::from(u16::from_be_bytes([header[3], header[4]]));
        let (record, rest) = bytes.split_at(length.min(bytes.len()));
        records.push(record.to_vec());
        bytes = rest;
    }
    records
}

/// A client with a key of its own and certificates that were tampered with.
fn certificates(choices: &mut Choices<'_>) {
    let flags = choices.byte();
    let mut identity = WORLD.client.identity_with(&[&WORLD.inter, &WORLD.root]);
    let mut touched = false;
    for _ in 0..choices.byte() % 16 {
        if identity.chain.is_empty() || choices.is_used_up() {
            break;
        }
        let at = usize::from(choices.byte()) % identity.chain.len();
        let certificate = &mut identity.chain[at];
        touched = true;
        match choices.byte() % 5 {
            0 if !certificate.is_empty() => {
                let place = choices.number() % certificate.len();
                certificate[place] ^= choices.byte().max(1);
            }
            1 if !certificate.is_empty() => {
                let place = choices.number() % certificate.len();
                let piece = choices.bytes();
                let end = (place + piece.len()).min(certificate.len());
                certificate.splice(place..end, piece.iter().copied());
            }
            2 => certificate.truncate(choices.number()),
            3 => identity.chain.push(choices.bytes().to_vec()),
            _ => {
                let copy = certificate.clone();
                identity.chain.push(copy);
            }
        }
    }
    let versions = if flags & 1 == 0 { TLS13 } else { TLS12 };
    let leaf_untouched = identity.chain.first() == Some(&WORLD.client.der);
    let config = Arc::new(client_config(versions, Some(identity)));
    let mut pair = Pair::new(&config, &WORLD.asking);
    if pair.pump().is_ok()
        && let Some(facts) = pair.server.session_info()
    {
        assert!(touched || facts.verify_error == portico_tls::VerifyError::Ok);
        // Whatever else was sent: this leaf is good, and another one would need a signature of the authority.
        let ok = facts.verify_error == portico_tls::VerifyError::Ok;
        assert!(!ok || leaf_untouched);
    }
}

/// Collects the secrets that key updates start from.
#[derive(Debug, Default)]
struct Secrets(Mutex<[Vec<u8>; 2]>);

impl KeyLog for Secrets {
    fn log(&self, label: &str, _: &[u8], secret: &[u8]) {
        let mut secrets = self.0.lock().unwrap();
        match label {
            "CLIENT_TRAFFIC_SECRET_0" => secrets[0] = secret.to_vec(),
            "SERVER_TRAFFIC_SECRET_0" => secrets[1] = secret.to_vec(),
            _ => {}
        }
    }
}

/// A connection after its handshake, with the client's keys in hand.
struct Open {
    server: Connection,
    sealing: PeerKey,
    opening: PeerKey,
    tls13: bool,
    /// What the server must have delivered, and what the client must have got.
    sent: Vec<u8>,
    written: Vec<u8>,
    plaintext: Vec<u8>,
    output: Vec<u8>,
    received: Vec<u8>,
    /// Everything so far was as it should be.
    in_order: bool,
    closed: bool,
    ended: bool,
    idle: usize,
}

fn open_connection(choices: &mut Choices<'_>) {
    let mut open = Open::new(choices.byte());
    for _ in 0..MAX_STEPS {
        if choices.is_used_up() || !open.step(choices) {
            break;
        }
    }
    open.check_output();
    if open.in_order {
        assert_eq!(open.plaintext, open.sent);
    }
    assert!(
        open.sent.starts_with(&open.plaintext),
        "never anything else"
    );
}

impl Open {
    fn new(flags: u8) -> Self {
        let secrets = Arc::<Secrets>::default();
        let mut config = config(flags & 9);
        config.key_log = Arc::<Secrets>::clone(&secrets);
        let mut pair = Pair::new(&Arc::new(config), &WORLD.plain);
        pair.pump().expect("nothing is wrong with it");
        assert!(pair.status.handshake_done);
        let suite = pair.client.negotiated_cipher_suite().unwrap().suite();
        let tls13 = pair.client.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3);
        let keys = pair.client.dangerous_extract_secrets().unwrap();
        let [mine, theirs] = std::mem::take(&mut *secrets.0.lock().unwrap());
        let source = |secret| tls13.then_some((secret, suite));
        Self {
            server: pair.server,
            sealing: PeerKey::new(keys.tx.0, &keys.tx.1, tls13, source(mine)),
            opening: PeerKey::new(keys.rx.0, &keys.rx.1, tls13, source(theirs)),
            tls13,
            sent: Vec::new(),
            written: Vec::new(),
            plaintext: Vec::new(),
            output: Vec::new(),
            received: Vec::new(),
            in_order: true,
            closed: false,
            ended: false,
            idle: 0,
        }
    }

    /// One step; false when the connection has failed.
    fn step(&mut self, choices: &mut Choices<'_>) -> bool {
        match choices.byte() % 10 {
            0 | 1 => {
                let content = choices.bytes().to_vec();
                self.data(&content, usize::from(choices.byte() & 15))
            }
            2 => {
                let content = vec![choices.byte(); choices.number() % 16_385];
                self.data(&content, 0)
            }
            3 if self.tls13 => self.key_update(choices.byte()),
            4 => {
                let part = vec![choices.byte(); choices.number()];
                if self.server.write(&part, &mut self.output).is_ok() {
                    self.written.extend(part);
                }
                self.check_output();
                true
            }
            5 => {
                self.server.close_notify(&mut self.output);
                self.closed = true;
                true
            }
            6 => {
                // It counts as a record without data, too.
                self.idle += 1;
                let record = self.sealing.seal(ALERT, &[1, 0], 0);
                let result = self.give(record);
                self.ended = true;
                result
            }
            7 => {
                // Any record, correctly sealed.
                self.in_order = false;
                let kind = choices.byte() % 26;
                let content = choices.bytes().to_vec();
                if !self.ended {
                    self.sent.extend_from_slice(self.data_in(kind, &content));
                }
                let record = self
                    .sealing
                    .seal(kind, &content, usize::from(choices.byte()));
                self.give(record)
            }
            8 => {
                self.in_order = false;
                let record = choices.bytes().to_vec();
                self.give(record)
            }
            _ => {
                // Several records, changed.
                self.in_order = false;
                let mut flight = Vec::new();
                for _ in 0..choices.byte() % 4 {
                    let content = choices.bytes().to_vec();
                    self.sent.extend_from_slice(&content);
                    flight.extend(self.sealing.seal(DATA, &content, 0));
                }
                let flight = change(flight, choices);
                self.give(flight);
                // What was left out can't be told from here.
                false
            }
        }
    }

    /// What of a record is application data. In TLS 1.3 a type of zero is padding: the type is the last byte before it.
    fn data_in<'a>(&self, kind: u8, content: &'a [u8]) -> &'a [u8] {
        let end = content.iter().rposition(|byte| *byte != 0);
        match (kind, end) {
            (DATA, _) => content,
            (0, Some(end)) if self.tls13 && content[end] == DATA => &content[..end],
            _ => &[],
        }
    }

    fn data(&mut self, content: &[u8], padding: usize) -> bool {
        let padding = padding.min(16_384 - content.len());
        let record = self.sealing.seal(DATA, content, padding);
        if !self.ended {
            self.sent.extend_from_slice(content);
        }
        self.idle = if content.is_empty() { self.idle + 1 } else { 0 };
        self.give(record)
    }

    fn key_update(&mut self, how: u8) -> bool {
        let message = KEY_UPDATES[usize::from(how & 1)];
        // A KeyUpdate in three records is three maintenance records.
        let size = usize::from(how >> 1) % 5 + 1;
        for part in message.chunks(size) {
            self.idle += 1;
            let record = self.sealing.seal(HANDSHAKE, part, 0);
            if !self.give(record) {
                return false;
            }
        }
        self.sealing.renew();
        true
    }

    fn give(&mut self, mut bytes: Vec<u8>) -> bool {
        let result = self
            .server
            .handle_input(&mut bytes, &mut self.plaintext, &mut self.output);
        let failed = result.is_err();
        if failed && self.in_order {
            assert!(self.idle > 32, "refused without a reason");
            self.in_order = false;
        }
        !failed
    }

    /// Opens what the server has sent.
    fn check_output(&mut self) {
        for record in split(&std::mem::take(&mut self.output)) {
            let opened = self.opening.open(&record);
            let (kind, content) = opened.expect("it is sealed with the key in force");
            match kind {
                DATA => self.received.extend(content),
                HANDSHAKE => {
                    assert_eq!(content, KEY_UPDATES[0]);
                    self.opening.renew();
                }
                ALERT => assert_eq!(content.len(), 2),
                other => panic!("a record of type {other}"),
            }
        }
        assert_eq!(self.received, self.written);
    }
}
