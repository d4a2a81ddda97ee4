//! A member's commands: copied out of its channel, checked (`validation`), and applied to the shard.

use portico_channel::layout::{command, response_flag};
use portico_channel::{RecordView, Records, record_size, schema};
use portico_engine::Shard;

use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::limits::{COPY_BYTES, TURN_BYTES};
use crate::member::Closing;
use crate::validation::Verdict;

/// Memory for commands, kept from one turn to the next.
#[derive(Debug)]
pub(crate) struct CommandBuffer {
    bytes: Vec<u8>,
    /// Requests answered completely by the run in work.
    pub(crate) ended: Vec<(u32, u32)>,
}

impl Default for CommandBuffer {
    fn default() -> Self {
        Self {
            bytes: vec![0; COPY_BYTES],
            ended: Vec::new(),
        }
    }
}

impl Dispatcher {
    /// Applies what a member has written. A member that breaks the rules is marked.
    pub(crate) fn serve(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        buffer: &mut CommandBuffer,
    ) {
        self.serve_records(index, shard, buffer);
        let Some(member) = self.member(index) else {
            return;
        };
        let asked = member.take_closing();
        if asked.is_some() {
            self.close_idle(index);
        }
        if asked == Some(Closing::All) {
            self.close_all(index);
        }
    }

    fn serve_records(&mut self, index: MemberIndex, shard: &mut Shard, buffer: &mut CommandBuffer) {
        let mut handled = 0;
        while handled < TURN_BYTES {
            let Some(member) = self.member(index) else {
                return;
            };
            if member.is_broken() {
                return;
            }
            let Ok(copied) = copy(member, &mut buffer.bytes) else {
                member.break_rules();
                return;
            };
            if copied == 0 {
                return;
            }
            let whole = self.serve_copied(index, shard, buffer, copied);
            let Some(member) = self.member(index) else {
                return;
            };
            // The other side may have moved its position since.
            if whole == 0 || member.end.commands.take(whole).is_err() {
                member.break_rules();
                return;
            }
            member.made_room();
            handled += whole;
        }
    }

    /// Applies the whole records among the first `copied` bytes. Returns their length; 0 if the member broke the rules.
    fn serve_copied(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        buffer: &mut CommandBuffer,
        copied: usize,
    ) -> usize {
        let mut run = 0;
        let mut at = 0;
        while at < copied {
            let rest = buffer.bytes.get(at..copied).unwrap_or_default();
            let Some(Ok(record)) = Records::new(rest).next() else {
                // Cut off where the copy ended, or no record at all: then nothing before it is left either.
                break;
            };
            let size = record.size();
            let verdict = if record.kind() == command::PART {
                // In its turn: what is before it has been applied when it is whole.
                let fine = self.apply_run(index, shard, buffer, run, at);
                run = at;
                match self.gather(index, shard, buffer, at) {
                    true if fine => Verdict::LeaveOut,
                    _ => Verdict::Break,
                }
            } else if record.kind() == command::CACHE {
                // Before the head that it is about, which may be among those to be applied.
                self.keep_answer(index, shard, record)
            } else {
                self.validate(index, record, &mut buffer.ended)
            };
            match verdict {
                Verdict::Apply => {}
                Verdict::ApplyWith(flags) => {
                    schema::set_flags(record_at(&mut buffer.bytes, at), flags);
                }
                Verdict::Shorten(flags, bytes) => {
                    shorten(record_at(&mut buffer.bytes, at), flags, bytes);
                }
                Verdict::LeaveOut | Verdict::Break => {
                    let fine = self.apply_run(index, shard, buffer, run, at);
                    if !fine || verdict == Verdict::Break {
                        return 0;
                    }
                    run = at + size;
                }
            }
            at += size;
        }
        if self.apply_run(index, shard, buffer, run, at) {
            at
        } else {
            0
        }
    }

