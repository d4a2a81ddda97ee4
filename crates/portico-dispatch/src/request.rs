//! What the dispatcher reads of a request's record.

use portico_channel::RecordView;
use portico_channel::layout::{event, request_flag};
use portico_channel::schema::View;
use portico_http::Method;
use portico_http::semantics::response_framing::AnsweredRequest;

/// A `REQUEST` record that the engine wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    words: View<'a, event::Request>,
}

impl<'a> Request<'a> {
    /// `None` of a record that is none.
    pub(crate) fn read(record: RecordView<'a>) -> Option<Self> {
        record.read().map(|words| Self { words })
    }

    pub(crate) fn sequence(self) -> u32 {
        self.words.sequence
    }

    pub(crate) fn target(self) -> &'a [u8] {
        self.words.bytes(self.words.target)
    }

    /// Values of the fields with a name (lower case).
    pub(crate) fn values(self, name: &str) -> impl Iterator<Item = &'a [u8]> + use<'a, '_> {
        self.words
            .fields()
            .filter(move |field| {
                let own = self.words.bytes(field.name());
                own.eq_ignore_ascii_case(name.as_bytes())
            })
            .map(move |field| self.words.bytes(field.value))
    }

    pub(crate) fn traits(self) -> RequestTraits {
        let method = Method::from_number(self.words.method);
        let flags = self.words.flags();
        RequestTraits {
            keep_alive: flags & request_flag::KEEP_ALIVE != 0,
            complete: flags & request_flag::COMPLETE != 0,
            // A stream that becomes a tunnel needs no word of the engine: its bytes are a body's.
            upgrade: flags & request_flag::UPGRADE != 0 && self.words.major_version < 2,
            connect: method == Some(Method::Connect),
            head: method == Some(Method::Head),
            has_stream: self.words.major_version >= 2,
            is_old: (self.words.major_version, self.words.minor_version) == (1, 0),
            safe: matches!(
                method,
                Some(Method::Get | Method::Head | Method::Options | Method::Trace)
            ),
        }
    }
}

impl RequestTraits {
    /// What matters of it to the framing of its answer.
    pub(crate) fn answered(self) -> AnsweredRequest {
        AnsweredRequest {
            is_head: self.head,
            is_connect: self.connect && !self.has_stream,
            is_http_1_0: self.is_old,
        }
    }
}

/// What must be known of a request while it is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestTraits {
    /// The connection may be kept after it.
    pub(crate) keep_alive: bool,
    /// Its head was all of it.
    pub(crate) complete: bool,
    /// It asks for an upgrade, or is CONNECT: the engine waits for `TAKE_OVER` or `PROCEED`.
    pub(crate) upgrade: bool,
    /// CONNECT: a 2xx answer makes a tunnel.
    pub(crate) connect: bool,
    /// HEAD: its answer has no body.
    pub(crate) head: bool,
    /// It is a stream: it can end without its connection, in any order (HTTP/2).
    pub(crate) has_stream: bool,
    /// HTTP/1.0.
    pub(crate) is_old: bool,
    /// Its method is safe (RFC 9110, 9.2.1).
    pub(crate) safe: bool,
}
