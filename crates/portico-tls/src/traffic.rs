//! A connection after its handshake: records in and out, alerts, key updates. What rustls' connection was is gone.

use crate::alert::{self, Alert};
use crate::key_update::{self, PartialKeyUpdate};
use crate::record::{self, BadKey, HEADER_BYTES, MAX_PLAINTEXT_BYTES, RecordKey, content_type};
use crate::traffic_keys::KeyUpdates;
use crate::{Sink, Status, TlsError};

/// Empty or maintenance records in a row before the peer counts as hostile (rustls' figure).
const MAX_IDLE_RECORDS: u8 = 32;
/// Attempts to renegotiate before the connection is closed.
const MAX_RENEGOTIATIONS: u8 = 2;
/// Handshake type (RFC 5246, 7.4).
const CLIENT_HELLO: u8 = 1;

/// Keys and state of an open connection.
pub(crate) struct Traffic {
    opening: RecordKey,
    sealing: RecordKey,
    /// Where the next keys come from; TLS 1.3 only.
    updates: Option<Box<KeyUpdates>>,
    /// The beginning of a record whose end has not come. Empty, and without memory, between records.
    partial: Vec<u8>,
    partial_update: PartialKeyUpdate,
    /// The peer has asked for a new key of ours. It comes before the next data (RFC 8446, 4.6.3), and not at once: a
    /// peer that asks again and again and reads nothing would fill the memory with answers.
    update_owed: bool,
    /// Records without application data since the last one with some.
    idle_records: u8,
    renegotiations: u8,
    peer_closed: bool,
    closed: bool,
    failed: bool,
}

impl Traffic {
    pub(crate) fn new(opening: RecordKey, sealing: RecordKey, updates: Option<KeyUpdates>) -> Self {
        Self {
            opening,
            sealing,
            updates: updates.map(Box::new),
            partial: Vec::new(),
            partial_update: PartialKeyUpdate::default(),
            update_owed: false,
            idle_records: 0,
            renegotiations: 0,
            peer_closed: false,
            closed: false,
            failed: false,
        }
    }

    /// Takes received bytes. See [`crate::Connection::handle_input`].
    pub(crate) fn handle_input(
        &mut self,
        input: &mut [u8],
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<Status, TlsError> {
        if self.failed {
            return Err(Alert::InternalError.error());
        }
        let was_closed = self.peer_closed;
        let result = self.take_records(input, plaintext, output);
        match result {
            Ok(()) => Ok(Status {
                peer_closed: self.peer_closed && !was_closed,
                ..Status::default()
            }),
            Err(failure) => Err(self.fail(failure, output)),
        }
    }

    /// Encrypts the parts' concatenation.
    pub(crate) fn write(&mut self, parts: &[&[u8]], output: &mut Vec<u8>) -> Result<(), TlsError> {
        if self.closed || self.failed {
            return Err(TlsError::new(
                "EPIPE",
                "the TLS connection has been closed for writing",
            ));
        }
        let total: usize = parts.iter().map(|part| part.len()).sum();
        if total == 0 {
            return Ok(());
        }
        if self.update_owed || self.sealing.is_worn() {
            self.renew_sealing_key(output)
                .map_err(|_| Alert::InternalError.error())?;
        }
        if total <= MAX_PLAINTEXT_BYTES {
            return self.seal(parts, output);
        }
        // A long answer: full records across the borders of the parts.
        let mut group: Vec<&[u8]> = Vec::with_capacity(parts.len());
        let mut room = MAX_PLAINTEXT_BYTES;
        for part in parts {
            let mut rest: &[u8] = part;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(rest.len().min(room));
                group.push(now);
                room -= now.len();
                rest = later;
                if room == 0 {
                    self.seal(&group, output)?;
                    group.clear();
                    room = MAX_PLAINTEXT_BYTES;
                }
            }
        }
        if group.is_empty() {
            Ok(())
        } else {
            self.seal(&group, output)
        }
    }

    /// Appends close_notify, once.
    pub(crate) fn close_notify(&mut self, output: &mut Vec<u8>) {
        if !self.closed && !self.failed {
            self.send_alert(Alert::CloseNotify, output);
            self.closed = true;
        }
    }

    /// Appends a fatal alert and ends the connection.
    pub(crate) fn abort(&mut self, alert: Alert, output: &mut Vec<u8>) {
        if !self.failed {
            self.failed = true;
            if !self.closed {
                self.send_alert(alert, output);
            }
        }
    }

    fn take_records(
        &mut self,
        mut input: &mut [u8],
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if !self.partial.is_empty() {
            let taken = fill_record(&mut self.partial, input)?;
            input = &mut input[taken..];
            let Some(header) = complete_header(&self.partial)? else {
                return Ok(());
            };
            // Given back afterwards only as nothing: an idle connection keeps no buffer.
            let mut record = std::mem::take(&mut self.partial);
            self.take_record(header, &mut record[HEADER_BYTES..], plaintext, output)?;
        }
        loop {
            if self.peer_closed {
                return Ok(());
            }
            let Some(header) = complete_header(input)? else {
                break;
            };
            let end = HEADER_BYTES + record::body_length(header)?;
            let (record, rest) = input.split_at_mut(end);
            self.take_record(header, &mut record[HEADER_BYTES..], plaintext, output)?;
            input = rest;
        }
        self.partial.extend_from_slice(input);
        Ok(())
    }

