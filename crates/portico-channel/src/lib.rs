//! What an engine and an application say to each other, and how it travels.
//!
//! [`layout`] is the table of records. [`EventWriter`] and [`CommandWriter`] write them, [`Records`] reads them.
//! Nothing here knows sockets, HTTP or JavaScript. The engine and the Node add-on both stand on this crate.

mod command_writer;
mod event_writer;
pub mod layout;
mod record_reader;

pub use command_writer::{CommandWriter, Response};
pub use event_writer::{EventWriter, NeedSpace, Record, padded};
pub use record_reader::{Malformed, RecordView, Records};
