//! The value of `Host` (RFC 9110, section 7.2): `uri-host [":" port]`, or nothing.

use super::field_name::letters_digits_and;

/// Checks a value.
///
/// # Errors
/// Index of the first byte that doesn't fit.
pub(crate) fn check(value: &[u8]) -> Result<(), usize> {
    let host = match value.first() {
        Some(b'[') => ip_literal(value)?,
        _ => value.iter().take_while(|&&byte| is_name(byte)).count(),
    };
    match value.get(host..).unwrap_or_default() {
        [] => Ok(()),
        [b':', port @ ..] => match port.iter().position(|byte| !byte.is_ascii_digit()) {
            None => Ok(()),
            Some(at) => Err(host + 1 + at),
        },
        _ => Err(host),
    }
}

/// `[...]`: length with the brackets. What the address says is not looked at.
fn ip_literal(value: &[u8]) -> Result<usize, usize> {
    let inside = value
        .iter()
        .skip(1)
        .take_while(|&&byte| is_name(byte) || byte == b':')
        .count();
    match value.get(1 + inside) {
        Some(b']') if inside > 0 => Ok(inside + 2),
        _ => Err(1 + inside),
    }
}

/// `reg-name` of RFC 3986, with its escapes not taken apart.
const fn is_name(byte: u8) -> bool {
    NAME[byte as usize]
}

const NAME: [bool; 256] = letters_digits_and(b"-._~%!$&'()*+,;=");

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn hosts_with_and_without_ports_are_valid() {
        for host in [
            "",
            "a",
            "example.com",
            "example.com:",
            "example.com:80",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:443",
            "a_b.example",
            "xn--bcher-kva.example",
            "%41",
            ":80",
        ] {
            assert_eq!(check(host.as_bytes()), Ok(()), "{host}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused_at_its_first_bad_byte() {
        for (host, at) in [
            ("a b", 1),
            ("a/", 1),
            ("user@a", 4),
            ("a:80a", 4),
            ("a:b:1", 2),
            ("[]", 1),
            ("[::1", 4),
            ("[::1]a", 5),
            ("a\"", 1),
            ("b\u{fc}cher", 1),
        ] {
            assert_eq!(check(host.as_bytes()), Err(at), "{host}");
        }
    }
}
