//! What makes structs, parsing and rows out of the lines of `sections.rs`.

use crate::fields::Fields;
use crate::row::{Applies, Row};

/// A section of the file.
pub(crate) trait Section: Sized {
    /// Its name without brackets.
    const NAME: &'static str;
    /// Its keys.
    const KEYS: &'static [&'static str];

    /// Its options for the reference page.
    fn rows() -> Vec<Row>;

    /// The names of options that differ and take effect as `applies` says.
    fn differences(&self, other: &Self, applies: Applies) -> Vec<&'static str>;
}

/// A section that every configuration has once, `[name]`: each option has a default.
pub(crate) trait Settings: Section + Default {
    /// The options of a table, those of `base` where it says nothing. `None` if there is a mistake, which is noted.
    fn read_over(base: &Self, fields: &mut Fields<'_, '_>) -> Option<Self>;
}

/// A section that there may be many of, `[[name]]`.
pub(crate) trait Entry: Section {
    /// The options of a table. `None` if there is a mistake, which is noted.
    fn read(fields: &mut Fields<'_, '_>) -> Option<Self>;
}

/// Both macros take lines of `name: type = default, kind, origin, when it applies, "meaning";`. In `entries` the
/// default is an `Option`, `None` for what must be given.
macro_rules! settings {
    ($(#[$about:meta])* $section:ident: $name:literal;
     $($key:ident: $type:ty = $default:expr, $kind:expr, $origin:literal, $applies:ident, $meaning:literal;)+) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $section {
            $(#[doc = $meaning] pub $key: $type,)+
        }

        impl Default for $section {
            fn default() -> Self {
                Self { $($key: $default,)+ }
            }
        }

        impl $crate::section::Settings for $section {
            fn read_over(base: &Self, fields: &mut Fields<'_, '_>) -> Option<Self> {
                $(let $key = fields.take(stringify!($key), &$kind, Some(&base.$key));)+
                fields.refuse_others(<Self as $crate::section::Section>::KEYS);
                Some(Self { $($key: $key?,)+ })
            }
        }

        section!($section, $name, $($key, Some(&$default), $kind, $origin, $applies, $meaning;)+);
    };
}

macro_rules! entries {
    ($(#[$about:meta])* $section:ident: $name:literal;
     $($key:ident: $type:ty = $default:expr, $kind:expr, $origin:literal, $applies:ident, $meaning:literal;)+) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $section {
            $(#[doc = $meaning] pub $key: $type,)+
            /// The line where it begins in the file, for messages.
            pub line: usize,
        }

        impl $crate::section::Entry for $section {
            fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
                $(let $key = fields.take(stringify!($key), &$kind, $default.as_ref());)+
                fields.refuse_others(<Self as $crate::section::Section>::KEYS);
                Some(Self { $($key: $key?,)+ line: fields.line() })
            }
        }

        section!($section, $name, $($key, $default.as_ref(), $kind, $origin, $applies, $meaning;)+);
    };
}

macro_rules! section {
    ($section:ident, $name:literal,
     $($key:ident, $default:expr, $kind:expr, $origin:literal, $applies:ident, $meaning:literal;)+) => {
        impl $crate::section::Section for $section {
            const NAME: &'static str = $name;
            const KEYS: &'static [&'static str] = &[$(stringify!($key),)+];

            fn rows() -> Vec<Row> {
                vec![$(Row::new(
                    ($name, stringify!($key)),
                    &$kind,
                    $default,
                    ($origin, Applies::$applies, $meaning),
                ),)+]
            }

            fn differences(&self, other: &Self, applies: Applies) -> Vec<&'static str> {
                let mut names = Vec::new();
                $(if Applies::$applies == applies && self.$key != other.$key {
                    names.push(stringify!($key));
                })+
                names
            }
        }
    };
}

pub(crate) use {entries, section, settings};
