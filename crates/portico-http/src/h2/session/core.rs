//! The session's state, and what touches several parts of it.

use std::collections::VecDeque;

use super::bodies::Body;
use super::event::Event;
use super::field_blocks::FieldBlock;
use super::floods::{Flood, Floods};
use super::options::{LocalSettings, SessionOptions};
use super::peer_settings::PeerSettings;
use super::receiving::Phase;
use super::reset_streams::ResetStreams;
use super::scheduler::Scheduler;
use super::shutdown::Shutdown;
use super::streams::{Stream, StreamKey, Streams};
use crate::h2::error::{ConnectionError, ErrorCode};
use crate::h2::field_section::FieldSection;
use crate::h2::frame::{write_rst_stream, write_settings, write_window_update};
use crate::h2::head::Head;
use crate::h2::hpack::{Decoder, Encoder};
use crate::h2::limits::{FloodLimit, MAX_OUTSTANDING_SETTINGS, MAX_WINDOW};
use crate::h2::priority::Priority;

/// The window of a connection before anything is said of it (RFC 9113, section 6.9.2).
pub(super) const FIRST_CONNECTION_WINDOW: u32 = 65_535;

/// The server's side of an HTTP/2 connection.
#[derive(Debug)]
pub struct Session {
    pub(super) options: SessionOptions,
    /// By [`Flood`].
    pub(super) flood_limits: [FloodLimit; 9],
    pub(super) floods: Floods,
    pub(super) now_ms: u64,

    // What is being received.
    pub(super) phase: Phase,
    pub(super) block: FieldBlock,
    pub(super) body: Option<Body>,
    pub(super) decoder: Decoder,
    pub(super) section: FieldSection,
    pub(super) head: Option<Head>,

    // Streams.
    pub(super) streams: Streams,
    /// Streams of the peer among them.
    pub(super) peer_streams: u32,
    pub(super) seen: ResetStreams,
    pub(super) early_priorities: Vec<(u32, Priority)>,
    pub(super) last_pushed: u32,
    pub(super) scheduler: Scheduler,
    /// A stream whose body has been sent, and whose trailers come next.
    pub(super) trailers_next: Option<StreamKey>,

    // Windows of the connection.
    pub(super) receive_window: i64,
    /// Bytes that were released, and that the peer has not been told of; less than 0 where the window was made smaller.
    pub(super) credit: i64,
    pub(super) send_window: i64,
    /// Since when answers wait for it; `u64::MAX`: none does.
    pub(super) blocked_since_ms: u64,
    /// DATA frames that a window made tiny since the last WINDOW_UPDATE.
    pub(super) tiny_frames: u32,
    /// Room for the streams whose windows SETTINGS changed.
    pub(super) changed: Vec<StreamKey>,
    /// What waits for a window may have waited too long at this time.
    pub(super) window_check_ms: u64,

    // Settings.
    /// What the peer has acknowledged.
    pub(super) local: LocalSettings,
    /// What it has not, and when it was sent.
    pub(super) unacknowledged: VecDeque<(LocalSettings, u64)>,
    pub(super) peer: PeerSettings,
    pub(super) encoder: Encoder,

    pub(super) shutdown: Shutdown,
}

/// The stream has ended, or what is asked of it can't be done any more: nothing was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamGone;

impl Session {
    /// A new one. `now_ms` counts from any time that stays the same.
    #[must_use]
    pub fn new(options: &SessionOptions, now_ms: u64) -> Self {
        let flood_limits = options.limits.floods();
        let peer = PeerSettings::default();
        let mut encoder = Encoder::new(peer.header_table_size);
        encoder.set_table_size(options.encoder_table_size.min(peer.header_table_size));
        Self {
            options: *options,
            flood_limits,
            floods: Floods::new(&flood_limits, now_ms),
            now_ms,
            phase: Phase::Preface(0),
            block: FieldBlock::default(),
            body: None,
            // What both sides begin with (RFC 9113, section 6.5.2); the peer keeps to ours when it acknowledges it.
            decoder: Decoder::new(peer.header_table_size),
            section: FieldSection::new(),
            head: None,
            streams: Streams::new(),
            peer_streams: 0,
            seen: ResetStreams::new(),
            early_priorities: Vec::new(),
            last_pushed: 0,
            scheduler: Scheduler::new(),
            trailers_next: None,
            receive_window: FIRST_CONNECTION_WINDOW.into(),
            credit: 0,
            send_window: FIRST_CONNECTION_WINDOW.into(),
            blocked_since_ms: u64::MAX,
            tiny_frames: 0,
            changed: Vec::new(),
            window_check_ms: u64::MAX,
            local: LocalSettings::default(),
            unacknowledged: VecDeque::new(),
            peer,
            encoder,
            shutdown: Shutdown::None,
        }
    }

    /// Sends our settings, which is the first that a server does (RFC 9113, section 3.4).
    pub fn start(&mut self, out: &mut Vec<u8>) {
        let settings = self.options.settings;
        write_settings(out, &settings.entries(&self.local, true));
        self.unacknowledged.push_back((settings, self.now_ms));
        let more = self
            .options
            .connection_window
            .saturating_sub(FIRST_CONNECTION_WINDOW);
        if more > 0 {
            write_window_update(out, 0, more);
            self.receive_window += i64::from(more);
        }
    }

    /// Sends other settings; they hold when the peer has acknowledged them.
    ///
    /// # Errors
    /// Too many have not been acknowledged.
    pub fn change_settings(
        &mut self,
        settings: LocalSettings,
        out: &mut Vec<u8>,
    ) -> Result<(), TooManySettings> {
        if self.unacknowledged.len() >= MAX_OUTSTANDING_SETTINGS {
            return Err(TooManySettings);
        }
        let known = self.sent_settings();
        write_settings(out, &settings.entries(&known, false));
        self.unacknowledged.push_back((settings, self.now_ms));
        Ok(())
    }

