//! The language that the tables are written in. The tables are in [`crate::layout`].

/// A group of words that recurs: in tables, or in several records.
macro_rules! group {
    (
        $(#[doc = $doc:literal])*
        $name:ident {
            $( $(#[doc = $word_doc:literal])* $word:ident: $type:ty, )+
        }
        $(range($offset:ident, $length:ident))?
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $word_doc])* pub $word: $type, )+
        }

        impl $name {
            /// Its description.
            pub const SCHEMA: &'static crate::schema::GroupSchema = &crate::schema::GroupSchema {
                type_name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                words: &[$( crate::schema::WordSchema {
                    name: stringify!($word),
                    doc: concat!($($word_doc, "\n"),*),
                    value: <$type as crate::schema::Value>::TYPE,
                } ),+],
            };
        }

        impl crate::schema::Value for $name {
            const BYTES: usize = 0 $( + <$type as crate::schema::Value>::BYTES )+;
            const TYPE: crate::schema::Type = crate::schema::Type::Group(Self::SCHEMA);

            #[inline]
            fn decode(bytes: &[u8]) -> Self {
                crate::schema::decode_words!(bytes, 0, $($word: $type),+)
            }

            #[inline]
            fn encode(self, bytes: &mut [u8]) {
                crate::schema::encode_words!(self, bytes, 0, $($word: $type),+);
            }

            #[inline]
            fn is_within(&self, size: usize) -> bool {
                $( crate::schema::Value::is_within(&self.$word, size) )&&+
                $( && crate::schema::is_within(self.$offset, u32::from(self.$length), size) )?
            }
        }
    };
}

/// Reads words that follow each other from `$start` on into a struct.
macro_rules! decode_words {
    ($bytes:ident, $start:expr, $($word:ident: $type:ty),+) => {{
        let mut at = $start;
        $(
            let $word = <$type as crate::schema::Value>::decode($bytes.get(at..).unwrap_or_default());
            at += <$type as crate::schema::Value>::BYTES;
        )+
        let _ = at;
        Self { $($word),+ }
    }};
}

/// Writes the words of a struct, one behind the other from `$start` on.
macro_rules! encode_words {
    ($self:ident, $bytes:ident, $start:expr, $($word:ident: $type:ty),+) => {{
        let mut at = $start;
        $(
            crate::schema::Value::encode($self.$word, $bytes.get_mut(at..).unwrap_or_default());
            at += <$type as crate::schema::Value>::BYTES;
        )+
        let _ = at;
    }};
}

