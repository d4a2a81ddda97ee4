//! Fields of a request that the application is told otherwise than its client has sent them.

use portico_channel::layout::event;
use portico_channel::schema::{Range, Record};
use portico_channel::{EventWriter, NeedSpace, Records};
use portico_http::semantics::{FieldsBuffer, field_name_number};

/// Fields that are left out of a request, and others that are put in.
#[derive(Clone, Debug)]
pub struct RequestChanges {
    /// Whether a field of this name is left out.
    pub leaves_out: fn(&[u8]) -> bool,
    /// What comes behind the request's own fields.
    pub added: FieldsBuffer,
}

impl RequestChanges {
    /// Writes the `REQUEST` record that is all of `record`, changed. What is no such record is written as it is.
    pub(crate) fn write(
        &self,
        record: &[u8],
        events: &mut EventWriter<'_>,
    ) -> Result<(), NeedSpace> {
        let first = Records::new(record).next().and_then(Result::ok);
        let is_request = first.filter(|record| record.kind() == event::Request::KIND);
        let Some(words) = is_request.and_then(|record| record.read::<event::Request>()) else {
            return events.append(record);
        };
        let kept: Vec<event::Field> = words
            .fields()
            .filter(|field| !(self.leaves_out)(words.bytes(field.name())))
            .collect();
        let added = self.added.fields();
        let count = kept.len() + added.iter().count();
        let before = event::Request::payload_offset(words.fields().count());
        let after = event::Request::payload_offset(count);
        let moved = |offset: u32| offset.wrapping_sub(before).wrapping_add(after);
        let moved_range = |range: Range| Range {
            offset: moved(range.offset),
            ..range
        };
        let payload = usize::try_from(before).ok();
        let payload = payload.and_then(|at| record.get(at..)).unwrap_or_default();
        let mut text = Vec::new();
        let mut table: Vec<event::Field> = kept
            .iter()
            .map(|field| event::Field {
                name_offset: moved(field.name_offset),
                value: moved_range(field.value),
                ..*field
            })
            .collect();
        for (name, value) in added.iter() {
            let name_offset = after + to_word(payload.len() + text.len());
            text.extend_from_slice(name);
            text.extend_from_slice(b": ");
            table.push(event::Field {
                name_length: u16::try_from(name.len()).unwrap_or(u16::MAX),
                name_number: field_name_number(name),
                name_offset,
                value: Range {
                    offset: after + to_word(payload.len() + text.len()),
                    length: to_word(value.len()),
                },
            });
            text.extend_from_slice(value);
            text.extend_from_slice(b"\r\n");
        }
        let changed = event::Request {
            field_count: to_word(count),
            target: moved_range(words.target),
            authority: moved_range(words.authority),
            rest: moved_range(words.rest),
            ..*words
        };
        let length = payload.len() + text.len();
        let mut room = events.write(words.flags(), changed, count, length)?;
        room.fill_table(table.into_iter());
        room.put(0, payload);
        room.put(payload.len(), &text);
        Ok(())
    }
}

fn to_word(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
