//! What the tables say of themselves: for the generator.

/// Kinds of values, for descriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Type {
    /// A byte of a word.
    U8,
    /// Half a word.
    U16,
    /// A word.
    U32,
    /// A word with a sign.
    I32,
    /// Two words, the low one first.
    U64,
    /// Offset from the record's first byte, and length.
    Range,
    /// The 16 bytes of an address, in network order.
    Address,
    /// The words of a group that recurs.
    Group(&'static GroupSchema),
}

impl Type {
    /// Bytes of a value.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 | Self::I32 => 4,
            Self::U64 | Self::Range => 8,
            Self::Address => 16,
            Self::Group(group) => group.bytes(),
        }
    }
}

/// What a record is.
#[derive(Clone, Copy, Debug)]
pub struct RecordSchema {
    /// Its number.
    pub kind: u32,
    /// Its name, as in `REQUEST`.
    pub name: &'static str,
    /// The name of its struct, as in `Request`.
    pub type_name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its words, in order.
    pub words: &'static [WordSchema],
    /// Its flags.
    pub flags: &'static str,
    /// Name of the table behind its words, and what an entry of it is.
    pub table: Option<(&'static str, Type)>,
    /// Its payload where that is pieces that follow each other, in order: name, and the word with its length.
    pub parts: &'static [(&'static str, &'static str)],
    /// Whether the last of these may lie beside the record (`EXTERNAL`).
    pub has_body: bool,
}

/// Words that recur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSchema {
    /// The name of its struct.
    pub type_name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// Its words, in order.
    pub words: &'static [WordSchema],
}

impl GroupSchema {
    /// Bytes of all its words.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        let mut bytes = 0;
        let mut index = 0;
        while index < self.words.len() {
            bytes += self.words[index].value.bytes();
            index += 1;
        }
        bytes
    }
}

/// A word, a part of one, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordSchema {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What it holds.
    pub value: Type,
}

/// Flags of a kind of record, or values of a word.
#[derive(Clone, Copy, Debug)]
pub struct NumbersSchema {
    /// Name of their module.
    pub name: &'static str,
    /// What they are.
    pub doc: &'static str,
    /// Name, number and meaning of each.
    pub numbers: &'static [(&'static str, u32, &'static str)],
}
