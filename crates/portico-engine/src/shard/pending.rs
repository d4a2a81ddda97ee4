//! Events that arose where none could be written.

use portico_channel::EventWriter;
use portico_channel::layout::{event, session_event};
use portico_channel::schema::Range;

use super::Shard;
use crate::agenda::PendingEvent;
use crate::stop::Stop;
use crate::transport::{endpoints, write_flushed};

impl Shard {
    /// Writes what is pending, oldest first. The error is the number of bytes that are lacking.
    pub(super) fn write_pending(&mut self, events: &mut EventWriter<'_>) -> Result<(), usize> {
        while let Some(pending) = self.core.agenda.take_event() {
            let result = self.write_one(&pending, events);
            if let Err(Stop::NeedSpace(bytes)) = result {
                self.core.agenda.put_event_back(pending);
                return Err(bytes);
            }
        }
        Ok(())
    }

    fn write_one(
        &mut self,
        pending: &PendingEvent,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        match *pending {
            PendingEvent::Closed {
                token,
                errno,
                bytes_read,
                bytes_written,
            } => {
                let words = event::Closed {
                    token,
                    errno: errno.unsigned_abs(),
                    bytes_read,
                    bytes_written,
                };
                events.tell(0, words)?;
                self.connections.release(token);
            }
            PendingEvent::Flushed {
                token,
                sequence,
                count,
            } => write_flushed(events, token, sequence, count, 0)?,
            PendingEvent::Timeout { token, kind } => {
                if let Some(connection) = self.connections.find(token) {
                    connection.transport.announce(&self.core, events)?;
                    let deadline = kind;
                    events.tell(0, event::Timeout { token, deadline })?;
                }
            }
            PendingEvent::UnreadEnd { token } => {
                if let Some(connection) = self.connections.find(token) {
                    connection.write_unread_end(&mut self.core, events)?;
                }
            }
            PendingEvent::Pushed {
                token,
                stream,
                promised,
            } => {
                let words = event::Session {
                    token,
                    subject: session_event::PUSHED,
                    stream,
                    code: promised,
                    bytes: Range::default(),
                };
                events.tell(0, words)?;
            }
            PendingEvent::Opened { token } => {
                if let Some(connection) = self.connections.find(token) {
                    connection.transport.announce(&self.core, events)?;
                }
            }
            PendingEvent::Dropped {
                listener,
                remote,
                local,
            } => {
                let words = event::Dropped {
                    token: 0,
                    listener,
                    endpoints: endpoints(&remote, &local),
                };
                events.tell(0, words)?;
            }
            PendingEvent::AcceptError { listener, errno } => {
                let words = event::AcceptError {
                    token: 0,
                    listener,
                    errno: errno.unsigned_abs(),
                };
                events.tell(0, words)?;
            }
            PendingEvent::Drained { listener } => {
                events.tell(0, event::Drained { token: 0, listener })?;
            }
        }
        Ok(())
    }
}
