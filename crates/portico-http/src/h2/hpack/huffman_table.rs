//! The Huffman code of RFC 7541, appendix B, and the tables made of it when this is compiled.
//!
//! The code is canonical: codes of one length are consecutive numbers in the order of their symbols, and a longer code
//! is larger than any shorter one. So the lengths say it all.

/// Bits of the code of each symbol; the last is EOS.
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28,
    28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5,
    5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6,
    6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23, 22,
    23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22,
    21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20,
    22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19,
    21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22,
    22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

const SYMBOLS: usize = 257;
/// The symbol that never stands in a string.
const EOS: u16 = 256;
/// Bits of the longest code.
pub(super) const MAX_LENGTH: usize = 30;

/// The code of a byte: its bits in the lowest places of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    pub(super) bits: u32,
    pub(super) length: u8,
}

/// What the next bits of a string decode to: one or two whole codes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup {
    pub(super) bytes: [u8; 2],
    /// How many of the bytes there are; 0: the code is longer than the bits that are looked up.
    pub(super) count: u8,
    /// Bits of these codes.
    pub(super) length: u8,
}

/// Bits that are looked up at once. Two codes of common letters fit, and the table is 8 KB.
pub(super) const LOOKUP_BITS: u32 = 11;

/// The codes of one length, where they begin if the bits are counted from the highest of a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct LongCodes {
    /// The first word behind all codes of this length.
    pub(super) end: u32,
    /// The code of the first symbol.
    first: u32,
    /// The place of that symbol in [`IN_ORDER`].
    at: u16,
}

impl LongCodes {
    /// The symbol whose code of this length a word begins with.
    #[inline]
    pub(super) fn symbol(self, word: u32, length: usize) -> u16 {
        let code = word >> (32 - length as u32);
        let index = usize::from(self.at) + code.wrapping_sub(self.first) as usize;
        IN_ORDER.get(index).copied().unwrap_or(EOS)
    }
}

/// The symbols in the order of their codes.
static IN_ORDER: [u16; SYMBOLS] = in_order().0;

/// By length.
pub(super) static LONG_CODES: [LongCodes; MAX_LENGTH + 1] = in_order().1;

/// The codes of all bytes.
pub(super) static CODES: [Code; 256] = codes();

/// By the next [`LOOKUP_BITS`] bits of a string.
pub(super) static LOOKUPS: [Lookup; 1 << LOOKUP_BITS] = lookups();

const fn in_order() -> ([u16; SYMBOLS], [LongCodes; MAX_LENGTH + 1]) {
    let mut symbols = [EOS; SYMBOLS];
    let mut codes = [LongCodes {
        end: 0,
        first: 0,
        at: 0,
    }; MAX_LENGTH + 1];
    let (mut at, mut code, mut length) = (0, 0_u32, 1);
    while length <= MAX_LENGTH {
        code <<= 1;
        codes[length].first = code;
        codes[length].at = at as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as usize == length {
                symbols[at] = symbol as u16;
                at += 1;
                code += 1;
            }
            symbol += 1;
        }
        // Behind the last code of all there is no word more.
        codes[length].end = if length == MAX_LENGTH {
            u32::MAX
        } else {
            code << (32 - length)
        };
        length += 1;
    }
    // A complete code uses up all numbers of its longest length.
    assert!(code as u64 == 1 << MAX_LENGTH && at == SYMBOLS);
    (symbols, codes)
}

const fn codes() -> [Code; 256] {
    let (symbols, by_length) = in_order();
    let mut codes = [Code { bits: 0, length: 0 }; 256];
    let mut at = 0;
    while at < SYMBOLS {
        let symbol = symbols[at];
        if symbol != EOS {
            let length = LENGTHS[symbol as usize];
            let LongCodes {
                first, at: start, ..
            } = by_length[length as usize];
            codes[symbol as usize] = Code {
                bits: first + (at as u32 - start as u32),
                length,
            };
        }
        at += 1;
    }
    codes
}

const fn lookups() -> [Lookup; 1 << LOOKUP_BITS] {
    const NONE: Lookup = Lookup {
        bytes: [0; 2],
        count: 0,
        length: 0,
    };
    let codes = codes();
    let mut singles = [NONE; 1 << LOOKUP_BITS];
    let mut byte = 0;
    while byte < 256 {
        let Code { bits, length } = codes[byte];
        if (length as u32) <= LOOKUP_BITS {
            let free = LOOKUP_BITS - length as u32;
            let mut index = (bits << free) as usize;
            let end = ((bits + 1) << free) as usize;
            while index < end {
                singles[index] = Lookup {
                    bytes: [byte as u8, 0],
                    count: 1,
                    length,
                };
                index += 1;
            }
        }
        byte += 1;
    }
    let mut lookups = singles;
    let mut index = 0;
    while index < lookups.len() {
        let first = singles[index];
        if first.count == 1 {
            // The bits behind the first code, filled up with zeros: a second code counts if it needs none of those.
            let rest = (index << first.length) & ((1 << LOOKUP_BITS) - 1);
            let second = singles[rest];
            if second.count == 1 && (first.length + second.length) as u32 <= LOOKUP_BITS {
                lookups[index] = Lookup {
                    bytes: [first.bytes[0], second.bytes[0]],
                    count: 2,
                    length: first.length + second.length,
                };
            }
        }
        index += 1;
    }
    lookups
}
