//! A handshake in progress: rustls does it, this feeds it record by record, so that not a byte after the last
//! handshake message goes into rustls' record layer, and takes the keys out when it is done.

use std::sync::Arc;

use rustls::server::{ServerConfig, ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, InsufficientSizeError, UnbufferedStatus,
};

use crate::alert::Alert;
use crate::early_data::{self, EarlyData};
use crate::error_map;
use crate::keying::{self, Heard};
use crate::record::{self, Cipher, HEADER_BYTES, RecordKey, content_type};
use crate::record_rules::{self, Protection, Refusal};
use crate::traffic::Traffic;
use crate::{SessionInfo, TlsError};

/// Room for an encoded record when rustls has not told yet how much it needs.
const ENCODE_ROOM: usize = 0;
/// Most bytes kept unprocessed: what rustls may want together (a handshake message of 64 KB in records) and a record.
const MAX_RECEIVED_BYTES: usize = 0xffff + 2 * record::MAX_BODY_BYTES;

/// rustls' connection and what it has not digested.
pub(crate) struct Handshake {
    connection: UnbufferedServerConnection,
    /// Bytes received and not discarded; the first `offered` of them rustls has seen.
    received: Vec<u8>,
    offered: usize,
    heard: Option<Box<Heard>>,
    /// The client has announced early data, and has not come to its end.
    early_data: Option<EarlyData>,
    /// The client has sent a ChangeCipherSpec.
    cipher_changed: bool,
}

/// How far a handshake got.
pub(crate) enum Step {
    /// The peer must send more.
    Waiting,
    /// All messages are exchanged.
    Done,
}

impl Handshake {
    /// A handshake that begins with what has been received. `early_data`: the ClientHello announces some.
    pub(crate) fn new(
        config: Arc<ServerConfig>,
        received: Vec<u8>,
        early_data: bool,
    ) -> Result<Self, TlsError> {
        let connection = UnbufferedServerConnection::new(config)
            .map_err(|error| error_map::tls_error(&error))?;
        Ok(Self {
            connection,
            received,
            offered: 0,
            heard: None,
            early_data: early_data.then(EarlyData::new),
            cipher_changed: false,
        })
    }

    /// Adds received bytes. Call [`Handshake::proceed`] after it.
    pub(crate) fn receive(&mut self, input: &[u8]) {
        self.received.extend_from_slice(input);
    }

    /// Goes on as far as the received bytes allow, appending what must be sent.
    pub(crate) fn proceed(&mut self, output: &mut Vec<u8>) -> Result<Step, TlsError> {
        loop {
            let end = match self.next_record_end() {
                Ok(Some(end)) => end,
                Ok(None) if self.received.len() > MAX_RECEIVED_BYTES => {
                    self.send_alert(Alert::DecodeError, output);
                    return Err(Alert::DecodeError.error());
                }
                Ok(None) => return Ok(Step::Waiting),
                Err((alert, error)) => {
                    if let Some(alert) = alert {
                        self.send_alert(alert, output);
                    }
                    return Err(error);
                }
            };
            self.offered = end;
            let mut heard = self.heard.take();
            let result = keying::listen(&mut heard, || self.digest(output));
            self.heard = heard;
            if let Err(error) = result {
                self.end(&error, output);
                return Err(error_map::tls_error(&error));
            }
            if !self.connection.is_handshaking() {
                return Ok(Step::Done);
            }
        }
    }

    /// What was agreed on. What the ClientHello said and `verify_error` are for the caller to fill in.
    pub(crate) fn session_info(&mut self) -> SessionInfo {
        let connection = &self.connection;
        let heard = self.heard.as_mut();
        let certificates = connection.peer_certificates().unwrap_or_default();
        SessionInfo {
            version: connection.protocol_version().map_or(0, u16::from),
            cipher_suite: connection
                .negotiated_cipher_suite()
                .map_or(0, |s| u16::from(s.suite())),
            named_group: connection
                .negotiated_key_exchange_group()
                .map_or(0, |group| u16::from(group.name())),
            alpn: connection.alpn_protocol().map(<[u8]>::to_vec),
            resumed: connection.handshake_kind() == Some(rustls::HandshakeKind::Resumed),
            keying: heard
                .map(|heard| std::mem::take(&mut heard.keying))
                .unwrap_or_default(),
            peer_certificates: certificates.iter().map(|der| der.to_vec()).collect(),
            ..SessionInfo::default()
        }
    }

    /// Takes the keys out of a handshake that is done. Gives the bytes that came after it, too.
    pub(crate) fn into_traffic(self) -> Result<(Traffic, Vec<u8>), TlsError> {
        let internal = || Alert::InternalError.error();
        let suite = self.connection.negotiated_cipher_suite();
        let tls13 = suite.and_then(|suite| Cipher::of(u16::from(suite.suite())));
        if let Some(cipher) = tls13 {
            let heard = self.heard.ok_or_else(internal)?;
            let (opening, sealing, updates) = heard.traffic.take(cipher).map_err(|_| internal())?;
            return Ok((Traffic::new(opening, sealing, Some(updates)), self.received));
        }
        let (secrets, _) = self
            .connection
            .dangerous_into_kernel_connection()
            .map_err(|_| internal())?;
        let (sequence, keys) = secrets.rx;
        let opening = RecordKey::new(false, sequence, &keys).map_err(|_| internal())?;
        let (sequence, keys) = secrets.tx;
        let sealing = RecordKey::new(false, sequence, &keys).map_err(|_| internal())?;
        Ok((Traffic::new(opening, sealing, None), self.received))
    }

