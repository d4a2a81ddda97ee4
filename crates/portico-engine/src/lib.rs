//! The HTTP engine: listeners, connections, timers and dispatch.
//!
//! The only crate with network I/O on the data path. It knows no JavaScript: an application is whoever reads the event
//! records and writes the command records of `portico_channel::layout`.
#![forbid(unsafe_code)]

mod agenda;
mod answer;
mod buffer_pool;
mod clock;
mod connection;
mod connection_table;
mod core;
#[cfg(test)]
mod echo;
mod exchange;
mod file_range;
mod filter;
mod h1;
mod h2;
mod ids;
mod limits;
mod listener;
mod offer;
mod options;
mod output_cache;
mod own_request;
mod pace;
mod protocol;
mod request_changes;
mod segments;
mod shard;
mod stop;
mod templates;
mod threaded;
mod timers;
mod tls_contexts;
mod transport;

pub use answer::{Answer, Segment};
pub use file_range::FileRange;
pub use filter::{AnswerFilter, BodyLength, CacheWish, FilteredHead, NewAnswer, NewHead};
pub use h2::Http2Load;
pub use ids::ListenerId;
pub use offer::{Offer, Offered, Responder};
pub use options::{Http2Options, ListenerOptions, Protocols};
pub use output_cache::{CacheSite, CacheStats, OutputCache, ShardCache};
pub use own_request::OwnRequest;
pub use portico_channel::{CommandError, Counters, TurnOutcome};
pub use request_changes::RequestChanges;
pub use shard::Shard;
pub use threaded::ThreadedEngine;
