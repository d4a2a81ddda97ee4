//! What a ClientHello is refused for before rustls sees it: rules that rustls has none of, or has with another alert.

use crate::alert::Alert;
use crate::client_hello::Offer;
use crate::{TlsError, error_map};

/// Looks for the first reason to refuse. `highest_version` is the server's.
pub(crate) fn refuse(offer: &Offer, highest_version: u16) -> Result<(), (Alert, TlsError)> {
    // RFC 7507, 3: whoever comes back with less than we have, was kept from more. First, as a version that is too low
    // would be refused for itself.
    if offer.is_fallback && offer.highest_version < highest_version {
        let error = error_map::inappropriate_fallback();
        return Err((Alert::InappropriateFallback, error));
    }
    if offer.highest_version < 0x0303 {
        return Err((Alert::ProtocolVersion, error_map::unsupported_protocol()));
    }
    if offer.highest_version.min(highest_version) == 0x0304 {
        return demand_extensions(offer);
    }
    // RFC 5746, 3.6: a connection begins, so there is none to continue.
    if offer.renegotiates {
        let error = error_map::renegotiation_mismatch();
        return Err((Alert::HandshakeFailure, error));
    }
    Ok(())
}

/// RFC 8446, 9.2.
fn demand_extensions(offer: &Offer) -> Result<(), (Alert, TlsError)> {
    let has = offer.has;
    // A session stands for what its handshake agreed on.
    let full = !offer.sessions.resumes;
    let error = if full && !has.signature_algorithms {
        error_map::no_signature_algorithms()
    } else if !has.supported_groups && (full || has.key_share) {
        error_map::no_supported_groups()
    } else if has.supported_groups && !has.key_share {
        error_map::no_key_share()
    } else {
        return Ok(());
    };
    Err((Alert::MissingExtension, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_hello::{Extensions, SessionOffer};

    const ALL: Extensions = Extensions {
        supported_groups: true,
        signature_algorithms: true,
        key_share: true,
    };

    fn alert(offer: &Offer, highest_version: u16) -> Option<Alert> {
        refuse(offer, highest_version).err().map(|(alert, _)| alert)
    }

    #[test]
    fn a_fallback_is_refused_below_the_servers_highest_version() {
        let fallback = |highest_version| Offer {
            highest_version,
            is_fallback: true,
            has: ALL,
            ..Offer::default()
        };
        let refused = Some(Alert::InappropriateFallback);
        assert_eq!(alert(&fallback(0x0301), 0x0304), refused);
        assert_eq!(alert(&fallback(0x0303), 0x0304), refused);
        assert_eq!(alert(&fallback(0x0302), 0x0303), refused);
        assert_eq!(alert(&fallback(0x0303), 0x0303), None);
        assert_eq!(alert(&fallback(0x0304), 0x0304), None);
        assert_eq!(alert(&fallback(0x0304), 0x0303), None);
    }

    #[test]
    fn tls13_demands_its_extensions_unless_a_session_stands_for_them() {
        let offer = |has, resumes| Offer {
            highest_version: 0x0304,
            sessions: SessionOffer {
                resumes,
                ..SessionOffer::default()
            },
            has,
            ..Offer::default()
        };
        let missing = Some(Alert::MissingExtension);
        let without_shares = Extensions {
            key_share: false,
            ..ALL
        };
        let without_groups = Extensions {
            supported_groups: false,
            ..ALL
        };
        let without_schemes = Extensions {
            signature_algorithms: false,
            ..ALL
        };
        for (has, full, resumed) in [
            (ALL, None, None),
            (without_shares, missing, missing),
            (without_groups, missing, missing),
            (without_schemes, missing, None),
            (Extensions::default(), missing, None),
        ] {
            assert_eq!(alert(&offer(has, false), 0x0304), full, "{has:?}");
            assert_eq!(alert(&offer(has, true), 0x0304), resumed, "{has:?}");
            // A server of TLS 1.2 demands none.
            assert_eq!(alert(&offer(has, false), 0x0303), None, "{has:?}");
        }
    }

    #[test]
    fn a_renegotiation_can_not_begin_a_connection() {
        let offer = Offer {
            highest_version: 0x0303,
            renegotiates: true,
            ..Offer::default()
        };
        assert_eq!(alert(&offer, 0x0304), Some(Alert::HandshakeFailure));
    }
}
