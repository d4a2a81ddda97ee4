//! Everything that a client or a member can make the host keep, and every other bound of the dispatcher, in one table.
//!
//! What is said of a queue or a member holds for all shards of a host together.
//!
//! | what is kept | for | at most |
//! |---|---|---|
//! | requests that no member has taken | a queue | `QueueOptions::length` with their body and as many without × (a head and its table, 64 KiB + 16 KiB, and [`WAITING_BYTES`] of body) |
//! | requests without their body | a queue | `QueueOptions::max_uploads` for each member; of one client address a sixteenth when half of them are there |
//! | events a member has not taken | a member | [`FULL_BYTES`] of requests (then others get them), [`BEHIND_BYTES`] and one turn of bodies; [`BACKLOG_BYTES`] of everything: then it is dropped |
//! | output a client has not read | an answer or tunnel | `ANSWER_WINDOW_BYTES` and one record, whose body has [`ANSWER_RECORD_BYTES`] at most; answers of a connection: [`PIPELINED_REQUESTS`] |
//! | events its members have not taken | a user | [`BACKLOG_BYTES_OF_A_USER`], apart from [`BACKLOG_FREE_BYTES`] of each; then members that have more get no requests and bodies, and at twice as much those that are told more are dropped |
//! | everything | a connection of HTTP/2 | [`STREAMS_BYTES`]: [`CONCURRENT_STREAMS`], each as above |
//! | everything | a connection | [`CONNECTION_BYTES`]; where a member's heads are longer than a request's may be, what is beyond that |
//! | templates | a member | 255 × `TEMPLATE_BYTES` |
//! | templates | a user | [`TEMPLATE_BYTES_OF_A_USER`] |
//! | a record that comes in parts | a member | [`RECORD_BYTES`], for [`UNFINISHED_MS`] |
//! | records that come in parts | a user | [`UNFINISHED_BYTES_OF_A_USER`] |
//! | acknowledgements | an answer | one per record of its window: records have 20 bytes or more |
//! | a record to be applied | a shard | the capacity of the largest channel, or [`RECORD_BYTES`] |
//! | members that know a connection | a connection | the members attached |
//! | CPU of one member's commands | a round | [`TURN_BYTES`], then the others get theirs |

use portico_channel::shared::ANSWER_WINDOW_BYTES;

/// Bytes that a member may be behind before the connections whose bodies go to it are no longer read.
pub(crate) const BEHIND_BYTES: usize = 1024 * 1024;
/// Bytes at which they are read again.
pub(crate) const CAUGHT_UP_BYTES: usize = 256 * 1024;
/// Bytes that a member may be behind before requests go to others of its queue, or wait.
pub(crate) const FULL_BYTES: usize = 16 * 1024 * 1024;
/// Bytes that a member may be behind before it is dropped: it reads nothing and makes ever more events.
pub(crate) const BACKLOG_BYTES: usize = 64 * 1024 * 1024;
/// Bytes that all members of a user on all shards may be behind, in memory: a thousand that are behind by as much as a
/// channel's memory holds, or eight that take no requests at all.
pub(crate) const BACKLOG_BYTES_OF_A_USER: usize = 128 * 1024 * 1024;
/// Bytes that a member may be behind whatever the others of its user are, and that its memory is not counted for.
pub(crate) const BACKLOG_FREE_BYTES: usize = 64 * 1024;
/// Bytes of a request that waits in its queue before its connection is no longer read.
pub(crate) const WAITING_BYTES: usize = 16 * 1024;
/// Bytes of commands copied at a time; more only for a record that is larger.
pub(crate) const COPY_BYTES: usize = 256 * 1024;
/// Bytes of commands of one member handled before the others get their turn.
pub(crate) const TURN_BYTES: usize = 256 * 1024;
/// Requests of one connection that wait for their answers: each may have a head and a window of its own.
pub(crate) const PIPELINED_REQUESTS: usize = 8;
/// Bytes of a body in one record of an answer. The application's end cuts what is larger into pieces.
pub(crate) const ANSWER_RECORD_BYTES: u32 = 128 * 1024;
/// Bytes that one connection can make the host hold, however it pipelines: heads of requests with their tables, the start
/// of a body, and answers that it does not read.
pub(crate) const CONNECTION_BYTES: usize = 4 * 1024 * 1024;

const _: () = {
    let head = MAX_HEADER_SIZE + MAX_HEADER_SIZE / 4;
    let answer = ANSWER_WINDOW_BYTES as usize + ANSWER_RECORD_BYTES as usize;
    assert!(PIPELINED_REQUESTS * (head + answer) + WAITING_BYTES <= CONNECTION_BYTES);
};
/// Streams of one connection (HTTP/2) that may be open: each may have a head and a window of its own. A client that wants
/// more at a time waits, or opens another connection.
pub(crate) const CONCURRENT_STREAMS: u32 = 32;
/// What [`CONNECTION_BYTES`] is to a connection of HTTP/2.
pub(crate) const STREAMS_BYTES: usize = 16 * 1024 * 1024;

const _: () = {
    let head = MAX_HEADER_SIZE + MAX_HEADER_SIZE / 4;
    let answer = ANSWER_WINDOW_BYTES as usize + ANSWER_RECORD_BYTES as usize;
    assert!(CONCURRENT_STREAMS as usize * (head + answer) + WAITING_BYTES <= STREAMS_BYTES);
};
/// Bytes of a record that comes in parts.
pub(crate) const RECORD_BYTES: usize = portico_channel::layout::RECORD_BYTES as usize;
/// Bytes of records that come in parts, of one user's members on all shards. Only a head of more than half a channel comes
/// in parts, and is whole within a few turns.
pub(crate) const UNFINISHED_BYTES_OF_A_USER: usize = 64 * 1024 * 1024;
/// Milliseconds that the answer to broken bytes waits for earlier answers of which nothing moves, as the engine's
/// `UNREAD_END_MS`.
pub(crate) const BROKEN_MS: u64 = 5_000;
/// Milliseconds from the first part of a record to the last.
pub(crate) const UNFINISHED_MS: u64 = 30_000;
/// Bytes of templates of one user's members on all shards: a thousand channels with 255 heads of a kilobyte each.
pub(crate) const TEMPLATE_BYTES_OF_A_USER: usize = 256 * 1024 * 1024;
/// Bytes of a head kept under a number.
pub(crate) const TEMPLATE_BYTES: usize = portico_channel::layout::TEMPLATE_BYTES as usize;
/// Template numbers are below this, as in the engine.
pub(crate) const TEMPLATES: usize = 256;
/// Memory for the events of one turn.
pub(crate) const EVENT_BYTES: usize = 256 * 1024;
/// Largest `max_header_size` behind a host: with its table of fields a head must fit into a channel.
pub(crate) const MAX_HEADER_SIZE: usize = 64 * 1024;
