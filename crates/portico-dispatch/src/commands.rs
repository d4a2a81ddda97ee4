//! A member's commands: copied out of its channel, checked (`judging`), and applied to the shard.

use portico_channel::layout::{command, response_flag};
use portico_channel::{RecordView, Records};
use portico_engine::Shard;

use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::judging::Verdict;
use crate::limits::{COPY_BYTES, TURN_BYTES};

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
        let all = std::mem::take(&mut member.close_all);
        if std::mem::take(&mut member.close_idle) {
            self.close_idle(index);
        }
        if all {
            self.close_all(index);
        }
    }

    fn serve_records(&mut self, index: MemberIndex, shard: &mut Shard, buffer: &mut CommandBuffer) {
        let mut handled = 0;
        while handled < TURN_BYTES {
            let Some(member) = self.member(index) else {
                return;
            };
            if member.broken {
                return;
            }
            let Ok(copied) = copy(member, &mut buffer.bytes) else {
                member.broken = true;
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
                member.broken = true;
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
            let verdict = self.judge(index, record, &mut buffer.ended);
            match verdict {
                Verdict::Apply => {}
                Verdict::ApplyWith(flags) => set_flags(&mut buffer.bytes, at, flags),
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
}

/// Sets the flags of the record at `at`.
fn set_flags(bytes: &mut [u8], at: usize, flags: u32) {
    if let Some(place) = bytes.get_mut(at + 5..at + 8) {
        let [low, middle, high, _] = flags.to_le_bytes();
        place.copy_from_slice(&[low, middle, high]);
    }
}

/// Copies whole or cut-off records. The memory grows to hold the first of them.
fn copy(
    member: &crate::member::Member,
    buffer: &mut Vec<u8>,
) -> Result<usize, portico_channel::shared::Broken> {
    let commands = &member.end.commands;
    let copied = commands.copy(buffer)?;
    let size = match buffer.get(..4) {
        Some(&[a, b, c, d]) if copied >= 4 => {
            usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX)
        }
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
