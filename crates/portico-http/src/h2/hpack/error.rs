//! Why a field block can't be decoded.

use core::fmt;

/// What is wrong with a field block. The peer is at fault, and its dynamic table is not ours any more: whatever it is,
/// the connection ends, with COMPRESSION_ERROR (RFC 9113, section 4.3) if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HpackError {
    /// The block ends within an integer, a string, or a field (RFC 7541, section 5).
    Truncated,
    /// An integer of more than 32 bits (RFC 7541, section 5.1).
    IntegerOverflow,
    /// Index 0, or one behind the last entry (RFC 7541, sections 2.3.3 and 6.1).
    InvalidIndex,
    /// A Huffman code that is none, holds EOS, or is padded wrongly (RFC 7541, section 5.2).
    InvalidHuffmanCode,
    /// A table size above the one in SETTINGS (RFC 7541, section 6.3).
    TableSizeTooLarge,
    /// A size update behind a field (RFC 7541, section 4.2).
    MisplacedTableSize,
    /// SETTINGS made the table smaller, and the block doesn't begin with the update (RFC 7541, section 4.2).
    MissingTableSize,
    /// The fields come to many times what is allowed ([`crate::h2::MAX_EXCESS`]): ENHANCE_YOUR_CALM.
    ListTooLarge,
}

impl fmt::Display for HpackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HpackError::Truncated => "the field block ends too early",
            HpackError::IntegerOverflow => "an integer of the field block is too large",
            HpackError::InvalidIndex => "the field block names an entry that is not there",
            HpackError::InvalidHuffmanCode => "a string of the field block is no Huffman code",
            HpackError::TableSizeTooLarge => "the dynamic table would be larger than is allowed",
            HpackError::MisplacedTableSize => "a table size stands behind a field",
            HpackError::MissingTableSize => "the new table size is not confirmed",
            HpackError::ListTooLarge => "the fields come to far more than is allowed",
        })
    }
}

impl std::error::Error for HpackError {}
