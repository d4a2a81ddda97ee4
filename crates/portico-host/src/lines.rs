//! Bytes of a connection cut into lines. No I/O.

use crate::protocol::MAX_LINE_BYTES;
use crate::{Failure, code};

/// Bytes that have arrived and are not yet a line. Holds at most one line and what came with its last piece.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// No line end stands before this place.
    searched: usize,
    limit: usize,
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self::with_limit(MAX_LINE_BYTES)
    }
}

impl LineBuffer {
    /// A buffer for lines of at most so many bytes, their ends included.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            searched: 0,
            limit,
        }
    }

    /// Takes bytes that arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole line, without its end; `None`: more bytes are needed.
    ///
    /// # Errors
    /// A line that is too long or not UTF-8. The connection can't be used any more.
    pub fn next_line(&mut self) -> Result<Option<String>, Failure> {
        let unsearched = self.bytes.get(self.searched..).unwrap_or_default();
        let Some(at) = unsearched.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.bytes.len();
            return if self.searched >= self.limit {
                Err(self.too_long())
            } else {
                Ok(None)
            };
        };
        let end = self.searched + at;
        if end >= self.limit {
            return Err(self.too_long());
        }
        let mut line: Vec<u8> = self.bytes.drain(..=end).collect();
        self.searched = 0;
        line.pop();
        String::from_utf8(line)
            .map(Some)
            .map_err(|_| Failure::new(code::REQUEST, "a line of the control protocol is not UTF-8"))
    }

    /// Whether bytes of an unfinished line are held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn too_long(&self) -> Failure {
        Failure::new(
            code::REQUEST,
            format!(
                "a line of the control protocol has more than {} bytes",
                self.limit
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_however_the_bytes_arrive() {
        let text = "one\ntwo\n\nthree";
        for piece in 1..text.len() {
            let mut buffer = LineBuffer::default();
            let mut lines = Vec::new();
            for bytes in text.as_bytes().chunks(piece) {
                buffer.push(bytes);
                while let Some(line) = buffer.next_line().unwrap() {
                    lines.push(line);
                }
            }
            assert_eq!(lines, ["one", "two", ""], "in pieces of {piece}");
            assert!(!buffer.is_empty());
        }
    }

    #[test]
    fn a_line_may_have_its_limit_and_not_a_byte_more() {
        let mut buffer = LineBuffer::with_limit(4);
        buffer.push(b"abc\nabcd\n");
        assert_eq!(buffer.next_line().unwrap().as_deref(), Some("abc"));
        assert!(buffer.next_line().is_err());
        let mut endless = LineBuffer::with_limit(4);
        endless.push(b"abcd");
        assert!(endless.next_line().is_err());
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused() {
        let mut buffer = LineBuffer::default();
        buffer.push(b"\xff\n");
        assert_eq!(buffer.next_line().unwrap_err().code, code::REQUEST);
    }
}
