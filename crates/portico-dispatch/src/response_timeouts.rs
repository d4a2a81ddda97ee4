//! `response_timeout`: members that let the time until the head of an answer pass.
//!
//! The time counts from when the member got the request, or the last part of its body so far; while it waits for a
//! client that may send, it does not run. All requests in flight are looked at in intervals, and only where a queue has
//! the limit: a request costs nothing for it.

use std::time::Duration;

use crate::answers::Refusal;
use crate::client::MemberIndex;
use crate::dispatcher::Dispatcher;
use crate::exchange::Exchange;

/// A limit is looked at so many times in its length.
const LOOKS: u64 = 8;
/// Shortest and longest interval between two looks, milliseconds.
const INTERVAL_MS: std::ops::RangeInclusive<u64> = 10..=1000;

/// When requests in flight are looked at.
#[derive(Debug, Default)]
pub(crate) struct ResponseTimeouts {
    /// 0: no queue has the limit.
    interval_ms: u64,
    next_ms: u64,
}

impl Dispatcher {
    /// Settings of queues have changed.
    pub(crate) fn update_response_timeouts(&mut self) {
        let shortest = self
            .queues
            .values()
            .map(|queue| millis(queue.options.response_timeout))
            .filter(|limit| *limit > 0)
            .min();
        let interval_ms = shortest.map_or(0, |limit| {
            (limit / LOOKS).clamp(*INTERVAL_MS.start(), *INTERVAL_MS.end())
        });
        self.response_timeouts = ResponseTimeouts {
            interval_ms,
            next_ms: self.now_ms + interval_ms,
        };
    }

    /// Time until requests in flight must be looked at; `None`: no need.
    pub(crate) fn until_response_check(&self) -> Option<Duration> {
        let ResponseTimeouts {
            interval_ms,
            next_ms,
        } = self.response_timeouts;
        let is_needed = interval_ms > 0
            && self
                .members
                .iter()
                .flatten()
                .any(|member| member.in_flight > 0);
        is_needed.then(|| Duration::from_millis(next_ms.saturating_sub(self.now_ms)))
    }

    /// Answers requests whose member has taken too long with 504. What it still says about them is left out.
    pub(crate) fn expire_responses(&mut self) {
        let now_ms = self.now_ms;
        let timeouts = &mut self.response_timeouts;
        if timeouts.interval_ms == 0 || now_ms < timeouts.next_ms {
            return;
        }
        timeouts.next_ms = now_ms + timeouts.interval_ms;
        let mut late = Vec::new();
        let Self {
            clients, queues, ..
        } = self;
        for client in clients.iter_mut() {
            for exchange in client.exchanges.iter() {
                let limit = queues
                    .get(&exchange.queue)
                    .map_or(0, |queue| millis(queue.options.response_timeout));
                if let Some(index) = owes_head(exchange)
                    && limit > 0
                    && now_ms.saturating_sub(exchange.since_ms()) >= limit
                {
                    late.push((client.token, exchange.sequence, index));
                }
            }
        }
        for (token, sequence, index) in late {
            self.time_out(token, sequence, index);
        }
    }

    fn time_out(&mut self, token: u32, sequence: u32, index: MemberIndex) {
        let Some(mut exchange) = self.take_exchange(token, sequence) else {
            return;
        };
        exchange.release_upload();
        self.finish_one(index);
        self.queue_mut(exchange.queue).timed_out += 1;
        self.refuse(token, &exchange, Refusal::TimedOut);
    }
}

/// The member that a request's answer is waited for from, and not its client's bytes.
fn owes_head(exchange: &Exchange) -> Option<MemberIndex> {
    let is_owed =
        !exchange.answer.has_begun() && (!exchange.is_receiving() || exchange.hold().is_held());
    exchange.member().filter(|_| is_owed)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
