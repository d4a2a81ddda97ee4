//! The least rate at which a peer must send the body of a request and take an answer (`min_bytes_per_second`).
//!
//! Connections are looked at in intervals, and only what is found then is remembered, outside of them: a connection
//! that is not waited for costs nothing. What is waited for counts as a whole: a peer has a balance of bytes, which grows
//! with what it moves and shrinks with time; below nothing, it is too slow. The rule is Portico's own, named after HTTP.SYS's
//! MinSendBytesPerSecond.
//!
//! A peer is not waited for while the application has paused the connection, before it has been told to go on
//! (`100 Continue`), while it waits for an answer, and on a connection that was taken over.

use crate::limits::{PACE_CREDIT_BYTES, READER_GRACE_BYTES, SENDER_GRACE_BYTES};

/// What has been moved since a peer has been waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Account {
    /// What it is waited for: another number is another account.
    of: u64,
    at_ms: u64,
    /// Bytes moved in all, then.
    bytes: u64,
    balance: i64,
}

/// What is waited for on a connection: a body, the taking of an answer, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pace {
    sender: Option<Account>,
    reader: Option<Account>,
}

/// Who is too slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooSlow {
    /// The peer sends too slowly.
    Sender,
    /// The peer reads too slowly: what is queued for it must not be kept.
    Reader,
}

impl Pace {
    /// Whether the peer is not waited for.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Account {
    fn new(of: u64, at_ms: u64, bytes: u64, balance: i64) -> Self {
        Self {
            of,
            at_ms,
            bytes,
            balance,
        }
    }

    /// The account now, if it is about the same; `None`: overdrawn.
    fn continued(self, now: Self, rate: u32) -> Option<Self> {
        if self.of != now.of {
            return Some(now);
        }
        let moved = as_i64(now.bytes.saturating_sub(self.bytes));
        let due = as_i64(now.at_ms.saturating_sub(self.at_ms)).saturating_mul(i64::from(rate));
        let balance = self.balance.saturating_add(moved) - due / 1000;
        (balance >= 0).then_some(Self {
            balance: balance.min(PACE_CREDIT_BYTES),
            ..now
        })
    }
}

/// What is waited for now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    /// The rest of a body: a number that tells it from others, and the bytes that the peer has sent in all.
    pub(crate) sender: Option<(u64, u64)>,
    /// The taking of an answer: the bytes that the peer has taken in all.
    pub(crate) reader: Option<u64>,
}

impl Pace {
    /// The accounts now, given those of the last look. `rate` in bytes per second, not 0.
    pub(crate) fn next(self, now: Waiting, now_ms: u64, rate: u32) -> Result<Self, TooSlow> {
        let next = |before: Option<Account>, now: Option<Account>| match (before, now) {
            (Some(before), Some(now)) => before.continued(now, rate).map(Some),
            (_, now) => Some(now),
        };
        let sender = now
            .sender
            .map(|(of, bytes)| Account::new(of, now_ms, bytes, SENDER_GRACE_BYTES));
        let reader = now
            .reader
            .map(|bytes| Account::new(0, now_ms, bytes, READER_GRACE_BYTES));
        Ok(Self {
            sender: next(self.sender, sender).ok_or(TooSlow::Sender)?,
            reader: next(self.reader, reader).ok_or(TooSlow::Reader)?,
        })
    }
}

fn as_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: u32 = 240;

    fn at(of: u64, at_ms: u64, bytes: u64) -> Account {
        Account::new(of, at_ms, bytes, SENDER_GRACE_BYTES)
    }

    /// Seconds until a peer that moves so much each second is too slow, of ten minutes.
    fn seconds(mut moved: impl FnMut(u64) -> u64) -> Option<u64> {
        let mut account = at(1, 0, 0);
        let mut bytes = 0;
        (1..600).find(|second| {
            bytes += moved(*second);
            match account.continued(at(1, second * 1000, bytes), RATE) {
                Some(next) => account = next,
                None => return true,
            }
            false
        })
    }

    #[test]
    fn a_trickle_ends_and_a_poor_line_does_not() {
        assert_eq!(seconds(|_| 1), Some(18));
        assert_eq!(seconds(|_| 241), None);
        // In packets, every five seconds one.
        assert_eq!(seconds(|second| u64::from(second % 5 == 0) * 1460), None);
    }

    #[test]
    fn what_was_fast_before_counts_up_to_a_bound() {
        let burst = seconds(|second| u64::from(second == 1) * (1 << 30)).unwrap();
        let credit = u64::try_from(PACE_CREDIT_BYTES).unwrap() / u64::from(RATE);
        assert_eq!(burst, 1 + credit + 1);
    }

    #[test]
    fn another_request_or_a_pause_begins_anew() {
        let slow = at(1, 0, 0);
        assert_eq!(slow.continued(at(1, 60_000, 0), RATE), None);
        let other = at(2, 60_000, 0);
        assert_eq!(slow.continued(other, RATE), Some(other));
    }
}
