//! Durations and sizes.

use std::ops::RangeInclusive;
use std::time::Duration;

use toml::de::DeValue;

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use crate::reader::Reader;
use crate::units::{parse_duration, parse_size, show_duration, show_size};

/// A duration with its unit.
pub(crate) struct Time(pub(crate) RangeInclusive<Duration>);

impl Kind for Time {
    type Value = Duration;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<Duration, Fault> {
        let text = match given.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(number) => {
                let text = format!("a duration has a unit: write \"{number}s\" or \"{number}ms\"");
                return fault(given, text);
            }
            _ => return wrong_type(given, "a duration, as in \"30s\""),
        };
        match parse_duration(text) {
            Some(value) if self.0.contains(&value) => Ok(value),
            Some(_) => fault(given, format!("must be {}, not \"{text}\"", self.range())),
            None => fault(
                given,
                format!(
                    "\"{}\" is no duration; write a whole number with ms, s, m or h, as in \"30s\"",
                    text.escape_debug()
                ),
            ),
        }
    }

    fn describe(&self) -> String {
        "a duration".to_owned()
    }

    fn range(&self) -> String {
        let (least, most) = (self.0.start(), self.0.end());
        format!("{} to {}", show_duration(*least), show_duration(*most))
    }

    fn show(&self, value: &Duration) -> String {
        format!("\"{}\"", show_duration(*value))
    }
}

/// A number of bytes with its unit.
pub(crate) struct Size(pub(crate) RangeInclusive<u64>);

impl Kind for Size {
    type Value = u64;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<u64, Fault> {
        let text = match given.get_ref() {
            DeValue::String(text) => text,
            DeValue::Integer(number) => {
                let text = format!("a size has a unit: write \"{number}B\" or \"{number}KiB\"");
                return fault(given, text);
            }
            _ => return wrong_type(given, "a size, as in \"64KiB\""),
        };
        match parse_size(text) {
            Some(value) if self.0.contains(&value) => Ok(value),
            Some(_) => fault(given, format!("must be {}, not \"{text}\"", self.range())),
            None => fault(
                given,
                format!(
                    "\"{}\" is no size; write a whole number with B, KiB, MiB or GiB, as in \"64KiB\"",
                    text.escape_debug()
                ),
            ),
        }
    }

    fn describe(&self) -> String {
        "a size".to_owned()
    }

    fn range(&self) -> String {
        let (least, most) = (self.0.start(), self.0.end());
        format!("{} to {}", show_size(*least), show_size(*most))
    }

    fn show(&self, value: &u64) -> String {
        format!("\"{}\"", show_size(*value))
    }
}