    /// Changes how many bytes all request bodies together may have under way or unread, at most 2^31 - 1. Less than before takes effect as
    /// the application reads: what has been allowed can't be taken back.
    pub fn set_connection_window(&mut self, size: u32, out: &mut Vec<u8>) {
        let size = size.min(MAX_WINDOW as u32);
        self.credit += i64::from(size) - i64::from(self.options.connection_window);
        self.options.connection_window = size;
        self.give_credit(out);
    }

    /// Whether a field block has begun and not ended. Such a client may be waited for only so long.
    #[must_use]
    pub fn is_in_field_block(&self) -> bool {
        self.phase == Phase::Continuation
    }

    /// Our settings as far as the peer has acknowledged them.
    #[must_use]
    pub fn local_settings(&self) -> &LocalSettings {
        &self.local
    }

    /// Our settings as they were sent last, acknowledged or not.
    #[must_use]
    pub fn sent_settings(&self) -> LocalSettings {
        self.unacknowledged
            .back()
            .map_or(self.local, |(settings, _)| *settings)
    }

    /// The peer's settings.
    #[must_use]
    pub fn peer_settings(&self) -> &PeerSettings {
        &self.peer
    }

    /// The head of the last [`Event::Request`].
    #[must_use]
    pub fn head(&self) -> Option<&Head> {
        self.head.as_ref()
    }

    /// The bytes and fields of the last [`Event::Request`] or [`Event::Trailers`].
    #[must_use]
    pub fn section(&self) -> &FieldSection {
        &self.section
    }

    /// Streams that are open, or that the application has not let go of.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// The highest stream that the peer has opened.
    #[must_use]
    pub fn last_stream(&self) -> u32 {
        self.seen.last()
    }

    /// Ends a stream by an error, or tells the peer with NO_ERROR that the rest of its request is not needed (RFC
    /// 9113, section 8.1). What is queued is dropped.
    ///
    /// # Errors
    /// The stream has gone; its place is then free too.
    pub fn reset(
        &mut self,
        key: StreamKey,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) -> Result<(), StreamGone> {
        let stream = self.streams.get(key).ok_or(StreamGone)?;
        if !stream.is_dead {
            write_rst_stream(out, key.id, code);
            self.seen.insert(key.id);
        }
        self.free(key, out);
        Ok(())
    }

    /// The application has nothing to do any more with a stream that was reset. Until then it counts as open, so that
    /// a client that resets its requests can't have more of them worked on than others.
    pub fn let_go(&mut self, key: StreamKey, out: &mut Vec<u8>) {
        if self.streams.get(key).is_some_and(|stream| stream.is_dead) {
            self.free(key, out);
        }
    }

    /// An error of the peer in a stream (RFC 9113, section 5.4.2). The event, if the application knows the stream.
    pub(super) fn stream_error(
        &mut self,
        id: u32,
        code: ErrorCode,
        out: &mut Vec<u8>,
    ) -> Result<Option<Event>, ConnectionError> {
        self.count(Flood::ForcedResets)?;
        if self.seen.contains(id) && id % 2 == 1 {
            // It has been told.
            return Ok(None);
        }
        write_rst_stream(out, id, code);
        self.seen.insert(id);
        let Some(key) = self.streams.find(id) else {
            return Ok(None);
        };
        Ok(self.kill(key).then_some(Event::Reset {
            stream: key,
            code,
            by_peer: false,
        }))
    }

    /// Ends both sides of a stream whose place is kept. False if it had ended so before.
    pub(super) fn kill(&mut self, key: StreamKey) -> bool {
        self.scheduler.remove(&mut self.streams, key);
        self.forget_blocked();
        let Some(stream) = self.streams.get_mut(key).filter(|stream| !stream.is_dead) else {
            return false;
        };
        stream.is_dead = true;
        stream.receives_more = false;
        stream.sends_more = false;
        stream.queued = 0;
        stream.blocked_since_ms = u64::MAX;
        true
    }

    /// Frees a stream's place if both sides have ended in order. What the application has not released of the request
    /// then is its own.
    pub(super) fn free_if_closed(&mut self, key: StreamKey, out: &mut Vec<u8>) {
        let is_closed =
            |stream: &Stream| !stream.receives_more && !stream.sends_more && !stream.is_dead;
        if self.streams.get(key).is_some_and(is_closed) {
            self.free(key, out);
        }
    }

    /// Frees a stream's place. What it held of the connection's window is given back.
    pub(super) fn free(&mut self, key: StreamKey, out: &mut Vec<u8>) {
        self.scheduler.remove(&mut self.streams, key);
        self.forget_blocked();
        let Some(stream) = self.streams.get(key) else {
            return;
        };
        let held = stream.held;
        self.streams.remove(key);
        if key.id % 2 == 1 {
            self.peer_streams -= 1;
        }
        self.release_connection(held, out);
    }

    /// Counts what may be a flood.
    #[inline]
    pub(super) fn count(&mut self, flood: Flood) -> Result<(), ConnectionError> {
        self.floods.count(flood, &self.flood_limits, self.now_ms)
    }

    /// Something useful was done that allows more.
    #[inline]
    pub(super) fn allow(&mut self, flood: Flood, count: u32) {
        self.floods.allow(flood, count, &self.flood_limits);
    }
}

/// More settings are under way than [`MAX_OUTSTANDING_SETTINGS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManySettings;
