//! Bytes to be sent, and what is to happen when they are.

use std::collections::VecDeque;

use crate::buffer_pool::BufferPool;
use crate::segments::Segments;

/// What follows when everything queued has been sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AfterFlush {
    /// Nothing: the connection goes on.
    #[default]
    Continue,
    /// Our side ends (FIN); the peer may go on.
    End,
    /// The connection ends, without resetting what the peer still sends.
    Close,
}

/// State of the sending side.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// What is queued.
    pub(super) queue: Segments,
    /// Position of the queue's front in the stream of all output.
    sent_position: u64,
    /// Whether the kernel took no more; an edge of readiness ends it.
    pub(super) blocked: bool,
    /// Whether the connection is in the shard's list of those to be flushed.
    pub(super) dirty: bool,
    /// Whether our side has ended.
    pub(super) ended: bool,
    pub(super) after: AfterFlush,
    /// Acknowledgements that have come true and are not told.
    pub(super) acked: u32,
    /// Positions in the stream of all output that are to be acknowledged.
    acks: VecDeque<u64>,
}

impl Output {
    /// Bytes that wait for the kernel.
    #[inline]
    pub(super) fn queued(&self) -> usize {
        self.queue.len()
    }

    /// The owned end of the queue, to append to.
    #[inline]
    pub(super) fn buffer(&mut self, pool: &mut BufferPool) -> &mut Vec<u8> {
        self.queue.buffer(pool)
    }

    /// Position of the queue's end in the stream of all output.
    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.sent_position + u64::try_from(self.queued()).unwrap_or(0)
    }

    /// The first `count` waiting bytes have been sent.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        self.queue.take(count);
        self.sent_position += u64::try_from(count).unwrap_or(0);
    }

    /// So many bytes have been sent that never were in the queue, which was empty before them.
    pub(super) fn sent_directly(&mut self, count: usize) {
        self.sent_position += u64::try_from(count).unwrap_or(0);
    }

    /// Asks to be told when the stream has been sent up to `position`.
    pub(super) fn acknowledge(&mut self, position: u64) {
        self.acks.push_back(position);
    }

    /// Counts the acknowledgements that have come true. Returns whether there are some to tell.
    #[inline]
    pub(super) fn collect_acks(&mut self) -> bool {
        while self
            .acks
            .front()
            .is_some_and(|&wanted| wanted <= self.sent_position)
        {
            self.acks.pop_front();
            self.acked = self.acked.saturating_add(1);
        }
        self.acked > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_come_true_by_position() {
        let mut pool = BufferPool::default();
        let mut output = Output::default();
        output.buffer(&mut pool).extend_from_slice(b"0123456789");
        output.acknowledge(4);
        output.acknowledge(output.position());
        output.advance(3);
        assert!(!output.collect_acks());
        output.advance(3);
        assert!(output.collect_acks());
        assert_eq!(output.acked, 1);
        output.advance(4);
        output.queue.tidy(&mut pool);
        output.collect_acks();
        assert_eq!(
            (output.acked, output.queued(), output.position()),
            (2, 0, 10)
        );
    }
}
