//! The application's command records.

use std::ops::RangeInclusive;
use std::time::Duration;

use portico_channel::layout::{alpn_flag, cache_flag, command, response_flag, shutdown_flag};
use portico_channel::schema::{Record, View};
use portico_channel::{External, RecordView, Records};
use portico_http::semantics::Scheme;
use portico_sys::socket;

use super::Shard;
use crate::CommandError;
use crate::answer::{AnswerHead, InterimHead, Payload};
use crate::connection::Connection;
use crate::exchange::BodyWish;
use crate::filter::{AnswerFilter, CacheWish};

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
        match record.kind() {
            command::CLOSE_IDLE => {
                let words = command.read::<command::CloseIdle>()?;
                self.close_idle_connections(words.listener, words.flags());
            }
            command::CLOSE_ALL => {
                let words = command.read::<command::CloseAll>()?;
                self.close_all_connections(words.listener);
            }
            command::TEMPLATE => return self.keep_template(command),
            command::DESTROY => {
                let words = command.read::<command::Destroy>()?;
                if !self.stands_in(words.token) {
                    self.destroy(words.token, words.flags());
                }
            }
            command::RESET => {
                let words = command.read::<command::Reset>()?;
                if let Some(connection) = self.connections.find(words.token) {
                    connection.reset(&mut self.core, words.sequence, words.code);
                }
            }
            command::SESSION => {
                let words = command.read::<command::Session>()?;
                if let Some(connection) = self.connections.find(words.token) {
                    let what = (words.subject, words.stream, words.code);
                    connection.session_command(&mut self.core, what, words.data());
                }
            }
            command::PUSH => {
                let words = command.read::<command::Push>()?;
                if let Some(connection) = self.connections.find(words.token) {
                    connection.push(&mut self.core, &words);
                }
            }
            command::SERVER_NAME => {
                let words = command.read::<command::ServerName>()?;
                if let Some(connection) = self.connections.find(words.token) {
                    connection.choose_context(&mut self.core, words.context);
                }
            }
            command::ALPN => return self.choose_protocol(command),
            command::CACHE => self.wish(&command.read::<command::Cache>()?),
            kind if (command::RESPOND..=command::PROCEED).contains(&kind)
                || kind == command::FEED =>
            {
                // A connection that is gone: the command crossed with its end. It is still checked.
                let connection = self.connections.find(record.token());
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

    /// Whether a connection that the application ends without an answer is ended behind another one, that stands in.
    fn stands_in(&mut self, token: u32) -> bool {
        let connection = self.connections.find(token);
        connection.is_some_and(|connection| connection.stand_in_at_end(&mut self.core))
    }

    fn choose_protocol(&mut self, command: Command<'_>) -> Result<(), CommandError> {
        let words = command.read::<command::Alpn>()?;
        let protocol = (words.flags() & alpn_flag::NONE == 0).then(|| words.protocol());
        if let Some(connection) = self.connections.find(words.token) {
            connection.choose_protocol(&mut self.core, protocol);
        }
        Ok(())
    }

    /// What is to be kept of an answer. A cache that came after the request is told what that was.
    fn wish(&mut self, words: &View<'_, command::Cache>) {
        let has_lifetime = words.flags() & cache_flag::LIFETIME != 0;
        let wish = CacheWish {
            lifetime: has_lifetime.then(|| Duration::from_millis(words.lifetime_ms)),
            tags: words.tags(),
            is_absent: words.flags() & cache_flag::ABSENT != 0,
        };
        if self.wish_for(words.token, words.sequence, &wish) || words.target().is_empty() {
            return;
        }
        let Some(connection) = self.connections.find(words.token) else {
            return;
        };
        let transport = &connection.transport;
        let filter = self.cache.as_ref().and_then(|cache| {
            let site = cache.site_of(transport.listener());
            cache.late_filter(
                site,
                transport.is_secure(&self.core),
                words.target(),
                words.fields(),
            )
        });
        if let Some(filter) = filter {
            self.filter_answer(words.token, words.sequence, filter);
            self.wish_for(words.token, words.sequence, &wish);
        }
    }

    /// Tells the filter of an answer what the application wants kept of it. `false`: the answer has no filter.
    pub fn wish_for(&mut self, token: u32, sequence: u32, wish: &CacheWish<'_>) -> bool {
        let connection = self.connections.find(token);
        connection.is_some_and(|connection| connection.wish(sequence, wish))
    }

    /// How the requests of a connection reach us; `None`: it has gone.
    pub fn scheme_of(&mut self, token: u32) -> Option<Scheme> {
        let connection = self.connections.find(token)?;
        Some(if connection.transport.is_secure(&self.core) {
            Scheme::Https
        } else {
            Scheme::Http
        })
    }

    /// Gives a filter to the answer to a request that was passed and of whose answer nothing has come. The caller knows that
    /// there is such a request.
    pub fn filter_answer(&mut self, token: u32, sequence: u32, filter: Box<dyn AnswerFilter>) {
        if let Some(connection) = self.connections.find(token) {
            connection.filter_answers(&mut vec![(sequence, filter)]);
        }
    }

    fn keep_template(&mut self, command: Command<'_>) -> Result<(), CommandError> {
        let words = command.read::<command::Template>()?;
        let (reason, fields) = (words.reason(), words.fields());
        if self.core.templates.keep(words.number, reason, fields) {
            Ok(())
        } else {
            Err(command.out_of_range("number"))
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
    /// The record as one of its kind, with all that it says of itself checked.
    #[inline]
    fn read<R: Record>(&self) -> Result<View<'a, R>, CommandError> {
        self.record.read().ok_or(CommandError::Malformed {
            offset: self.offset,
        })
    }

    /// The body, from the record (`inside`) or from beside it, where it must have the `length` that the record says.
    #[inline]
    fn payload(&self, inside: &'a [u8], length: u32) -> Result<Payload<'a>, CommandError> {
        if self.record.flags() & response_flag::EXTERNAL == 0 {
            return Ok(Payload {
                bytes: inside,
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

    fn out_of_range(&self, word: &'static str) -> CommandError {
        CommandError::OutOfRange {
            offset: self.offset,
            word,
        }
    }

    #[inline]
    fn answer(
        &self,
        words: &View<'a, command::Respond>,
    ) -> Result<(AnswerHead<'a>, Payload<'a>), CommandError> {
        let status =
            status_of(words.status, 100..=999).ok_or_else(|| self.out_of_range("status"))?;
        let head = AnswerHead {
            status,
            flags: words.flags(),
            template: words.template,
            reason: words.reason(),
            fields: words.fields(),
            content_length: words.content_length,
        };
        Ok((head, self.payload(words.body(), words.body_bytes)?))
    }
}

/// A status code within bounds.
#[inline]
fn status_of(status: u32, bounds: RangeInclusive<u16>) -> Option<u16> {
    let status = u16::try_from(status).ok()?;
    bounds.contains(&status).then_some(status)
}

fn apply_to_connection(
    connection: Option<&mut Connection>,
    core: &mut crate::core::Core,
    command: Command<'_>,
) -> Result<(), CommandError> {
    let flags = command.record.flags();
    match command.record.kind() {
        command::RESPOND => {
            let words = command.read::<command::Respond>()?;
            let (head, body) = command.answer(&words)?;
            if let Some(connection) = connection {
                connection.respond(core, words.sequence, &head, body);
            }
        }
        command::DATA => {
            let words = command.read::<command::Data>()?;
            let body = command.payload(words.body(), words.body_bytes)?;
            if let Some(connection) = connection {
                connection.data(core, words.sequence, flags, body);
            }
        }
        command::END => {
            let words = command.read::<command::End>()?;
            if let Some(connection) = connection {
                connection.end(core, words.sequence, flags, words.trailers());
            }
        }
        command::INFORM => {
            let words = command.read::<command::Inform>()?;
            let head = InterimHead {
                status: status_of(words.status, 100..=199)
                    .ok_or_else(|| command.out_of_range("status"))?,
                reason: words.reason(),
                fields: words.fields(),
            };
            if let Some(connection) = connection {
                connection.inform(core, words.sequence, flags, &head);
            }
        }
        command::RAW => {
            let words = command.read::<command::Raw>()?;
            let body = command.payload(words.body(), words.body_bytes)?;
            if let Some(connection) = connection {
                connection.raw(core, flags, body);
            }
        }
        command::FEED => {
            let words = command.read::<command::Feed>()?;
            let body = command.payload(words.body(), words.body_bytes)?;
            if let Some(connection) = connection {
                connection.feed(core, body.bytes);
            }
        }
        _ => return control(connection, core, command),
    }
    Ok(())
}

/// Records without a payload.
fn control(
    connection: Option<&mut Connection>,
    core: &mut crate::core::Core,
    command: Command<'_>,
) -> Result<(), CommandError> {
    let connection = connection.map(|connection| (connection, core));
    match command.record.kind() {
        command::PAUSE => {
            let words = command.read::<command::Pause>()?;
            if let Some((connection, core)) = connection {
                match words.sequence {
                    0 => connection.set_paused(core, true),
                    sequence => connection.set_body_wish(core, sequence, BodyWish::Nothing),
                }
            }
        }
        command::RESUME => {
            let words = command.read::<command::Resume>()?;
            if let Some((connection, core)) = connection {
                match words.sequence {
                    0 => connection.set_paused(core, false),
                    sequence => connection.set_body_wish(core, sequence, BodyWish::Bytes),
                }
            }
        }
        command::DISCARD => {
            let words = command.read::<command::Discard>()?;
            if let Some((connection, core)) = connection {
                connection.set_body_wish(core, words.sequence, BodyWish::End);
            }
        }
        command::SHUTDOWN => {
            let close = command.record.flags() & shutdown_flag::CLOSE != 0;
            if let Some((connection, core)) = connection {
                connection.shutdown(core, close);
            }
        }
        command::SET_TIMEOUT => {
            let words = command.read::<command::SetTimeout>()?;
            if let Some((connection, core)) = connection {
                connection
                    .transport
                    .set_inactivity(core, words.milliseconds);
            }
        }
        command::SET_SOCKET => {
            let words = command.read::<command::SetSocket>()?;
            if let Some((connection, _)) = connection {
                set_socket(connection, &words);
            }
        }
        command::TAKE_OVER => {
            if let Some((connection, core)) = connection {
                connection.take_over(core, command.record.flags());
            }
        }
        command::PROCEED => {
            if let Some((connection, core)) = connection {
                connection.proceed(core);
            }
        }
        _ => {}
    }
    Ok(())
}

fn set_socket(connection: &Connection, words: &command::SetSocket) {
    // A Unix socket refuses; nothing depends on it.
    if words.no_delay <= 1 {
        let _ = socket::set_no_delay(connection.transport.socket(), words.no_delay == 1);
    }
    if words.keep_alive <= 1 {
        let delay = Duration::from_secs(u64::from(words.keep_alive_seconds));
        let _ = socket::set_keep_alive(connection.transport.socket(), words.keep_alive == 1, delay);
    }
}
