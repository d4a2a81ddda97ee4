//! What a shard has still to do: connections to drive, output to send, events to write, requests to take back.
//!
//! Whoever finds something to do enters it here; `shard/turn.rs` takes it out.

use std::collections::VecDeque;

use portico_sys::Address;

/// The lists of what is to be done.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// Connections to drive, by token.
    work: VecDeque<u32>,
    /// Connections with output to send before the turn or the submission ends.
    unsent: Vec<u32>,
    /// Events that arose where none could be written. At most one `CLOSED`, one `TIMEOUT` and one `PEER_END` for each
    /// connection, one for each `PUSH`, and what one turn's accepting adds.
    events: VecDeque<PendingEvent>,
    /// Requests that waited for their responder, and that are gone: token and sequence.
    cancelled: Vec<(u32, u32)>,
}

/// An event to be written when there is room.
#[derive(Debug, Clone)]
pub(crate) enum PendingEvent {
    Closed {
        token: u32,
        errno: i32,
        bytes_read: u64,
        bytes_written: u64,
    },
    Flushed {
        token: u32,
        /// The exchange, 0: the oldest.
        sequence: u32,
        count: u32,
    },
    Timeout {
        token: u32,
        kind: u32,
    },
    UnreadEnd {
        token: u32,
    },
    Pushed {
        token: u32,
        /// The stream that the promise belongs to.
        stream: u32,
        /// The promised one, 0: none.
        promised: u32,
    },
    Opened {
        token: u32,
    },
    Dropped {
        listener: u32,
        remote: Address,
        local: Address,
    },
    AcceptError {
        listener: u32,
        errno: i32,
    },
    Drained {
        listener: u32,
    },
}

impl Agenda {
    /// Whether the next turn has something to do before it asks the kernel.
    pub(crate) fn has_work(&self) -> bool {
        !self.events.is_empty() || !self.work.is_empty() || self.has_cancelled()
    }

    /// Has a connection driven behind those that are to be driven already. It must not be entered.
    #[inline]
    pub(crate) fn drive(&mut self, token: u32) {
        self.work.push_back(token);
    }

    /// Has a connection driven before all others. It must not be entered.
    pub(crate) fn drive_first(&mut self, token: u32) {
        self.work.push_front(token);
    }

    /// Connections that are to be driven.
    pub(crate) fn work_len(&self) -> usize {
        self.work.len()
    }

    /// One of them, in the order in which they are driven.
    pub(crate) fn work_at(&self, index: usize) -> Option<u32> {
        self.work.get(index).copied()
    }

    /// The connection that is driven next.
    #[inline]
    pub(crate) fn take_work(&mut self) -> Option<u32> {
        self.work.pop_front()
    }

    /// Has a connection's output sent. It must not be entered.
    #[inline]
    pub(crate) fn send(&mut self, token: u32) {
        self.unsent.push(token);
    }

    /// Whether there is output to send.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Connections whose output is to be sent. To be given back by [`Agenda::keep_unsent`]; none is entered meanwhile.
    #[inline]
    pub(crate) fn take_unsent(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.unsent)
    }

    /// Those of them whose output is sent later, and the list's memory.
    #[inline]
    pub(crate) fn keep_unsent(&mut self, tokens: Vec<u32>) {
        self.unsent = tokens;
    }

    /// Has an event written when there is room.
    pub(crate) fn tell(&mut self, event: PendingEvent) {
        self.events.push_back(event);
    }

    /// The oldest event that is not written.
    #[inline]
    pub(crate) fn take_event(&mut self) -> Option<PendingEvent> {
        self.events.pop_front()
    }

    /// There was no room for the oldest event.
    pub(crate) fn put_event_back(&mut self, event: PendingEvent) {
        self.events.push_front(event);
    }

    /// A request is gone that waits for its responder.
    pub(crate) fn cancel(&mut self, token: u32, sequence: u32) {
        self.cancelled.push((token, sequence));
    }

    /// Whether there are such requests.
    #[inline]
    pub(crate) fn has_cancelled(&self) -> bool {
        !self.cancelled.is_empty()
    }

    /// The requests that are gone, of which the responder is told.
    #[inline]
    pub(crate) fn take_cancelled(&mut self) -> Vec<(u32, u32)> {
        std::mem::take(&mut self.cancelled)
    }
}
