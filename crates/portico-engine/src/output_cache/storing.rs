//! A copy of the application's answer on its way to the client, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use portico_cache::store::{Entry, NewEntry, Ticket};
use portico_cache::storing::{self, Request, Response, Rule, SetCookie};
use portico_cache::{Exchanged, Freshness, Key, Time, Variant};
use portico_http::h1::DateCache;
use portico_http::semantics::{FieldsBuffer, field_value};

use super::OutputCache;
use super::asked::{Asked, Asking};
use crate::filter::{AnswerFilter, BodyLength, CacheWish, FilteredHead, NewHead};
use crate::limits::{TAG_BYTES, TAGS};

/// Fields that name tags. They are for the cache, and go no further.
const TAG_FIELDS: [&[u8]; 2] = [b"surrogate-key", b"cache-tag"];

/// Takes a copy of an answer, if it may be stored.
#[derive(Debug)]
pub(super) struct Storing {
    cache: Arc<OutputCache>,
    asked: Asked,
    key: Arc<Key>,
    ticket: Ticket,
    requested: Time,
    rule: Option<Rule>,
    /// Others wait for what comes of this.
    is_awaited: bool,
    tags: Tags,
    state: State,
}

#[derive(Debug)]
enum State {
    /// The head has not come.
    Before,
    /// The body is being copied.
    Copying(Box<Copy>),
    /// It is decided: stored, or not.
    Decided,
}

#[derive(Debug)]
struct Copy {
    status: u16,
    fields: FieldsBuffer,
    variant: Variant,
    freshness: Freshness,
    body: Vec<u8>,
    /// As the head says it.
    length: Option<u64>,
}

/// Names by which an answer can be purged.
#[derive(Debug, Default)]
struct Tags {
    names: Vec<Box<[u8]>>,
    bytes: usize,
    /// There were more than are kept: what could not be purged by all of its tags is not stored.
    are_too_many: bool,
}

impl Tags {
    fn add(&mut self, tag: &[u8]) {
        if tag.is_empty() || self.names.iter().any(|name| **name == *tag) {
            return;
        }
        self.bytes += tag.len();
        if self.names.len() >= TAGS || self.bytes > TAG_BYTES {
            self.are_too_many = true;
        } else {
            self.names.push(tag.into());
        }
    }
}

impl Storing {
    /// For the answer to a request that goes to the application now.
    pub(super) fn new(
        cache: &Arc<OutputCache>,
        asking: &Asking<'_>,
        key: Arc<Key>,
        rule: Option<Rule>,
        is_awaited: bool,
    ) -> Self {
        cache.enter_owner(key.owner());
        Self {
            ticket: cache.store().ticket(),
            requested: cache.now(),
            cache: Arc::clone(cache),
            asked: asking.keep(),
            key,
            rule,
            is_awaited,
            tags: Tags::default(),
            state: State::Before,
        }
    }

    /// It is known what comes of the answer: who waits for it is told.
    fn decided(&mut self, is_stored: bool) {
        self.state = State::Decided;
        self.cache.coalescing.note(&self.key, is_stored);
        self.land();
    }

    fn land(&mut self) {
        if std::mem::take(&mut self.is_awaited) {
            self.cache.land(&self.key);
        }
    }

    fn begin(&self, head: &FilteredHead<'_>, fields: &FieldsBuffer) -> Option<Copy> {
        let asking = self.asked.asking();
        if !asking.may_be_stored() || self.tags.are_too_many {
            return None;
        }
        let rule = self.rule?;
        let responded = self.cache.now();
        let times = Exchanged {
            requested: self.requested,
            responded,
        };
        let request = Request {
            method: asking.method,
            fields: asking.fields,
            has_body: asking.has_body,
        };
        let response = Response {
            status: head.status,
            fields: fields.fields(),
        };
        let freshness = storing::decide(request, response, rule, SetCookie::Refuse, times).ok()?;
        let length = head.content_length.or_else(|| length_of(fields));
        let most = self.cache.store().limits().max_body_bytes as u64;
        if length.is_some_and(|length| length > most) {
            return None;
        }
        Some(Copy {
            status: head.status,
            variant: Variant::of(asking.fields, fields.fields()),
            fields: stored_fields(fields, rule, responded),
            freshness,
            body: Vec::new(),
            length,
        })
    }

    /// Stores the copy, if it is whole.
    fn finish(&mut self) {
        let State::Copying(copy) = std::mem::replace(&mut self.state, State::Decided) else {
            return;
        };
        let is_whole = copy
            .length
            .is_none_or(|length| length == copy.body.len() as u64);
        let stored = is_whole.then(|| self.insert(*copy)).flatten();
        self.decided(stored.is_some());
    }

