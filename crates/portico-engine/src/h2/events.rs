//! Events about requests: heads, bodies, their ends, and streams that were given up.

use portico_channel::layout::{body_flag, event, request_flag};
use portico_channel::schema::{Range, Record};
use portico_channel::{EventWriter, NeedSpace};
use portico_http::Method;
use portico_http::h2::{FieldSection, Head};
use portico_http::semantics::{Expect, Field, Span};

use crate::core::Core;
use crate::stop::Stop;
use crate::transport::Transport;

/// A record for which there was no event memory. Nothing is told before it.
#[derive(Debug, Default)]
pub(super) struct Untold {
    record: Vec<u8>,
}

impl Untold {
    pub(super) fn is_empty(&self) -> bool {
        self.record.is_empty()
    }

    /// Tells the application by a record, which is kept where there is no event memory for it.
    pub(super) fn tell(
        &mut self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
        write: impl Fn(&mut EventWriter<'_>) -> Result<(), NeedSpace>,
    ) -> Result<(), Stop> {
        let told = match transport.announce(core, events) {
            Ok(()) => write(events).map_err(Stop::from),
            Err(stop) => Err(stop),
        };
        if let Err(Stop::NeedSpace(_)) = told {
            self.record = record(write);
        }
        told
    }

    /// Tells what was kept.
    pub(super) fn flush(
        &mut self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !self.record.is_empty() {
            transport.announce(core, events)?;
            events.append(&self.record)?;
            self.record = Vec::new();
        }
        Ok(())
    }
}

/// A record in memory of its own.
pub(super) fn record(write: impl Fn(&mut EventWriter<'_>) -> Result<(), NeedSpace>) -> Vec<u8> {
    let mut memory = Vec::new();
    if let Err(need) = write(&mut EventWriter::new(&mut memory)) {
        memory.resize(need.bytes, 0);
        // It has as many bytes as it said that it needs.
        let _ = write(&mut EventWriter::new(&mut memory));
    }
    memory
}

/// `REQUEST`.
pub(super) fn write_request(
    events: &mut EventWriter<'_>,
    (token, sequence): (u32, u32),
    is_tls: bool,
    head: &Head,
    section: &FieldSection,
) -> Result<(), NeedSpace> {
    let (bytes, fields) = (section.bytes(), head.fields(section));
    // Of an extended CONNECT (RFC 8441) the one that says what the tunnel is for, or a method that has no number.
    let unknown = head.method.is_none().then_some(head.method_name);
    let pseudo = head.protocol.or(unknown).and_then(|value| {
        let mut all = section.fields().iter();
        all.find(|field| field.value_offset == value.offset)
    });
    let count = fields.len() + usize::from(pseudo.is_some());
    let base = to_word(event::Request::payload_offset(count));
    let range = |span: Span| Range {
        offset: base.wrapping_add(span.offset),
        length: span.length,
    };
    let authority = head.authority.unwrap_or_default();
    let words = event::Request {
        token,
        sequence,
        method: head.method.map_or(0, |method| method as u8),
        major_version: 2,
        minor_version: 0,
        scheme: u8::from(is_tls),
        field_count: to_word(count),
        target: range(match head.path.length {
            0 => authority,
            _ => head.path,
        }),
        authority: range(authority),
        rest: Range::default(),
        content_length: head.content_length.unwrap_or(u64::MAX),
    };
    let mut room = events.write(flags(head), words, count, bytes.len())?;
    let named = pseudo.map(|field| Field {
        name_number: 0,
        ..*field
    });
    room.fill_table(entries(named.iter().chain(fields), base));
    room.put(0, bytes);
    Ok(())
}

fn flags(head: &Head) -> u32 {
    let mut flags = request_flag::KEEP_ALIVE | request_flag::HAS_HOST;
    let mut set = |condition: bool, flag: u32| {
        if condition {
            flags |= flag;
        }
    };
    set(head.is_complete, request_flag::COMPLETE);
    set(
        head.expect == Expect::Continue,
        request_flag::EXPECT_CONTINUE,
    );
    set(head.expect == Expect::Other, request_flag::EXPECT_OTHER);
    set(head.method == Some(Method::Connect), request_flag::UPGRADE);
    flags
}

/// `BODY`; `is_last`: nothing follows.
pub(super) fn write_body(
    events: &mut EventWriter<'_>,
    (token, sequence): (u32, u32),
    bytes: &[u8],
    is_last: bool,
) -> Result<(), NeedSpace> {
    let flags = if is_last { body_flag::LAST } else { 0 };
    events.tell_bytes(flags, bytes, |bytes| event::Body {
        token,
        sequence,
        bytes,
    })
}

/// `END` without trailers.
pub(super) fn write_end(
    events: &mut EventWriter<'_>,
    (token, sequence): (u32, u32),
) -> Result<(), NeedSpace> {
    let words = event::End {
        token,
        sequence,
        field_count: 0,
    };
    events.tell(0, words)
}

/// `END` with trailers.
pub(super) fn write_trailers(
    events: &mut EventWriter<'_>,
    (token, sequence): (u32, u32),
    section: &FieldSection,
) -> Result<(), NeedSpace> {
    let fields = section.fields();
    let words = event::End {
        token,
        sequence,
        field_count: to_word(fields.len()),
    };
    let mut room = events.write(0, words, fields.len(), section.bytes().len())?;
    let base = to_word(event::End::payload_offset(fields.len()));
    room.fill_table(entries(fields.iter(), base));
    room.put(0, section.bytes());
    Ok(())
}

/// `RESET`.
pub(super) fn write_reset(
    events: &mut EventWriter<'_>,
    (token, sequence): (u32, u32),
    code: u32,
) -> Result<(), NeedSpace> {
    let words = event::Reset {
        token,
        sequence,
        code,
    };
    events.tell(0, words)
}

/// A table of fields whose offsets are moved by `base`.
fn entries<'a>(
    fields: impl Iterator<Item = &'a Field>,
    base: u32,
) -> impl Iterator<Item = event::Field> {
    fields.map(move |field| event::Field {
        name_length: field.name_length,
        name_number: field.name_number,
        name_offset: base.wrapping_add(field.name_offset),
        value: Range {
            offset: base.wrapping_add(field.value_offset),
            length: field.value_length,
        },
    })
}

fn to_word(number: impl TryInto<u32>) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}
