//! Events about requests: heads, ends of bodies, and what is no request.

use portico_channel::EventWriter;
use portico_channel::layout::{event, request_flag};
use portico_channel::schema::{Range, Record};
use portico_http::Method;
use portico_http::ParseErrorCode;
use portico_http::h1::{Expect, Framing, Head};
use portico_http::semantics::{Field, Span, field_name};

use super::H1;
use crate::core::Core;
use crate::stop::Stop;
use crate::transport::Transport;

impl H1 {
    /// Writes `REQUEST` for a head.
    pub(super) fn write_request(
        &self,
        transport: &mut Transport,
        core: &Core,
        events: &mut EventWriter<'_>,
        input: &[u8],
        head: &Head,
    ) -> Result<(), Stop> {
        transport.announce(core, events)?;
        let (start, end) = (to_usize(head.start), to_usize(head.head_bytes));
        let end = if head.upgrade { input.len() } else { end };
        let bytes = input.get(start..end).unwrap_or_default();
        let fields = core.parser.fields();
        let base = event::Request::payload_offset(fields.len()).wrapping_sub(head.start);
        let words = event::Request {
            token: transport.token(),
            sequence: self.exchanges.last(),
            method: head.method as u8,
            major_version: 1,
            minor_version: head.minor_version,
            scheme: u8::from(transport.is_secure(core)),
            field_count: u32::try_from(fields.len()).unwrap_or(u32::MAX),
            target: Range {
                offset: base.wrapping_add(head.target.offset),
                length: head.target.length,
            },
            authority: authority(input, head, fields).map_or(Range::default(), |span| Range {
                offset: base.wrapping_add(span.offset),
                length: span.length,
            }),
            rest: match head.upgrade {
                true => Range::of(
                    base.wrapping_add(head.head_bytes),
                    input.get(to_usize(head.head_bytes)..).unwrap_or_default(),
                ),
                false => Range::default(),
            },
            content_length: match head.framing {
                Framing::ContentLength(length) => length,
                Framing::None | Framing::Chunked => u64::MAX,
            },
        };
        let flags = self.request_flags(transport, core, head);
        let mut room = events.write(flags, words, fields.len(), bytes.len())?;
        room.fill_table(entries(fields, base));
        room.put(0, bytes);
        Ok(())
    }

    fn request_flags(&self, transport: &Transport, core: &Core, head: &Head) -> u32 {
        let mut flags = 0;
        let mut set = |condition: bool, flag: u32| {
            if condition {
                flags |= flag;
            }
        };
        set(head.keep_alive, request_flag::KEEP_ALIVE);
        set(head.framing.is_empty(), request_flag::COMPLETE);
        set(head.framing == Framing::Chunked, request_flag::CHUNKED);
        set(
            head.expect == Expect::Continue,
            request_flag::EXPECT_CONTINUE,
        );
        set(head.expect == Expect::Other, request_flag::EXPECT_OTHER);
        set(head.upgrade, request_flag::UPGRADE);
        set(head.has_host, request_flag::HAS_HOST);
        let limit = core
            .listeners
            .find(transport.listener())
            .map_or(0, |listener| listener.options.max_requests_per_socket);
        let number = self.exchanges.last();
        set(limit != 0 && number > limit, request_flag::OVER_LIMIT);
        set(limit != 0 && number == limit, request_flag::LAST_ALLOWED);
        flags
    }

    /// The end of a body, with the trailer `fields` that lie in `bytes`.
    pub(super) fn write_end(
        &self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
        fields: &[Field],
        bytes: &[u8],
    ) -> Result<(), Stop> {
        let bytes = if fields.is_empty() { &[][..] } else { bytes };
        let words = event::End {
            token: transport.token(),
            sequence: self.exchanges.last(),
            field_count: u32::try_from(fields.len()).unwrap_or(0),
        };
        let mut room = events.write(0, words, fields.len(), bytes.len())?;
        room.fill_table(entries(fields, event::End::payload_offset(fields.len())));
        room.put(0, bytes);
        Ok(())
    }

    /// Writes `CLIENT_ERROR` for bytes that come after an error, as Node does as long as the application has not said
    /// what becomes of the connection.
    pub(super) fn write_later_client_error(
        &self,
        transport: &Transport,
        events: &mut EventWriter<'_>,
        packet: &[u8],
    ) -> Result<(), Stop> {
        match self.input.refused {
            Some(code) if !transport.has_output_ended() && transport.takes_output() => {
                write_client_error(transport, events, code, 0, packet)
            }
            _ => Ok(()),
        }
    }
}

/// Writes `CLIENT_ERROR`: so many bytes of the packet had been parsed.
pub(super) fn write_client_error(
    transport: &Transport,
    events: &mut EventWriter<'_>,
    code: ParseErrorCode,
    parsed: usize,
    packet: &[u8],
) -> Result<(), Stop> {
    events.tell_bytes(0, packet, |packet| event::ClientError {
        token: transport.token(),
        code: u32::from(code.number()),
        parsed_bytes: u32::try_from(parsed).unwrap_or(u32::MAX),
        packet,
    })?;
    Ok(())
}

/// The authority that a request is for (RFC 9112, section 3.3): of CONNECT the target, of an absolute target its own,
/// else the first `Host`.
fn authority(input: &[u8], head: &Head, fields: &[Field]) -> Option<Span> {
    if head.method == Method::Connect {
        return Some(head.target);
    }
    let target = head.target.of(input);
    if !matches!(target.first(), Some(b'/' | b'*'))
        && let Some(scheme) = target.windows(3).position(|bytes| bytes == b"://")
    {
        let start = scheme + 3;
        let rest = target.get(start..).unwrap_or_default();
        let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        return Some(Span {
            offset: head.target.offset + u32::try_from(start).unwrap_or(0),
            length: u32::try_from(length).unwrap_or(0),
        });
    }
    let host = fields
        .iter()
        .find(|field| field.name_number == field_name::HOST);
    host.map(|field| Span {
        offset: field.value_offset,
        length: field.value_length,
    })
}

/// A table of fields whose offsets are moved by `base`.
#[inline]
fn entries(fields: &[Field], base: u32) -> impl Iterator<Item = event::Field> {
    fields.iter().map(move |field| event::Field {
        name_length: field.name_length,
        name_number: field.name_number,
        name_offset: base.wrapping_add(field.name_offset),
        value: Range {
            offset: base.wrapping_add(field.value_offset),
            length: field.value_length,
        },
    })
}

pub(super) fn to_usize(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
