//! Key log lines of one connection (`SSLKEYLOGFILE` format, RFC 9850).

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use rustls::KeyLog;

use crate::keying;

/// No early data is accepted, and its secret is none (see `key_schedule.rs`). OpenSSL does not log it either.
const EARLY: &str = "CLIENT_EARLY_TRAFFIC_SECRET";

/// Collects the lines until they are taken.
#[derive(Default)]
pub(crate) struct KeyLogLines {
    lines: Mutex<Vec<Vec<u8>>>,
}

impl KeyLogLines {
    pub(crate) fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.lines.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyLog for KeyLogLines {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        keying::hear_secret(label, secret);
        if label == EARLY {
            return;
        }
        let mut line = format!("{label} ");
        push_hex(&mut line, client_random);
        line.push(' ');
        push_hex(&mut line, secret);
        line.push('\n');
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line.into_bytes());
    }
}

/// Secrets stay out of debug output.
impl std::fmt::Debug for KeyLogLines {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("KeyLogLines")
    }
}

fn push_hex(line: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string can't fail.
        let _ = write!(line, "{byte:02x}");
    }
}
