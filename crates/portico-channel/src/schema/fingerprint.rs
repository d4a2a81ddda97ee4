//! A number that differs wherever two tables of records differ: builds whose numbers are equal understand each other.

use super::{GroupSchema, NumbersSchema, RecordSchema, Type, WordSchema};

/// FNV-1a of 32 bits, worked out by the compiler. It tells builds apart; it protects from nobody.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u32);

impl Fingerprint {
    pub(crate) const fn new() -> Self {
        Self(0x811c_9dc5)
    }

    /// The number; never 0, which stands for a build that has none.
    pub(crate) const fn number(self) -> u32 {
        if self.0 == 0 { 1 } else { self.0 }
    }

    const fn byte(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u32).wrapping_mul(0x0100_0193))
    }

    pub(crate) const fn word(mut self, word: u32) -> Self {
        let bytes = word.to_le_bytes();
        let mut index = 0;
        while index < bytes.len() {
            self = self.byte(bytes[index]);
            index += 1;
        }
        self
    }

    const fn count(self, count: usize) -> Self {
        self.word(count as u32)
    }

    const fn text(mut self, text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            self = self.byte(bytes[index]);
            index += 1;
        }
        // No name has it: "ab", "c" is not "a", "bc".
        self.byte(0)
    }

    /// Everything of the records of one direction but what is written about them.
    pub(crate) const fn records(mut self, records: &[RecordSchema]) -> Self {
        self = self.count(records.len());
        let mut index = 0;
        while index < records.len() {
            self = self.record(&records[index]);
            index += 1;
        }
        self
    }

    const fn record(mut self, record: &RecordSchema) -> Self {
        self = self.word(record.kind).text(record.name);
        self = self.words(record.words).text(record.flags);
        self = match record.table {
            Some((name, entry)) => self.text(name).value(entry),
            None => self.byte(0),
        };
        self = self.count(record.parts.len());
        let mut index = 0;
        while index < record.parts.len() {
            let (name, length) = record.parts[index];
            self = self.text(name).text(length);
            index += 1;
        }
        self.byte(record.has_body as u8)
    }

    const fn words(mut self, words: &[WordSchema]) -> Self {
        self = self.count(words.len());
        let mut index = 0;
        while index < words.len() {
            self = self.text(words[index].name).value(words[index].value);
            index += 1;
        }
        self
    }

    const fn value(self, value: Type) -> Self {
        match value {
            Type::U8 => self.byte(1),
            Type::U16 => self.byte(2),
            Type::U32 => self.byte(3),
            Type::I32 => self.byte(4),
            Type::U64 => self.byte(5),
            Type::Range => self.byte(6),
            Type::Address => self.byte(7),
            Type::Group(group) => self.byte(8).group(group),
        }
    }

    const fn group(self, group: &GroupSchema) -> Self {
        self.text(group.type_name).words(group.words)
    }

    /// Flags of records, and the values of words.
    pub(crate) const fn numbers(mut self, modules: &[NumbersSchema]) -> Self {
        self = self.count(modules.len());
        let mut index = 0;
        while index < modules.len() {
            self = self.text(modules[index].name);
            let numbers = modules[index].numbers;
            self = self.count(numbers.len());
            let mut place = 0;
            while place < numbers.len() {
                self = self.text(numbers[place].0).word(numbers[place].1);
                place += 1;
            }
            index += 1;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{NUMBERS, command, event};

    const fn word(name: &'static str, value: Type) -> WordSchema {
        WordSchema {
            name,
            doc: "",
            value,
        }
    }

    const TOKEN: WordSchema = word("token", Type::U32);
    const BYTES: WordSchema = word("bytes", Type::U32);
    const SIGNED_BYTES: WordSchema = word("bytes", Type::I32);

    fn of(record: RecordSchema) -> u32 {
        Fingerprint::new().records(&[record]).number()
    }

    #[test]
    fn whatever_changes_in_a_record_changes_the_fingerprint_and_its_description_does_not() {
        const RECORD: RecordSchema = RecordSchema {
            kind: 3,
            name: "SOME",
            type_name: "Some",
            doc: "What it is.",
            words: &[TOKEN, BYTES],
            flags: "some_flag",
            table: Some(("fields", Type::Range)),
            parts: &[("reason", "bytes")],
            has_body: false,
        };
        let changed = [
            RecordSchema { kind: 4, ..RECORD },
            RecordSchema {
                words: &[BYTES, TOKEN],
                ..RECORD
            },
            RecordSchema {
                words: &[TOKEN, SIGNED_BYTES],
                ..RECORD
            },
            RecordSchema {
                words: &[TOKEN],
                ..RECORD
            },
            RecordSchema {
                flags: "other_flag",
                ..RECORD
            },
            RecordSchema {
                table: None,
                ..RECORD
            },
            RecordSchema {
                table: Some(("fields", Type::U32)),
                ..RECORD
            },
            RecordSchema {
                parts: &[],
                ..RECORD
            },
            RecordSchema {
                has_body: true,
                ..RECORD
            },
        ];
        for other in changed {
            assert_ne!(of(other), of(RECORD), "{other:?}");
        }
        let described = RecordSchema {
            doc: "Better said.",
            ..RECORD
        };
        assert_eq!(of(described), of(RECORD));
    }

    #[test]
    fn records_of_either_direction_and_flags_count() {
        let of = |events, commands, numbers| {
            let fingerprint = Fingerprint::new().records(events).records(commands);
            fingerprint.numbers(numbers).number()
        };
        let all = of(event::EVENTS, command::COMMANDS, NUMBERS);
        assert_ne!(all, of(&event::EVENTS[1..], command::COMMANDS, NUMBERS));
        assert_ne!(all, of(event::EVENTS, &command::COMMANDS[1..], NUMBERS));
        assert_ne!(all, of(event::EVENTS, command::COMMANDS, &NUMBERS[1..]));
        let mut numbers = NUMBERS.to_vec();
        numbers[0].numbers = &[("TLS", 1, ""), ("UNIX", 4, "")];
        assert_ne!(all, of(event::EVENTS, command::COMMANDS, &numbers));
    }
}
