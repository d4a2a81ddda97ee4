//! What is kept while a file is read: its text, the mistakes found, and what sections inherit.

use std::ops::Range;

use crate::error::ConfigError;
use crate::sections::QueueOptions;

pub(crate) struct Reader {
    file: String,
    text: String,
    errors: Vec<ConfigError>,
    /// `[queue]`, which the queues of sites start from.
    pub(crate) queue: QueueOptions,
}

impl Reader {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        Self {
            file: file.to_owned(),
            text: text.to_owned(),
            errors: Vec::new(),
            queue: QueueOptions::default(),
        }
    }

    /// Notes a mistake.
    pub(crate) fn error(&mut self, place: &Range<usize>, message: String) {
        self.errors.push(ConfigError::at_byte(
            &self.file,
            &self.text,
            place.start,
            message,
        ));
    }

    /// The line of a place.
    pub(crate) fn line(&self, place: &Range<usize>) -> usize {
        ConfigError::at_byte(&self.file, &self.text, place.start, String::new()).line()
    }

    pub(crate) fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// All mistakes in the order of the file.
    pub(crate) fn into_errors(mut self) -> Vec<ConfigError> {
        self.errors
            .sort_by_key(|error| (error.line(), error.column()));
        self.errors
    }
}
