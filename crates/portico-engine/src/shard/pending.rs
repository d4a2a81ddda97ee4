//! Events that arose where none could be written.

use portico_channel::layout::event;
use portico_channel::{EventWriter, NeedSpace};
use portico_sys::Address;

use super::Shard;
use crate::core::PendingEvent;
use crate::stop::Stop;
use crate::transport::write_address_words;

impl Shard {
    /// Writes what is pending, oldest first. The error is the number of bytes that are lacking.
    pub(super) fn write_pending(&mut self, events: &mut EventWriter<'_>) -> Result<(), usize> {
        while let Some(pending) = self.core.pending.pop_front() {
            let result = self.write_one(&pending, events);
            if let Err(Stop::NeedSpace(bytes)) = result {
                self.core.pending.push_front(pending);
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
                let mut record = events.record(event::CLOSED, 0, token, 8, 0)?;
                record.set(3, errno.unsigned_abs());
                record.set_u64(4, bytes_read);
                record.set_u64(6, bytes_written);
                self.connections.release(token);
            }
            PendingEvent::Flushed { token, count } => {
                let mut record = events.record(event::FLUSHED, 0, token, 5, 0)?;
                record.set(3, count);
                record.set(4, 0);
            }
            PendingEvent::Timeout { token, kind } => {
                if let Some(connection) = self.connections.find(token) {
                    connection.transport.announce(&self.core, events)?;
                    events.record(event::TIMEOUT, 0, token, 4, 0)?.set(3, kind);
                }
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
                write_dropped(events, listener, &remote, &local)?;
            }
            PendingEvent::AcceptError { listener, errno } => {
                let mut record = events.record(event::ACCEPT_ERROR, 0, 0, 5, 0)?;
                record.set(3, listener);
                record.set(4, errno.unsigned_abs());
            }
            PendingEvent::Drained { listener } => {
                events.record(event::DRAINED, 0, 0, 4, 0)?.set(3, listener);
            }
        }
        Ok(())
    }
}

fn write_dropped(
    events: &mut EventWriter<'_>,
    listener: u32,
    remote: &Address,
    local: &Address,
) -> Result<(), NeedSpace> {
    let mut record = events.record(event::DROPPED, 0, 0, 15, 0)?;
    record.set(3, listener);
    write_address_words(&mut record, remote, local);
    Ok(())
}
