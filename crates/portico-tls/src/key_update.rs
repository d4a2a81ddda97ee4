//! The only message of a client that is welcome after a TLS 1.3 handshake (RFC 8446, 4.6.3), put together from the
//! records that it may be split over.

use crate::alert::Alert;

/// Handshake type (RFC 8446, 4).
const KEY_UPDATE: u8 = 24;
/// Type, length of one byte, and update_not_requested. With the last byte 1, the other side must renew its key, too.
pub(crate) const NOT_REQUESTED: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 0];

/// The beginning of a message. Each byte is judged when it comes, so nothing but their number is kept.
#[derive(Default)]
pub(crate) struct PartialKeyUpdate {
    bytes_taken: u8,
}

impl PartialKeyUpdate {
    /// Whether a message has begun and not ended: no record of another type may come now (RFC 8446, 5.1).
    pub(crate) fn has_begun(&self) -> bool {
        self.bytes_taken > 0
    }

    /// Takes the content of a handshake record. `Some` when the message is complete: whether the peer wants us to
    /// renew our key as well.
    ///
    /// # Errors
    /// Any other message, an empty record (RFC 8446, 5.4), and bytes behind the message, which would come before a
    /// change of keys and after it at once (5.1).
    pub(crate) fn take(&mut self, content: &[u8]) -> Result<Option<bool>, Alert> {
        if content.is_empty() {
            return Err(Alert::UnexpectedMessage);
        }
        let mut requested = None;
        for byte in content {
            if requested.is_some() {
                return Err(Alert::UnexpectedMessage);
            }
            match (self.bytes_taken, *byte) {
                (0, KEY_UPDATE) | (1 | 2, 0) | (3, 1) => self.bytes_taken += 1,
                (0, _) => return Err(Alert::UnexpectedMessage),
                (1..=3, _) => return Err(Alert::DecodeError),
                (_, request @ (0 | 1)) => {
                    self.bytes_taken = 0;
                    requested = Some(request == 1);
                }
                _ => return Err(Alert::IllegalParameter),
            }
        }
        Ok(requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTED: [u8; 5] = [KEY_UPDATE, 0, 0, 1, 1];

    #[test]
    fn a_message_may_come_in_pieces_of_any_size() {
        for (message, requested) in [(NOT_REQUESTED, false), (REQUESTED, true)] {
            for size in 1..=5 {
                let mut partial = PartialKeyUpdate::default();
                for _ in 0..3 {
                    let mut pieces = message.chunks(size).peekable();
                    while let Some(piece) = pieces.next() {
                        let expected = pieces.peek().is_none().then_some(requested);
                        assert_eq!(partial.take(piece), Ok(expected));
                        assert_eq!(partial.has_begun(), expected.is_none());
                    }
                }
            }
        }
    }

    #[test]
    fn each_wrong_byte_has_its_alert() {
        for (content, alert) in [
            (&[][..], Alert::UnexpectedMessage),
            (&[4, 0, 0, 1, 0], Alert::UnexpectedMessage),
            (&[1, 0, 2, 0, 3], Alert::UnexpectedMessage),
            (&[KEY_UPDATE, 1], Alert::DecodeError),
            (&[KEY_UPDATE, 0, 0, 0], Alert::DecodeError),
            (&[KEY_UPDATE, 0, 0, 2, 0, 0], Alert::DecodeError),
            (&[KEY_UPDATE, 0, 0, 1, 2], Alert::IllegalParameter),
            (&[KEY_UPDATE, 0, 0, 1, 0, 0], Alert::UnexpectedMessage),
            (
                &[KEY_UPDATE, 0, 0, 1, 0, KEY_UPDATE, 0, 0, 1, 0],
                Alert::UnexpectedMessage,
            ),
        ] {
            assert_eq!(PartialKeyUpdate::default().take(content), Err(alert));
        }
    }
}
