//! The streams of a connection that are not over, as the application knows them.

use portico_channel::IdMap;
use portico_http::h2::{ErrorCode, StreamKey};

use crate::exchange::BodyWish;
use crate::offer::Waiting;
use crate::segments::Segments;

/// A request and its answer.
#[derive(Debug)]
pub(super) struct Exchange {
    /// The stream in the session.
    pub(super) key: StreamKey,
    /// When the request began.
    pub(super) started_ms: u64,
    /// A tunnel: its bytes have no end that could be late.
    pub(super) is_tunnel: bool,
    /// The method is HEAD.
    pub(super) is_head: bool,
    /// The request has ended, and the application has been told so.
    pub(super) is_received: bool,
    /// The application has not been told of it: a responder has answered.
    pub(super) is_untold: bool,
    /// It waits for its responder, with the record that tells the application of it.
    pub(super) waiting: Option<Box<(Waiting, Vec<u8>)>>,
    pub(super) wish: BodyWish,
    /// Bytes of its body that came while they were not wanted.
    pub(super) kept: Vec<u8>,
    /// Bytes of it that were dropped since the answer has been sent.
    pub(super) dropped: u64,
    /// What came behind them.
    pub(super) kept_end: Option<KeptEnd>,
    /// It is to be given up, for this reason.
    pub(super) gone: Option<ErrorCode>,
    pub(super) has_head: bool,
    /// The application has said all of its answer.
    pub(super) is_answered: bool,
    /// All of the answer has been framed.
    pub(super) is_sent: bool,
    /// Of the answer's body, what is not framed.
    pub(super) body: Segments,
    /// Bytes of the answer's body that were given, and that were framed.
    pub(super) given: u64,
    pub(super) framed: u64,
    /// Where in the body acknowledgements are due.
    pub(super) acks: Vec<u64>,
}

/// The end of a body that is kept.
#[derive(Debug)]
pub(super) enum KeptEnd {
    /// Without trailers.
    Plain,
    /// The record that tells it, with trailers.
    Record(Vec<u8>),
}

impl Exchange {
    pub(super) fn new(key: StreamKey, started_ms: u64) -> Self {
        Self {
            key,
            started_ms,
            is_tunnel: false,
            is_head: false,
            is_received: false,
            is_untold: false,
            waiting: None,
            wish: BodyWish::Bytes,
            kept: Vec::new(),
            dropped: 0,
            kept_end: None,
            gone: None,
            has_head: false,
            is_answered: false,
            is_sent: false,
            body: Segments::default(),
            given: 0,
            framed: 0,
            acks: Vec::new(),
        }
    }

    /// Whether its body is not told for now.
    pub(super) fn is_held(&self) -> bool {
        self.wish == BodyWish::Nothing || self.waiting.is_some() || !self.kept.is_empty()
    }

    /// Whether nothing more comes from either side.
    fn is_over(&self) -> bool {
        self.is_received && self.is_sent
    }
}

/// Exchanges by their streams' numbers.
#[derive(Debug, Default)]
pub(super) struct Exchanges {
    map: IdMap<u32, Exchange>,
    /// Those of which something is to be told, or settled: they are looked at before anything is read.
    due: Vec<u32>,
}

impl Exchanges {
    pub(super) fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Exchange)> {
        self.map
            .iter()
            .map(|(sequence, exchange)| (*sequence, exchange))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut Exchange)> {
        self.map
            .iter_mut()
            .map(|(sequence, exchange)| (*sequence, exchange))
    }

    pub(super) fn insert(&mut self, sequence: u32, exchange: Exchange) {
        self.map.insert(sequence, exchange);
    }

    #[inline]
    pub(super) fn find(&mut self, sequence: u32) -> Option<&mut Exchange> {
        self.map.get_mut(&sequence)
    }

    pub(super) fn has(&self, sequence: u32) -> bool {
        self.map.contains_key(&sequence)
    }

    pub(super) fn remove(&mut self, sequence: u32) -> Option<Exchange> {
        self.map.remove(&sequence)
    }

    /// Removes it if it is over. Returns whether it was.
    pub(super) fn remove_if_over(&mut self, sequence: u32) -> bool {
        let is_over = self.map.get(&sequence).is_some_and(Exchange::is_over);
        if is_over {
            self.map.remove(&sequence);
        }
        is_over
    }

    /// Forgets all but those that wait for their responder, which is told when the connection ends.
    pub(super) fn clear(&mut self) {
        self.map.retain(|_, exchange| {
            let waiting = exchange.waiting.as_ref();
            waiting.is_some_and(|waiting| waiting.0.is_open())
        });
        self.due.clear();
    }

    /// Has it looked at before anything is read.
    pub(super) fn make_due(&mut self, sequence: u32) {
        self.due.push(sequence);
    }

    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The next that is to be looked at, which stays so until [`Exchanges::done`] is called.
    pub(super) fn first_due(&self) -> Option<u32> {
        self.due.first().copied()
    }

    /// The first has been looked at.
    pub(super) fn done(&mut self) {
        self.due.remove(0);
    }
}
