//! The address of a listener.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Address and port to listen on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ListenAddress {
    /// `None`: all addresses, IPv4 and IPv6 (`*`). `0.0.0.0` means all of IPv4, `::` all of IPv6 and no IPv4.
    pub ip: Option<IpAddr>,
    /// 1 to 65,535.
    pub port: u16,
}

impl ListenAddress {
    /// `*:8443`, `127.0.0.1:8080`, `[::]:80`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port
            .parse()
            .ok()
            .filter(|number| *number > 0 && !port.starts_with(['0', '+']))?;
        let ip = match host {
            "*" => None,
            _ => Some(match host.strip_prefix('[') {
                Some(rest) => {
                    IpAddr::V6(rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?).to_canonical()
                }
                None => IpAddr::V4(host.parse::<Ipv4Addr>().ok()?),
            }),
        };
        Some(Self { ip, port })
    }

    /// Whether two listeners would want the same port of the same address.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let same_ip = match (self.ip, other.ip) {
            (None, _) | (_, None) => true,
            (Some(one), Some(two)) => {
                one == two
                    || one.is_ipv4() == two.is_ipv4()
                        && (one.is_unspecified() || two.is_unspecified())
            }
        };
        self.port == other.port && same_ip
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ip {
            None => write!(out, "*:{}", self.port),
            Some(IpAddr::V4(ip)) => write!(out, "{ip}:{}", self.port),
            Some(IpAddr::V6(ip)) => write!(out, "[{ip}]:{}", self.port),
        }
    }
}
