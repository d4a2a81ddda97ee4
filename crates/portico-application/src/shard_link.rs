//! One shard of the host as its application sees it: a channel's end, and what found no room in it.

use std::collections::VecDeque;

use portico_channel::layout::{command, destroy_flag, event, response_flag};
use portico_channel::schema::Record;
use portico_channel::shared::{ApplicationEnd, Broken};
use portico_channel::token::Division;
use portico_channel::{
    CommandWriter, EventWriter, External, RecordView, Records, Response, opening,
};
use portico_sys::Ringer;

use crate::answer_windows::AnswerWindows;
use crate::flow::{PIECE_BYTES, Parcel, Room};
use crate::scan::{Over, Scanned, Taken, scan};
use crate::traffic::Traffic;

/// Bytes of a record that the host takes.
const RECORD_BYTES: usize = portico_channel::layout::RECORD_BYTES as usize;

/// One shard as its application sees it.
#[derive(Debug)]
pub(crate) struct ShardLink {
    end: ApplicationEnd,
    ringer: Ringer,
    /// Records that found no room, in order.
    waiting: VecDeque<Vec<u8>>,
    /// Records beyond the windows of their answers.
    windows: AnswerWindows,
    traffic: Traffic,
    /// Credits of the records taken last; empty between calls.
    credits: Vec<event::Credit>,
    /// Connections and exchanges whose end was in the records taken last. The application may still write about them before it reads
    /// of it.
    over: Vec<Over>,
    /// The host broke the rules, or is of no more use.
    pub(crate) broken: bool,
}

impl ShardLink {
    pub(crate) fn new(end: ApplicationEnd, ringer: Ringer, division: Division) -> Self {
        Self {
            end,
            ringer,
            waiting: VecDeque::new(),
            windows: AnswerWindows::default(),
            traffic: Traffic::new(division),
            credits: Vec::new(),
            over: Vec::new(),
            broken: false,
        }
    }

    /// Copies whole records. `closed` is told the tokens of connections that have gone.
    pub(crate) fn take(
        &mut self,
        events: &mut EventWriter<'_>,
        mut closed: impl FnMut(u32),
    ) -> Taken {
        let mut taken = Taken::default();
        if self.broken {
            return taken;
        }
        let Self {
            end,
            windows,
            traffic,
            credits,
            over: gone,
            ..
        } = self;
        for over in gone.drain(..) {
            windows.forget(over);
        }
        let reader = &mut end.events;
        let result = events.fill(|memory| {
            let copied = reader.copy(memory)?;
            let is_full = memory.len() - copied < 4;
            let records = memory.get_mut(..copied).unwrap_or_default();
            let Scanned {
                used,
                kept,
                lacking,
            } = scan(records, &mut taken, credits, traffic, |over| {
                windows.forget(over);
                gone.push(over);
                if let Over::Connection(token) = over {
                    closed(token);
                }
            })?;
            reader.take(used)?;
            taken.lacking = lacking.or_else(|| {
                // There is more, and not even its size fits.
                (is_full && reader.available() != Ok(0)).then_some(4096)
            });
            Ok::<usize, Broken>(kept)
        });
        self.broken |= result.is_err();
        self.take_credits();
        if self.end.host_wants_room().must_be_woken() {
            self.ringer.ring();
        }
        taken
    }

    /// Sends what was beyond a window that has moved.
    fn take_credits(&mut self) {
        if self.credits.is_empty() {
            return;
        }
        let mut windows = std::mem::take(&mut self.windows);
        for credit in std::mem::take(&mut self.credits) {
            let event::Credit {
                token,
                sequence,
                granted_bytes,
            } = credit;
            windows.credit(token, sequence, granted_bytes, self.room(), |parcel| {
                self.write_parcel(token, parcel)
            });
        }
        self.windows = windows;
        self.send_waiting();
        self.ring_if_asleep();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.end.events.available().unwrap_or(0) == 0
    }

    /// The application is going to sleep; look once more afterwards.
    pub(crate) fn fall_asleep(&self) {
        self.end.application().fall_asleep();
    }

    pub(crate) fn wake_up(&self) {
        self.end.application().wake_up();
    }

    /// Queues a record. `external` is its body where the record says so.
    pub(crate) fn queue(
        &mut self,
        record: RecordView<'_>,
        bytes: &[u8],
        external: Option<External<'_>>,
    ) {
        self.traffic.count_command(record);
        let has_body = matches!(
            record.kind(),
            command::RESPOND | command::DATA | command::RAW
        ) && record.flags() & response_flag::EXTERNAL != 0;
        match external.filter(|_| has_body) {
            Some(body) => self.queue_with_body(record, body),
            None if bytes.len() > 2 * PIECE_BYTES => self.queue_large(record, bytes),
            None => self.send(record, bytes),
        }
    }

    /// Bytes that this process has read and written on a connection so far.
    pub(crate) fn traffic(&self, token: u32) -> Option<(u64, u64)> {
        self.traffic.of(token)
    }

    /// Rings if the host sleeps.
    pub(crate) fn ring_if_asleep(&self) {
        if self.end.host().must_be_woken() {
            self.ringer.ring();
        }
    }

