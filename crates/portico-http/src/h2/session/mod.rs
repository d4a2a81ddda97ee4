//! A session: the server's side of one HTTP/2 connection, without its I/O.
//!
//! Bytes go into [`Session::receive`], which gives one event at a time; what is to be sent is appended to a buffer that
//! the caller passes along. Bodies never pass through: an event says where in the input a part of a request's body lies,
//! and [`Session::next_data`] says of which answer how many bytes come next. Time is passed in.

mod answers;
mod bodies;
mod core;
mod event;
mod field_blocks;
mod floods;
mod options;
mod peer_settings;
mod receiving;
mod requests;
mod reset_streams;
mod scheduler;
mod sending;
mod shutdown;
mod streams;
mod timeouts;

pub use self::core::{Session, StreamGone, TooManySettings};
pub use answers::AnswerHead;
pub use event::{Event, Received};
pub use options::{LocalSettings, SessionOptions};
pub use peer_settings::PeerSettings;
pub use receiving::PREFACE;
pub use sending::DataFrame;
pub use streams::StreamKey;
