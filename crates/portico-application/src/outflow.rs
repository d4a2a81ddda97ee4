//! Windows: how much of each answer the host takes before its client has read some.
//!
//! Beyond the window of an answer its records wait here, in the application's own memory, and nobody else's do. Small
//! answers, complete in one record, are not looked at.

use std::collections::{HashMap, VecDeque};

use portico_channel::RecordView;
use portico_channel::layout::{command, response_flag};
use portico_channel::shared::ANSWER_WINDOW_BYTES;

/// One answer, or the bytes of a connection that was taken over.
#[derive(Debug)]
struct Flow {
    /// The request's number, 0 for a byte stream.
    sequence: u32,
    /// Bytes of records sent.
    sent: u64,
    /// Up to where more may be sent.
    granted: u64,
    held: VecDeque<Held>,
}

#[derive(Debug)]
struct Held {
    bytes: Vec<u8>,
    ends: bool,
}

/// A connection with answers in work.
#[derive(Debug, Default)]
struct Connection {
    flows: Vec<Flow>,
    /// The end of the connection, which comes behind what is held.
    shutdown: Option<Vec<u8>>,
}

/// Answers in work, by connection.
#[derive(Debug, Default)]
pub(crate) struct Outflow {
    connections: HashMap<u32, Connection>,
}

impl Outflow {
    /// Whether a record may be sent now. If not, it is kept, and comes out of [`Outflow::credit`].
    #[inline]
    pub(crate) fn admit(&mut self, record: RecordView<'_>, parts: &[&[u8]]) -> bool {
        let is_whole =
            record.kind() == command::RESPOND && record.flags() & response_flag::END != 0;
        if is_whole && self.connections.is_empty() {
            return true;
        }
        match record.kind() {
            command::RESPOND | command::DATA | command::END | command::INFORM | command::RAW => {
                self.admit_output(record, parts)
            }
            command::SHUTDOWN => match self.connections.get_mut(&record.word(2)) {
                Some(connection) if connection.flows.iter().any(|flow| !flow.held.is_empty()) => {
                    connection.shutdown = Some(parts.concat());
                    false
                }
                _ => true,
            },
            command::DESTROY if record.word(3) != 0 => {
                self.forget_answer(record.word(2), record.word(3));
                true
            }
            command::DESTROY => {
                self.forget(record.word(2));
                true
            }
            _ => true,
        }
    }

    fn admit_output(&mut self, record: RecordView<'_>, parts: &[&[u8]]) -> bool {
        let token = record.word(2);
        let sequence = match record.kind() {
            command::RAW => 0,
            _ => record.word(3),
        };
        let ends = record.kind() == command::END
            || (!matches!(record.kind(), command::INFORM | command::RAW)
                && record.flags() & response_flag::END != 0);
        let bytes = parts.iter().map(|part| length_of(part)).sum::<u64>();
        let connection = self.connections.entry(token).or_default();
        let place = connection
            .flows
            .iter()
            .position(|flow| flow.sequence == sequence);
        let Some(flow) = place.and_then(|place| connection.flows.get_mut(place)) else {
            if !ends {
                connection.flows.push(Flow {
                    sequence,
                    sent: bytes,
                    granted: ANSWER_WINDOW_BYTES,
                    held: VecDeque::new(),
                });
            } else if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
            return true;
        };
        if !flow.held.is_empty() || flow.sent >= flow.granted {
            flow.held.push_back(Held {
                bytes: parts.concat(),
                ends,
            });
            return false;
        }
        flow.sent += bytes;
        if ends {
            connection.flows.retain(|flow| flow.sequence != sequence);
            if connection.flows.is_empty() {
                self.connections.remove(&token);
            }
        }
        true
    }

