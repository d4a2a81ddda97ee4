//! An answer made of what is stored: whole, a part of it, or that the client has it already.

use std::io::Write;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use portico_cache::store::Entry;
use portico_cache::{CacheStatus, Freshness, Time};
use portico_channel::LentBytes;
use portico_http::Method;
use portico_http::semantics::preconditions::{self, Outcome, Validators};
use portico_http::semantics::ranges::{self, Requested};

use super::asked::{Asking, CONDITIONS};
use crate::answer::{Answer, Segment};

/// Room for the fields of most answers.
const FIELDS_BYTES: usize = 256;

/// What Cache-Status says of a use without the application.
pub(super) fn hit(freshness: &Freshness, now: Time) -> CacheStatus {
    let ttl = i64::try_from(freshness.fresh_for(now).as_secs()).unwrap_or(i64::MAX)
        - i64::try_from(freshness.stale_for(now).as_secs()).unwrap_or(i64::MAX);
    CacheStatus::Hit { ttl }
}

/// The answer to a request that gets what is stored; `told` is its Cache-Status.
pub(super) fn answer(
    entry: &Arc<Entry>,
    asking: &Asking<'_>,
    now: Time,
    told: CacheStatus,
) -> Answer {
    let length = entry.body().len();
    let kind = if asking.has(CONDITIONS) {
        kind_of(entry, asking, now)
    } else {
        Kind::Whole
    };
    let mut fields = Vec::with_capacity(FIELDS_BYTES);
    let mut has_date = false;
    for (name, value) in entry.fields().iter() {
        if kind.leaves_out(name) {
            continue;
        }
        has_date |= name.eq_ignore_ascii_case(b"date");
        write_field(&mut fields, name, value);
    }
    let age = entry.freshness().age(now).as_secs();
    // Writing to a Vec does not fail.
    let _ = write!(fields, "Age: {age}\r\nCache-Status: ");
    fields.extend_from_slice(told.value().as_bytes());
    fields.extend_from_slice(b"\r\n");
    let (status, range) = match kind {
        Kind::Whole => (entry.status(), 0..length),
        Kind::Part(range) => {
            let (first, last) = (range.start, range.end - 1);
            let _ = write!(fields, "Content-Range: bytes {first}-{last}/{length}\r\n");
            (206, range)
        }
        Kind::NoSuchPart => {
            let _ = write!(fields, "Content-Range: bytes */{length}\r\n");
            (416, 0..0)
        }
        Kind::NotModified => (304, 0..0),
        Kind::Failed => (412, 0..0),
    };
    let body = if range.is_empty() {
        Vec::new()
    } else {
        let entry = Arc::clone(entry);
        vec![Segment::Shared(Rc::new(Stored { entry, range }))]
    };
    Answer {
        status,
        fields,
        has_date,
        body,
        keep_alive: true,
    }
}

fn write_field(fields: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    fields.extend_from_slice(name);
    fields.extend_from_slice(b": ");
    fields.extend_from_slice(value);
    fields.extend_from_slice(b"\r\n");
}

/// What a request gets of a stored answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Part(Range<usize>),
    NoSuchPart,
    NotModified,
    Failed,
}

impl Kind {
    /// Whether a stored field says something of a body that this answer does not have (RFC 9110, section 15.4.5).
    fn leaves_out(&self, name: &[u8]) -> bool {
        match self {
            Self::Whole | Self::Part(_) => false,
            Self::NoSuchPart | Self::NotModified | Self::Failed => {
                OF_THE_BODY.iter().any(|of| name.eq_ignore_ascii_case(of))
            }
        }
    }
}

const OF_THE_BODY: [&[u8]; 5] = [
    b"content-type",
    b"content-encoding",
    b"content-language",
    b"content-range",
    b"content-disposition",
];

fn kind_of(entry: &Entry, asking: &Asking<'_>, now: Time) -> Kind {
    if !(200..300).contains(&entry.status()) {
        return Kind::Whole;
    }
    let (request, now) = (asking.fields, now.seconds());
    let validators = Validators::of_response(entry.fields(), now);
    match preconditions::evaluate(asking.method, request, &validators, now) {
        Outcome::NotModified => return Kind::NotModified,
        Outcome::Failed => return Kind::Failed,
        Outcome::Met => {}
    }
    let wanted = request.first(b"range").filter(|_| {
        asking.method == Method::Get
            && entry.status() == 200
            && preconditions::is_range_of_current(request, &validators, now)
    });
    let Some(wanted) = wanted else {
        return Kind::Whole;
    };
    let length = entry.body().len();
    match ranges::requested(wanted, length as u64) {
        Requested::Nothing => Kind::NoSuchPart,
        Requested::Parts(parts) if parts.len() == 1 => parts
            .into_iter()
            .next()
            .and_then(|part| {
                let start = usize::try_from(part.start).ok()?;
                Some(start..usize::try_from(part.end).ok()?)
            })
            .map_or(Kind::Whole, Kind::Part),
        // Several parts as one body cost more than the whole, which RFC 9110, section 14.2, allows in their place.
        Requested::Parts(_) | Requested::Whole => Kind::Whole,
    }
}

/// A part of a stored body; the entry stays until it has been sent.
#[derive(Debug)]
struct Stored {
    entry: Arc<Entry>,
    range: Range<usize>,
}

impl LentBytes for Stored {
    fn bytes(&self) -> Option<&[u8]> {
        self.entry.body().get(self.range.clone())
    }
}
