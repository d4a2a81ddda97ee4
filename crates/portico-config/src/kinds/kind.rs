//! What every kind of value can do.

use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use crate::reader::Reader;

/// A value of the file.
pub(crate) type Given<'t> = Spanned<DeValue<'t>>;

/// The mistakes in a value: where, and what to write instead. Empty: they are noted already.
pub(crate) struct Fault(pub(crate) Vec<(Range<usize>, String)>);

/// A kind of value.
pub(crate) trait Kind {
    type Value: Clone;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault>;

    /// Type and unit, as a person would say: "a duration".
    fn describe(&self) -> String;

    /// What is allowed, if not everything of the type is.
    fn range(&self) -> String {
        String::new()
    }

    /// A value as it is written in the file.
    fn show(&self, value: &Self::Value) -> String;

    /// The value of a missing key without a default. `None`: the key is required.
    fn missing(&self, _reader: &Reader) -> Option<Self::Value> {
        None
    }

    /// What the reference page says in place of a default.
    fn when_missing(&self) -> String {
        "required".to_owned()
    }
}

/// One mistake, in the whole value.
pub(super) fn fault<T>(given: &Given<'_>, text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault(vec![(given.span(), text.into())]))
}

/// The value is of another type.
pub(super) fn wrong_type<T>(given: &Given<'_>, wanted: &str) -> Result<T, Fault> {
    let is = match given.get_ref() {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    fault(given, format!("must be {wanted}, and this is {is}"))
}
