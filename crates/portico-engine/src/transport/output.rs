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
    /// How many of `acks` have come true.
    acked: u32,
    /// Acknowledgements that are not told, in the order in which they come true.
    acks: VecDeque<Ack>,
}

/// What is to be acknowledged.
#[derive(Clone, Copy, Debug)]
struct Ack {
    /// When the stream of all output has been sent up to here.
    position: u64,
    /// For which exchange; 0: for the oldest that has asked, or for none.
    sequence: u32,
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
    pub(super) fn acknowledge(&mut self, position: u64, sequence: u32) {
        self.acks.push_back(Ack { position, sequence });
    }

    /// What has been sent is on its way. Returns whether there are acknowledgements to tell.
    #[inline]
    pub(super) fn collect_acks(&mut self) -> bool {
        while let Some(ack) = self.acks.get(to_usize(self.acked))
            && ack.position <= self.sent_position
        {
            self.acked += 1;
        }
        self.acked > 0
    }

    /// The first acknowledgements that have come true: whose they are, and how many follow each other.
    #[inline]
    pub(super) fn acked(&self) -> Option<(u32, u32)> {
        if self.acked == 0 {
            return None;
        }
        let sequence = self.acks.front()?.sequence;
        let acks = self.acks.iter().take(to_usize(self.acked));
        let count = acks.take_while(|ack| ack.sequence == sequence).count();
        Some((sequence, u32::try_from(count).unwrap_or(u32::MAX)))
    }

    /// The first `count` acknowledgements have been told.
    pub(super) fn forget_acked(&mut self, count: u32) {
        let count = count.min(self.acked);
        self.acked -= count;
        self.acks.drain(..to_usize(count).min(self.acks.len()));
    }
}

fn to_usize(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledgements_come_true_by_position() {
        let mut pool = BufferPool::default();
        let mut output = Output::default();
        output.buffer(&mut pool).extend_from_slice(b"0123456789");
        output.acknowledge(4, 0);
        for sequence in [0, 7, 7, 9] {
            output.acknowledge(output.position(), sequence);
        }
        output.advance(3);
        assert!(!output.collect_acks());
        output.advance(3);
        assert!(output.collect_acks());
        assert_eq!(output.acked(), Some((0, 1)));
        output.advance(4);
        output.queue.tidy(&mut pool);
        assert!(output.collect_acks());
        for run in [(0, 2), (7, 2), (9, 1)] {
            assert_eq!(output.acked(), Some(run));
            output.forget_acked(run.1);
        }
        assert_eq!(
            (output.acked(), output.queued(), output.position()),
            (None, 0, 10)
        );
    }
}
