//! The host of a prefix.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Host;
use super::error::PrefixErrorKind as Kind;
use super::parse::Fault;

/// RFC 1035, section 2.3.4, as text without a final dot.
pub(crate) const MAX_NAME_BYTES: usize = 253;

/// RFC 1035, section 2.3.4.
const MAX_LABEL_BYTES: usize = 63;

pub(super) fn parse(text: &str) -> Result<Host, Fault> {
    match text {
        "" => Err((Kind::HostMissing, 0)),
        "+" => Ok(Host::StrongWildcard),
        "*" => Ok(Host::WeakWildcard),
        _ => match text.strip_prefix('[') {
            Some(rest) => ipv6(rest.strip_suffix(']').unwrap_or(rest)),
            None => match text.parse::<Ipv4Addr>() {
                Ok(address) => usable(IpAddr::V4(address), 0),
                Err(_) => name(text),
            },
        },
    }
}

fn ipv6(text: &str) -> Result<Host, Fault> {
    if let Some(at) = text.find('%') {
        return Err((Kind::AddressZone, 1 + at));
    }
    let address: Ipv6Addr = text.parse().map_err(|_| (Kind::AddressInvalid, 1))?;
    // A dual-stack socket reports IPv4 peers and addresses in the mapped form: both are the same here.
    usable(IpAddr::V6(address).to_canonical(), 1)
}

fn usable(address: IpAddr, at: usize) -> Result<Host, Fault> {
    let broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    if address.is_unspecified() || address.is_multicast() || broadcast {
        return Err((Kind::AddressUnusable, at));
    }
    Ok(Host::Ip(address))
}

fn name(text: &str) -> Result<Host, Fault> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {}
            b'*' | b'+' => return Err((Kind::HostWildcard, at)),
            0x80.. => return Err((Kind::HostInternational, at)),
            _ => return Err((Kind::HostCharacter, at)),
        }
    }
    // `example.com.` is the same name; requests are compared without the dot, too.
    let name = text.strip_suffix('.').unwrap_or(text);
    if name.len() > MAX_NAME_BYTES {
        return Err((Kind::HostTooLong, MAX_NAME_BYTES));
    }
    let mut at = 0;
    for label in name.split('.') {
        let length_fits = (1..=MAX_LABEL_BYTES).contains(&label.len());
        if !length_fits || label.starts_with('-') || label.ends_with('-') {
            return Err((Kind::HostLabel, at));
        }
        at += label.len() + 1;
    }
    // What ends in a number, clients turn into an IPv4 address before they send it (URL Standard, section 3.5).
    let last = name.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return Err((Kind::HostNumeric, 0));
    }
    Ok(Host::Name(name.to_ascii_lowercase().into()))
}

fn is_number(label: &str) -> bool {
    let hexadecimal = label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}