/// The records of one direction. Behind the words of each, in this order and as far as it has them: its flags, a table
/// whose entries are counted by a word, pieces that follow each other and whose lengths are words, and a last piece that
/// may lie beside the record.
macro_rules! records {
    (
        $(#[doc = $list_doc:literal])*
        $list:ident;
        $(
            $(#[doc = $doc:literal])*
            $kind:ident = $number:literal: $name:ident {
                $( $(#[doc = $word_doc:literal])* $word:ident: $type:ty, )+
            }
            $(flags($flags:ident))?
            $(table($table:ident: $entry:ident * $count:ident))?
            $(parts($($part:ident: $part_bytes:ident),+))?
            $(body($body:ident: $body_bytes:ident))?
            ;
        )+
    ) => {
        $(#[doc = $list_doc])*
        pub const $list: &[crate::schema::RecordSchema] = &[$(
            crate::schema::RecordSchema {
                kind: $number,
                name: stringify!($kind),
                type_name: stringify!($name),
                doc: concat!($($doc, "\n"),*),
                words: &[$( crate::schema::WordSchema {
                    name: stringify!($word),
                    doc: concat!($($word_doc, "\n"),*),
                    value: <$type as crate::schema::Value>::TYPE,
                } ),+],
                flags: concat!($(stringify!($flags))?),
                table: crate::schema::first!(
                    $( (stringify!($table), <$entry as crate::schema::Value>::TYPE) )?
                ),
                parts: &[
                    $( $( (stringify!($part), stringify!($part_bytes)), )+ )?
                    $( (stringify!($body), stringify!($body_bytes)) )?
                ],
                has_body: crate::schema::exists!($($body)?),
            }
        ),+];

        /// Whether a record that an untrusted side wrote has the words of its kind, and everything that they say of
        /// places in it is true. Of a kind that is not in the table nothing is.
        #[must_use]
        pub fn is_sound(record: crate::RecordView<'_>) -> bool {
            match record.kind() {
                $( $kind => record
                    .read::<$name>()
                    .is_some_and(|view| crate::schema::Record::has_sound_table(&*view, record)), )+
                _ => false,
            }
        }

        $(
            $(#[doc = $doc])*
            pub const $kind: u32 = $number;

            #[doc = concat!("The words of [`", stringify!($kind), "`].")]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name {
                $( $(#[doc = $word_doc])* pub $word: $type, )+
            }

            impl crate::schema::Record for $name {
                const KIND: u32 = $number;
                const BYTES: usize =
                    crate::schema::HEAD_BYTES $( + <$type as crate::schema::Value>::BYTES )+;
                const ENTRY_BYTES: usize = 0 $( + <$entry as crate::schema::Value>::BYTES )?;

                #[inline]
                fn decode(bytes: &[u8]) -> Self {
                    crate::schema::decode_words!(bytes, crate::schema::HEAD_BYTES, $($word: $type),+)
                }

                #[inline]
                fn encode(self, bytes: &mut [u8]) {
                    crate::schema::encode_words!(self, bytes, crate::schema::HEAD_BYTES, $($word: $type),+);
                }

                #[inline]
                fn is_sound(&self, record: crate::RecordView<'_>) -> bool {
                    let size = record.size();
                    $( crate::schema::Value::is_within(&self.$word, size) )&&+
                    $( && {
                        let entries = <$entry as crate::schema::Value>::BYTES as u64;
                        Self::BYTES as u64 + u64::from(self.$count) * entries <= size as u64
                    } )?
                    && crate::schema::pieces_fit!(self record [$($($part_bytes)+)?] [$($body_bytes)?])
                }

                #[inline]
                fn has_sound_table(&self, record: crate::RecordView<'_>) -> bool {
                    let size = record.size();
                    let _ = size;
                    true $( && crate::schema::entries::<Self, $entry>(record, u32::from(self.$count))
                        .all(|entry| crate::schema::Value::is_within(&entry, size)) )?
                }
            }

            impl<'a> crate::schema::View<'a, $name> {
                $(
                    /// The entries of its table.
                    #[inline]
                    pub fn $table(&self) -> impl Iterator<Item = $entry> + use<'a> {
                        crate::schema::entries::<$name, $entry>(self.record(), u32::from(self.$count))
                    }
                )?
                crate::schema::pieces!($name [] $($($part: $part_bytes,)+)? $($body: $body_bytes,)?);
            }
        )+
    };
}

/// Whether pieces that follow each other lie in the record; the last one may lie beside it.
macro_rules! pieces_fit {
    ($self:ident $record:ident [] []) => {
        true
    };
    ($self:ident $record:ident [$($bytes:ident)+] []) => {
        Self::BYTES as u64 $( + u64::from($self.$bytes) )+ <= $record.size() as u64
    };
    ($self:ident $record:ident [$($bytes:ident)*] [$body_bytes:ident]) => {{
        let body_at = Self::BYTES as u64 $( + u64::from($self.$bytes) )*;
        let inside = match $record.flags() & crate::layout::response_flag::EXTERNAL {
            0 => u64::from($self.$body_bytes),
            _ => 0,
        };
        body_at + inside <= $record.size() as u64
    }};
}

/// Methods for pieces that follow each other.
macro_rules! pieces {
    ($name:ident [$($before:ident)*]) => {};
    ($name:ident [$($before:ident)*] $piece:ident: $bytes:ident, $($rest:ident: $rest_bytes:ident,)*) => {
        #[doc = concat!("The bytes that `", stringify!($bytes), "` counts, if they lie in the record.")]
        #[inline]
        #[must_use]
        pub fn $piece(&self) -> &'a [u8] {
            let start = <$name as crate::schema::Record>::BYTES $( + self.$before as usize )*;
            self.part(start, self.$bytes)
        }
        crate::schema::pieces!($name [$($before)* $bytes] $($rest: $rest_bytes,)*);
    };
}

macro_rules! first {
    () => {
        None
    };
    ($one:expr) => {
        Some($one)
    };
}

macro_rules! exists {
    () => {
        false
    };
    ($one:ident) => {
        true
    };
}

/// Numbers in a module of their own: flags of a kind of record, or the values of a word.
macro_rules! numbers {
    (
        $(#[doc = $doc:literal])*
        $module:ident {
            $( $(#[doc = $number_doc:literal])* $name:ident = $number:literal, )+
        }
    ) => {
        $(#[doc = $doc])*
        pub mod $module {
            $( $(#[doc = $number_doc])* pub const $name: u32 = $number; )+

            /// What they are called and mean.
            pub const SCHEMA: crate::schema::NumbersSchema = crate::schema::NumbersSchema {
                name: stringify!($module),
                doc: concat!($($doc, "\n"),*),
                numbers: &[$( (stringify!($name), $number, concat!($($number_doc, "\n"),*)) ),+],
            };
        }
    };
}

pub(crate) use {
    decode_words, encode_words, exists, first, group, numbers, pieces, pieces_fit, records,
};
