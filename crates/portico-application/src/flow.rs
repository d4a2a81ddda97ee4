//! One answer on its way to the host: how far its window lets it go, and what waits.

use std::collections::VecDeque;

use portico_channel::shared::ANSWER_WINDOW_BYTES;
use portico_channel::{OutsideBody, Placing, padded};

/// Bytes of a body that travel in one record.
pub(crate) const PIECE_BYTES: usize = 64 * 1024;

/// One answer, or the bytes of a connection that was taken over.
#[derive(Debug)]
pub(crate) struct Flow {
    /// The request's number, 0 for a byte stream.
    pub(crate) sequence: u32,
    /// Bytes of records sent.
    pub(crate) sent: u64,
    /// Up to where more may be sent.
    pub(crate) granted: u64,
    pub(crate) held: VecDeque<Held>,
    /// It could send more, and waits for its turn because the channel was full.
    pub(crate) is_stalled: bool,
}

/// What waits for the window.
#[derive(Debug)]
pub(crate) enum Held {
    Record { bytes: Vec<u8>, ends: bool },
    Body(OutsideBody),
}

/// Whether the channel takes another record now. Without room large bodies stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Left,
    Full,
}

/// What the window lets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parcel<'a> {
    /// A record.
    Record(&'a [u8]),
    /// A record but for its body, and the body.
    Piece { record: &'a [u8], body: &'a [u8] },
    /// The program has taken the memory of a body away before it was sent: the connection can't go on.
    Gone,
}

/// The memory of a body has gone.
pub(crate) struct Gone;

/// How far what is kept of an answer was sent.
pub(crate) enum Sent {
    /// As far as the window allows. `ended`: to the answer's end.
    All { ended: bool },
    /// Until the channel was full.
    UntilFull,
}

impl Flow {
    pub(crate) fn new(sequence: u32) -> Self {
        Self {
            sequence,
            sent: 0,
            granted: ANSWER_WINDOW_BYTES,
            held: VecDeque::new(),
            is_stalled: false,
        }
    }

    /// Notes that only room is missing, if that is so. Returns whether it was not noted before.
    pub(crate) fn stalls(&mut self) -> bool {
        let stalls = !self.is_stalled && self.sent < self.granted && !self.held.is_empty();
        self.is_stalled |= stalls;
        stalls
    }

    /// Sends pieces of a body that lies in `bytes` until the window or the channel is full.
    pub(crate) fn send_body(
        &mut self,
        body: &mut OutsideBody,
        bytes: &[u8],
        send: &mut impl FnMut(Parcel<'_>) -> Room,
    ) -> Room {
        let mut room = Room::Left;
        while !body.is_done() && self.sent < self.granted && room == Room::Left {
            let (record, piece) = body.cut(PIECE_BYTES, Placing::Inside);
            let body = bytes.get(piece).unwrap_or_default();
            self.sent += u64::try_from(padded(record.len() + body.len())).unwrap_or(u64::MAX);
            let record = &record;
            room = send(Parcel::Piece { record, body });
        }
        room
    }

    /// Sends what is kept and the window and the channel allow.
    pub(crate) fn send_held(
        &mut self,
        send: &mut impl FnMut(Parcel<'_>) -> Room,
    ) -> Result<Sent, Gone> {
        let mut ended = false;
        let mut room = Room::Left;
        while self.sent < self.granted
            && room == Room::Left
            && let Some(held) = self.held.pop_front()
        {
            match held {
                Held::Record { bytes, ends } => {
                    self.sent += length_of(&bytes);
                    ended |= ends;
                    room = send(Parcel::Record(&bytes));
                }
                Held::Body(mut body) => {
                    let owner = body.owner().ok_or(Gone)?;
                    let bytes = body.bytes(&*owner).ok_or(Gone)?;
                    room = self.send_body(&mut body, bytes, send);
                    if body.is_done() {
                        ended |= body.ends();
                    } else {
                        self.held.push_front(Held::Body(body));
                    }
                }
            }
        }
        Ok(if self.stalls() {
            Sent::UntilFull
        } else {
            Sent::All { ended }
        })
    }
}

/// Length in a window's unit.
pub(crate) fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}
