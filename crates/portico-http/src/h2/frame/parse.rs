//! What the payload of a whole frame says. DATA is not read here: its payload is used as it comes.

use super::header::{FrameHeader, FrameKind, STREAM_MASK, flag};
use super::settings::SettingsEntries;
use crate::h2::error::{ConnectionError, ErrorCode};

/// A frame other than DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// RFC 9113, section 6.2. What it says of priorities of RFC 7540 means nothing.
    Headers {
        /// The start of the field block.
        fragment: &'a [u8],
        /// The stream is said to depend on itself, which RFC 7540 forbade.
        depends_on_itself: bool,
    },
    /// Section 6.3. Means nothing but that a peer sends it.
    Priority {
        /// As in `Headers`.
        depends_on_itself: bool,
    },
    /// Section 6.4.
    RstStream(ErrorCode),
    /// Section 6.5.
    Settings(SettingsEntries<'a>),
    /// Section 6.5.3.
    SettingsAck,
    /// Section 6.6. The first number is that of the promised stream.
    PushPromise(u32, &'a [u8]),
    /// Section 6.7.
    Ping([u8; 8]),
    /// The answer to a ping.
    PingAck([u8; 8]),
    /// Section 6.8.
    GoAway {
        /// The last stream that was or may be handled.
        last_stream: u32,
        /// Why.
        code: ErrorCode,
        /// Anything.
        debug: &'a [u8],
    },
    /// Section 6.9. Never 0.
    WindowUpdate(u32),
    /// Section 6.10: more of a field block.
    Continuation(&'a [u8]),
    /// RFC 9218, section 7.1: a stream, and a `Priority` field's value.
    PriorityUpdate(u32, &'a [u8]),
    /// RFC 7838, section 4: an origin, perhaps empty, and an `Alt-Svc` field's value.
    AltSvc(&'a [u8], &'a [u8]),
    /// RFC 8336, section 2: origins, each with its length before it.
    Origin(&'a [u8]),
    /// To be skipped (RFC 9113, section 5.5).
    Unknown,
}

/// A frame that is wrong, whatever the state of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The connection ends.
    Connection(ConnectionError),
    /// The frame's stream ends.
    Stream(ErrorCode),
}

impl From<ConnectionError> for FrameError {
    fn from(error: ConnectionError) -> Self {
        FrameError::Connection(error)
    }
}

impl<'a> Frame<'a> {
    /// Reads a frame of which all of the payload is there.
    ///
    /// # Errors
    /// A wrong size, padding or stream: see each kind in RFC 9113, section 6.
    pub fn parse(header: &FrameHeader, payload: &'a [u8]) -> Result<Self, FrameError> {
        check_stream(header)?;
        Ok(match header.kind {
            FrameKind::HEADERS => headers(header, payload)?,
            FrameKind::PRIORITY => match payload.split_first_chunk::<5>() {
                Some((dependency, [])) => Frame::Priority {
                    depends_on_itself: is_dependent(header, dependency),
                },
                // Section 6.3: only the stream.
                _ => return Err(FrameError::Stream(ErrorCode::FRAME_SIZE_ERROR)),
            },
            FrameKind::RST_STREAM => Frame::RstStream(ErrorCode(number(payload)?)),
            FrameKind::SETTINGS => settings(header, payload)?,
            FrameKind::PUSH_PROMISE => {
                let payload = without_padding(header, payload)?;
                let (stream, fragment) = split_number(payload)?;
                Frame::PushPromise(stream & STREAM_MASK, fragment)
            }
            FrameKind::PING => {
                let data = payload
                    .try_into()
                    .map_err(|_| ConnectionError::frame_size("PING has not 8 bytes"))?;
                match header.has(flag::ACK) {
                    true => Frame::PingAck(data),
                    false => Frame::Ping(data),
                }
            }
            FrameKind::GOAWAY => {
                let (last_stream, rest) = split_number(payload)?;
                let (code, debug) = split_number(rest)?;
                Frame::GoAway {
                    last_stream: last_stream & STREAM_MASK,
                    code: ErrorCode(code),
                    debug,
                }
            }
            FrameKind::WINDOW_UPDATE => window_update(header, number(payload)? & STREAM_MASK)?,
            FrameKind::CONTINUATION => Frame::Continuation(payload),
            FrameKind::PRIORITY_UPDATE => {
                let (stream, value) = split_number(payload)?;
                Frame::PriorityUpdate(stream & STREAM_MASK, value)
            }
            FrameKind::ALTSVC => altsvc(payload),
            FrameKind::ORIGIN => Frame::Origin(payload),
            _ => Frame::Unknown,
        })
    }
}

/// Which frames are about a stream, and which about the connection.
fn check_stream(header: &FrameHeader) -> Result<(), ConnectionError> {
    let is_wrong = match header.kind {
        FrameKind::DATA
        | FrameKind::HEADERS
        | FrameKind::PRIORITY
        | FrameKind::RST_STREAM
        | FrameKind::PUSH_PROMISE
        | FrameKind::CONTINUATION => header.stream == 0,
        FrameKind::SETTINGS | FrameKind::PING | FrameKind::GOAWAY | FrameKind::PRIORITY_UPDATE => {
            header.stream != 0
        }
        _ => false,
    };
    if is_wrong {
        return Err(ConnectionError::protocol("a frame on a wrong stream"));
    }
    Ok(())
}

fn headers<'a>(header: &FrameHeader, payload: &'a [u8]) -> Result<Frame<'a>, ConnectionError> {
    let payload = without_padding(header, payload)?;
    if !header.has(flag::PRIORITY) {
        return Ok(Frame::Headers {
            fragment: payload,
            depends_on_itself: false,
        });
    }
    let (dependency, fragment) = payload
        .split_first_chunk::<5>()
        .ok_or(ConnectionError::frame_size("HEADERS is too short"))?;
    Ok(Frame::Headers {
        fragment,
        depends_on_itself: is_dependent(header, dependency),
    })
}

/// RFC 7540, section 5.3.1.
fn is_dependent(header: &FrameHeader, dependency: &[u8; 5]) -> bool {
    let [s0, s1, s2, s3, _weight] = *dependency;
    u32::from_be_bytes([s0, s1, s2, s3]) & STREAM_MASK == header.stream
}

/// What padding leaves of a payload (RFC 9113, section 6.1).
fn without_padding<'a>(
    header: &FrameHeader,
    payload: &'a [u8],
) -> Result<&'a [u8], ConnectionError> {
    if !header.has(flag::PADDED) {
        return Ok(payload);
    }
    let (&padding, rest) = payload
        .split_first()
        .ok_or(ConnectionError::frame_size("a padded frame is empty"))?;
    let length = rest.len().checked_sub(usize::from(padding));
    length
        .and_then(|length| rest.get(..length))
        .ok_or(ConnectionError::protocol("more padding than payload"))
}

