//! A member's commands: copied out of its channel, checked, and applied to the shard.
//!
//! A record that names a connection or request that is not the member's is left out: it may have crossed with the
//! request's end. One that no application of ours would ever write breaks the channel.

use portico_channel::layout::{command, response_flag};
use portico_channel::{RecordView, Records};
use portico_engine::Shard;

use crate::client::{MemberIndex, Stage};
use crate::dispatcher::Dispatcher;

/// Bytes of commands copied at a time.
const COPY_BYTES: usize = 256 * 1024;
/// Bytes of commands of one member handled before the others get their turn.
const TURN_BYTES: usize = 1024 * 1024;

/// What is done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Apply,
    LeaveOut,
    Break,
}

/// Memory for commands, kept from one turn to the next.
#[derive(Debug)]
pub(crate) struct CommandBuffer {
    bytes: Vec<u8>,
    /// Requests answered completely by the run in work.
    ended: Vec<(u32, u32)>,
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
            if whole == 0 {
                member.broken = true;
                return;
            }
            member.end.commands.consume(whole);
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
            if self.draining && record.kind() == command::RESPOND {
                let flags = closing(record.flags());
                let word = record.kind() | flags << 8;
                if let Some(place) = buffer.bytes.get_mut(at + 4..at + 8) {
                    place.copy_from_slice(&word.to_le_bytes());
                }
            }
            if verdict != Verdict::Apply {
                if !self.apply_run(index, shard, buffer, run, at) || verdict == Verdict::Break {
                    return 0;
                }
                run = at + size;
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

    fn judge(
        &mut self,
        index: MemberIndex,
        record: RecordView<'_>,
        ended: &mut Vec<(u32, u32)>,
    ) -> Verdict {
        let token = record.word(2);
        match record.kind() {
            command::RESPOND | command::DATA | command::END | command::INFORM => {
                self.judge_answer(index, record, ended)
            }
            command::TEMPLATE => Verdict::Apply,
            command::CLOSE_IDLE => {
                self.close_idle(index);
                Verdict::LeaveOut
            }
            command::CLOSE_ALL => {
                self.close_all(index);
                Verdict::LeaveOut
            }
            command::PAUSE | command::RESUME => self.judge_pause(index, record),
            command::RAW => self.judge_raw(index, record),
            command::TAKE_OVER | command::PROCEED => self.judge_upgrade(index, record),
            command::DISCARD => match self.owns(index, token, record.word(3)) {
                true => Verdict::Apply,
                false => Verdict::LeaveOut,
            },
            command::SHUTDOWN | command::DESTROY => self.judge_end(index, token),
            command::SET_TIMEOUT | command::SET_SOCKET => {
                let Some(client) = self.clients.find(token) else {
                    return Verdict::LeaveOut;
                };
                if !client.is_used_by(index) {
                    return Verdict::LeaveOut;
                }
                client.timeout_set |= record.kind() == command::SET_TIMEOUT;
                Verdict::Apply
            }
            // Certificates are the host's business.
            command::SERVER_NAME | command::ALPN => Verdict::LeaveOut,
            _ => Verdict::Break,
        }
    }

    fn judge_answer(
        &mut self,
        index: MemberIndex,
        record: RecordView<'_>,
        ended: &mut Vec<(u32, u32)>,
    ) -> Verdict {
        let (token, sequence) = (record.word(2), record.word(3));
        if record.flags() & response_flag::EXTERNAL != 0 {
            return Verdict::Break;
        }
        let Some(client) = self.clients.find(token) else {
            return Verdict::LeaveOut;
        };
        let Some(exchange) = client
            .exchange(sequence)
            .filter(|exchange| exchange.stage == Stage::With(index))
        else {
            return Verdict::LeaveOut;
        };
        exchange.answered |= record.kind() == command::RESPOND;
        let ends = record.kind() == command::END
            || (record.kind() != command::INFORM && record.flags() & response_flag::END != 0);
        if ends && exchange.answered {
            ended.push((token, sequence));
        }
        if record.flags() & response_flag::ACK != 0 {
            client.expect_ack(sequence, index);
        }
        Verdict::Apply
    }

    fn judge_pause(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let Some(client) = self.clients.find(record.word(2)) else {
            return Verdict::LeaveOut;
        };
        if !client.is_used_by(index) {
            return Verdict::LeaveOut;
        }
        client.paused_by_member = record.kind() == command::PAUSE;
        if record.kind() == command::RESUME && client.paused_by_us {
            return Verdict::LeaveOut;
        }
        Verdict::Apply
    }

    fn judge_raw(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        if record.flags() & response_flag::EXTERNAL != 0 {
            return Verdict::Break;
        }
        let Some(client) = self.clients.find(record.word(2)) else {
            return Verdict::LeaveOut;
        };
        if client.tunnel != Some(index) && client.refuser != Some(index) {
            return Verdict::LeaveOut;
        }
        if record.flags() & response_flag::ACK != 0 {
            client.acks.push_back((0, index));
        }
        Verdict::Apply
    }

    fn judge_upgrade(&mut self, index: MemberIndex, record: RecordView<'_>) -> Verdict {
        let token = record.word(2);
        let Some(client) = self.clients.find(token) else {
            return Verdict::LeaveOut;
        };
        let is_own = client
            .exchanges
            .back()
            .is_some_and(|last| last.facts.upgrade && last.stage == Stage::With(index));
        if !is_own || client.tunnel.is_some() {
            return Verdict::LeaveOut;
        }
        if record.kind() == command::TAKE_OVER {
            client.tunnel = Some(index);
            // The engine forgets them: their turn never comes.
            let exchanges = std::mem::take(&mut client.exchanges);
            for exchange in exchanges {
                if let Stage::With(owner) = exchange.stage
                    && let Some(member) = self.member(owner)
                {
                    member.finished();
                }
            }
            if let Some(member) = self.member(index) {
                member.tunnels += 1;
            }
        }
        Verdict::Apply
    }

    /// The end of a connection: really, where the member has a say; else only as far as it is concerned.
    fn judge_end(&mut self, index: MemberIndex, token: u32) -> Verdict {
        let Some(client) = self.clients.find(token) else {
            return Verdict::LeaveOut;
        };
        if client.is_used_by(index) {
            return Verdict::Apply;
        }
        if client.known.contains(&index) {
            self.part(index, token);
        }
        Verdict::LeaveOut
    }

    fn owns(&mut self, index: MemberIndex, token: u32, sequence: u32) -> bool {
        self.clients
            .find(token)
            .and_then(|client| client.exchange(sequence))
            .is_some_and(|exchange| exchange.stage == Stage::With(index))
    }

    /// Connections on which the member has no request close for it; for others they go on.
    pub(crate) fn close_idle(&mut self, index: MemberIndex) {
        let idle: Vec<u32> = self
            .clients
            .iter_mut()
            .filter(|client| client.known.contains(&index) && !client.is_used_by(index))
            .map(|client| client.token)
            .collect();
        for token in idle {
            self.part(index, token);
        }
    }

    fn close_all(&mut self, index: MemberIndex) {
        self.close_idle(index);
        let asked: Vec<u32> = self
            .clients
            .iter_mut()
            .filter(|client| client.is_asking(index))
            .map(|client| client.token)
            .collect();
        for token in asked {
            self.commands.simple(command::DESTROY, 0, token);
        }
    }
}

/// Copies whole or cut-off records. The memory grows to hold the first of them.
fn copy(
    member: &crate::member::Member,
    buffer: &mut Vec<u8>,
) -> Result<usize, portico_channel::shared::Broken> {
    let commands = &member.end.commands;
    let mut first = [0u8; 4];
    if commands.copy(&mut first)? < 4 {
        return Ok(0);
    }
    let size = usize::try_from(u32::from_le_bytes(first)).unwrap_or(usize::MAX);
    if size > buffer.len() {
        // Records are published whole: one that is not there, or of no possible size, is against the rules.
        if size > commands.available()? {
            return Err(portico_channel::shared::Broken);
        }
        buffer.resize(size, 0);
    }
    commands.copy(buffer)
}

/// Flags of an answer after which the connection ends: the host is going.
fn closing(flags: u32) -> u32 {
    let kept = flags & !(response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE);
    let named = flags & (response_flag::CONNECTION_KEEP_ALIVE | response_flag::CONNECTION_CLOSE);
    let field = if named == 0 {
        0
    } else {
        response_flag::CONNECTION_CLOSE
    };
    kept | field | response_flag::CLOSE
}
