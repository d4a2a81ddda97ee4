//! HTTP/2 (RFC 9113), as a server speaks it: field blocks ([`hpack`]), frames ([`frame`]), and the [`Session`] that makes
//! requests of them and frames of answers.
//!
//! A session has no socket, no clock and no buffer for bodies. Its owner gives it what was received, with the time, and
//! a buffer for what is to be sent; asks it for DATA when there is room for output; and tells it when an application has
//! read ([`Session::release`]), has more ([`Session::queue`]), or has had enough ([`Session::reset`]).
//!
//! ```
//! use portico_http::h2::hpack::OutgoingField;
//! use portico_http::h2::{ConnectionError, Event, Session, SessionOptions};
//!
//! /// Answers requests with `body`. Returns how much of `input` is done with.
//! fn turn(session: &mut Session, input: &[u8], now_ms: u64, body: &[u8], out: &mut Vec<u8>) -> Result<usize, ConnectionError> {
//!     let mut done = 0;
//!     loop {
//!         let received = session.receive(&input[done..], now_ms, out)?;
//!         done += received.consumed;
//!         match received.event {
//!             Event::NeedMore => break,
//!             Event::Request(stream) => {
//!                 let fields = [OutgoingField::new(b"content-type", b"text/plain")];
//!                 let _ = session.respond(stream, 200, fields, false, out);
//!                 let _ = session.queue(stream, body.len() as u64);
//!                 let _ = session.end(stream, out);
//!             }
//!             // Read and thrown away: the client may send more.
//!             Event::Data { stream, bytes, .. } => session.release(stream, bytes.len() as u32, out),
//!             Event::Reset { stream, .. } => session.let_go(stream, out),
//!             _ => {}
//!         }
//!     }
//!     // Small bodies go in one frame; of larger ones the owner keeps how much has been sent.
//!     while let Some(frame) = session.next_data(64 * 1024, out) {
//!         out.extend_from_slice(&body[..frame.bytes]);
//!     }
//!     Ok(done)
//! }
//!
//! let mut session = Session::new(&SessionOptions::default(), 0);
//! let mut out = Vec::new();
//! session.start(&mut out);
//! let input = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
//! assert_eq!(turn(&mut session, input, 0, b"hello", &mut out), Ok(input.len()));
//! ```

mod error;
mod field_section;
pub mod frame;
mod head;
pub mod hpack;
mod limits;
mod malformed;
mod priority;
mod pseudo_field;
mod session;

pub use error::{ConnectionError, ErrorCode};
pub use field_section::FieldSection;
pub use head::{Head, HeadRules, check_trailers};
pub use limits::{
    FIELD_OVERHEAD_BYTES, FloodLimit, MAX_CONTINUATIONS, MAX_DATA_BYTES, MAX_EARLY_PRIORITIES,
    MAX_EXCESS, MAX_OUTSTANDING_SETTINGS, MAX_WINDOW, SessionLimits, TINY_DATA_BYTES,
};
pub use malformed::Malformed;
pub use priority::Priority;
pub use session::{
    AnswerHead, DataFrame, Event, LocalSettings, PREFACE, PeerSettings, Received, Session,
    SessionOptions, StreamGone, StreamKey, TooManySettings,
};
