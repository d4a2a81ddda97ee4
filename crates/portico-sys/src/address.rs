//! Socket addresses in the flat form in which they travel in records.

use std::net::SocketAddr;

use rustix::net::SocketAddrAny;

/// Address family of an [`Address`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Family {
    /// No IP address: a Unix socket, or unknown.
    #[default]
    None,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// The number used in records: 0, 4 or 6.
    #[must_use]
    pub fn number(self) -> u16 {
        match self {
            Self::None => 0,
            Self::V4 => 4,
            Self::V6 => 6,
        }
    }
}

/// An IP address with port, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Address {
    /// Network order; IPv4 in the first four bytes.
    pub bytes: [u8; 16],
    /// IPv6 scope id, 0 for other families.
    pub scope: u32,
    /// Port, 0 if there is none.
    pub port: u16,
    /// Family.
    pub family: Family,
}

impl Address {
    /// Whether this names no address in particular: a wildcard to listen on, or none at all.
    #[must_use]
    pub fn is_unspecified(&self) -> bool {
        self.bytes == [0; 16]
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => {
                let mut bytes = [0; 16];
                let (first, _) = bytes.split_at_mut(4);
                first.copy_from_slice(&v4.ip().octets());
                Self {
                    bytes,
                    scope: 0,
                    port: v4.port(),
                    family: Family::V4,
                }
            }
            SocketAddr::V6(v6) => Self {
                bytes: v6.ip().octets(),
                scope: v6.scope_id(),
                port: v6.port(),
                family: Family::V6,
            },
        }
    }
}

impl From<SocketAddrAny> for Address {
    fn from(address: SocketAddrAny) -> Self {
        SocketAddr::try_from(address).map_or_else(|_| Self::default(), Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv4_address_stands_in_the_first_four_bytes() {
        let address = Address::from(SocketAddr::from(([127, 0, 0, 1], 80)));
        assert_eq!(&address.bytes[..5], &[127, 0, 0, 1, 0]);
        assert_eq!((address.family.number(), address.port), (4, 80));
        assert!(!address.is_unspecified());
        assert!(Address::from(SocketAddr::from(([0, 0, 0, 0], 80))).is_unspecified());
    }
}
