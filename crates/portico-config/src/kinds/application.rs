//! What only applications have: commands, numbers of workers, variables.

use toml::de::DeValue;

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use super::plain::{Count, OneOrMany};
use super::text::TEXT;
use crate::reader::Reader;

/// Workers of an application, at most.
const MAX_INSTANCES: u32 = 1000;

/// How many workers an application has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instances {
    /// So many.
    Count(u32),
    /// One for each core.
    Max,
}

/// A number of workers.
pub(crate) struct InstanceCount;

const INSTANCES: &str = "a whole number or \"max\"";

impl Kind for InstanceCount {
    type Value = Instances;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Instances, Fault> {
        match given.get_ref() {
            DeValue::Integer(_) => Count(1..=MAX_INSTANCES)
                .read(given, reader)
                .map(Instances::Count),
            DeValue::String(word) if &**word == "max" => Ok(Instances::Max),
            _ => wrong_type(given, INSTANCES),
        }
    }

    fn describe(&self) -> String {
        INSTANCES.to_owned()
    }

    fn range(&self) -> String {
        format!("1 to {MAX_INSTANCES}")
    }

    fn show(&self, value: &Instances) -> String {
        match value {
            Instances::Count(count) => count.to_string(),
            Instances::Max => "\"max\"".to_owned(),
        }
    }
}

/// A program with its arguments.
pub(crate) struct CommandLine;

impl Kind for CommandLine {
    type Value = Vec<String>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Vec<String>, Fault> {
        let words = OneOrMany(TEXT).read(given, reader)?;
        match words.first() {
            Some(program) if !program.is_empty() => Ok(words),
            _ => fault(given, "a command begins with a program"),
        }
    }

    fn describe(&self) -> String {
        "text in quotes, or a list of a program and its arguments".to_owned()
    }

    fn show(&self, value: &Vec<String>) -> String {
        OneOrMany(TEXT).show(value)
    }
}

/// Environment variables.
pub(crate) struct Variables;

impl Kind for Variables {
    type Value = Vec<(String, String)>;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Self::Value, Fault> {
        let DeValue::Table(table) = given.get_ref() else {
            return wrong_type(given, &self.describe());
        };
        let mut variables = Vec::new();
        let mut faults = Vec::new();
        for (name, value) in table.iter() {
            let text = name.get_ref();
            if text.is_empty() || text.contains(['=', '\0']) {
                let text = format!("\"{}\" is no name of a variable", text.escape_debug());
                faults.push((name.span(), text));
                continue;
            }
            let read = match value.get_ref() {
                DeValue::Integer(number) => Ok(number.to_string()),
                DeValue::Boolean(value) => Ok(value.to_string()),
                _ => TEXT.read(value, reader),
            };
            match read {
                Ok(value) => variables.push((text.to_string(), value)),
                Err(fault) => faults.extend(fault.0),
            }
        }
        if faults.is_empty() {
            Ok(variables)
        } else {
            Err(Fault(faults))
        }
    }

    fn describe(&self) -> String {
        "a table of names and values".to_owned()
    }

    fn show(&self, variables: &Self::Value) -> String {
        let shown = variables.iter();
        let shown: Vec<_> = shown
            .map(|(name, value)| format!("{name} = {}", TEXT.show(value)))
            .collect();
        match shown.is_empty() {
            true => "{}".to_owned(),
            false => format!("{{ {} }}", shown.join(", ")),
        }
    }
}

/// Bits of file modes, in octal digits.
pub(crate) struct FileMode;

impl Kind for FileMode {
    type Value = u32;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<u32, Fault> {
        let DeValue::String(text) = given.get_ref() else {
            return wrong_type(given, &self.describe());
        };
        let mode = u32::from_str_radix(text, 8);
        match mode.ok().filter(|mode| *mode <= 0o777) {
            Some(mode) => Ok(mode),
            None => fault(
                given,
                format!(
                    "\"{}\" is no mask; write octal digits, as in \"027\"",
                    text.escape_debug()
                ),
            ),
        }
    }

    fn describe(&self) -> String {
        "octal digits in quotes, as in \"027\"".to_owned()
    }

    fn range(&self) -> String {
        "\"000\" to \"777\"".to_owned()
    }

    fn show(&self, value: &u32) -> String {
        format!("\"{value:03o}\"")
    }
}
