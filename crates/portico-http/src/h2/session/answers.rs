//! Heads of answers: final ones, interim ones, trailers, promises of pushed answers (RFC 9113, sections 8.1 and 8.4).

use super::core::{Session, StreamGone};
use super::streams::{StreamKey, UNKNOWN_LENGTH};
use crate::h2::frame::{
    FRAME_HEADER_BYTES, FrameKind, flag, write_altsvc, write_data_header, write_field_block,
    write_origin,
};
use crate::h2::hpack::{OutgoingField, encode_fields, encode_independent};
use crate::semantics::framing_fields::is_connection_specific;

/// A status and fields that are encoded once, for all connections: what is kept of an answer that is given often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerHead {
    block: Vec<u8>,
}

impl AnswerHead {
    /// Encodes a head. Fields that are about an HTTP/1 connection are left out.
    pub fn new<'a>(status: u16, fields: impl IntoIterator<Item = OutgoingField<'a>>) -> Self {
        let mut block = Vec::new();
        encode_independent(&mut block, status, fields.into_iter().filter(has_place));
        Self { block }
    }
}

/// Whether a field may be sent (RFC 9113, section 8.2.2).
fn has_place(field: &OutgoingField<'_>) -> bool {
    !is_connection_specific(field.name_number, field.value)
}

