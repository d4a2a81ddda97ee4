//! Skipping the early data of clients that send some (RFC 8446, 4.2.10). None is ever accepted, but a client may have a
//! ticket that allowed it: of another server with its keys, or from before a change of the server.
//!
//! rustls would skip as well, but counts a record again each time it looks at it.

use crate::alert::Alert;
use crate::record::{Cipher, HEADER_BYTES, RecordKey};
use crate::traffic_keys::TrafficKeys;
use crate::{TlsError, error_map};

/// Most early data that is skipped: what OpenSSL skips by default, and allows itself in the tickets that it gives out.
/// Counted as the RFC counts: without the tag and the type in each record.
const MAX_EARLY_DATA_BYTES: usize = 16_384;
const OVERHEAD_BYTES: usize = 17;

/// What may still be skipped.
pub(crate) struct EarlyData {
    bytes_left: usize,
}

impl EarlyData {
    pub(crate) fn new() -> Self {
        Self {
            bytes_left: MAX_EARLY_DATA_BYTES,
        }
    }

    /// Counts a record with a body of so many bytes.
    ///
    /// # Errors
    /// It is too much.
    pub(crate) fn skip(&mut self, body_bytes: usize) -> Result<(), (Alert, TlsError)> {
        // An empty record counts, too, or there would be no end to them.
        let content_bytes = body_bytes.saturating_sub(OVERHEAD_BYTES).max(1);
        match self.bytes_left.checked_sub(content_bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => {
                let error = error_map::too_much_early_data();
                Err((Alert::UnexpectedMessage, error))
            }
        }
    }
}

/// Whether a record is none of the handshake. Early data has another key than the client's next message.
pub(crate) fn is_early(record: &[u8], keys: &TrafficKeys, cipher: Cipher) -> bool {
    let Some((header, body)) = record.split_first_chunk::<HEADER_BYTES>() else {
        return false;
    };
    let opened = keys.opening(cipher).map(|mut key: RecordKey| {
        // In a copy: rustls is to open it as it came.
        let mut body = body.to_vec();
        key.open(*header, &mut body).is_ok()
    });
    matches!(opened, Ok(false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_counted_and_not_what_it_is_wrapped_in() {
        let mut data = EarlyData::new();
        assert!(data.skip(16_384 + 17).is_ok());
        assert!(data.skip(18).is_err());
        let mut data = EarlyData::new();
        for _ in 0..4 {
            assert!(data.skip(4_096 + 17).is_ok());
        }
        assert!(data.skip(18).is_err());
    }

    #[test]
    fn empty_records_come_to_an_end() {
        let mut data = EarlyData::new();
        let skipped = (0..).take_while(|_| data.skip(17).is_ok()).count();
        assert_eq!(skipped, MAX_EARLY_DATA_BYTES);
    }
}
