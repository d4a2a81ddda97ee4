//! What an engine and an application say to each other, and how it travels.
//!
//! [`layout`] is the table of records, in the language of [`schema`]: the only place that knows where a word stands.
//! [`EventWriter`] and [`CommandWriter`] write them, [`Records`] reads them, [`token`] takes connection tokens apart. A body
//! may stay beside its record, in the application's memory ([`External`]). [`ring`] carries records between threads,
//! [`shared`] between processes, [`Sleeper`] says who must be woken, and a [`Mailbox`] takes control calls. Nothing here
//! knows sockets, HTTP or JavaScript. The engine, the host and the Node add-on stand on this crate.

mod command_writer;
mod counters;
mod event_writer;
mod external;
mod id_map;
pub mod layout;
mod mailbox;
mod outcome;
mod outside_body;
mod record_reader;
mod ring;
pub mod schema;
pub mod shared;
mod sleeper;
mod sync;
pub mod token;

pub use command_writer::{CommandWriter, Response, opening};
pub use counters::Counters;
pub use event_writer::{EventWriter, NeedSpace, Room, padded};
pub use external::{External, LentBytes};
pub use id_map::{IdHasher, IdMap};
pub use mailbox::{Mailbox, Task};
pub use outcome::{CommandError, TurnOutcome};
pub use outside_body::{OutsideBody, Placing};
pub use record_reader::{Malformed, RecordView, Records, record_size};
pub use ring::{RingReader, RingWriter, ring};
pub use sleeper::Sleeper;
