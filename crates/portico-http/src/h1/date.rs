//! The `Date` field's value, made once a second (RFC 9110, section 5.6.7).

/// Number of bytes of an HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub const HTTP_DATE_LENGTH: usize = 29;

/// The date of the last second asked for, as text.
#[derive(Clone, Debug)]
pub struct DateCache {
    unix_seconds: u64,
    text: [u8; HTTP_DATE_LENGTH],
}

impl Default for DateCache {
    fn default() -> Self {
        Self::new()
    }
}

impl DateCache {
    /// A cache that holds the start of 1970.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            unix_seconds: 0,
            text: *b"Thu, 01 Jan 1970 00:00:00 GMT",
        }
    }

    /// The text for a time in seconds since 1970 (years up to 9999; later times are told as the end of 9999).
    pub fn update(&mut self, unix_seconds: u64) -> &[u8; HTTP_DATE_LENGTH] {
        self.unix_seconds = unix_seconds;
        &self.text
    }

    /// The text of the last update.
    #[must_use]
    pub const fn text(&self) -> &[u8; HTTP_DATE_LENGTH] {
        &self.text
    }
}
