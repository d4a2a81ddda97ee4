//! A copy of the application's answer on its way to the client, and what becomes of it.

use std::sync::Arc;
use std::time::Duration;

use portico_cache::site_rule::SiteRule;
use portico_cache::store::{Entry, NewEntry, Ticket};
use portico_cache::storing::{self, NotStored, Request, Response, Rule, SetCookie};
use portico_cache::{CacheStatus, Exchanged, Forward, Freshness, Key, Time, Variant, validation};
use portico_http::h1::DateCache;
use portico_http::semantics::{FieldsBuffer, field_value};

use super::OutputCache;
use super::asked::{Asked, Asking};
use super::site::Site;
use crate::filter::{AnswerFilter, BodyLength, CacheWish, FilteredHead, NewAnswer, NewHead};
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
    site_rule: Option<Arc<SiteRule>>,
    /// Why the application is asked.
    why: Forward,
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
        site: &Site,
        (why, is_awaited): (Forward, bool),
    ) -> Self {
        cache.enter_owner(key.owner());
        Self {
            ticket: cache.store().ticket(),
            requested: cache.now(),
            cache: Arc::clone(cache),
            asked: asking.keep(),
            key,
            rule: site.rule,
            site_rule: site.site_rule.clone(),
            why,
            is_awaited,
            tags: Tags::default(),
            state: State::Before,
        }
    }

    /// The present moment, as the cache counts it.
    pub(super) fn now(&self) -> Time {
        self.cache.now()
    }

    /// Why the application is asked.
    pub(super) fn why(&self) -> Forward {
        self.why
    }

    /// The request that it is asked.
    pub(super) fn asking(&self) -> Asking<'_> {
        self.asked.asking()
    }

    /// Stores what a 304 makes of an answer that is stored (RFC 9111, section 4.3.4). `None`: it is about another one, and
    /// that goes, or it was purged meanwhile.
    pub(super) fn freshen(
        &mut self,
        entry: &Entry,
        status: u16,
        fields: &FieldsBuffer,
    ) -> Option<Arc<Entry>> {
        let now = self.cache.now();
        let times = Exchanged {
            requested: self.requested,
            responded: now,
        };
        let (stored, said) = (entry.fields(), fields.fields());
        let freshened = validation::freshen(status, stored, said, self.set_cookie(), times);
        let new = freshened.map(|(fields, freshness)| match self.rule {
            Some(Rule::Asked(lifetime)) => {
                entry.freshened(fields, Freshness::for_lifetime(lifetime, now))
            }
            _ => entry.freshened(fields, freshness),
        });
        let store = self.cache.store();
        let stored = match new {
            Some(new) => store.insert(new, self.ticket, now).ok(),
            None => None,
        };
        if stored.is_none() {
            store.remove(entry);
        }
        self.decided(stored.is_some());
        stored
    }

    fn set_cookie(&self) -> SetCookie {
        let rule = self.site_rule.as_ref();
        rule.map_or(SetCookie::Refuse, |rule| rule.set_cookie)
    }

    /// What a site's rule tells others of who may keep the answer.
    fn cache_control(&self) -> Option<String> {
        let rule = self.site_rule.as_ref()?;
        match self.rule? {
            Rule::Profile(lifetime) => rule.location.cache_control(lifetime),
            Rule::Asked(_) | Rule::Standard => None,
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

    fn begin(&self, head: &FilteredHead<'_>, fields: &FieldsBuffer) -> Result<Copy, &'static str> {
        let asking = self.asked.asking();
        if !asking.may_be_stored() {
            return Err("request");
        }
        if self.tags.are_too_many {
            return Err("tags");
        }
        let rule = self.rule.ok_or("no-rule")?;
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
        let freshness = storing::decide(request, response, rule, self.set_cookie(), times)
            .map_err(NotStored::as_str)?;
        let length = head.content_length.or_else(|| length_of(fields));
        let most = self.cache.store().limits().max_body_bytes as u64;
        if length.is_some_and(|length| length > most) {
            return Err("too-large");
        }
        Ok(Copy {
            status: head.status,
            variant: Variant::of(asking.fields, fields.fields()),
            fields: match self.cache_control() {
                Some(text) => {
                    let elsewhere = with_cache_control(fields, &text);
                    stored_fields(&elsewhere, rule, self.set_cookie(), responded)
                }
                None => stored_fields(fields, rule, self.set_cookie(), responded),
            },
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

    fn head(&mut self, head: &FilteredHead<'_>) -> NewAnswer {
        let fields = fields_of(head.fields);
        let has_tags = take_tags(&fields, &mut self.tags);
        let detail = match self.begin(head, &fields) {
            Ok(copy) => {
                self.state = State::Copying(Box::new(copy));
                None
            }
            Err(detail) => {
                self.decided(false);
                Some(detail)
            }
        };
        // What neither its application nor a rule wants kept goes out as it would without a cache.
        if !has_tags && self.rule.is_none() {
            return NewAnswer::AsItIs;
        }
        let elsewhere = self.cache_control().filter(|_| detail.is_none());
        let mut lines = lines_without(head.fields, |name| {
            has_tags && is_one_of(name, &TAG_FIELDS)
                || elsewhere.is_some() && is_one_of(name, &OF_CACHES)
        });
        if let Some(text) = elsewhere {
            lines.extend_from_slice(b"Cache-Control: ");
            lines.extend_from_slice(text.as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        if self.rule.is_some() {
            let told = CacheStatus::Forwarded {
                why: self.why,
                status: None,
                is_stored: detail.is_none(),
                is_collapsed: false,
                detail,
            };
            lines.extend_from_slice(b"Cache-Status: ");
            lines.extend_from_slice(told.value().as_bytes());
            lines.extend_from_slice(b"\r\n");
        }
        NewAnswer::Changed(NewHead {
            fields: lines,
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

fn lines_without(lines: &[u8], is_left_out: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let name = |line: &[u8]| line.iter().take_while(|&&byte| byte != b':').count();
    lines_of(lines)
        .filter(|line| !is_left_out(line.get(..name(line)).unwrap_or_default()))
        .collect::<Vec<_>>()
        .concat()
}

fn is_one_of(name: &[u8], names: &[&[u8]]) -> bool {
    names.iter().any(|other| name.eq_ignore_ascii_case(other))
}

/// Fields that say who may keep an answer.
const OF_CACHES: [&[u8]; 3] = [b"cache-control", b"expires", b"pragma"];

/// The fields, with another Cache-Control.
fn with_cache_control(fields: &FieldsBuffer, text: &str) -> FieldsBuffer {
    let mut changed: FieldsBuffer = fields
        .fields()
        .iter()
        .filter(|(name, _)| !is_one_of(name, &OF_CACHES))
        .collect();
    changed.push(b"Cache-Control", text.as_bytes());
    changed
}

fn length_of(fields: &FieldsBuffer) -> Option<u64> {
    let value = fields.fields().first(b"content-length")?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// What is stored of the fields. An answer that is kept by its own Cache-Control keeps its date, by which others count its
/// age (RFC 9110, section 6.6.1); of others the engine is the origin, and each use has a date of its own.
fn stored_fields(
    fields: &FieldsBuffer,
    rule: Rule,
    set_cookie: SetCookie,
    now: Time,
) -> FieldsBuffer {
    let all = storing::stored_fields(fields.fields(), set_cookie);
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
