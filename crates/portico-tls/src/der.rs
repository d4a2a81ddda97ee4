//! The few steps into DER (X.690) that the parser library does not offer: the exact bytes of parts.

/// Splits the first element off: its tag, its content, and what follows it.
pub(crate) fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = if *first < 0x80 {
        (usize::from(*first), rest)
    } else {
        let count = usize::from(*first & 0x7f);
        if count == 0 || count > 4 {
            return None;
        }
        let (digits, rest) = rest.split_at_checked(count)?;
        (
            digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit)),
            rest,
        )
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

/// The content of the first element, and what follows it, if it has this tag.
pub(crate) fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, content, rest) = split(bytes)?;
    (found == tag).then_some((content, rest))
}

pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const BIT_STRING: u8 = 0x03;

/// A bit string of whole bytes.
pub(crate) fn bit_string(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (content, rest) = expect(bytes, BIT_STRING)?;
    Some((content.strip_prefix(&[0])?, rest))
}

/// A public key: its algorithm and its bits.
pub(crate) struct PublicKey {
    /// Content of the `AlgorithmIdentifier`.
    pub(crate) algorithm: Vec<u8>,
    pub(crate) bits: Vec<u8>,
}

impl PublicKey {
    /// From a `SubjectPublicKeyInfo`.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let (content, _) = expect(der, SEQUENCE)?;
        let (algorithm, rest) = expect(content, SEQUENCE)?;
        let (bits, _) = bit_string(rest)?;
        Some(Self {
            algorithm: algorithm.to_vec(),
            bits: bits.to_vec(),
        })
    }
}
