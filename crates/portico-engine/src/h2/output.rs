//! Bodies of answers, framed as the output has room: whose turn it is, the session says.

use portico_http::h2::DataFrame;

use super::H2;
use crate::core::Core;
use crate::limits::H2_FRAMED_BYTES;
use crate::transport::Transport;

impl H2 {
    /// Whether there is something that [`H2::fill_output`] would frame now.
    #[inline]
    pub(crate) fn holds_output(&self) -> bool {
        self.session.has_data()
    }

    /// Frames parts of answers, as far as the output has room.
    pub(crate) fn fill_output(&mut self, transport: &mut Transport, core: &mut Core) {
        self.send_goaway_if_closing(transport, core);
        while transport.queued() < H2_FRAMED_BYTES && !self.ending.is_body_gone {
            let out = transport.buffer(core);
            let Some(frame) = self.session.next_data(usize::MAX, out) else {
                break;
            };
            self.put_body(transport, core, frame);
            if frame.is_last {
                self.note_sent(core, frame.stream.id);
            }
        }
        if self.is_busy && self.exchanges.is_empty() {
            self.is_busy = false;
            transport.become_idle(core);
        }
        self.enter_deadline(transport, core);
        self.close_if_finished(transport);
    }

    /// The bytes that a frame's header has promised.
    fn put_body(&mut self, transport: &mut Transport, core: &mut Core, frame: DataFrame) {
        let sequence = frame.stream.id;
        let Some(exchange) = self.exchanges.find(sequence) else {
            self.ending.is_body_gone |= frame.bytes > 0;
            return;
        };
        let mut left = frame.bytes;
        while left > 0 {
            let out = transport.buffer(core);
            let count = exchange.body.move_front(out, left).unwrap_or(0);
            if count == 0 {
                // It has been taken away. The peer must not take what it has got for the whole.
                self.ending.is_body_gone = true;
                return;
            }
            left -= count;
        }
        exchange.body.tidy(&mut core.buffers);
        exchange.framed += u64::try_from(frame.bytes).unwrap_or(0);
        let framed = exchange.framed;
        exchange.acks.retain(|wanted| {
            if *wanted <= framed {
                transport.acknowledge(transport.position(), sequence);
            }
            *wanted > framed
        });
    }
}
