//! Output buffers that go from connection to connection, so that answering allocates nothing in steady state.

use crate::limits::{BUFFER_BYTES, POOLED_BUFFER_BYTES, POOLED_BYTES};

/// Empty buffers with some capacity. The last one given is taken first: it is likely in the processor's cache.
#[derive(Debug, Default)]
pub(crate) struct BufferPool {
    free: Vec<Vec<u8>>,
    /// Sum of their capacities.
    bytes: usize,
}

impl BufferPool {
    /// An empty buffer.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        match self.free.pop() {
            Some(buffer) => {
                self.bytes -= buffer.capacity();
                buffer
            }
            None => Vec::with_capacity(BUFFER_BYTES),
        }
    }

    /// Gives a buffer back; what is in it is lost.
    pub(crate) fn give(&mut self, mut buffer: Vec<u8>) {
        let capacity = buffer.capacity();
        if capacity > 0 && capacity <= POOLED_BUFFER_BYTES && self.bytes + capacity <= POOLED_BYTES
        {
            buffer.clear();
            self.bytes += capacity;
            self.free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_keeps_no_more_than_its_bound() {
        let mut pool = BufferPool::default();
        for _ in 0..100 {
            pool.give(Vec::with_capacity(POOLED_BUFFER_BYTES));
        }
        pool.give(Vec::with_capacity(POOLED_BUFFER_BYTES + 1));
        assert_eq!(pool.free.len(), POOLED_BYTES / POOLED_BUFFER_BYTES);
        while pool.bytes > 0 {
            assert!(pool.take().is_empty());
        }
        assert_eq!(pool.take().capacity(), BUFFER_BYTES);
    }
}
