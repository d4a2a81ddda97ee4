//! Colour, where it helps: on a terminal, unless `NO_COLOR` says no (no-color.org).

use std::io::{self, IsTerminal};

/// How text is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    on: bool,
}

impl Style {
    /// As standard output has it.
    pub(crate) fn of_output() -> Self {
        let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            on: io::stdout().is_terminal() && !forbidden && !dumb,
        }
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { on: false }
    }

    pub(crate) fn strong(self, text: &str) -> String {
        self.mark(text, "1")
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.mark(text, "2")
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.mark(text, "32")
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.mark(text, "31")
    }

    pub(crate) fn careful(self, text: &str) -> String {
        self.mark(text, "33")
    }

    /// Back to the terminal's upper left corner, with nothing on it.
    pub(crate) fn clear(self) -> &'static str {
        if self.on { "\x1b[H\x1b[2J" } else { "" }
    }

    fn mark(self, text: &str, code: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Text from elsewhere without what could steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    let shown = |character: char| {
        if character.is_control() {
            '\u{fffd}'
        } else {
            character
        }
    };
    text.chars().map(shown).collect()
}
