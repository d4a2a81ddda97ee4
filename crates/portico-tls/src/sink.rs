//! Where decrypted bytes go: the engine's slab, or a vector.

/// Takes plaintext as it is decrypted, in order.
pub trait Sink {
    /// Appends bytes. Called at most once for each TLS record (at most 16,384 bytes), never with an empty slice.
    fn append(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
