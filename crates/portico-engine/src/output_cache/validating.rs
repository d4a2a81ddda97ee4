//! A stored answer that is stale: the application is asked whether it still holds (RFC 9111, section 4.3), and it stands
//! in where the application fails (RFC 5861, section 4).

use std::sync::Arc;

use portico_cache::store::Entry;
use portico_cache::{CacheStatus, Failure, RequestDirectives, status, validation};
use portico_http::semantics::status::reason;

use super::answering::answer;
use super::storing::{Storing, fields_of};
use crate::answer::{Answer, Segment};
use crate::filter::{AnswerFilter, BodyLength, CacheWish, FilteredHead, NewAnswer, NewHead};
use crate::request_changes::RequestChanges;

/// Looks at the answer to a request for which something stale is stored.
#[derive(Debug)]
pub(super) struct Validating {
    storing: Storing,
    entry: Arc<Entry>,
    /// By the rule of the site answers are kept as they themselves say.
    is_standard: bool,
    directives: RequestDirectives,
    /// The conditions that ask whether it still holds; `None`: it has nothing to ask by, or must not be asked for.
    conditions: Option<RequestChanges>,
    is_absent: bool,
}

impl Validating {
    pub(super) fn new(
        storing: Storing,
        entry: Arc<Entry>,
        directives: RequestDirectives,
        is_standard: bool,
    ) -> Self {
        let added = validation::conditions(entry.fields());
        let asks = is_standard && added.fields().iter().next().is_some();
        Self {
            storing,
            entry,
            is_standard,
            directives,
            conditions: asks.then_some(RequestChanges {
                leaves_out: validation::is_replaced,
                added,
            }),
            is_absent: false,
        }
    }

    /// Whether the stored answer may be given in the place of one that failed. Notes that it did.
    fn stands_in(&self, failure: Failure) -> bool {
        let now = self.storing.now();
        self.entry.note_failure(now);
        self.entry
            .freshness()
            .may_stand_in(&self.directives, failure, now)
    }

    /// The stored answer, for this request.
    fn give(&self, entry: &Arc<Entry>, status: Option<u16>, is_stored: bool) -> Answer {
        let now = self.storing.now();
        let told = CacheStatus::Forwarded {
            why: self.storing.why(),
            status,
            is_stored,
            is_collapsed: false,
            detail: None,
        };
        answer(entry, &self.storing.asking(), now, told)
    }

    /// A 304 of the application: the stored answer holds.
    fn not_modified(&mut self, head: &FilteredHead<'_>) -> Answer {
        let fields = fields_of(head.fields);
        let freshened = self.storing.freshen(&self.entry, head.status, &fields);
        let entry = freshened.as_ref().unwrap_or(&self.entry);
        let mut answer = self.give(entry, Some(304), freshened.is_some());
        // What is set for this client is for it alone.
        for cookie in fields.fields().values(b"set-cookie") {
            answer.fields.extend_from_slice(b"Set-Cookie: ");
            answer.fields.extend_from_slice(cookie);
            answer.fields.extend_from_slice(b"\r\n");
        }
        answer
    }
}

impl AnswerFilter for Validating {
    fn request_changes(&self) -> Option<&RequestChanges> {
        self.conditions.as_ref()
    }

    fn wished(&mut self, wish: &CacheWish<'_>) {
        self.is_absent |= wish.is_absent;
        self.storing.wished(wish);
    }

    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer {
        if head.status == 304 && self.conditions.is_some() {
            return NewAnswer::Instead(self.not_modified(head));
        }
        let failure = if self.is_absent {
            Failure::Absent
        } else {
            Failure::Status
        };
        if status::is_failure(head.status) && self.stands_in(failure) {
            return NewAnswer::Instead(self.give(&self.entry, Some(head.status), false));
        }
        self.storing.head(head)
    }

    fn body(&mut self, bytes: &[u8], is_last: bool) -> Option<Vec<u8>> {
        self.storing.body(bytes, is_last)
    }

    fn given_up(&mut self) -> Option<Answer> {
        if self.stands_in(Failure::Absent) {
            return Some(self.give(&self.entry, None, false));
        }
        // Section 5.2.2.2: what can't be validated and must not be used is an error, not the end of the connection.
        self.is_standard
            .then(|| unusable("fwd=stale; detail=no-answer"))
    }
}

/// 504, for a request that can't have what is stored, nor ask the application.
pub(super) fn unusable(detail: &str) -> Answer {
    let text = format!("{}\n", reason(504).unwrap_or_default());
    let fields =
        format!("Content-Type: text/plain; charset=utf-8\r\nCache-Status: portico; {detail}\r\n");
    Answer {
        status: 504,
        fields: fields.into_bytes(),
        has_date: false,
        body: vec![Segment::Owned(text.into_bytes())],
        keep_alive: true,
    }
}

/// The same for a request of the engine's own: nothing of the answer goes further.
#[derive(Debug)]
pub(super) struct Refreshing(pub(super) Validating);

impl AnswerFilter for Refreshing {
    fn wished(&mut self, wish: &CacheWish<'_>) {
        self.0.wished(wish);
    }

    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer {
        // What is made of the answer is stored by then.
        let _ = self.0.head(head);
        NewAnswer::Changed(NewHead {
            fields: Vec::new(),
            length: BodyLength::Known(0),
        })
    }

    fn body(&mut self, bytes: &[u8], is_last: bool) -> Option<Vec<u8>> {
        self.0.body(bytes, is_last);
        Some(Vec::new())
    }
}

/// The head of a request that asks in the background for what another one, with these fields, has been given stale.
pub(super) fn background_head(target: &[u8], authority: &[u8], validating: &Validating) -> Vec<u8> {
    let mut head = Vec::new();
    head.extend_from_slice(b"GET ");
    head.extend_from_slice(target);
    head.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    head.extend_from_slice(authority);
    head.extend_from_slice(b"\r\n");
    let asking = validating.storing.asking();
    let of_connection = |name: &[u8]| {
        let mut named = asking.fields.list(b"connection");
        OF_THE_CONNECTION
            .iter()
            .any(|other| name.eq_ignore_ascii_case(other))
            || named.any(|other| name.eq_ignore_ascii_case(other))
    };
    let own = asking
        .fields
        .iter()
        .filter(|(name, _)| !of_connection(name) && !validation::is_replaced(name));
    let added = validating.conditions.as_ref();
    let added = added.map(|changes| changes.added.fields());
    let cookies: Vec<&[u8]> = asking.fields.values(b"cookie").collect();
    for (name, value) in own.chain(added.into_iter().flat_map(|fields| fields.iter())) {
        if !name.eq_ignore_ascii_case(b"cookie") {
            push_line(&mut head, name, value);
        }
    }
    if !cookies.is_empty() {
        // HTTP/2 may have cut it in pieces (RFC 9113, section 8.2.3).
        push_line(&mut head, b"Cookie", &cookies.join(&b"; "[..]));
    }
    head.extend_from_slice(b"Connection: close\r\n\r\n");
    head
}

fn push_line(head: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    head.extend_from_slice(name);
    head.extend_from_slice(b": ");
    head.extend_from_slice(value);
    head.extend_from_slice(b"\r\n");
}

/// Fields of the client's connection, and those that the head has by itself. What the client says of caches is about its
/// own answer.
const OF_THE_CONNECTION: [&[u8]; 12] = [
    b"host",
    b"connection",
    b"keep-alive",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"content-length",
    b"upgrade",
    b"http2-settings",
    b"cache-control",
    b"pragma",
];
