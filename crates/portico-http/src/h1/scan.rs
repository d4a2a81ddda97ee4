//! Finding the byte that ends a value or a target, 16 bytes at a time.
//!
//! `wide` compiles to SSE2 or NEON without `unsafe` on our side. A table lookup for each byte took three times as long.

use wide::u8x16;

const LANES: usize = 16;

/// Index of the first byte at or after `from` that a field value can't contain (RFC 9110, section 5.5): CR, LF, and
/// control characters other than the tab. The length of `bytes` if there is none.
pub(super) fn value_end(bytes: &[u8], from: usize) -> usize {
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
pub(super) fn control(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, |block| {
        // Bytes below 0x20 and DEL; 0x80 and above are `obs-text` and allowed.
        block.min(u8x16::splat(0x1f)).simd_eq(block) | block.simd_eq(u8x16::splat(0x7f))
    })
}

/// Number of letters, digits, hyphens and underscores that a block begins with.
#[inline]
pub(super) fn plain_start(block: &[u8; LANES]) -> usize {
    let block = u8x16::new(*block);
    let letter = within(block | u8x16::splat(0x20), b'a', b'z');
    let digit = within(block, b'0', b'9');
    let mark = block.simd_eq(u8x16::splat(b'-')) | block.simd_eq(u8x16::splat(b'_'));
    (!(letter | digit | mark).to_bitmask()).trailing_zeros() as usize
}

/// Whether the last `length` bytes of a block are a host of letters, digits, dots and hyphens, with or without a port.
#[inline]
pub(super) fn ends_in_plain_host(block: &[u8; LANES], length: usize) -> bool {
    if length > LANES {
        return false;
    }
    let block = u8x16::new(*block);
    let letter = within(block | u8x16::splat(0x20), b'a', b'z');
    let digit = within(block, b'0', b'9');
    let mark = within(block, b'-', b'.');
    let colon = block.simd_eq(u8x16::splat(b':'));
    let others = 0xffff >> length;
    let colons = colon.to_bitmask() & !others;
    // All bits above the lowest colon; none without a colon. Only digits may stand there.
    let port = !(colons ^ colons.wrapping_sub(1)) & 0xffff;
    ((letter | digit | mark | colon).to_bitmask() | others) == 0xffff
        && digit.to_bitmask() & port == port
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
pub(super) fn visible_end(bytes: &[u8], from: usize) -> usize {
    find(bytes, from, |block| {
        block.min(u8x16::splat(0x20)).simd_eq(block) | block.max(u8x16::splat(0x7f)).simd_eq(block)
    })
}

/// The colons of a block, as bits.
#[inline(always)]
pub(super) fn colons(block: &[u8; LANES]) -> u32 {
    u8x16::new(*block).simd_eq(u8x16::splat(b':')).to_bitmask()
}

/// Index of the first byte at or after `from` for which `matches` sets its lane.
#[inline(always)]
fn find(bytes: &[u8], from: usize, matches: impl Fn(u8x16) -> u8x16) -> usize {
    let (blocks, tail) = bytes.get(from..).unwrap_or_default().as_chunks::<LANES>();
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
    use super::{colons, plain_start, value_end, visible_end};

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
    fn colons_are_bits() {
        assert_eq!(colons(b"a:bcdefghijklmn:"), 0x8002);
        assert_eq!(colons(&[0xba; 16]), 0);
    }
}
