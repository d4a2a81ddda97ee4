//! Bytes to be sent, and what is to happen when they are.

use std::collections::VecDeque;
use std::rc::Rc;

use portico_channel::LentBytes;

use crate::answer::Payload;
use crate::buffer_pool::BufferPool;
use crate::file_range::FileRange;
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
    queue: Segments,
    /// Position of the queue's front in the stream of all output.
    sent_position: u64,
    /// Whether the kernel took no more; an edge of readiness ends it.
    blocked: bool,
    /// Whether the connection is in the shard's list of those whose output is to be sent.
    is_entered: bool,
    /// Whether our side has ended.
    ended: bool,
    after: AfterFlush,
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

    /// What is queued, to be sent or encrypted from where it lies; [`Output::advance`] says how much has been.
    #[inline]
    pub(super) fn queue(&self) -> &Segments {
        &self.queue
    }

    /// Queues body bytes and what follows them.
    #[inline]
    pub(super) fn push(&mut self, body: Payload<'_>, tail: &[u8], pool: &mut BufferPool) {
        self.queue.push(body, tail, pool);
    }

    /// Queues a range of a file.
    pub(super) fn push_file(&mut self, range: FileRange) {
        self.queue.push_file(range);
    }

    /// Queues this part of bytes that stay where they are.
    pub(super) fn push_lent(&mut self, owner: Rc<dyn LentBytes>, start: usize, end: usize) {
        self.queue.push_lent(owner, start, end);
    }

    /// Queues segments. Returns the position in the stream of all output at which they begin.
    pub(super) fn append(&mut self, segments: Segments, pool: &mut BufferPool) -> u64 {
        let start = self.position();
        self.queue.append(segments, pool);
        start
    }

    /// Gives buffers back that are not needed.
    #[inline]
    pub(super) fn tidy(&mut self, pool: &mut BufferPool) {
        self.queue.tidy(pool);
    }

    /// Nothing of what is queued will be sent.
    pub(super) fn clear(&mut self, pool: &mut BufferPool) {
        self.queue.clear(pool);
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

    /// Whether the kernel took no more when it was asked last.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// The kernel takes no more, until it says that it does.
    #[inline]
    pub(super) fn set_blocked(&mut self, is_blocked: bool) {
        self.blocked = is_blocked;
    }

    /// The connection is in the shard's list of those whose output is to be sent, or has been taken from it. Returns
    /// whether it was in the list.
    #[inline]
    pub(super) fn set_entered(&mut self, is_entered: bool) -> bool {
        std::mem::replace(&mut self.is_entered, is_entered)
    }

    /// Whether our side has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Our side ends.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    /// What follows when everything queued has been sent.
    #[inline]
    pub(super) fn after(&self) -> AfterFlush {
        self.after
    }

    /// Sets what follows. An end of the connection is not taken back.
    pub(super) fn set_after(&mut self, after: AfterFlush) {
        if self.after != AfterFlush::Close {
            self.after = after;
        }
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
        output.tidy(&mut pool);
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