    /// Moves what waits into the channel as far as there is room, then what stayed in the program's memory for want of
    /// it. If some is left, the host wakes us.
    pub(crate) fn send_waiting(&mut self) {
        if self.waiting.is_empty() && !self.windows.has_stalled() {
            return;
        }
        self.end.wants_room().fall_asleep();
        loop {
            self.move_waiting();
            if self.room() == Room::Full || !self.windows.has_stalled() {
                break;
            }
            let mut windows = std::mem::take(&mut self.windows);
            windows.send_stalled(|token, parcel| self.write_parcel(token, parcel));
            self.windows = windows;
        }
        if self.waiting.is_empty() {
            self.end.wants_room().wake_up();
        }
        self.ring_if_asleep();
    }

    fn move_waiting(&mut self) {
        while let Some(record) = self.waiting.front() {
            match self.end.commands.write(record) {
                Ok(true) => {
                    self.waiting.pop_front();
                }
                Ok(false) => break,
                Err(Broken) => {
                    self.broken = true;
                    self.waiting.clear();
                }
            }
        }
    }

    /// Whether the channel took all that there was so far.
    fn room(&self) -> Room {
        if self.waiting.is_empty() {
            Room::Left
        } else {
            Room::Full
        }
    }

    /// A record that is too large for a window, or even for the channel: its body travels in pieces.
    fn queue_large(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        let body = match record.kind() {
            command::RESPOND => record.read::<command::Respond>().map(|head| head.body()),
            command::DATA => record.read::<command::Data>().map(|data| data.body()),
            command::RAW => record.read::<command::Raw>().map(|raw| raw.body()),
            _ => None,
        };
        match body {
            Some(body) => self.queue_with_body(record, body.into()),
            None => self.send(record, bytes),
        }
    }

    /// A body that lies outside of its record goes into it; a large one becomes several records.
    fn queue_with_body(&mut self, record: RecordView<'_>, body: External<'_>) {
        let token = record.token();
        let head = match record.kind() {
            command::RESPOND => record.read::<command::Respond>(),
            _ => None,
        };
        let head_bytes = head.map_or(0, |head| head.reason().len() + head.fields().len());
        if head_bytes + command::Respond::BYTES + PIECE_BYTES > RECORD_BYTES {
            return self.send_refusal(record);
        }
        let mut windows = std::mem::take(&mut self.windows);
        windows.lend(record, body, self.room(), |parcel| {
            self.write_parcel(token, parcel)
        });
        self.windows = windows;
    }

    fn write_parcel(&mut self, token: u32, parcel: Parcel<'_>) -> Room {
        match parcel {
            Parcel::Record(record) => self.write(&[record]),
            Parcel::Piece { record, body } => {
                let padding = (record.len() + body.len()).wrapping_neg() % 4;
                self.write(&[record, body, [0; 3].get(..padding).unwrap_or_default()]);
            }
            Parcel::Gone => {
                let mut end = CommandWriter::new();
                end.write(destroy_flag::RESET, command::Destroy { token }, &[]);
                self.write(&[end.as_bytes()]);
            }
        }
        self.room()
    }

    /// Sends a record if its answer's window has room; else later.
    fn send(&mut self, record: RecordView<'_>, bytes: &[u8]) {
        if bytes.len() > RECORD_BYTES {
            return self.send_refusal(record);
        }
        if self.windows.admit(record, &[bytes]) {
            self.write(&[bytes]);
        }
    }

    /// In place of a record that is larger than any may be: a head of no status, so that the host answers the request with
    /// 502, or trailers that are none, so that it ends the answer that has begun. An interim response is left out.
    fn send_refusal(&mut self, record: RecordView<'_>) {
        let (token, sequence) = (record.token(), record.sequence());
        let mut refusal = CommandWriter::new();
        match record.kind() {
            command::RESPOND => {
                let nothing = Response {
                    flags: response_flag::END,
                    ..Response::default()
                };
                refusal.respond(token, sequence, &nothing);
            }
            command::END => refusal.end(token, sequence, record.flags(), b"\n"),
            _ => return,
        }
        let bytes = refusal.as_bytes();
        if let Some(Ok(record)) = Records::new(bytes).next()
            && self.windows.admit(record, &[bytes])
        {
            self.write(&[bytes]);
        }
    }

    /// Writes a record; in parts if it would take too much of the channel, or never fit.
    fn write(&mut self, parts: &[&[u8]]) {
        let capacity = self.end.commands.capacity();
        if total(parts) <= capacity / 2 {
            return self.write_whole(parts);
        }
        let whole = parts.concat();
        let piece_bytes = capacity / 4;
        let pieces = whole.len().div_ceil(piece_bytes);
        for (index, piece) in whole.chunks(piece_bytes).enumerate() {
            let flags = if index + 1 == pieces {
                response_flag::END
            } else {
                0
            };
            let padding = piece.len().wrapping_neg() % 4;
            let words = command::Part {
                piece_bytes: u32::try_from(piece.len()).unwrap_or(u32::MAX),
            };
            let head = opening(flags, words, piece.len());
            self.write_whole(&[&head, piece, &[0; 3][..padding.min(3)]]);
        }
    }

    fn write_whole(&mut self, parts: &[&[u8]]) {
        if self.broken {
            return;
        }
        if self.waiting.is_empty() {
            match self.end.commands.write_parts(parts) {
                Ok(true) => return,
                Ok(false) => {}
                Err(Broken) => {
                    self.broken = true;
                    return;
                }
            }
        }
        self.waiting.push_back(parts.concat());
    }
}

fn total(parts: &[&[u8]]) -> usize {
    parts.iter().map(|part| part.len()).sum()
}
