//! Where the body of a response ends (RFC 9112, section 6.3), and whether everybody sees that end.
//!
//! One description of it for all who need it: an engine that shares a connection among applications judges with it what
//! they send; the rows of `tests/framing/responses.txt` are held against it here, and against what the JavaScript side
//! and node:http send.

use super::framing_fields::FramingFields;

/// What matters of the request that is answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnsweredRequest {
    /// HEAD: the response has the fields of GET's and no body.
    pub is_head: bool,
    /// CONNECT: a 2xx response makes a tunnel.
    pub is_connect: bool,
    /// HTTP/1.0, which knows no transfer codings.
    pub is_http_1_0: bool,
}

/// What whoever sends the response adds to its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AddedFraming {
    /// A `Content-Length`.
    pub content_length: Option<u64>,
    /// `Transfer-Encoding: chunked`.
    pub transfer_encoding: bool,
    /// The body is sent in chunks.
    pub in_chunks: bool,
}

/// Where a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// Behind so many bytes.
    Length(u64),
    /// Behind the last chunk.
    LastChunk,
    /// Where the connection ends.
    ConnectionEnd,
}

/// How a response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseFraming {
    /// Where its body ends.
    pub end: BodyEnd,
    /// The connection must end behind it: its end is that of the body, or a client may see the body's end elsewhere.
    pub is_last: bool,
}

/// The response can't be what its head says. 1xx is no response that ends an exchange (RFC 9110, section 15.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misframed;

impl ResponseFraming {
    /// How a response with this status and these fields is framed.
    ///
    /// # Errors
    /// Its parts contradict each other.
    pub fn of(
        request: AnsweredRequest,
        status: u32,
        fields: &FramingFields,
        added: AddedFraming,
    ) -> Result<Self, Misframed> {
        if !(200..=999).contains(&status) {
            return Err(Misframed);
        }
        let length = match (added.content_length, fields.content_length) {
            (Some(length), Some(other)) if length != other => return Err(Misframed),
            (Some(length), _) => Some(length),
            (None, other) => other,
        };
        let is_coded = fields.has_transfer_encoding || added.transfer_encoding;
        let says_chunked = fields.is_chunked || added.transfer_encoding;
        // RFC 9112, section 6.3: both framing fields, or one twice, are an attempt to split; and RFC 9110, section 9.3.6:
        // the client takes the connection for a tunnel.
        let mut is_doubtful = (fields.has_transfer_encoding && added.transfer_encoding)
            || (length.is_some() && is_coded)
            || (request.is_connect && status < 300);
        let end = if request.is_head || status == 204 || status == 304 {
            if added.in_chunks {
                return Err(Misframed);
            }
            BodyEnd::Length(0)
        } else {
            match (length, says_chunked, added.in_chunks) {
                (_, true, true) => {
                    is_doubtful |= request.is_http_1_0;
                    BodyEnd::LastChunk
                }
                (_, true, false) | (Some(_), false, true) => return Err(Misframed),
                (Some(length), false, false) if !is_coded => BodyEnd::Length(length),
                _ => BodyEnd::ConnectionEnd,
            }
        };
        Ok(Self {
            end,
            is_last: is_doubtful || end == BodyEnd::ConnectionEnd,
        })
    }
}
