//! What a record of the client is refused for during the handshake, before rustls sees it: rustls answers some of these
//! with another alert than RFC 8446 says, or with none.

use crate::alert::Alert;
use crate::record::{HEADER_BYTES, MAX_BODY_BYTES, MAX_PLAINTEXT_BYTES, content_type};
use crate::{TlsError, error_map};

/// Why bytes are refused: the alert, unless the peer would not understand one, and the error to report.
pub(crate) type Refusal = (Option<Alert>, TlsError);

/// What is known of the client's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Nothing is sealed.
    None,
    /// TLS 1.2 after a ChangeCipherSpec (or TLS 1.3 after one that says nothing).
    Changed,
    /// TLS 1.3 after the ServerHello.
    Tls13,
}

/// The length of the body that a header tells. `bytes` begin with it, and are looked at to name what is no TLS.
pub(crate) fn body_length(
    header: [u8; HEADER_BYTES],
    bytes: &[u8],
    protection: Protection,
) -> Result<usize, Refusal> {
    let [kind, major, ..] = header;
    let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
    if !(content_type::CHANGE_CIPHER_SPEC..=content_type::APPLICATION_DATA).contains(&kind) {
        // RFC 8446, 5: a type that there is not, or bytes that are no record.
        return Err(if major == 3 {
            ours(Alert::UnexpectedMessage)
        } else {
            error_map::not_a_record(bytes)
        });
    }
    let most = match protection {
        // RFC 8446, 5.1 and 5.2; RFC 5246, 6.2.3.
        Protection::None if kind != content_type::APPLICATION_DATA => MAX_PLAINTEXT_BYTES,
        Protection::Changed => MAX_BODY_BYTES,
        // Early data may come before we know of it.
        Protection::None | Protection::Tls13 => MAX_PLAINTEXT_BYTES + 256,
    };
    if length > most {
        return Err(ours(Alert::RecordOverflow));
    }
    match (protection, kind) {
        // RFC 8446, 5: everything is sealed now, and called application data.
        (Protection::Tls13, content_type::HANDSHAKE) => Err(ours(Alert::UnexpectedMessage)),
        // Only a client that could not read the ServerHello may still say so in the clear.
        (Protection::Tls13, content_type::ALERT) if length != 2 => {
            Err(ours(Alert::UnexpectedMessage))
        }
        _ => Ok(length),
    }
}

/// Looks at the body of a record in the clear.
pub(crate) fn check_body(kind: u8, body: &[u8]) -> Result<(), Refusal> {
    // RFC 8446, 5: one byte, 1, or else unexpected_message.
    if kind == content_type::CHANGE_CIPHER_SPEC && body != [1] {
        return Err(ours(Alert::UnexpectedMessage));
    }
    Ok(())
}

fn ours(alert: Alert) -> Refusal {
    (Some(alert), alert.error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alert(header: [u8; 5], protection: Protection) -> Option<Alert> {
        match body_length(header, &header, protection) {
            Ok(_) => None,
            Err((alert, _)) => alert,
        }
    }

    #[test]
    fn each_wrong_header_has_its_alert() {
        use Protection::{Changed, None as Plain, Tls13};
        let unexpected = Some(Alert::UnexpectedMessage);
        let overflow = Some(Alert::RecordOverflow);
        for (header, protection, expected) in [
            ([22, 3, 1, 0x40, 0x00], Plain, None),
            ([22, 3, 1, 0x40, 0x01], Plain, overflow),
            ([23, 3, 1, 0x41, 0x00], Plain, None),
            ([23, 3, 1, 0x41, 0x01], Plain, overflow),
            ([22, 3, 3, 0x48, 0x00], Changed, None),
            ([22, 3, 3, 0x48, 0x01], Changed, overflow),
            ([23, 3, 3, 0x41, 0x00], Tls13, None),
            ([23, 3, 3, 0x41, 0x01], Tls13, overflow),
            ([22, 3, 3, 0, 36], Tls13, unexpected),
            ([21, 3, 3, 0, 2], Tls13, None),
            ([21, 3, 3, 0, 19], Tls13, unexpected),
            ([24, 3, 3, 0, 1], Plain, unexpected),
            ([0, 3, 3, 0, 1], Tls13, unexpected),
        ] {
            assert_eq!(alert(header, protection), expected, "{header:?}");
        }
    }

    #[test]
    fn a_change_of_ciphers_is_one_byte() {
        assert!(check_body(content_type::CHANGE_CIPHER_SPEC, &[1]).is_ok());
        for body in [&[][..], &[0], &[2], &[1, 1]] {
            let (alert, _) = check_body(content_type::CHANGE_CIPHER_SPEC, body).unwrap_err();
            assert_eq!(alert, Some(Alert::UnexpectedMessage));
        }
        assert!(check_body(content_type::HANDSHAKE, &[2]).is_ok());
    }
}
