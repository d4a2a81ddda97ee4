//! Looks at how fast the peers of a listener are, and closes the connections of those that are too slow.

use std::collections::HashMap;

use portico_channel::layout::destroy_flag;

use super::Shard;
use super::turn::LISTENER;

use crate::limits::PACE_CHECK_MS;
use crate::pace::TooSlow;
use crate::transport::millis;

impl Shard {
    pub(super) fn check_pace(&mut self, listener: u32) {
        let now_ms = self.core.clock.now_ms();
        let Some(entry) = self.core.listeners.find_mut(listener) else {
            return;
        };
        entry.pace_ms = 0;
        let rate = entry.options.min_bytes_per_second;
        let mut before = std::mem::take(&mut entry.paces);
        if rate == 0 {
            return;
        }
        let mut now = HashMap::new();
        let mut late = Vec::new();
        for connection in self
            .connections
            .iter_mut()
            .filter(|connection| connection.transport.listener() == listener)
        {
            let token = connection.transport.token();
            match connection.pace(before.remove(&token).unwrap_or_default(), now_ms, rate) {
                Ok(pace) if pace.is_empty() => {}
                Ok(pace) => {
                    now.insert(token, pace);
                }
                Err(slow) => late.push((token, slow)),
            }
        }
        if let Some(entry) = self.core.listeners.find_mut(listener) {
            entry.paces = now;
        }
        for (token, slow) in late {
            self.core.counters.too_slow += 1;
            // What the kernel still has for a peer that does not read would be kept for minutes more.
            let flags = match slow {
                TooSlow::Reader => destroy_flag::RESET,
                TooSlow::Sender => 0,
            };
            self.destroy(token, flags);
        }
    }

    /// Enters the next look, if there is anything to look at.
    pub(super) fn enter_pace_check(&mut self, listener: u32) {
        let Some(entry) = self.core.listeners.find_mut(listener) else {
            return;
        };
        let options = &entry.options;
        let is_needed = options.min_bytes_per_second > 0 && entry.connections() > 0;
        if !is_needed || entry.pace_ms != 0 {
            return;
        }
        let interval_ms = match millis(options.connections_checking_interval) {
            0 => PACE_CHECK_MS,
            interval_ms => interval_ms.min(PACE_CHECK_MS),
        };
        entry.pace_ms = self.core.clock.now_ms() + interval_ms;
        let deadline_ms = entry.pace_ms;
        self.core
            .timers
            .enter(deadline_ms, LISTENER | u64::from(listener));
    }
}
