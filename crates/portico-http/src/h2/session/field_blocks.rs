//! Field blocks of HEADERS and CONTINUATION, put together and decoded (RFC 9113, section 4.3).

use super::core::Session;
use super::event::Event;
use super::receiving::Phase;
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::frame::{FrameHeader, flag};
use crate::h2::hpack::HpackError;
use crate::h2::limits::{MAX_CONTINUATIONS, MAX_EXCESS};

/// The block that is being received.
#[derive(Debug, Default)]
pub(super) struct FieldBlock {
    stream: u32,
    ends_stream: bool,
    depends_on_itself: bool,
    continuations: u32,
    /// What came of it so far, if it did not come in one frame.
    bytes: Vec<u8>,
}

/// Memory that is kept for the next block in parts, which are rare.
const KEEP_BYTES: usize = 16 * 1024;

impl FieldBlock {
    /// A new one begins.
    pub(super) fn start(&mut self, header: &FrameHeader, depends_on_itself: bool) {
        self.stream = header.stream;
        self.ends_stream = header.has(flag::END_STREAM);
        self.depends_on_itself = depends_on_itself;
        self.continuations = 0;
    }

    /// Whether it is this stream's.
    pub(super) fn is_of(&self, stream: u32) -> bool {
        self.stream == stream
    }

    fn clear(&mut self) {
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes = Vec::new();
        }
        self.bytes.clear();
    }
}

impl Session {
    /// A fragment. The block is decoded where it lies if the fragment is all of it.
    pub(super) fn field_block(
        &mut self,
        header: &FrameHeader,
        fragment: &[u8],
        is_first: bool,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        let is_complete = header.has(flag::END_HEADERS);
        if is_first && is_complete {
            self.decode(fragment)?;
        } else {
            self.block.continuations += u32::from(!is_first);
            if self.block.continuations > MAX_CONTINUATIONS {
                return Err(ConnectionError::calm("too many CONTINUATION"));
            }
            let size = (self.block.bytes.len() + fragment.len()) as u64;
            if size > u64::from(self.local.max_header_list_size).saturating_mul(MAX_EXCESS) {
                return Err(ConnectionError::calm("a field block is too large"));
            }
            self.block.bytes.extend_from_slice(fragment);
            self.phase = Phase::Continuation;
            if !is_complete {
                return Ok(None);
            }
            self.phase = Phase::Frames;
            let block = std::mem::take(&mut self.block.bytes);
            let decoded = self.decode(&block);
            self.block.bytes = block;
            self.block.clear();
            decoded?;
        }
        let (stream, ends_stream) = (self.block.stream, self.block.ends_stream);
        self.header_section(stream, ends_stream, self.block.depends_on_itself, out)
    }

    fn decode(&mut self, block: &[u8]) -> Result<(), ConnectionError> {
        let max_size = self.local.max_header_list_size;
        self.section.start(max_size, self.options.max_fields);
        self.decoder
            .decode(block, &mut self.section)
            .map_err(|error| match error {
                HpackError::ListTooLarge => ConnectionError::calm("a field section is too large"),
                _ => ConnectionError::new(
                    ErrorCode::COMPRESSION_ERROR,
                    "a field block can't be decoded",
                ),
            })
    }
}
