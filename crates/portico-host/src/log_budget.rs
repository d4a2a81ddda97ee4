//! How much of the log one user can fill: lines about what other users do are written only so often.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use portico_locate::effective_user;

/// Lines about one user, at most, in each [`PERIOD`].
const LINES: u32 = 1000;
const PERIOD: Duration = Duration::from_secs(10);

/// Lines written about users. Those about root and the host's own user are not counted.
#[derive(Debug)]
pub(crate) struct LogBudget {
    began: Instant,
    lines: HashMap<u32, u32>,
}

impl LogBudget {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            began: now,
            lines: HashMap::new(),
        }
    }

    /// Whether a line about this user is to be written. When a period is over, the log is told what was left out.
    pub(crate) fn allows(&mut self, uid: u32, now: Instant) -> bool {
        if now.duration_since(self.began) >= PERIOD {
            self.began = now;
            for (uid, lines) in self.lines.drain() {
                if lines > LINES {
                    tracing::warn!(uid, "{} lines about this user were left out", lines - LINES);
                }
            }
        }
        if uid == 0 || uid == effective_user() {
            return true;
        }
        let lines = self.lines.entry(uid).or_default();
        *lines = lines.saturating_add(1);
        *lines <= LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_so_many_lines_in_each_period_and_takes_none_of_anothers() {
        let start = Instant::now();
        let mut budget = LogBudget::new(start);
        let allowed = (0..3 * LINES).filter(|_| budget.allows(10_001, start));
        assert_eq!(allowed.count(), 1000);
        assert!(budget.allows(10_002, start));
        assert!(budget.allows(0, start));
        assert!(!budget.allows(10_001, start + PERIOD / 2));
        assert!(budget.allows(10_001, start + PERIOD));
    }
}