    fn take_record(
        &mut self,
        header: [u8; HEADER_BYTES],
        body: &mut [u8],
        plaintext: &mut impl Sink,
        output: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let (kind, content) = self.opening.open(header, body)?;
        if self.partial_update.has_begun() && kind != content_type::HANDSHAKE {
            return Err(Alert::UnexpectedMessage.into());
        }
        if kind == content_type::APPLICATION_DATA && !content.is_empty() {
            self.idle_records = 0;
            plaintext.append(content);
            return Ok(());
        }
        self.idle_records += 1;
        if self.idle_records > MAX_IDLE_RECORDS {
            return Err(Alert::UnexpectedMessage.into());
        }
        match kind {
            content_type::APPLICATION_DATA => Ok(()),
            content_type::ALERT => self.take_alert(content),
            content_type::HANDSHAKE if self.opening.is_tls13() => {
                if let Some(requested) = self.partial_update.take(content)? {
                    self.renew_opening_key()?;
                    self.update_owed |= requested;
                }
                Ok(())
            }
            content_type::HANDSHAKE => self.refuse_renegotiation(content.first().copied(), output),
            _ => Err(Alert::UnexpectedMessage.into()),
        }
    }

    fn take_alert(&mut self, content: &[u8]) -> Result<(), Failure> {
        let [level, description] = content else {
            // RFC 8446, 5.4: an empty one is out of place, not badly written.
            let is_empty = content.is_empty() && self.opening.is_tls13();
            return Err(if is_empty {
                Alert::UnexpectedMessage
            } else {
                Alert::DecodeError
            }
            .into());
        };
        const USER_CANCELED: u8 = 90;
        match *description {
            0 => self.peer_closed = true,
            USER_CANCELED => {}
            // RFC 8446, 6: all other alerts are fatal whatever their level; in TLS 1.2 the level counts.
            _ if *level == alert::WARNING && !self.opening.is_tls13() => {}
            other => return Err(Failure::Received(other)),
        }
        Ok(())
    }

    fn renew_opening_key(&mut self) -> Result<(), Failure> {
        let updates = self.updates.as_mut().ok_or(Alert::UnexpectedMessage)?;
        self.opening = updates.next_opening()?;
        Ok(())
    }

    /// TLS 1.2: a ClientHello in the middle of a connection is answered with no_renegotiation.
    fn refuse_renegotiation(
        &mut self,
        message: Option<u8>,
        output: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if message != Some(CLIENT_HELLO) {
            return Err(Alert::UnexpectedMessage.into());
        }
        self.renegotiations += 1;
        if self.renegotiations > MAX_RENEGOTIATIONS {
            return Err(Alert::NoRenegotiation.into());
        }
        if !self.closed {
            self.send_alert(Alert::NoRenegotiation, output);
        }
        Ok(())
    }

    fn seal(&mut self, parts: &[&[u8]], output: &mut Vec<u8>) -> Result<(), TlsError> {
        let sealed = self
            .sealing
            .seal(content_type::APPLICATION_DATA, parts, output);
        sealed.map_err(|_| Alert::InternalError.error())
    }

    /// Tells the peer that the next key comes (without asking for one), and takes it into use.
    fn renew_sealing_key(&mut self, output: &mut Vec<u8>) -> Result<(), BadKey> {
        let updates = self.updates.as_mut().ok_or(BadKey)?;
        self.sealing.seal(
            content_type::HANDSHAKE,
            &[&key_update::NOT_REQUESTED],
            output,
        )?;
        self.sealing = updates.next_sealing()?;
        self.update_owed = false;
        Ok(())
    }

    /// An alert that can't be sealed is not sent: the connection ends either way.
    fn send_alert(&mut self, alert: Alert, output: &mut Vec<u8>) {
        let length = output.len();
        if self
            .sealing
            .seal(content_type::ALERT, &[&alert.message()], output)
            .is_err()
        {
            output.truncate(length);
        }
    }

    fn fail(&mut self, failure: Failure, output: &mut Vec<u8>) -> TlsError {
        match failure {
            Failure::Ours(alert) => {
                self.abort(alert, output);
                alert.error()
            }
            Failure::Received(description) => {
                self.failed = true;
                alert::received(description)
            }
        }
    }
}

/// Why a connection ends: by an alert of ours, or by one of the peer's.
enum Failure {
    Ours(Alert),
    Received(u8),
}

impl From<Alert> for Failure {
    fn from(alert: Alert) -> Self {
        Self::Ours(alert)
    }
}

impl From<BadKey> for Failure {
    fn from(_: BadKey) -> Self {
        Self::Ours(Alert::InternalError)
    }
}

/// The header of the record at the front, if the whole record is there.
fn complete_header(bytes: &[u8]) -> Result<Option<[u8; HEADER_BYTES]>, Alert> {
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let whole = bytes.len() >= HEADER_BYTES + record::body_length(*header)?;
    Ok(whole.then_some(*header))
}

/// Moves bytes from `input` to complete the record in `partial`, and no more. Gives how many.
fn fill_record(partial: &mut Vec<u8>, input: &[u8]) -> Result<usize, Alert> {
    let mut taken = 0;
    if partial.len() < HEADER_BYTES {
        taken = input.len().min(HEADER_BYTES - partial.len());
        partial.extend_from_slice(&input[..taken]);
    }
    let Some(header) = partial.first_chunk::<HEADER_BYTES>() else {
        return Ok(taken);
    };
    let missing = (HEADER_BYTES + record::body_length(*header)?).saturating_sub(partial.len());
    let more = missing.min(input.len() - taken);
    partial.extend_from_slice(&input[taken..taken + more]);
    Ok(taken + more)
}

#[cfg(test)]
#[path = "traffic_tests.rs"]
mod tests;
