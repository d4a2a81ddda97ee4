//! Printing. A reader that has gone (`portico status | head`) is no error.

use std::io::{self, Write};

use crate::Failed;

/// A line to standard output.
pub(crate) fn line(text: &str) -> Result<(), Failed> {
    let mut out = io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failed::new(format!(
            "standard output can't be written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// An error to standard error. Each line says whose it is.
pub(crate) fn error(text: &str) {
    let mut out = io::stderr().lock();
    for line in text.lines() {
        // Nowhere else to say it.
        let _ = writeln!(out, "portico: {line}");
    }
}

/// Anything as JSON to standard output.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<(), Failed> {
    let text = serde_json::to_string_pretty(value);
    line(&text.map_err(|error| Failed::new(error.to_string()))?)
}
