//! Strings in the Huffman code (RFC 7541, section 5.2), both ways.

use super::HpackError;
use super::huffman_table::{CODES, LONG_CODES, LOOKUP_BITS, LOOKUPS, MAX_LENGTH};

/// Appends the string that `input` is the code of.
pub(super) fn decode(input: &[u8], out: &mut Vec<u8>) -> Result<(), HpackError> {
    let start = out.len();
    // No code is shorter than 5 bits; two bytes more for the last lookup.
    out.resize(start + input.len() * 8 / 5 + 2, 0);
    let room = out.get_mut(start..).unwrap_or_default();
    let written = decode_into(input, room);
    out.truncate(start + written.unwrap_or(0));
    written.map(|_| ())
}

/// Bits that are taken from the input, the first one highest, and how many of them are the input's.
struct Bits<'a> {
    word: u64,
    count: u32,
    rest: &'a [u8],
}

impl Bits<'_> {
    /// Fills the word up to at least 32 bits, if the input has so many.
    #[inline]
    fn refill(&mut self) {
        if let Some((bytes, rest)) = self.rest.split_first_chunk::<4>() {
            self.word |= u64::from(u32::from_be_bytes(*bytes)) << (32 - self.count);
            self.count += 32;
            self.rest = rest;
        } else {
            while let Some((&byte, rest)) = self.rest.split_first() {
                self.word |= u64::from(byte) << (56 - self.count);
                self.count += 8;
                self.rest = rest;
            }
        }
    }

    #[inline]
    fn skip(&mut self, count: u32) {
        self.word <<= count;
        self.count -= count;
    }
}

/// Number of bytes that were decoded into `room`.
fn decode_into(input: &[u8], room: &mut [u8]) -> Result<usize, HpackError> {
    let mut bits = Bits {
        word: 0,
        count: 0,
        rest: input,
    };
    let mut written = 0;
    loop {
        if bits.count <= 32 {
            bits.refill();
        }
        let index = (bits.word >> (64 - LOOKUP_BITS)) as usize;
        let Some(lookup) = LOOKUPS.get(index) else {
            return Err(HpackError::InvalidHuffmanCode);
        };
        if lookup.count > 0 && u32::from(lookup.length) <= bits.count {
            if let Some(place) = room.get_mut(written..written + 2) {
                place.copy_from_slice(&lookup.bytes);
            }
            written += usize::from(lookup.count);
            bits.skip(lookup.length.into());
            continue;
        }
        let Some((byte, length)) = one_code(&bits)? else {
            return Ok(written);
        };
        if let Some(place) = room.get_mut(written) {
            *place = byte;
        }
        written += 1;
        bits.skip(length);
    }
}

/// A code that is looked up alone: it is long, or one of the last. `None` at the end.
fn one_code(bits: &Bits<'_>) -> Result<Option<(u8, u32)>, HpackError> {
    let word = (bits.word >> 32) as u32;
    for length in 5..=MAX_LENGTH.min(bits.count as usize) {
        let Some(codes) = LONG_CODES.get(length) else {
            break;
        };
        if word < codes.end {
            return match u8::try_from(codes.symbol(word, length)) {
                Ok(byte) => Ok(Some((byte, length as u32))),
                Err(_) => Err(HpackError::InvalidHuffmanCode),
            };
        }
    }
    // RFC 7541, section 5.2: what is left is at most seven bits of EOS, which are all ones.
    if bits.count < 8 && bits.word.leading_ones() >= bits.count {
        Ok(None)
    } else {
        Err(HpackError::InvalidHuffmanCode)
    }
}

/// Number of bytes of a string's code.
#[inline]
pub(super) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|&byte| usize::from(CODES[usize::from(byte)].length))
        .sum();
    bits.div_ceil(8)
}

/// Appends a string's code.
pub(super) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut word, mut count) = (0_u64, 0_u32);
    for &byte in text {
        let code = CODES[usize::from(byte)];
        word = word << code.length | u64::from(code.bits);
        count += u32::from(code.length);
        if count >= 32 {
            count -= 32;
            out.extend_from_slice(&((word >> count) as u32).to_be_bytes());
        }
    }
    // The padding: ones.
    let padding = count.next_multiple_of(8) - count;
    word = word << padding | ((1 << padding) - 1);
    count += padding;
    while count > 0 {
        count -= 8;
        out.push((word >> count) as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Result<Vec<u8>, HpackError> {
        let mut out = b"before".to_vec();
        let result = decode(input, &mut out);
        assert!(out.starts_with(b"before"));
        result.map(|()| out.split_off(6))
    }

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(text, &mut out);
        assert_eq!(out.len(), encoded_length(text));
        out
    }

    #[test]
    fn every_pair_of_bytes_comes_back() {
        for first in 0..=255_u8 {
            assert_eq!(decoded(&encoded(&[first])), Ok(vec![first]));
            for second in 0..=255_u8 {
                let text = [first, second, b'a', second, first, first, b'~'];
                assert_eq!(decoded(&encoded(&text)), Ok(text.to_vec()));
            }
        }
        assert_eq!(decoded(b""), Ok(Vec::new()));
    }

    #[test]
    fn the_strings_of_the_rfc_come_out() {
        // RFC 7541, appendices C.4 and C.6
        for (text, code) in [
            (
                "www.example.com",
                &[
                    0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff,
                ][..],
            ),
            ("no-cache", &[0xa8, 0xeb, 0x10, 0x64, 0x9c, 0xbf]),
            ("302", &[0x64, 0x02]),
            ("private", &[0xae, 0xc3, 0x77, 0x1a, 0x4b]),
        ] {
            assert_eq!(encoded(text.as_bytes()), code);
            assert_eq!(decoded(code), Ok(text.as_bytes().to_vec()));
        }
    }

    #[test]
    fn padding_is_at_most_seven_ones() {
        // "a" is 00011.
        assert_eq!(decoded(&[0b0001_1111]), Ok(b"a".to_vec()));
        for wrong in [
            &[0b0001_1110][..],
            &[0b0001_1000],
            &[0b0001_1111, 0xff],
            &[0xff],
            &[0xff, 0xff],
            // EOS
            &[0xff, 0xff, 0xff, 0xff],
            &[0b0001_1111, 0xff, 0xff, 0xff, 0xff, 0xff],
            // half of a long code
            &[0xff, 0xfe],
        ] {
            assert_eq!(
                decoded(wrong),
                Err(HpackError::InvalidHuffmanCode),
                "{wrong:x?}"
            );
        }
    }
}
