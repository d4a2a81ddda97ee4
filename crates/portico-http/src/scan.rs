//! Finding the byte that ends a value or a target, 16 bytes at a time.
//!
//! `wide` compiles to SSE2 or NEON without `unsafe` on our side. A table lookup for each byte took three times as long.

use wide::u8x16;

const LANES: usize = 16;

/// Index of the first byte at or after `from` that a field value can't contain (RFC 9110, section 5.5): CR, LF, and
/// control characters other than the tab. The length of `bytes` if there is none.
pub(crate) fn value_end(bytes: &[u8], from: usize) -> usize {
    let index = control(bytes, from);
    if bytes.get(index) == Some(&b'\t') {
        value_end_after_tab(bytes, index)
    } else {
        index
    }
}

/// A value with tabs in it, which are rare.
#[cold]
fn value_end_after_tab(bytes: &[u8], tab: usize) -> usize {
    let mut index = tab;
    while bytes.get(index) == Some(&b'\t') {
        index = control(bytes, index + 1);
    }
    index
}

/// Index of the first control character, tabs included, at or after `from`.
#[inline(always)]
pub(crate) fn control(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, is_control)
}

/// Bytes below 0x20 and DEL; 0x80 and above are `obs-text` and allowed in values.
#[inline(always)]
fn is_control(block: u8x16) -> u8x16 {
    block.min(u8x16::splat(0x1f)).simd_eq(block) | block.simd_eq(u8x16::splat(0x7f))
}

/// Number of letters, digits, hyphens and underscores that a block begins with.
#[inline]
pub(crate) fn plain_start(block: &[u8; LANES]) -> usize {
    let block = u8x16::new(*block);
    let letter = within(block | u8x16::splat(0x20), b'a', b'z');
    let digit = within(block, b'0', b'9');
    let mark = block.simd_eq(u8x16::splat(b'-')) | block.simd_eq(u8x16::splat(b'_'));
    (!(letter | digit | mark).to_bitmask()).trailing_zeros() as usize
}

/// Whether the last `length` bytes before an index are a host of at most 32 letters, digits, dots and hyphens, with or
/// without a port.
#[inline]
pub(crate) fn ends_in_plain_host(before: &[u8], length: usize) -> bool {
    let Some((rest, last)) = before.split_last_chunk::<LANES>() else {
        return false;
    };
    if length <= LANES {
        return is_plain_host(last, 0xffff >> length);
    }
    // Of the longer ones the port is in the last block.
    let others = 0xffff_u32.checked_shr((length - LANES) as u32).unwrap_or(0);
    let first = rest
        .last_chunk()
        .is_some_and(|first| plain_bits(first).0 | others == 0xffff);
    length <= 2 * LANES && first && is_plain_host(last, 0)
}

/// Whether the lanes that are not among the `others` are a host, or its end.
#[inline(always)]
fn is_plain_host(block: &[u8; LANES], others: u32) -> bool {
    let (plain, digits) = plain_bits(block);
    let colons = colons(block) & !others;
    // All bits above the lowest colon; none without a colon. Only digits may stand there.
    let port = !(colons ^ colons.wrapping_sub(1)) & 0xffff;
    plain | colons | others == 0xffff && digits & port == port
}

/// The letters, digits, dots and hyphens of a block, and the digits alone, as bits.
#[inline(always)]
fn plain_bits(block: &[u8; LANES]) -> (u32, u32) {
    let block = u8x16::new(*block);
    let letter = within(block | u8x16::splat(0x20), b'a', b'z');
    let digit = within(block, b'0', b'9');
    let mark = within(block, b'-', b'.');
    ((letter | digit | mark).to_bitmask(), digit.to_bitmask())
}

/// Lanes from `low` to `high`.
#[inline(always)]
fn within(block: u8x16, low: u8, high: u8) -> u8x16 {
    let clamped = block.max(u8x16::splat(low)).min(u8x16::splat(high));
    clamped.simd_eq(block)
}

/// Index of the first byte at or after `from` outside of the visible ASCII characters. The length of `bytes` if there
/// is none.
#[inline(always)]
pub(crate) fn visible_end(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, |block| {
        block.min(u8x16::splat(0x20)).simd_eq(block) | block.max(u8x16::splat(0x7f)).simd_eq(block)
    })
}

