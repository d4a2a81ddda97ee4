//! Events about requests: heads, ends of bodies, and what is no request.

use portico_channel::EventWriter;
use portico_channel::layout::{event, request_flag};
use portico_http::ParseErrorCode;
use portico_http::h1::{Expect, Field, Framing, Head};

use super::H1;
use super::parsing::to_usize;
use crate::core::Core;
use crate::stop::Stop;
use crate::transport::Transport;

/// Words of `REQUEST` before its table of fields.
const REQUEST_WORDS: usize = 11;
/// Words of `END` before its table of fields.
const END_WORDS: usize = 5;
/// Bytes of one field in a table.
const FIELD_BYTES: usize = 16;

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
        let words = REQUEST_WORDS + fields.len() * FIELD_BYTES / 4;
        let flags = self.request_flags(transport, core, head);
        let token = transport.token();
        let mut record = events.record(event::REQUEST, flags, token, words, bytes.len())?;
        let base = record.payload_offset.wrapping_sub(head.start);
        record.set(3, self.exchanges.last());
        let count = u32::try_from(fields.len()).unwrap_or(u32::MAX);
        record.set(
            4,
            head.method as u32 | u32::from(head.minor_version) << 8 | count << 16,
        );
        record.set(5, base.wrapping_add(head.target.offset));
        record.set(6, head.target.length);
        if head.upgrade {
            record.set(7, base.wrapping_add(head.head_bytes));
            record.set(
                8,
                u32::try_from(input.len())
                    .unwrap_or(0)
                    .saturating_sub(head.head_bytes),
            );
        } else {
            record.set(7, 0);
            record.set(8, 0);
        }
        record.set_u64(
            9,
            match head.framing {
                Framing::ContentLength(length) => length,
                Framing::None | Framing::Chunked => u64::MAX,
            },
        );
        write_fields(record.table(REQUEST_WORDS), fields, base);
        record.put(0, bytes);
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
        let words = END_WORDS + fields.len() * FIELD_BYTES / 4;
        let mut record = events.record(event::END, 0, transport.token(), words, bytes.len())?;
        let base = record.payload_offset;
        record.set(3, self.exchanges.last());
        record.set(4, u32::try_from(fields.len()).unwrap_or(0));
        write_fields(record.table(END_WORDS), fields, base);
        record.put(0, bytes);
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
    let mut record = events.record(event::CLIENT_ERROR, 0, transport.token(), 7, packet.len())?;
    let offset = record.payload_offset;
    record.set(3, u32::from(code.number()));
    record.set(4, u32::try_from(parsed).unwrap_or(u32::MAX));
    record.set(5, offset);
    record.set(6, u32::try_from(packet.len()).unwrap_or(0));
    record.put(0, packet);
    Ok(())
}

/// Writes a table of fields whose offsets are moved by `base`.
#[inline]
fn write_fields(table: &mut [u8], fields: &[Field], base: u32) {
    for (place, field) in table.chunks_exact_mut(FIELD_BYTES).zip(fields) {
        let words = [
            u32::from(field.name_number) << 16 | u32::from(field.name_length),
            base.wrapping_add(field.name_offset),
            base.wrapping_add(field.value_offset),
            field.value_length,
        ];
        for (bytes, word) in place.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }
}
