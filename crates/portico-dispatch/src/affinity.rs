//! The value that binds a request to a member, and the member it is bound to.

use crate::Affinity;
use crate::request::Request;

/// The request's value, if the queue wants one and the request has it.
pub(crate) fn value_of<'a>(affinity: &Affinity, request: Request<'a>) -> Option<&'a [u8]> {
    match affinity {
        Affinity::None => None,
        Affinity::Cookie(name) => request
            .values("cookie")
            .find_map(|line| cookie(line, name.as_bytes())),
        Affinity::Header(name) => request.values(name).next(),
        Affinity::Segment(number) => segment(request.target(), *number),
    }
    .filter(|value| !value.is_empty())
}

/// Weight of a member for a value: the member with the highest gets it (rendezvous hashing), so that one that comes or
/// goes moves only its own share.
pub(crate) fn weight(value: &[u8], member: u32) -> u64 {
    let mut hash = value.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    // The finish of splitmix64: neighbouring member numbers must not give neighbouring weights.
    hash ^= u64::from(member).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ hash >> 31
}

/// The value of a cookie in a `Cookie` field (RFC 6265, 4.2.1).
fn cookie<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    line.split(|byte| *byte == b';').find_map(|pair| {
        let pair = pair.trim_ascii();
        let at = pair.iter().position(|byte| *byte == b'=')?;
        let (found, value) = pair.split_at(at);
        (found == name).then(|| value.get(1..).unwrap_or_default())
    })
}

/// A segment of an origin-form target's path, from 1.
fn segment(target: &[u8], number: u32) -> Option<&[u8]> {
    let path = target.split(|byte| matches!(byte, b'?' | b'#')).next()?;
    path.strip_prefix(b"/")?
        .split(|byte| *byte == b'/')
        .nth(usize::try_from(number.checked_sub(1)?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        for (line, value) in [
            ("sid=abc", Some("abc")),
            ("a=1; sid=abc; b=2", Some("abc")),
            ("xsid=no; sid=yes", Some("yes")),
            ("sid=", Some("")),
            ("sid", None),
            ("SID=abc", None),
            ("sid=a=b", Some("a=b")),
        ] {
            assert_eq!(
                cookie(line.as_bytes(), b"sid"),
                value.map(str::as_bytes),
                "{line}"
            );
        }
    }

    #[test]
    fn segments_count_from_one() {
        for (target, number, value) in [
            ("/a/b/c", 1, Some("a")),
            ("/a/b/c", 3, Some("c")),
            ("/a/b/c", 4, None),
            ("/a?x=/b", 1, Some("a")),
            ("/", 1, Some("")),
            ("*", 1, None),
            ("/a", 0, None),
        ] {
            assert_eq!(
                segment(target.as_bytes(), number),
                value.map(str::as_bytes),
                "{target} {number}"
            );
        }
    }

    #[test]
    fn values_spread_over_members_and_stay_when_another_leaves() {
        let best = |value: &[u8], members: &[u32]| {
            members
                .iter()
                .copied()
                .max_by_key(|member| weight(value, *member))
                .unwrap_or(0)
        };
        let mut counts = [0; 4];
        for number in 0..1000 {
            let value = format!("user-{number}");
            let before = best(value.as_bytes(), &[0, 1, 2, 3]);
            counts[before as usize] += 1;
            if before != 3 {
                assert_eq!(best(value.as_bytes(), &[0, 1, 2]), before, "{value}");
            }
        }
        assert!(counts.iter().all(|count| *count > 150), "{counts:?}");
    }
}
