//! Every bound of the engine that is not an option of a listener, in one table.
//!
//! Options (with Node's defaults) are in [`crate::ListenerOptions`].

/// Bytes received by one call into the shard's buffer. 64 KB is what libuv offers to each read.
pub(crate) const RECEIVE_BYTES: usize = 64 * 1024;

/// Receive calls for one connection in one turn: others wait meanwhile, and an application that wants to pause gets
/// its chance after so many bytes.
pub(crate) const READS_PER_TURN: u32 = 2;

/// Ready descriptors handled in one turn.
pub(crate) const READY_PER_TURN: usize = 256;

/// Connections accepted from one listener in one turn.
pub(crate) const ACCEPTS_PER_TURN: u32 = 64;

/// Pause after accepting failed for want of descriptors or memory, milliseconds.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 100;

/// Requests of one connection that may wait for their answers. Parsing stops beyond; the peer feels it by TCP. Node has
/// no such limit (only one on bytes of answers that wait, as we do); no client is known to come near this one. A host has
/// a smaller one ([`crate::Shard::limit_pipelining`]).
pub(crate) const PIPELINED_REQUESTS: usize = 1024;

/// Output of a connection beyond which no more than one request is handed over. From `high_water_mark` on no more is
/// read, but what has come is handed over, as in Node.
pub(crate) const PACKET_OUTPUT_BYTES: usize = 1024 * 1024;

/// Requests of one connection handed over in one turn, though more have come in the same packet. The application's
/// answers are looked at between two turns, so that what waits of them stays within
/// [`PACKET_OUTPUT_BYTES`]. Node hands a packet over to its end; no client is known to pipeline so many at once.
pub(crate) const REQUESTS_PER_TURN: u8 = 64;

/// Smallest piece of a body that is handed over when the event memory is nearly full; less than that asks for more
/// memory instead.
pub(crate) const BODY_PIECE_BYTES: usize = 4 * 1024;

/// Least that a body must lack for its next part to be read straight to where its event lies. A smaller rest is read into
/// the shard's buffer together with what follows it, so that one call empties the socket.
pub(crate) const IN_PLACE_BYTES: usize = 16 * 1024;

/// Most that is read at once straight to where its event lies, so that the event fits into a slab of 64 KB.
pub(crate) const IN_PLACE_READ_BYTES: usize = RECEIVE_BYTES - 512;

/// Event memory that is enough for the next read of a peer that sends more than one read takes: its bytes are torn
/// wherever a read ends.
pub(crate) const STREAM_ROOM_BYTES: usize = 48 * 1024;

/// Longest interval between two looks at how fast peers are, milliseconds; `connections_checking_interval` if that is
/// shorter.
pub(crate) const PACE_CHECK_MS: u64 = 5_000;

/// Bytes that a peer which sends a body may be behind `min_bytes_per_second`: 17 seconds of the host's default of 240, for
/// lines on which packets get lost.
pub(crate) const SENDER_GRACE_BYTES: i64 = 4 * 1024;

/// The same for a peer that reads an answer: a receiver may keep its window shut until it has room for so many.
pub(crate) const READER_GRACE_BYTES: i64 = 64 * 1024;

/// Bytes that a peer may be ahead of `min_bytes_per_second`; more does not help it later.
pub(crate) const PACE_CREDIT_BYTES: i64 = 64 * 1024;

/// How long a request waits for its responder before it is passed to the application, milliseconds.
pub(crate) const OFFER_WAIT_MS: u64 = 30_000;

/// How often requests that wait for their responder are looked at, milliseconds.
pub(crate) const OFFER_CHECK_MS: u64 = 1_000;

/// Requests that wait for the answer to an equal one; more go to the application.
pub(crate) const COALESCED_REQUESTS: usize = 1024;

/// How long a request waits for the answer to an equal one, milliseconds. nginx's `proxy_cache_lock_timeout` is as long.
pub(crate) const COALESCED_WAIT_MS: u64 = 5_000;

/// Keys of which it is remembered whether their last answer was stored; a hash for each.
pub(crate) const REMEMBERED_OUTCOMES: usize = 4096;

/// Requests that the engine makes by itself, at once on one shard; those beyond are not made.
pub(crate) const OWN_REQUESTS: usize = 64;

/// After how long the application is told that the connection of such a request is inactive, milliseconds.
pub(crate) const OWN_REQUEST_MS: u32 = 30_000;

/// How long the application is not asked again in the background for an answer that is kept, milliseconds.
pub(crate) const REFRESH_PAUSE_MS: u64 = 5_000;

/// How long requests that have waited get what stands in for the answer of an application that has failed, without asking
/// it themselves, milliseconds.
pub(crate) const FAILURE_MS: u64 = 1_000;

/// Tags of an answer that is kept. One with more is not kept.
pub(crate) const TAGS: usize = 128;

/// The same in bytes.
pub(crate) const TAG_BYTES: usize = 8 * 1024;

/// How often answers that are of no more use are looked for, milliseconds.
pub(crate) const CACHE_EXPIRY_MS: u64 = 1_000;

/// How many of each part of the store are looked at then.
pub(crate) const CACHE_EXPIRY_STEP: usize = 64;

/// Template numbers are below this.
pub(crate) const MAX_TEMPLATES: usize = 256;

/// Lingering close: how long the peer's remaining bytes are read and dropped so that our last answer isn't reset
/// (RFC 9112, 9.6), milliseconds.
pub(crate) const LINGER_MS: u64 = 5_000;