fn settings<'a>(header: &FrameHeader, payload: &'a [u8]) -> Result<Frame<'a>, ConnectionError> {
    match (header.has(flag::ACK), payload.len()) {
        (true, 0) => Ok(Frame::SettingsAck),
        (false, length) if length % 6 == 0 => Ok(Frame::Settings(SettingsEntries { payload })),
        _ => Err(ConnectionError::frame_size("SETTINGS of a wrong size")),
    }
}

fn window_update(header: &FrameHeader, increment: u32) -> Result<Frame<'static>, FrameError> {
    match (increment, header.stream) {
        (0, 0) => Err(ConnectionError::protocol("a window grows by 0").into()),
        (0, _) => Err(FrameError::Stream(ErrorCode::PROTOCOL_ERROR)),
        _ => Ok(Frame::WindowUpdate(increment)),
    }
}

/// RFC 7838, section 4: one that is wrong means nothing.
fn altsvc(payload: &[u8]) -> Frame<'_> {
    let Some((length, rest)) = payload.split_first_chunk() else {
        return Frame::Unknown;
    };
    match rest.split_at_checked(u16::from_be_bytes(*length).into()) {
        Some((origin, value)) => Frame::AltSvc(origin, value),
        None => Frame::Unknown,
    }
}

/// A payload that is one number.
fn number(payload: &[u8]) -> Result<u32, ConnectionError> {
    match payload.split_first_chunk() {
        Some((number, [])) => Ok(u32::from_be_bytes(*number)),
        _ => Err(ConnectionError::frame_size("a frame that has not 4 bytes")),
    }
}

fn split_number(payload: &[u8]) -> Result<(u32, &[u8]), ConnectionError> {
    payload
        .split_first_chunk()
        .map(|(number, rest)| (u32::from_be_bytes(*number), rest))
        .ok_or(ConnectionError::frame_size("a frame that is too short"))
}
