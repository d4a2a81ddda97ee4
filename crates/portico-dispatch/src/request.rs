//! What the dispatcher reads of a request's record.

use portico_channel::RecordView;
use portico_channel::layout::request_flag;
use portico_http::Method;
use portico_http::semantics::field_name;
use portico_http::semantics::response_framing::AnsweredRequest;

/// Words of `REQUEST` before its table of fields.
const REQUEST_WORDS: usize = 11;
/// Words of one field in the table.
const FIELD_WORDS: usize = 4;

/// A view of a `REQUEST` record that the engine wrote.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    record: RecordView<'a>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(record: RecordView<'a>) -> Self {
        Self { record }
    }

    pub(crate) fn sequence(self) -> u32 {
        self.record.word(3)
    }

    pub(crate) fn target(self) -> &'a [u8] {
        self.slice(self.record.word(5), self.record.word(6))
    }

    /// The value of `Host`; an error if there is more than one.
    pub(crate) fn host(self) -> Result<Option<&'a [u8]>, ManyHosts> {
        let mut found = None;
        for field in self.fields() {
            if field.number == field_name::HOST && found.replace(field.value).is_some() {
                return Err(ManyHosts);
            }
        }
        Ok(found)
    }

    /// Values of the fields with a name (lower case).
    pub(crate) fn values(self, name: &str) -> impl Iterator<Item = &'a [u8]> + use<'a, '_> {
        self.fields()
            .filter(move |field| field.name.eq_ignore_ascii_case(name.as_bytes()))
            .map(|field| field.value)
    }

    pub(crate) fn facts(self) -> Facts {
        let method = Method::from_number((self.record.word(4) & 0xff) as u8);
        let flags = self.record.flags();
        Facts {
            keep_alive: flags & request_flag::KEEP_ALIVE != 0,
            complete: flags & request_flag::COMPLETE != 0,
            upgrade: flags & request_flag::UPGRADE != 0,
            connect: method == Some(Method::Connect),
            head: method == Some(Method::Head),
            is_old: self.record.word(4) >> 8 & 0xff == 0,
            safe: matches!(
                method,
                Some(Method::Get | Method::Head | Method::Options | Method::Trace)
            ),
        }
    }

    fn fields(self) -> impl Iterator<Item = Field<'a>> {
        let count = usize::try_from(self.record.word(4) >> 16).unwrap_or(0);
        (0..count).map(move |index| {
            let word = REQUEST_WORDS + index * FIELD_WORDS;
            let name = self.record.word(word);
            Field {
                number: (name >> 16) as u16,
                name: self.slice(self.record.word(word + 1), name & 0xffff),
                value: self.slice(self.record.word(word + 2), self.record.word(word + 3)),
            }
        })
    }

    fn slice(self, offset: u32, length: u32) -> &'a [u8] {
        usize::try_from(offset)
            .ok()
            .and_then(|offset| self.record.bytes(offset, length))
            .unwrap_or_default()
    }
}

/// A request with more than one `Host` (RFC 9112, 3.2): where it belongs cannot be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManyHosts;

struct Field<'a> {
    number: u16,
    name: &'a [u8],
    value: &'a [u8],
}

impl Facts {
    /// What matters of it to the framing of its answer.
    pub(crate) fn answered(self) -> AnsweredRequest {
        AnsweredRequest {
            is_head: self.head,
            is_connect: self.connect,
            is_http_1_0: self.is_old,
        }
    }
}

/// What must be known of a request while it is in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
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
    /// HTTP/1.0.
    pub(crate) is_old: bool,
    /// Its method is safe (RFC 9110, 9.2.1).
    pub(crate) safe: bool,
}
