//! A mistake in a configuration, with its place.

use std::error::Error;
use std::fmt;

/// A mistake. `Display` gives `file:line:column: what is wrong and what to write instead`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: String,
    line: usize,
    column: usize,
    message: String,
}

impl ConfigError {
    /// A mistake at a byte of `text`.
    pub(crate) fn at_byte(file: &str, text: &str, byte: usize, message: String) -> Self {
        let before = text.get(..byte.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            file: file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
            message,
        }
    }

    /// A mistake of the whole file.
    pub(crate) fn of_file(file: &str, message: String) -> Self {
        Self {
            file: file.to_owned(),
            line: 0,
            column: 0,
            message,
        }
    }

    /// The file's name as it was given.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Line, counted from 1; 0 if the file as a whole is meant.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }

    /// Column in characters, counted from 1; 0 if the file as a whole is meant.
    #[must_use]
    pub const fn column(&self) -> usize {
        self.column
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line == 0 {
            return write!(out, "{}: {}", self.file, self.message);
        }
        write!(
            out,
            "{}:{}:{}: {}",
            self.file, self.line, self.column, self.message
        )
    }
}

impl Error for ConfigError {}
