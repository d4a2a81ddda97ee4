//! Connections whose bytes are no HTTP, while earlier requests on them are unanswered.
//!
//! The answer to such bytes waits for those before it, so that none is lost that is given at once. node:http does not wait: it
//! ends the connection, and its handlers learn of that. So the wait is bounded: where no earlier answer has moved for
//! [`BROKEN_MS`], the connection ends with what is in flight.

use std::time::Duration;

use portico_channel::layout::{command, shutdown_flag};

use crate::answers;
use crate::client::{Client, MemberIndex};
use crate::dispatcher::Dispatcher;
use crate::flow::Flow;
use crate::limits::BROKEN_MS;

/// A connection that is looked at in time. There is one at most for each that is broken.
#[derive(Debug)]
pub(crate) struct BrokenClient {
    token: u32,
    deadline_ms: u64,
    progress: Option<Progress>,
}

/// How far the answers of a connection are: the first request that has none, and what has been taken for it.
type Progress = (u32, Flow);

/// What is known of the bytes of a client that are no HTTP: its broken request is answered when its turn comes, by its
/// member or by us.
#[derive(Debug, Default)]
pub(crate) struct BrokenRequest {
    /// The member that answers it.
    refuser: Option<MemberIndex>,
    /// Our answer, while earlier requests are unanswered.
    refusal: Option<&'static [u8]>,
    /// `CLIENT_ERROR`, until the turn of the request that it broke.
    error: Vec<u8>,
}

impl BrokenRequest {
    /// Whether it is known that there is one.
    pub(crate) fn is_known(&self) -> bool {
        self.refuser.is_some() || self.is_due()
    }

    /// Whether its answer waits for those before it.
    pub(crate) fn is_due(&self) -> bool {
        self.refusal.is_some() || self.has_error()
    }

    /// The member that answers it.
    pub(crate) fn refuser(&self) -> Option<MemberIndex> {
        self.refuser
    }

    /// A member is told of it now, and answers it.
    pub(crate) fn hand_to(&mut self, member: MemberIndex) {
        self.refuser = Some(member);
    }

    /// That member has answered the request without breaking it off.
    pub(crate) fn forget_refuser(&mut self) {
        self.refuser = None;
    }

    /// We answer it when those before it are answered.
    pub(crate) fn refuse_in_turn(&mut self, answer: &'static [u8]) {
        self.refusal = Some(answer);
    }

    /// Its turn has come: our answer, if it is ours.
    pub(crate) fn take_refusal(&mut self) -> Option<&'static [u8]> {
        self.refusal.take()
    }

    /// Keeps what its member is to be told when its turn comes.
    pub(crate) fn keep_error(&mut self, record: &[u8]) {
        self.error = record.to_vec();
    }

    /// Whether there is something to tell.
    pub(crate) fn has_error(&self) -> bool {
        !self.error.is_empty()
    }

    /// What its member is told now.
    pub(crate) fn take_error(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.error)
    }
}

impl Dispatcher {
    /// The answer to broken bytes waits for earlier ones.
    pub(crate) fn watch_broken(&mut self, token: u32) {
        let progress = self.clients.find(token).and_then(|client| progress(client));
        self.broken_clients.push_back(BrokenClient {
            token,
            deadline_ms: self.now_ms + BROKEN_MS,
            progress,
        });
    }

    /// Time until a broken connection must be looked at; `None`: there is none.
    pub(crate) fn until_broken_check(&self) -> Option<Duration> {
        let first = self.broken_clients.front()?;
        let left_ms = first.deadline_ms.saturating_sub(self.now_ms);
        Some(Duration::from_millis(left_ms))
    }

    /// Ends broken connections on which no answer has moved.
    pub(crate) fn end_broken(&mut self) {
        let now_ms = self.now_ms;
        while let Some(broken) = self
            .broken_clients
            .pop_front_if(|broken| broken.deadline_ms <= now_ms)
        {
            let token = broken.token;
            let has_waiting = self.has_waiting(token);
            let Some(client) = self.clients.find(token) else {
                continue;
            };
            let is_due = client.broken.is_due();
            if !is_due || client.tunnel().is_some() {
                continue;
            }
            // A request in its queue has its patience. What is on its way to the client has the engine's time.
            let moves =
                has_waiting || !client.acks.is_empty() || progress(client) != broken.progress;
            if moves {
                self.watch_broken(token);
                continue;
            }
            let answer = client.broken.take_refusal().unwrap_or(answers::BAD_REQUEST);
            client.broken.take_error();
            self.end_with_all(token, answer);
        }
    }

    /// Ends a connection with all that is in flight on it, as node:http does: with an answer where none has begun.
    pub(crate) fn end_with_all(&mut self, token: u32, answer: &[u8]) {
        let Some(client) = self.clients.find(token) else {
            return;
        };
        let mut exchanges = client.exchanges.iter();
        let has_begun = exchanges.any(|exchange| exchange.answer.has_begun());
        if has_begun || client.tunnel().is_some() {
            self.commands.write(0, command::Destroy { token }, &[]);
            return;
        }
        self.commands.raw(token, 0, answer);
        let flags = shutdown_flag::CLOSE;
        self.commands.write(flags, command::Shutdown { token }, &[]);
    }
}

fn progress(client: &Client) -> Option<Progress> {
    let first = client.exchanges.first()?;
    Some((first.sequence, first.flow))
}