impl Session {
    /// Sends the final head of an answer: a status that is not 1xx. `is_last`: nothing follows it. Fields that are
    /// about an HTTP/1 connection are left out.
    ///
    /// # Errors
    /// The stream has gone, or has its head.
    pub fn respond<'a>(
        &mut self,
        key: StreamKey,
        status: u16,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        is_last: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), StreamGone> {
        self.begin_answer(key)?;
        let start = self.begin_block(out);
        self.encoder.status(out, status);
        self.put_fields(fields, out);
        self.end_head(key, start, is_last, out);
        Ok(())
    }

    /// The same with a head that has been encoded before, and fields of this answer behind it.
    ///
    /// # Errors
    /// As [`Session::respond`].
    pub fn respond_encoded<'a>(
        &mut self,
        key: StreamKey,
        head: &AnswerHead,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        is_last: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), StreamGone> {
        self.begin_answer(key)?;
        let start = self.begin_block(out);
        out.extend_from_slice(&head.block);
        self.put_fields(fields, out);
        self.end_head(key, start, is_last, out);
        Ok(())
    }

    /// Sends an interim (1xx) head.
    ///
    /// # Errors
    /// As [`Session::respond`].
    pub fn inform<'a>(
        &mut self,
        key: StreamKey,
        status: u16,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), StreamGone> {
        let stream = self.streams.get(key).ok_or(StreamGone)?;
        if stream.has_answer || !stream.sends_more {
            return Err(StreamGone);
        }
        let start = self.begin_block(out);
        self.encoder.status(out, status);
        self.put_fields(fields, out);
        self.end_block(key.id, start, FrameKind::HEADERS, 0, out);
        Ok(())
    }

    /// Ends an answer behind what is queued of its body.
    ///
    /// # Errors
    /// The stream has gone, has no head, or has ended.
    pub fn end(&mut self, key: StreamKey, out: &mut Vec<u8>) -> Result<(), StreamGone> {
        let stream = self.ending(key)?;
        stream.ends = true;
        if stream.queued == 0 {
            stream.sends_more = false;
            write_data_header(out, key.id, 0, true);
            self.free_if_closed(key, out);
        }
        Ok(())
    }

    /// Ends an answer with trailers behind what is queued of its body.
    ///
    /// # Errors
    /// As [`Session::end`].
    pub fn end_with_trailers<'a>(
        &mut self,
        key: StreamKey,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<(), StreamGone> {
        let stream = self.ending(key)?;
        encode_fields(&mut stream.trailers, fields.into_iter().filter(has_place));
        if stream.trailers.is_empty() {
            return self.end(key, out);
        }
        stream.ends = true;
        if stream.queued == 0 {
            self.send_trailers(key, out);
        }
        Ok(())
    }

    /// Sends the trailers that a stream has kept, and so ends it.
    pub(super) fn send_trailers(&mut self, key: StreamKey, out: &mut Vec<u8>) {
        let start = self.begin_block(out);
        let Some(stream) = self.streams.get_mut(key) else {
            return out.truncate(start);
        };
        out.extend_from_slice(&stream.trailers);
        stream.sends_more = false;
        self.end_block(key.id, start, FrameKind::HEADERS, flag::END_STREAM, out);
        self.free_if_closed(key, out);
    }

    /// Promises an answer to a request that the client has not made (RFC 9113, section 8.4). The first fields are
    /// `:method`, `:scheme`, `:authority` and `:path`. The answer is sent on the stream that is returned.
    ///
    /// # Errors
    /// The request's stream has gone, or the client does not take pushed answers, or no more of them.
    pub fn push<'a>(
        &mut self,
        parent: StreamKey,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        out: &mut Vec<u8>,
    ) -> Result<StreamKey, StreamGone> {
        let pushed = self.streams.len() as u32 - self.peer_streams;
        let stream = self.streams.get(parent).ok_or(StreamGone)?;
        let may_push = self.peer.enable_push
            && pushed < self.peer.max_concurrent_streams
            && parent.id % 2 == 1
            && self.last_pushed < 0x7fff_fff0
            && !self.shutdown.has_begun();
        if !may_push || !stream.sends_more {
            return Err(StreamGone);
        }
        self.last_pushed += 2;
        let id = self.last_pushed;
        let start = out.len();
        out.resize(start + FRAME_HEADER_BYTES, 0);
        out.extend_from_slice(&id.to_be_bytes());
        self.encoder.begin(out);
        self.put_fields(fields, out);
        self.end_block(parent.id, start, FrameKind::PUSH_PROMISE, 0, out);
        let key = self.streams.insert(id);
        let send_window = self.peer.initial_window_size.into();
        if let Some(stream) = self.streams.get_mut(key) {
            stream.sends_more = true;
            stream.body_left = UNKNOWN_LENGTH;
            stream.send_window = send_window;
        }
        Ok(key)
    }

    /// Tells the client of another service: for a request's origin, or for one that is named (RFC 7838, section 4).
    pub fn alt_svc(&self, stream: u32, origin: &[u8], value: &[u8], out: &mut Vec<u8>) {
        write_altsvc(out, stream, origin, value);
    }

    /// Tells the client which origins the connection is for (RFC 8336).
    pub fn origins<'a>(&self, origins: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) {
        write_origin(out, origins);
    }

    /// A stream that gets its final head now.
    fn begin_answer(&mut self, key: StreamKey) -> Result<(), StreamGone> {
        let stream = self.streams.get_mut(key).ok_or(StreamGone)?;
        if stream.has_answer || !stream.sends_more {
            return Err(StreamGone);
        }
        stream.has_answer = true;
        Ok(())
    }

    /// A stream that has its head and has not been ended.
    fn ending(&mut self, key: StreamKey) -> Result<&mut super::streams::Stream, StreamGone> {
        self.streams
            .get_mut(key)
            .filter(|stream| stream.has_answer && stream.sends_more && !stream.ends)
            .ok_or(StreamGone)
    }

    /// Room for a frame's header, and what each field block begins with. Where that room is.
    fn begin_block(&mut self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        out.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        self.encoder.begin(out);
        start
    }

    fn put_fields<'a>(
        &mut self,
        fields: impl IntoIterator<Item = OutgoingField<'a>>,
        out: &mut Vec<u8>,
    ) {
        for field in fields {
            if has_place(&field) {
                self.encoder.encode(out, &field);
            }
        }
    }

    fn end_head(&mut self, key: StreamKey, start: usize, is_last: bool, out: &mut Vec<u8>) {
        let flags = if is_last { flag::END_STREAM } else { 0 };
        self.end_block(key.id, start, FrameKind::HEADERS, flags, out);
        if is_last {
            if let Some(stream) = self.streams.get_mut(key) {
                stream.sends_more = false;
            }
            self.free_if_closed(key, out);
        }
    }

    fn end_block(&self, id: u32, start: usize, kind: FrameKind, flags: u8, out: &mut Vec<u8>) {
        let max_size = self.peer.max_frame_size as usize;
        write_field_block(out, start, kind, flags, id, max_size);
    }
}