    /// The host takes more of an answer. `send` gets what was kept and may go now.
    pub(crate) fn credit(
        &mut self,
        token: u32,
        sequence: u32,
        granted: u64,
        mut send: impl FnMut(&[u8]),
    ) {
        let Some(connection) = self.connections.get_mut(&token) else {
            return;
        };
        let mut ended = false;
        for flow in &mut connection.flows {
            if flow.sequence != sequence {
                continue;
            }
            flow.granted = flow.granted.max(granted);
            while flow.sent < flow.granted
                && let Some(held) = flow.held.pop_front()
            {
                flow.sent += length_of(&held.bytes);
                ended |= held.ends;
                send(&held.bytes);
            }
        }
        if ended {
            connection.flows.retain(|flow| flow.sequence != sequence);
        }
        if connection.flows.iter().all(|flow| flow.held.is_empty())
            && let Some(shutdown) = connection.shutdown.take()
        {
            send(&shutdown);
        }
        if connection.flows.is_empty() {
            self.connections.remove(&token);
        }
    }

    /// An answer was given up: what is kept of it is not sent.
    fn forget_answer(&mut self, token: u32, sequence: u32) {
        if let Some(connection) = self.connections.get_mut(&token) {
            connection.flows.retain(|flow| flow.sequence != sequence);
            if connection.flows.is_empty() && connection.shutdown.is_none() {
                self.connections.remove(&token);
            }
        }
    }

    /// A connection has gone.
    #[inline]
    pub(crate) fn forget(&mut self, token: u32) {
        if !self.connections.is_empty() {
            self.connections.remove(&token);
        }
    }
}

fn length_of(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use portico_channel::{CommandWriter, Records};

    use super::*;

    fn submit(outflow: &mut Outflow, write: impl FnOnce(&mut CommandWriter)) -> bool {
        let mut writer = CommandWriter::new();
        write(&mut writer);
        let record = Records::new(writer.as_bytes()).next().unwrap().unwrap();
        outflow.admit(record, &[writer.as_bytes()])
    }

    #[test]
    fn what_is_beyond_the_window_waits_for_credit_and_the_end_waits_behind_it() {
        let mut outflow = Outflow::default();
        let piece = vec![1; 64 * 1024];
        let mut sent = 0;
        while submit(&mut outflow, |writer| writer.data(7, 1, 0, &piece)) {
            sent += 1;
        }
        assert_eq!(sent, 4);
        // Another answer of the connection, and another connection.
        assert!(submit(&mut outflow, |writer| writer.data(7, 2, 0, &piece)));
        assert!(submit(&mut outflow, |writer| writer.data(8, 1, 0, &piece)));
        assert!(!submit(&mut outflow, |writer| writer.end(7, 1, 0, b"")));
        assert!(!submit(&mut outflow, |writer| writer.simple(
            command::SHUTDOWN,
            1,
            7
        )));
        let mut kinds = Vec::new();
        outflow.credit(7, 1, 2 * ANSWER_WINDOW_BYTES, |bytes| {
            kinds.push(Records::new(bytes).next().unwrap().unwrap().kind());
        });
        assert_eq!(kinds, [command::DATA, command::END, command::SHUTDOWN]);
        outflow.forget(7);
        outflow.forget(8);
        assert!(outflow.connections.is_empty());
    }

    #[test]
    fn of_an_answer_that_is_given_up_nothing_is_kept_and_of_others_all() {
        let mut outflow = Outflow::default();
        let piece = vec![1; 64 * 1024];
        for sequence in [1, 2] {
            while submit(&mut outflow, |writer| writer.data(7, sequence, 0, &piece)) {}
        }
        assert!(submit(&mut outflow, |writer| writer.record(
            command::DESTROY,
            0,
            &[7, 2],
            &[]
        )));
        let mut kept = 0;
        for sequence in [1, 2] {
            outflow.credit(7, sequence, 2 * ANSWER_WINDOW_BYTES, |_| kept += sequence);
        }
        assert_eq!(kept, 1);
    }

    #[test]
    fn answers_that_are_complete_leave_nothing() {
        let mut outflow = Outflow::default();
        assert!(submit(&mut outflow, |writer| writer.data(7, 1, 0, b"a")));
        assert!(submit(&mut outflow, |writer| writer.end(7, 1, 0, b"")));
        assert!(submit(&mut outflow, |writer| writer.end(9, 4, 0, b"")));
        assert!(outflow.connections.is_empty());
    }
}
