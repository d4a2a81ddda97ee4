//! What is sent of a connection at the end of a turn or of a submission, and what follows when all of it has been.

use super::Connection;
use crate::core::Core;
use crate::limits::{FLUSH_BYTES, LAST_FLUSH_BYTES};
use crate::protocol::on_protocol;
use crate::stop::Stop;
use crate::transport::AfterFlush;

impl Connection {
    /// Whether all that is to be sent is session tickets, and a request is to be answered. Says so once.
    pub(crate) fn holds_tickets(&mut self) -> bool {
        self.transport.take_tickets()
            && on_protocol!(&self.protocol, protocol => protocol.has_request())
    }

    /// Sends what the kernel takes, within a turn's bound, and does what is to follow when all is sent.
    pub(crate) fn flush(&mut self, core: &mut Core) -> Result<(), Stop> {
        self.flush_within(core, FLUSH_BYTES)
    }

    /// As [`Connection::flush`], with a bound that the kernel reaches first: nothing will be sent later.
    pub(crate) fn flush_last(&mut self, core: &mut Core) -> Result<(), Stop> {
        self.flush_within(core, LAST_FLUSH_BYTES)
    }

    fn flush_within(&mut self, core: &mut Core, most: usize) -> Result<(), Stop> {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.fill_output(&mut self.transport, core);
        });
        let mut more = self.transport.send(core, most)?;
        // The kernel has taken all that was framed, and there is more to frame.
        more |= self.transport.queued() == 0 && self.has_output();
        let has_input = self.transport.is_readable()
            || on_protocol!(&self.protocol, protocol => protocol.has_held_input());
        if has_input && !self.is_blocked(core) {
            self.transport.schedule(core);
        }
        if self.has_output() {
            if more {
                self.transport.schedule(core);
            }
            return Ok(());
        }
        match self.transport.after_flush() {
            AfterFlush::Continue => {}
            AfterFlush::End => self.end_output(core),
            AfterFlush::Close => {
                return Err(on_protocol!(&self.protocol, protocol => {
                    protocol.how_to_close(&self.transport, core)
                }));
            }
        }
        on_protocol!(&self.protocol, protocol => protocol.close_if_done(&self.transport))
    }

    fn end_output(&mut self, core: &mut Core) {
        if self.transport.has_output_ended() {
            return;
        }
        if self.is_http() {
            // Nothing more can be answered: the peer is to end its side.
            self.transport.arm_close(core);
        }
        self.transport.end_output();
    }

    fn is_blocked(&self, core: &Core) -> bool {
        on_protocol!(&self.protocol, protocol => protocol.is_blocked(&self.transport, core))
    }
}
