//! Output buffers that go from connection to connection, so that answering allocates nothing in steady state.

use crate::limits::{BUFFER_BYTES, POOLED_BUFFER_BYTES, POOLED_BUFFERS};

/// Empty buffers with some capacity.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    free: Vec<Vec<u8>>,
}

impl BufferPool {
    /// An empty buffer.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.free
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(BUFFER_BYTES))
    }

    /// Gives a buffer back; what is in it is lost.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        if self.free.len() < POOLED_BUFFERS
            && (1..=POOLED_BUFFER_BYTES).contains(&buffer.capacity())
        {
            buffer.clear();
            self.free.push(buffer);
        }
    }
}
