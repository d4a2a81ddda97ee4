//! Rapid-fail protection: a crash is replaced at once, a crash loop is slowed down.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::policy::Policy;

/// Failures that are kept: more tell nothing more.
const MAX_KEPT: usize = 1024;

/// What has failed lately.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failures {
    recent: VecDeque<Instant>,
    /// Waits since restarts were immediate.
    waits: u32,
    /// Failures since a worker was ready.
    in_a_row: u32,
    has_been_ready: bool,
}

impl Failures {
    pub(crate) fn ready(&mut self) {
        self.in_a_row = 0;
        self.has_been_ready = true;
    }

    /// Notes a failure. Returns how long its replacement waits.
    pub(crate) fn add(&mut self, now: Instant, policy: &Policy) -> Duration {
        let is_old = |failure: &Instant| now.duration_since(*failure) >= policy.failure_window;
        while self.recent.len() >= MAX_KEPT || self.recent.front().is_some_and(is_old) {
            self.recent.pop_front();
        }
        if self.recent.is_empty() {
            self.waits = 0;
        }
        self.recent.push_back(now);
        self.in_a_row = self.in_a_row.saturating_add(1);
        let count = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if count < policy.rapid_failures && self.waits == 0 {
            return Duration::ZERO;
        }
        let factor = 1_u32.checked_shl(self.waits).unwrap_or(u32::MAX);
        self.waits = self.waits.saturating_add(1);
        policy
            .first_backoff
            .saturating_mul(factor)
            .min(policy.longest_backoff)
    }

    /// Whether there is no hope.
    pub(crate) fn are_too_many(&self, policy: &Policy) -> bool {
        let limit = if self.has_been_ready {
            policy.give_up_after
        } else {
            policy.give_up_at_start_after.or(policy.give_up_after)
        };
        limit.is_some_and(|limit| self.in_a_row >= limit)
    }
}
