//! The application's command records.

use std::time::Duration;

use portico_channel::layout::{DESTROY_RESET, SHUTDOWN_CLOSE, command, response_flag};
use portico_channel::{External, RecordView, Records};
use portico_sys::socket;

use super::Shard;
use crate::CommandError;
use crate::answer::{AnswerHead, Payload};
use crate::connection::Connection;
use crate::exchanges::BodyWish;

/// Bytes of `RESPOND` before its payload.
const RESPOND_BYTES: usize = 44;
/// Bytes of the other records with a payload before it.
const SIZED_BYTES: usize = 20;

impl Shard {
    pub(super) fn apply_records(
        &mut self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<(), CommandError> {
        let mut records = Records::new(commands);
        loop {
            let offset = records.offset();
            match records.next() {
                None => return Ok(()),
                Some(Err(_)) => return Err(CommandError::Malformed { offset }),
                Some(Ok(record)) => self.apply_one(Command {
                    record,
                    offset,
                    external,
                })?,
            }
        }
    }

    #[inline]
    fn apply_one(&mut self, command: Command<'_>) -> Result<(), CommandError> {
        let record = command.record;
        let token = record.word(2);
        match record.kind() {
            command::CLOSE_IDLE => self.close_idle_connections(token, record.flags()),
            command::CLOSE_ALL => self.close_all_connections(token),
            command::TEMPLATE => return self.keep_template(command),
            command::DESTROY if record.word(3) != 0 => {
                if let Some(connection) = self.connections.find(token) {
                    connection.destroy_answer(&mut self.core, record.word(3));
                }
            }
            command::DESTROY => self.destroy(token, record.flags() & DESTROY_RESET != 0),
            command::SERVER_NAME => {
                if let Some(connection) = self.connections.find(token) {
                    connection.choose_context(&mut self.core, record.word(4));
                }
            }
            command::ALPN => return self.choose_protocol(command),
            kind if (command::RESPOND..=command::PROCEED).contains(&kind)
                || kind == command::FEED =>
            {
                // A connection that is gone: the command crossed with its end. It is still checked.
                let connection = self.connections.find(token);
                return apply_to_connection(connection, &mut self.core, command);
            }
            kind => {
                return Err(CommandError::UnknownKind {
                    offset: command.offset,
                    kind,
                });
            }
        }
        Ok(())
    }

    fn choose_protocol(&mut self, command: Command<'_>) -> Result<(), CommandError> {
        let length = command.record.word(4);
        let protocol = match length {
            u32::MAX => None,
            length => Some(command.bytes(SIZED_BYTES, length)?),
        };
        if let Some(connection) = self.connections.find(command.record.word(2)) {
            connection.choose_protocol(&mut self.core, protocol);
        }
        Ok(())
    }

    fn keep_template(&mut self, command: Command<'_>) -> Result<(), CommandError> {
        let record = command.record;
        let reason = command.bytes(SIZED_BYTES, record.word(3))?;
        let fields = command.bytes(SIZED_BYTES + reason.len(), record.word(4))?;
        if self.core.templates.keep(record.word(2), reason, fields) {
            Ok(())
        } else {
            Err(CommandError::OutOfRange {
                offset: command.offset,
                word: 2,
            })
        }
    }
}

/// A record with where it stands and what came with the submission.
#[derive(Clone, Copy)]
struct Command<'a> {
    record: RecordView<'a>,
    offset: usize,
    external: Option<External<'a>>,
}

