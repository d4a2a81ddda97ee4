//! What stands between the application's answer and the protocol: for copies of answers, other fields, other codings.
//!
//! A responder gives a request's answer a filter ([`Offered::Filtered`](crate::Offered::Filtered)). It sees the answer as
//! the application's records bring it, whatever protocol frames it, and may put something else in its place. An answer
//! without one passes by with one comparison.

use std::time::Duration;

use portico_channel::IdMap;
use portico_channel::layout::response_flag;

use crate::answer::{Answer, AnswerHead, Payload};
use crate::request_changes::RequestChanges;
use crate::templates::Templates;

/// Sees the application's answer to one request, and may change it. Dropped before the last bytes, the answer was given
/// up or cut off: nothing may be made of what came.
pub trait AnswerFilter: std::fmt::Debug {
    /// What the application is told otherwise of the request; asked before it is told of that. `None`: nothing.
    fn request_changes(&self) -> Option<&RequestChanges> {
        None
    }

    /// What the application wants kept of the answer. Comes before the head, and not at all of an application that says
    /// nothing.
    fn wished(&mut self, wish: &CacheWish<'_>) {
        let _ = wish;
    }

    /// The head (not of interim responses).
    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer;

    /// The application gives no answer: it has ended the connection or the stream before the head. What the client gets
    /// instead; `None`: that end.
    fn given_up(&mut self) -> Option<Answer> {
        None
    }

    /// Bytes of the body, none or more; `is_last`: nothing follows but trailers. `None`: they go out as they are.
    fn body(&mut self, bytes: &[u8], is_last: bool) -> Option<Vec<u8>>;
}

/// The head of an answer that a filter sees.
#[derive(Clone, Copy, Debug)]
pub struct FilteredHead<'a> {
    /// The status code.
    pub status: u16,
    /// Field lines, each with CR LF. `Date` and what belongs to the connection are not among them.
    pub fields: &'a [u8],
    /// `Content-Length`, where the engine writes it; it may also stand in `fields`.
    pub content_length: Option<u64>,
}

/// What becomes of an answer whose head a filter has seen.
#[derive(Debug)]
pub enum NewAnswer {
    /// It goes out as it is, and so must the length of the body.
    AsItIs,
    /// It has another head.
    Changed(NewHead),
    /// This one goes out, and nothing of the application's. The filter is dropped.
    Instead(Answer),
}

/// What a filter puts in a head's place.
#[derive(Clone, Debug)]
pub struct NewHead {
    /// Field lines. Without `Content-Length` and `Transfer-Encoding`, unless the body is as long as it was.
    pub fields: Vec<u8>,
    /// How long the body is.
    pub length: BodyLength,
}

/// How long a body is that a filter may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyLength {
    /// As the application said it, in the fields or beside them.
    AsItWas,
    /// So many bytes.
    Known(u64),
    /// It is not known yet; only for a request of HTTP/1.1 or later.
    Unknown,
}

/// What the application wants kept of an answer, apart from what its fields say.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheWish<'a> {
    /// For how long; 0: not at all. `None`: as it would be.
    pub lifetime: Option<Duration>,
    /// Names by which it can be purged, each ended by LF.
    pub tags: &'a [u8],
    /// No application answers: what comes is a host's own answer.
    pub is_absent: bool,
}

/// The filters of a connection, by exchange.
#[derive(Debug, Default)]
pub(crate) struct Filters(IdMap<u32, Filtered>);

#[derive(Debug)]
struct Filtered {
    /// `None`: another answer has gone out, and what the application says of its own is dropped.
    filter: Option<Box<dyn AnswerFilter>>,
    has_begun: bool,
}

/// What goes to the protocol in place of a head and the bytes with it.
#[derive(Default)]
pub(crate) struct Replaced {
    /// `None`: the fields are those of the record, or of its template.
    pub(crate) head: Option<NewHead>,
    /// `None`: the bytes are those of the record.
    pub(crate) body: Option<Vec<u8>>,
    /// All of another answer.
    pub(crate) answer: Option<Answer>,
}

impl Filters {
    pub(crate) fn enter(&mut self, sequence: u32, filter: Box<dyn AnswerFilter>) {
        let filtered = Filtered {
            filter: Some(filter),
            has_begun: false,
        };
        self.0.insert(sequence, filtered);
    }

    /// `CACHE`. `false`: the answer has no filter.
    pub(crate) fn wished(&mut self, sequence: u32, wish: &CacheWish<'_>) -> bool {
        let filtered = self.0.get_mut(&sequence);
        let filter = filtered.and_then(|filtered| filtered.filter.as_mut());
        filter.map(|filter| filter.wished(wish)).is_some()
    }

    /// Keeps those of answers that are still to be given, or to be dropped.
    pub(crate) fn keep(&mut self, is_wanted: impl Fn(u32) -> bool) {
        self.0
            .retain(|sequence, filtered| filtered.filter.is_none() || is_wanted(*sequence));
    }

    /// What stands in for the answer to a request that gets none from the application, if something does.
    pub(crate) fn given_up(&mut self, sequence: u32) -> Option<Answer> {
        let filtered = self.0.get_mut(&sequence)?;
        if filtered.has_begun {
            return None;
        }
        filtered.filter.as_mut()?.given_up()
    }

    /// Whether another answer has gone out, so that a record of the application's is dropped. The last one ends that.
    pub(crate) fn drops(&mut self, sequence: u32, flags: u32) -> bool {
        let filtered = self.0.get(&sequence);
        let is_dropped = filtered.is_some_and(|filtered| filtered.filter.is_none());
        if is_dropped && flags & response_flag::END != 0 {
            self.0.remove(&sequence);
        }
        is_dropped
    }

    /// The answer is given up.
    pub(crate) fn drop_one(&mut self, sequence: u32) {
        self.0.remove(&sequence);
    }

    /// `RESPOND`; `None`: no filter has a say in it.
    pub(crate) fn head(
        &mut self,
        templates: &Templates,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) -> Option<Replaced> {
        let filtered = self.0.get_mut(&sequence)?;
        let filter = filtered.filter.as_mut()?;
        if std::mem::replace(&mut filtered.has_begun, true) {
            // The protocol ignores a second head.
            return None;
        }
        let kept = templates.find(head.template);
        let flags = head.flags;
        let has_length = flags & response_flag::CONTENT_LENGTH != 0;
        let new = filter.head(&FilteredHead {
            status: head.status,
            fields: kept.map_or(head.fields, |kept| &kept.fields),
            content_length: has_length.then_some(head.content_length),
        });
        let head = match new {
            NewAnswer::AsItIs => None,
            NewAnswer::Changed(head) => Some(head),
            NewAnswer::Instead(answer) => {
                filtered.filter = None;
                return Some(Replaced {
                    answer: Some(answer),
                    ..Replaced::default()
                });
            }
        };
        let body = self.body(sequence, flags, body.bytes);
        Some(Replaced {
            head,
            body,
            answer: None,
        })
    }

    /// Bytes of the body, with the flags of their record. `None`: they go out as they are.
    pub(crate) fn body(&mut self, sequence: u32, flags: u32, bytes: &[u8]) -> Option<Vec<u8>> {
        let filtered = self.0.get_mut(&sequence)?;
        if !filtered.has_begun {
            // The protocol ignores what comes before the head.
            return None;
        }
        let is_last = flags & response_flag::END != 0;
        let instead = filtered.filter.as_mut()?.body(bytes, is_last);
        if is_last {
            self.0.remove(&sequence);
        }
        instead
    }
}