/// The colons of a block, as bits.
#[inline(always)]
pub(crate) fn colons(block: &[u8; LANES]) -> u32 {
    u8x16::new(*block).simd_eq(u8x16::splat(b':')).to_bitmask()
}

/// Index of the first byte at or after `from` for which `matches` sets its lane.
#[inline(always)]
fn find(bytes: &[u8], from: usize, matches: impl Fn(u8x16) -> u8x16) -> usize {
    let Some(rest) = bytes.get(from..) else {
        return bytes.len();
    };
    let (blocks, tail) = rest.as_chunks::<LANES>();
    let mut index = from;
    for block in blocks {
        let found = matches(u8x16::new(*block)).to_bitmask();
        if found != 0 {
            return index + found.trailing_zeros() as usize;
        }
        index += LANES;
    }
    if tail.is_empty() {
        bytes.len()
    } else {
        find_in_tail(bytes, index, matches)
    }
}

/// The last, incomplete block: read as the last 16 bytes of all, whose first ones are then ignored.
#[inline(never)]
fn find_in_tail(bytes: &[u8], from: usize, matches: impl Fn(u8x16) -> u8x16) -> usize {
    let length = bytes.len();
    let (found, start) = if let Some(block) = bytes.last_chunk::<LANES>() {
        (matches(u8x16::new(*block)).to_bitmask(), length - LANES)
    } else {
        let mut block = [0; LANES];
        for (to, byte) in block.iter_mut().zip(bytes) {
            *to = *byte;
        }
        // The padding may match: what it finds lies at or past the length.
        (matches(u8x16::new(block)).to_bitmask(), 0)
    };
    let found = found >> (from - start);
    if found == 0 {
        length
    } else {
        length.min(from + found.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::{colons, ends_in_plain_host, plain_start, value_end, visible_end};

    #[test]
    fn every_byte_is_told_apart_at_every_place() {
        for length in 0..70 {
            for at in 0..length {
                for byte in 0..=255_u8 {
                    let mut bytes = vec![b'a'; length];
                    bytes[at] = byte;
                    let ends_value = (byte < 0x20 && byte != b'\t') || byte == 0x7f;
                    let ends_visible = byte <= 0x20 || byte >= 0x7f;
                    for from in [0, at] {
                        let expected = |ends: bool| if ends { at } else { length };
                        assert_eq!(value_end(&bytes, from), expected(ends_value));
                        assert_eq!(visible_end(&bytes, from), expected(ends_visible));
                    }
                    assert_eq!(value_end(&bytes, at + 1), length);
                    assert_eq!(visible_end(&bytes, at + 1), length);
                }
            }
        }
    }

    #[test]
    fn plain_characters_are_counted() {
        for byte in 0..=255_u8 {
            let mut block = *b"azAZ09-_azAZ09-_";
            block[7] = byte;
            let plain = byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            assert_eq!(plain_start(&block), if plain { 16 } else { 7 });
        }
    }

    #[test]
    fn plain_hosts_are_told_from_others() {
        for (host, plain) in [
            ("a", true),
            ("127.0.0.1:8080", true),
            ("www.example.com", true),
            ("www.a-b-example.com:", true),
            ("abcdefghijklmnop", true),
            ("abcdefghijklmnopqrstuvwxyz012345", true),
            ("", true),
            (":1", true),
            ("abcdefghijklmnopqrstuvwxyz.co:443", false),
            ("abcdefghijklmnopqrstuvwxyz:443", true),
            ("a:b", false),
            ("a:1:2", false),
            ("a b", false),
            ("a/", false),
            ("[::1]", false),
            ("a_b", false),
            ("a:00000000000000000001", false),
            ("a/cdefghijklmnopqrstuv", false),
            ("a:80.", false),
        ] {
            let before = format!("GET / HTTP/1.1\r\nX: /:_\r\nHost: {host}");
            assert_eq!(
                ends_in_plain_host(before.as_bytes(), host.len()),
                plain,
                "{host}"
            );
        }
    }

    #[test]
    fn colons_are_bits() {
        assert_eq!(colons(b"a:bcdefghijklmn:"), 0x8002);
        assert_eq!(colons(&[0xba; 16]), 0);
    }
}