/// Lingering close: how long it may last while the peer still takes our answer, milliseconds.
pub(crate) const LINGER_TOTAL_MS: u64 = 60_000;

/// Lingering close: bytes dropped at most.
pub(crate) const LINGER_BYTES: u64 = 1024 * 1024;

/// How long a peer that has ended its side may wait for the requests that are not read for now, while nothing moves,
/// before the application is told of its end, milliseconds. Node reads without bound and tells of the end at once: a
/// client that still waits for its answers gets more of them here, and one that has gone holds up nothing for longer.
pub(crate) const UNREAD_END_MS: u64 = 5_000;

/// How long the application may take to end a connection after `CLIENT_ERROR`, milliseconds.
pub(crate) const CLIENT_ERROR_MS: u64 = 120_000;

/// Bytes of output buffers that a shard keeps for reuse; they stay after a burst.
pub(crate) const POOLED_BYTES: usize = 4 * 1024 * 1024;

/// Bytes of a new output buffer.
pub(crate) const BUFFER_BYTES: usize = 512;

/// Buffers that grew beyond are given back to the system, not to the pool.
pub(crate) const POOLED_BUFFER_BYTES: usize = 256 * 1024;

/// Bytes already sent at the front of an output buffer that are worth moving the rest for.
pub(crate) const COMPACT_BYTES: usize = 64 * 1024;

/// Output encrypted at a time: four full TLS records.
pub(crate) const TLS_BATCH_BYTES: usize = 64 * 1024;

/// Bytes of a file read at a time where they can't be sent by the kernel: what TLS encrypts at a time.
pub(crate) const FILE_READ_BYTES: usize = TLS_BATCH_BYTES;

/// Records on the wire that a batch may still be put behind, to be sent with it: two session tickets. With a client's
/// certificates in them they are longer, and go by themselves.
pub(crate) const TLS_JOINED_BYTES: usize = 1024;

/// Connections of one shard.
pub(crate) const CONNECTIONS: usize = portico_channel::token::SLOT_MASK as usize;

/// Largest `max_header_size` that is honoured: a request's event must fit into the event memory.
pub(crate) const MAX_HEADER_SIZE: u32 = portico_channel::layout::HEAD_BYTES;

/// Outside bytes up to which copying into the queue is cheaper than keeping them where they are.
pub(crate) const EXTERNAL_COPY_BYTES: usize = 4 * 1024;

/// Bytes sent for one connection in one turn, about: others wait meanwhile. More than a socket's buffer mostly takes.
pub(crate) const FLUSH_BYTES: usize = 2 * 1024 * 1024;

/// Bytes sent at most for a connection that is about to be destroyed: more than the kernel takes at once of any peer. A file
/// that is read as fast as it is sent would keep the shard otherwise.
pub(crate) const LAST_FLUSH_BYTES: usize = 64 * 1024 * 1024;

/// Pieces of one vectored send.
pub(crate) const SEND_PIECES: usize = 16;

/// With threads: bytes of each of the two rings between the application and one engine thread. A record may take half of
/// one.
pub(crate) const RING_BYTES: usize = 2 * 1024 * 1024;

/// With threads: bytes of a record, or of a body outside of it, beyond which they travel beside the ring.
pub(crate) const BESIDE_BYTES: usize = 64 * 1024;

/// With threads: bytes of buffers for bodies kept for reuse, for each engine thread. Like [`POOLED_BYTES`], they stay
/// after a burst.
pub(crate) const SPARE_BYTES: usize = 4 * 1024 * 1024;

/// With threads: free bytes in the ring of events with which a turn begins.
pub(crate) const TURN_ROOM_BYTES: usize = 16 * 1024;

/// With threads: bytes of large bodies on their way to one engine thread beyond which each answer gets only the small
/// window.
pub(crate) const LENT_BYTES: usize = 16 * 1024 * 1024;

/// With threads: bytes of one answer's large bodies on their way to its engine thread, and one piece.
pub(crate) const LENT_WINDOW_BYTES: usize = 1024 * 1024;

/// The same where much is on its way already; and for all answers of a connection together whose turn has not come.
pub(crate) const LENT_SMALL_WINDOW_BYTES: usize = 64 * 1024;

/// With threads: bytes of a large body that cross to the engine thread as one piece.
pub(crate) const LENT_PIECE_BYTES: usize = 128 * 1024;

/// HTTP/2: bytes of answers' bodies that are framed ahead of what the kernel takes. Behind them a more urgent answer waits.
pub(crate) const H2_FRAMED_BYTES: usize = 128 * 1024;

/// HTTP/2: bytes of output beyond which nothing is read: a client that makes us speak (PING, SETTINGS, requests that are
/// refused) and does not listen waits.
pub(crate) const H2_QUEUED_BYTES: usize = 256 * 1024;

/// HTTP/2: bytes of a body that was paused that are handed over in one event.
pub(crate) const H2_KEPT_PIECE_BYTES: usize = 16 * 1024;

/// Bytes that an application may say in one frame about a session of HTTP/2 (debug data, origins, services): what any peer
/// takes, less the largest head of such a frame. More is left out.
pub(crate) const H2_SESSION_BYTES: usize = 16 * 1024 - 16;

/// Free event memory without which no socket is read.
pub(crate) const READ_ROOM_BYTES: usize = 4 * 1024;

/// Connections that linger at one time; beyond, they are closed at once.
pub(crate) const LINGERING: usize = 4096;
