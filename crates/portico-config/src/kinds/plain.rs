//! Flags, numbers, words, lists.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::de::DeValue;

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use crate::reader::Reader;

/// `true` or `false`.
pub(crate) struct Flag;

impl Kind for Flag {
    type Value = bool;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<bool, Fault> {
        match given.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            _ => wrong_type(given, "true or false"),
        }
    }

    fn describe(&self) -> String {
        "true or false".to_owned()
    }

    fn show(&self, value: &bool) -> String {
        value.to_string()
    }
}

/// A whole number.
pub(crate) struct Count<T>(pub(crate) RangeInclusive<T>);

impl<T: Copy + PartialOrd + Display + TryFrom<u64>> Kind for Count<T> {
    type Value = T;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<T, Fault> {
        let DeValue::Integer(integer) = given.get_ref() else {
            return wrong_type(given, "a whole number");
        };
        let value = u64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .and_then(|value| T::try_from(value).ok())
            .filter(|value| self.0.contains(value));
        match value {
            Some(value) => Ok(value),
            None => fault(given, format!("must be {}, not {integer}", self.range())),
        }
    }

    fn describe(&self) -> String {
        "a whole number".to_owned()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.0.start(), self.0.end())
    }

    fn show(&self, value: &T) -> String {
        value.to_string()
    }
}

/// One of several words.
pub(crate) struct Choice<T: 'static>(pub(crate) &'static [(&'static str, T)]);

impl<T: Copy + PartialEq> Kind for Choice<T> {
    type Value = T;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<T, Fault> {
        let DeValue::String(text) = given.get_ref() else {
            return wrong_type(given, &self.describe());
        };
        match self.0.iter().find(|(word, _)| *word == &**text) {
            Some((_, value)) => Ok(*value),
            None => fault(
                given,
                format!(
                    "must be {}, not \"{}\"",
                    self.describe(),
                    text.escape_debug()
                ),
            ),
        }
    }

    fn describe(&self) -> String {
        let words: Vec<String> = self
            .0
            .iter()
            .map(|(word, _)| format!("\"{word}\""))
            .collect();
        words.join(" or ")
    }

    fn show(&self, value: &T) -> String {
        self.0
            .iter()
            .find(|(_, own)| own == value)
            .map_or_else(String::new, |(word, _)| format!("\"{word}\""))
    }
}

/// A value that may be left out.
pub(crate) struct Optional<K>(pub(crate) K, pub(crate) &'static str);

impl<K: Kind> Kind for Optional<K> {
    type Value = Option<K::Value>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault> {
        self.0.read(given, reader).map(Some)
    }

    fn describe(&self) -> String {
        self.0.describe()
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn show(&self, value: &Self::Value) -> String {
        match value {
            Some(value) => self.0.show(value),
            None => self.1.to_owned(),
        }
    }
}

/// A list of values.
pub(crate) struct List<K>(pub(crate) K);

impl<K: Kind> Kind for List<K> {
    type Value = Vec<K::Value>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault> {
        let DeValue::Array(items) = given.get_ref() else {
            return wrong_type(given, &self.describe());
        };
        read_items(&self.0, items.iter(), reader)
    }

    fn describe(&self) -> String {
        format!("a list, each {}", self.0.describe())
    }

    fn show(&self, values: &Self::Value) -> String {
        let shown: Vec<String> = values.iter().map(|value| self.0.show(value)).collect();
        format!("[{}]", shown.join(", "))
    }
}

/// A value, or a list of them.
pub(crate) struct OneOrMany<K>(pub(crate) K);

impl<K: Kind> Kind for OneOrMany<K> {
    type Value = Vec<K::Value>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault> {
        match given.get_ref() {
            DeValue::Array(items) => read_items(&self.0, items.iter(), reader),
            _ => Ok(vec![self.0.read(given, reader)?]),
        }
    }

    fn describe(&self) -> String {
        format!("{}, or a list of them", self.0.describe())
    }

    fn show(&self, values: &Self::Value) -> String {
        let shown: Vec<String> = values.iter().map(|value| self.0.show(value)).collect();
        format!("[{}]", shown.join(", "))
    }
}

fn read_items<'a, 't: 'a, K: Kind>(
    kind: &K,
    items: impl Iterator<Item = &'a Given<'t>>,
    reader: &mut Reader,
) -> Result<Vec<K::Value>, Fault> {
    let mut values = Vec::new();
    let mut faults = Vec::new();
    for item in items {
        match kind.read(item, reader) {
            Ok(value) => values.push(value),
            Err(fault) => faults.extend(fault.0),
        }
    }
    if faults.is_empty() {
        Ok(values)
    } else {
        Err(Fault(faults))
    }
}
