//! Integers with a prefix of 4 to 7 bits (RFC 7541, section 5.1).

use super::HpackError;

/// Takes an integer from the front of `input`, whose first byte has it in the lowest `PREFIX` bits.
#[inline]
pub(super) fn decode<const PREFIX: u32>(input: &mut &[u8]) -> Result<u32, HpackError> {
    let (&first, rest) = input.split_first().ok_or(HpackError::Truncated)?;
    *input = rest;
    let mask = (1 << PREFIX) - 1;
    let value = first & mask;
    if value < mask {
        return Ok(value.into());
    }
    decode_rest(input, mask)
}

/// The bytes behind a full prefix: seven bits each, the lowest first. Zeros in front of the value may be sent, but no
/// more bytes than 32 bits need.
fn decode_rest(input: &mut &[u8], mask: u8) -> Result<u32, HpackError> {
    let mut value = u64::from(mask);
    for (index, &byte) in input.iter().take(MAX_BYTES).enumerate() {
        value += u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *input = input.get(index + 1..).unwrap_or_default();
            return u32::try_from(value).map_err(|_| HpackError::IntegerOverflow);
        }
    }
    Err(if input.len() < MAX_BYTES {
        HpackError::Truncated
    } else {
        HpackError::IntegerOverflow
    })
}

/// Bytes that hold 32 bits, seven each.
const MAX_BYTES: usize = 5;

/// Appends an integer: `first` has the bits above the prefix.
#[inline]
pub(super) fn encode<const PREFIX: u32>(out: &mut Vec<u8>, first: u8, value: u32) {
    let mask = (1 << PREFIX) - 1;
    if value < mask {
        out.push(first | value as u8);
        return;
    }
    out.push(first | mask as u8);
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<const PREFIX: u32>(first: u8, value: u32) -> Vec<u8> {
        let mut out = Vec::new();
        encode::<PREFIX>(&mut out, first, value);
        out
    }

    #[test]
    fn the_examples_of_the_rfc_come_out() {
        // RFC 7541, appendix C.1
        assert_eq!(encoded::<5>(0, 10), [0b0000_1010]);
        assert_eq!(
            encoded::<5>(0, 1337),
            [0b0001_1111, 0b1001_1010, 0b0000_1010]
        );
        assert_eq!(encoded::<7>(0, 42), [42]);
    }

    #[test]
    fn every_integer_comes_back() {
        fn check<const PREFIX: u32>(value: u32) {
            let mut bytes = encoded::<PREFIX>(0, value);
            for end in 0..bytes.len() {
                assert_eq!(
                    decode::<PREFIX>(&mut &bytes[..end]),
                    Err(HpackError::Truncated)
                );
            }
            bytes.push(7);
            let mut input = &bytes[..];
            assert_eq!(decode::<PREFIX>(&mut input), Ok(value));
            assert_eq!(input, [7]);
        }
        for shift in 0..32 {
            for value in [1 << shift, (1_u32 << shift) - 1, u32::MAX >> shift] {
                check::<4>(value);
                check::<5>(value);
                check::<6>(value);
                check::<7>(value);
            }
        }
    }

    #[test]
    fn integers_of_more_than_32_bits_are_refused() {
        for bytes in [
            &[0xff, 0xff, 0xff, 0xff, 0xff, 0x0f][..],
            &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
            &[0xff, 0x80, 0x80, 0x80, 0x80, 0x80],
        ] {
            assert_eq!(
                decode::<7>(&mut &bytes[..]),
                Err(HpackError::IntegerOverflow)
            );
        }
        assert_eq!(
            decode::<7>(&mut &[0xff, 0x80, 0x80, 0x80, 0x80, 0x0f][..]),
            Ok(127 + (15 << 28))
        );
    }
}