    fn insert(&mut self, copy: Copy) -> Option<Arc<Entry>> {
        let entry = NewEntry {
            key: Arc::clone(&self.key),
            variant: copy.variant,
            freshness: copy.freshness,
            status: copy.status,
            fields: copy.fields,
            body: copy.body.into(),
            tags: std::mem::take(&mut self.tags.names).into(),
        };
        let now = self.cache.now();
        let stored = self.cache.store().insert(entry, self.ticket, now).ok();
        self.cache.expire(now);
        stored
    }
}

impl AnswerFilter for Storing {
    fn wished(&mut self, wish: &CacheWish<'_>) {
        if !matches!(self.state, State::Before) {
            return;
        }
        match wish.lifetime {
            None => {}
            Some(Duration::ZERO) => self.rule = None,
            Some(lifetime) => self.rule = Some(Rule::Asked(lifetime)),
        }
        for tag in wish.tags.split(|&byte| byte == b'\n') {
            self.tags.add(tag);
        }
    }

    fn head(&mut self, head: &FilteredHead<'_>) -> Option<NewHead> {
        let fields = fields_of(head.fields);
        let has_tags = take_tags(&fields, &mut self.tags);
        match self.begin(head, &fields) {
            Some(copy) => self.state = State::Copying(Box::new(copy)),
            None => self.decided(false),
        }
        has_tags.then(|| NewHead {
            fields: lines_without_tags(head.fields),
            length: BodyLength::AsItWas,
        })
    }

    fn body(&mut self, bytes: &[u8], is_last: bool) -> Option<Vec<u8>> {
        if let State::Copying(copy) = &mut self.state {
            if copy.body.len() + bytes.len() > self.cache.store().limits().max_body_bytes {
                self.decided(false);
            } else {
                copy.body.extend_from_slice(bytes);
                if is_last {
                    self.finish();
                }
            }
        }
        None
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        self.land();
    }
}

/// The fields in some lines, each with CR LF.
pub(super) fn fields_of(lines: &[u8]) -> FieldsBuffer {
    let mut fields = FieldsBuffer::default();
    for line in lines_of(lines) {
        let line = line.strip_suffix(b"\r\n").unwrap_or(line);
        let Some(colon) = line.iter().position(|&byte| byte == b':') else {
            continue;
        };
        let (name, value) = line.split_at(colon);
        fields.push(name, field_value::trim(value.get(1..).unwrap_or_default()));
    }
    fields
}

fn lines_of(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|&byte| byte == b'\n')
}

fn take_tags(fields: &FieldsBuffer, tags: &mut Tags) -> bool {
    let fields = fields.fields();
    let mut has_tags = false;
    for name in TAG_FIELDS {
        for value in fields.values(name) {
            has_tags = true;
            // Surrogate-Key has spaces between tags, Cache-Tag commas.
            for tag in value.split(|byte| matches!(byte, b' ' | b'\t' | b',')) {
                tags.add(tag);
            }
        }
    }
    has_tags
}

fn lines_without_tags(lines: &[u8]) -> Vec<u8> {
    let names_tags = |line: &&[u8]| {
        let name = line.split(|&byte| byte == b':').next().unwrap_or_default();
        TAG_FIELDS.iter().any(|tag| name.eq_ignore_ascii_case(tag))
    };
    lines_of(lines)
        .filter(|line| !names_tags(line))
        .collect::<Vec<_>>()
        .concat()
}

fn length_of(fields: &FieldsBuffer) -> Option<u64> {
    let value = fields.fields().first(b"content-length")?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// What is stored of the fields. An answer that is kept by its own Cache-Control keeps its date, by which others count its
/// age (RFC 9110, section 6.6.1); of others the engine is the origin, and each use has a date of its own.
fn stored_fields(fields: &FieldsBuffer, rule: Rule, now: Time) -> FieldsBuffer {
    let all = storing::stored_fields(fields.fields(), SetCookie::Refuse);
    let is_standard = rule == Rule::Standard;
    let is_left_out = |name: &[u8]| {
        let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
        is(b"content-length") || !is_standard && is(b"date") || TAG_FIELDS.iter().any(|tag| is(tag))
    };
    let mut stored: FieldsBuffer = all
        .fields()
        .iter()
        .filter(|(name, _)| !is_left_out(name))
        .collect();
    if is_standard && !stored.fields().has(b"date") {
        let seconds = u64::try_from(now.seconds()).unwrap_or(0);
        stored.push(b"Date", DateCache::new().update(seconds));
    }
    stored.shrink();
    stored
}