    /// Where the next record that rustls is to see ends, if it is there. Early data is skipped on the way.
    fn next_record_end(&mut self) -> Result<Option<usize>, Refusal> {
        loop {
            let fresh = self.received.get(self.offered..).unwrap_or_default();
            let Some(header) = fresh.first_chunk::<HEADER_BYTES>() else {
                return Ok(None);
            };
            let kind = header[0];
            // What is wrong with a header is not waited for.
            let length = record_rules::body_length(*header, fresh, self.protection())?;
            let Some(record) = fresh.get(..HEADER_BYTES + length) else {
                return Ok(None);
            };
            record_rules::check_body(kind, &record[HEADER_BYTES..])?;
            let end = self.offered + record.len();
            if !self.is_early(record) {
                self.cipher_changed |= kind == content_type::CHANGE_CIPHER_SPEC;
                if kind != content_type::CHANGE_CIPHER_SPEC && self.has_answered() {
                    self.early_data = None;
                }
                return Ok(Some(end));
            }
            if let Some(early_data) = &mut self.early_data {
                let skipped = early_data.skip(length);
                skipped.map_err(|(alert, error)| (Some(alert), error))?;
            }
            self.received.drain(self.offered..end);
        }
    }

    fn protection(&self) -> Protection {
        let heard = self.heard.as_ref();
        if heard.is_some_and(|heard| heard.traffic.is_opening()) {
            Protection::Tls13
        } else if self.cipher_changed {
            Protection::Changed
        } else {
            Protection::None
        }
    }

    /// Whether a ServerHello or a HelloRetryRequest has been made.
    fn has_answered(&self) -> bool {
        self.connection.negotiated_cipher_suite().is_some()
    }

    /// Whether a record is early data to skip. In the middle of a message it may not be (RFC 8446, 5.1).
    fn is_early(&self, record: &[u8]) -> bool {
        let sealed = record.first() == Some(&content_type::APPLICATION_DATA);
        if self.early_data.is_none() || !sealed || self.offered > 0 {
            return false;
        }
        let suite = self.connection.negotiated_cipher_suite();
        let Some(cipher) = suite.and_then(|suite| Cipher::of(u16::from(suite.suite()))) else {
            return false;
        };
        match &self.heard {
            Some(heard) if heard.traffic.is_opening() => {
                early_data::is_early(record, &heard.traffic, cipher)
            }
            // After a HelloRetryRequest the client's next message is in the clear.
            _ => true,
        }
    }

    /// Lets rustls look at the offered bytes until it wants more.
    fn digest(&mut self, output: &mut Vec<u8>) -> Result<(), rustls::Error> {
        loop {
            let offered = self.received.get_mut(..self.offered).unwrap_or_default();
            let UnbufferedStatus { discard, state } = self.connection.process_tls_records(offered);
            let mut more = true;
            let result = match state {
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, output),
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    data.done();
                    Ok(())
                }
                // Application data can't be here: records are offered one at a time and the last one of the
                // handshake ends this.
                Ok(_) => {
                    more = false;
                    Ok(())
                }
                Err(error) => Err(error),
            };
            let discard = discard.min(self.offered);
            self.offered -= discard;
            self.received.drain(..discard);
            result?;
            if !more {
                return Ok(());
            }
        }
    }

    /// Sends what rustls holds after an error, and the alert for it, which rustls does not always have.
    fn end(&mut self, error: &rustls::Error, output: &mut Vec<u8>) {
        let start = output.len();
        self.drain(output);
        let heard = self.heard.as_ref();
        if heard.is_some_and(|heard| heard.traffic.has_alerted()) {
            return;
        }
        // An alert in the clear: type, version, length, level, description.
        if let Some([content_type::ALERT, _, _, 0, 2, _, description]) =
            output.get_mut(start..).and_then(<[u8]>::last_chunk_mut)
        {
            if let Some(alert) = error_map::corrected_alert(error) {
                *description = alert as u8;
            }
        } else if let Some(alert) = error_map::alert(error) {
            self.send_alert(alert, output);
        }
    }

    /// rustls is asked only while it has something to send: a look at the input after an error would index beyond an
    /// empty buffer and panic (rustls 0.23.46).
    fn drain(&mut self, output: &mut Vec<u8>) {
        while self.connection.wants_write() {
            let state = self.connection.process_tls_records(&mut []).state;
            let Ok(ConnectionState::EncodeTlsData(data)) = state else {
                return;
            };
            if encode(data, output).is_err() {
                return;
            }
        }
    }

    /// Appends an alert of ours as the client expects it: sealed, once our records are. One that can't be sealed is not
    /// sent: the connection ends either way.
    fn send_alert(&self, alert: Alert, output: &mut Vec<u8>) {
        let suite = self.connection.negotiated_cipher_suite();
        let suite = suite.map_or(0, |suite| u16::from(suite.suite()));
        let key = self
            .heard
            .as_ref()
            .and_then(|heard| heard.traffic.sealing(suite));
        match key {
            None => output.extend_from_slice(&alert.plain_record()),
            Some(key) => {
                let length = output.len();
                let sealed = key
                    .and_then(|mut key| key.seal(content_type::ALERT, &[&alert.message()], output));
                if sealed.is_err() {
                    output.truncate(length);
                }
            }
        }
    }
}

/// Appends a record that rustls wants to send.
fn encode(
    mut data: EncodeTlsData<'_, ServerConnectionData>,
    output: &mut Vec<u8>,
) -> Result<(), rustls::Error> {
    let start = output.len();
    let mut room = ENCODE_ROOM;
    loop {
        output.resize(start + room, 0);
        match data.encode(&mut output[start..]) {
            Ok(written) => {
                output.truncate(start + written);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(error) => {
                output.truncate(start);
                return Err(rustls::Error::General(error.to_string()));
            }
        }
    }
}
