//! The keys of one table: those that are taken, and the others, which are mistakes.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::kinds::Kind;
use crate::nearest::nearest;
use crate::reader::Reader;
use crate::row::rows;

pub(crate) struct Fields<'a, 't> {
    section: &'static str,
    table: &'a DeTable<'t>,
    place: Range<usize>,
    reader: &'a mut Reader,
}

impl<'a, 't> Fields<'a, 't> {
    pub(crate) fn new(
        section: &'static str,
        table: &'a DeTable<'t>,
        place: Range<usize>,
        reader: &'a mut Reader,
    ) -> Self {
        Self {
            section,
            table,
            place,
            reader,
        }
    }

    /// The line where the table begins.
    pub(crate) fn line(&self) -> usize {
        self.reader.line(&self.place)
    }

    /// The value of a key, else `default`, else what the kind has for a missing one. `None` after a mistake.
    pub(crate) fn take<K: Kind>(
        &mut self,
        key: &'static str,
        kind: &K,
        default: Option<&K::Value>,
    ) -> Option<K::Value> {
        if let Some(value) = find(self.table, key) {
            return match kind.read(value, self.reader) {
                Ok(value) => Some(value),
                Err(fault) => {
                    for (place, text) in fault.0 {
                        let section = self.section;
                        self.reader
                            .error(&place, format!("[{section}] {key}: {text}"));
                    }
                    None
                }
            };
        }
        let value = default.cloned().or_else(|| kind.missing(self.reader));
        if value.is_none() {
            let text = format!("[{}] needs {key}, {}", self.section, kind.describe());
            self.reader.error(&self.place, text);
        }
        value
    }

    /// Notes every key that is not among `known`.
    pub(crate) fn refuse_others(&mut self, known: &[&'static str]) {
        for key in self.table.keys() {
            let name = &**key.get_ref();
            if !known.contains(&name) {
                let text = unknown(self.section, name, known);
                self.reader.error(&key.span(), text);
            }
        }
    }
}

/// The value of a key.
pub(crate) fn find<'a, 't>(table: &'a DeTable<'t>, key: &str) -> Option<&'a Spanned<DeValue<'t>>> {
    table
        .iter()
        .find(|(own, _)| &**own.get_ref() == key)
        .map(|(_, value)| value)
}

fn unknown(section: &str, name: &str, known: &[&'static str]) -> String {
    let start = format!("unknown key \"{}\" in [{section}]", name.escape_debug());
    if let Some(meant) = nearest(name, known.iter().copied()) {
        return format!("{start}; did you mean \"{meant}\"?");
    }
    let all = rows();
    if let Some(row) = all.iter().find(|row| row.name == name) {
        return format!("{start}; it belongs in [{}]", row.section);
    }
    format!("{start}; there are: {}", known.join(", "))
}
