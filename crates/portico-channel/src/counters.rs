//! What an engine has done, as its application asks for it.

/// What a shard has done since it was made. Sums of several shards are taken with [`Counters::add`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Connections accepted or adopted.
    pub connections_accepted: u64,
    /// Connections that are open now.
    pub connections_open: u64,
    /// Requests that have begun: their heads are complete.
    pub requests: u64,
    /// Answers that are complete.
    pub responses: u64,
    /// Bytes received (TLS: as on the wire).
    pub bytes_read: u64,
    /// Bytes handed to the kernel.
    pub bytes_written: u64,
    /// Connections closed because their peers were slower than `min_bytes_per_second`.
    pub too_slow: u64,
}

impl Counters {
    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        self.connections_accepted += other.connections_accepted;
        self.connections_open += other.connections_open;
        self.requests += other.requests;
        self.responses += other.responses;
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        self.too_slow += other.too_slow;
    }
}