    /// Applies the records from `from` to `to`. False if the engine found one malformed.
    fn apply_run(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        buffer: &mut CommandBuffer,
        from: usize,
        to: usize,
    ) -> bool {
        let bytes = buffer.bytes.get(from..to).unwrap_or_default();
        let fine = bytes.is_empty() || shard.apply_in(index + 1, bytes).is_ok();
        for (token, sequence) in buffer.ended.drain(..) {
            self.conclude(token, sequence);
        }
        fine
    }

    /// Puts the part of a record that lies at `at` to those before it, and applies the record if it is the last. False
    /// if the member broke the rules.
    fn gather(
        &mut self,
        index: MemberIndex,
        shard: &mut Shard,
        buffer: &mut CommandBuffer,
        at: usize,
    ) -> bool {
        let now_ms = self.now_ms;
        let rest = buffer.bytes.get(at..).unwrap_or_default();
        let (Some(Ok(part)), Some(member)) = (Records::new(rest).next(), self.member(index)) else {
            return false;
        };
        let Some(part) = part.read::<command::Part>() else {
            return false;
        };
        if let Err(reason) = member.unfinished.add(part.piece(), now_ms) {
            member.break_off(reason);
            return false;
        }
        if part.flags() & response_flag::END == 0 {
            self.watch_unfinished(index);
            return true;
        }
        let mut whole = member.unfinished.take();
        let Some(Ok(record)) = Records::new(&whole).next() else {
            return false;
        };
        if record.size() != whole.len() {
            return false;
        }
        match self.validate(index, record, &mut buffer.ended) {
            Verdict::Apply => {}
            Verdict::ApplyWith(flags) => schema::set_flags(&mut whole, flags),
            Verdict::Shorten(flags, bytes) => shorten(&mut whole, flags, bytes),
            Verdict::LeaveOut => whole.clear(),
            Verdict::Break => return false,
        }
        let fine = whole.is_empty() || shard.apply_in(index + 1, &whole).is_ok();
        for (token, sequence) in buffer.ended.drain(..) {
            self.conclude(token, sequence);
        }
        fine
    }
}

/// The record at `at`, and what follows it.
fn record_at(bytes: &mut [u8], at: usize) -> &mut [u8] {
    bytes.get_mut(at..).unwrap_or_default()
}

/// Sets the flags of a record, and how many bytes of its body count: the others stay in the record, unread.
fn shorten(record: &mut [u8], flags: u32, body_bytes: u32) {
    schema::set_flags(record, flags);
    match Records::new(record).next() {
        Some(Ok(head)) if head.kind() == command::RESPOND => {
            schema::rewrite::<command::Respond>(record, |head| head.body_bytes = body_bytes);
        }
        _ => schema::rewrite::<command::Data>(record, |data| data.body_bytes = body_bytes),
    }
}

/// Copies whole or cut-off records. The memory grows to hold the first of them.
fn copy(
    member: &crate::member::Member,
    buffer: &mut Vec<u8>,
) -> Result<usize, portico_channel::shared::Broken> {
    let commands = &member.end.commands;
    let copied = commands.copy(buffer)?;
    // No possible size: what reads the records finds it.
    let size = match record_size(buffer) {
        Some(size) if copied >= 4 => size,
        _ => return Ok(copied),
    };
    if size <= copied {
        return Ok(copied);
    }
    // Records are published whole: one that is not there, or of no possible size, is against the rules.
    if size > commands.available()? {
        return Err(portico_channel::shared::Broken);
    }
    buffer.resize(size, 0);
    commands.copy(buffer)
}

/// Flags of an answer's head after which the connection ends.
pub(crate) fn closing(flags: u32) -> u32 {
    let kept = flags & !(response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE);
    let named = flags & (response_flag::CONNECTION_KEEP_ALIVE | response_flag::CONNECTION_CLOSE);
    let field = if named == 0 {
        0
    } else {
        response_flag::CONNECTION_CLOSE
    };
    kept | field | response_flag::CLOSE
}

/// Whether a record ends its answer.
pub(crate) fn is_end(record: RecordView<'_>) -> bool {
    record.kind() == command::END
        || (record.kind() != command::INFORM && record.flags() & response_flag::END != 0)
}
