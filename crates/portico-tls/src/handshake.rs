//! A handshake in progress: rustls does it, this feeds it record by record, so that not a byte after the last
//! handshake message goes into rustls' record layer, and takes the keys out when it is done.

use std::sync::Arc;

use rustls::server::{ServerConfig, ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, InsufficientSizeError, UnbufferedStatus,
};

use crate::alert::Alert;
use crate::error_map;
use crate::keying::{self, Heard};
use crate::record::{self, Cipher, HEADER_BYTES, RecordKey};
use crate::traffic::Traffic;
use crate::{Facts, TlsError};

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
}

/// How far a handshake got.
pub(crate) enum Progress {
    /// The peer must send more.
    Waiting,
    /// All messages are exchanged.
    Done,
}

impl Handshake {
    pub(crate) fn new(config: Arc<ServerConfig>, received: Vec<u8>) -> Result<Self, TlsError> {
        let connection = UnbufferedServerConnection::new(config)
            .map_err(|error| error_map::tls_error(&error))?;
        Ok(Self {
            connection,
            received,
            offered: 0,
            heard: None,
        })
    }

    /// Adds received bytes. Call [`Handshake::proceed`] after it.
    pub(crate) fn receive(&mut self, input: &[u8]) {
        self.received.extend_from_slice(input);
    }

    /// Goes on as far as the received bytes allow, appending what must be sent.
    pub(crate) fn proceed(&mut self, output: &mut Vec<u8>) -> Result<Progress, TlsError> {
        loop {
            let Some(end) = self.next_record_end(output)? else {
                if self.received.len() > MAX_RECEIVED_BYTES {
                    output.extend_from_slice(&Alert::DecodeError.plain_record());
                    return Err(Alert::DecodeError.error());
                }
                return Ok(Progress::Waiting);
            };
            self.offered = end;
            let mut heard = self.heard.take();
            let result = keying::listen(&mut heard, || self.digest(output));
            self.heard = heard;
            if let Err(error) = result {
                self.drain_alert(output);
                return Err(error_map::tls_error(&error));
            }
            if !self.connection.is_handshaking() {
                return Ok(Progress::Done);
            }
        }
    }

    /// What was agreed on. What the ClientHello said and `verify_error` are for the caller to fill in.
    pub(crate) fn facts(&mut self) -> Facts {
        let connection = &self.connection;
        let heard = self.heard.as_mut();
        let certificates = connection.peer_certificates().unwrap_or_default();
        Facts {
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
            ..Facts::default()
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

    /// Where the next record that rustls has not seen ends, if it is there.
    fn next_record_end(&self, output: &mut Vec<u8>) -> Result<Option<usize>, TlsError> {
        let Some(fresh) = self.received.get(self.offered..) else {
            return Ok(None);
        };
        let Some(header) = fresh.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        // A length beyond the limit is not waited for: rustls is given what there is, and refuses it.
        let length = match record::body_length(*header) {
            Ok(length) if (20..=23).contains(&header[0]) => length,
            _ => {
                return self
                    .refuse(fresh, output)
                    .map(|()| Some(self.received.len()));
            }
        };
        let end = HEADER_BYTES + length;
        Ok((fresh.len() >= end).then_some(self.offered + end))
    }

    /// Bytes that are no TLS record.
    fn refuse(&self, fresh: &[u8], output: &mut Vec<u8>) -> Result<(), TlsError> {
        let (alert, error) = error_map::not_a_record(fresh);
        if let Some(alert) = alert {
            output.extend_from_slice(&alert.plain_record());
        }
        Err(error)
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

    /// After an error rustls still holds the alert for it. It is asked only while it has something to send: a look at
    /// the input in this state would index beyond an empty buffer and panic (rustls 0.23.46).
    fn drain_alert(&mut self, output: &mut Vec<u8>) {
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