impl<'a> Command<'a> {
    fn bytes(&self, start: usize, length: u32) -> Result<&'a [u8], CommandError> {
        self.record
            .bytes(start, length)
            .ok_or(CommandError::Malformed {
                offset: self.offset,
            })
    }

    /// The payload of `length` bytes, from the record or from outside.
    fn payload(&self, start: usize, length: u32) -> Result<Payload<'a>, CommandError> {
        if self.record.flags() & response_flag::EXTERNAL == 0 {
            return Ok(Payload {
                bytes: self.bytes(start, length)?,
                external: None,
            });
        }
        let bytes = self.external.map_or(&[][..], |external| external.bytes());
        match usize::try_from(length) {
            Ok(length) if length == bytes.len() => Ok(Payload {
                bytes,
                external: self.external,
            }),
            _ => Err(CommandError::Malformed {
                offset: self.offset,
            }),
        }
    }

    fn answer(&self) -> Result<(AnswerHead<'a>, Payload<'a>), CommandError> {
        let record = self.record;
        let status = u16::try_from(record.word(4))
            .ok()
            .filter(|status| (100..=999).contains(status));
        let status = status.ok_or(CommandError::OutOfRange {
            offset: self.offset,
            word: 4,
        })?;
        let reason = self.bytes(RESPOND_BYTES, record.word(6))?;
        let fields = self.bytes(RESPOND_BYTES + reason.len(), record.word(7))?;
        let body = self.payload(RESPOND_BYTES + reason.len() + fields.len(), record.word(8))?;
        let head = AnswerHead {
            status,
            flags: record.flags(),
            template: record.word(5),
            reason,
            fields,
            content_length: record.long(9),
        };
        Ok((head, body))
    }
}

fn apply_to_connection(
    connection: Option<&mut Connection>,
    core: &mut crate::core::Core,
    command: Command<'_>,
) -> Result<(), CommandError> {
    let record = command.record;
    let (sequence, flags) = (record.word(3), record.flags());
    match record.kind() {
        command::RESPOND => {
            let (head, body) = command.answer()?;
            if let Some(connection) = connection {
                connection.respond(core, sequence, &head, body);
            }
        }
        command::DATA => {
            let body = command.payload(SIZED_BYTES, record.word(4))?;
            if let Some(connection) = connection {
                connection.data(core, sequence, flags, body);
            }
        }
        command::END => {
            let trailers = command.bytes(SIZED_BYTES, record.word(4))?;
            if let Some(connection) = connection {
                connection.end(core, sequence, flags, trailers);
            }
        }
        command::INFORM => {
            let bytes = command.bytes(SIZED_BYTES, record.word(4))?;
            if let Some(connection) = connection {
                connection.inform(core, sequence, flags, bytes);
            }
        }
        command::RAW => {
            let body = command.payload(SIZED_BYTES, record.word(4))?;
            if let Some(connection) = connection {
                connection.raw(core, flags, body);
            }
        }
        command::FEED => {
            let body = command.payload(SIZED_BYTES, record.word(4))?;
            if let Some(connection) = connection {
                connection.feed(core, body.bytes);
            }
        }
        _ => {
            if let Some(connection) = connection {
                control(connection, core, record);
            }
        }
    }
    Ok(())
}

/// Records without a payload.
fn control(connection: &mut Connection, core: &mut crate::core::Core, record: RecordView<'_>) {
    match record.kind() {
        command::PAUSE | command::RESUME if record.word(3) == 0 => {
            connection.set_paused(core, record.kind() == command::PAUSE);
        }
        command::PAUSE => connection.set_body_wish(core, record.word(3), BodyWish::Nothing),
        command::RESUME => connection.set_body_wish(core, record.word(3), BodyWish::Bytes),
        command::DISCARD => connection.set_body_wish(core, record.word(3), BodyWish::End),
        command::SHUTDOWN => connection.shutdown(core, record.flags() & SHUTDOWN_CLOSE != 0),
        command::SET_TIMEOUT => connection.transport.set_inactivity(core, record.word(4)),
        command::SET_SOCKET => set_socket(connection, record),
        command::TAKE_OVER => connection.take_over(core),
        command::PROCEED => connection.proceed(core),
        _ => {}
    }
}

fn set_socket(connection: &Connection, record: RecordView<'_>) {
    // A Unix socket refuses; nothing depends on it.
    if record.word(4) <= 1 {
        let _ = socket::set_no_delay(connection.transport.socket(), record.word(4) == 1);
    }
    if record.word(5) <= 1 {
        let delay = Duration::from_secs(u64::from(record.word(6)));
        let _ = socket::set_keep_alive(connection.transport.socket(), record.word(5) == 1, delay);
    }
}
