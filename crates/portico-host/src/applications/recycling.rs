//! Workers that are replaced because of what they have done or become.

use std::collections::BTreeSet;
use std::fs;
use std::time::Instant;

use crate::applications::life::Life;
use crate::applications::specification::Specification;
use crate::host::Host;
use crate::status::Totals;

/// Looks in a row, a second apart, at which a worker must be too large: what is freed at once is no leak.
const TIMES_TOO_LARGE: u32 = 3;
/// The last part of a worker's age in which it is replaced: no two at the same moment.
const JITTER: f64 = 0.1;

impl Host {
    /// Looks for workers that have had their time. Once a second.
    pub(crate) fn replace_used_workers(&mut self, totals: &Totals, now: Instant) {
        for (name, entry) in &mut self.applications.entries {
            for (worker, life) in &mut entry.lives {
                let registrations = life.registrations.iter();
                let members = registrations.filter_map(|entry| totals.members.get(&entry.member));
                let requests: u64 = members.map(|member| member.requests).sum();
                life.requests = life.requests.max(life.requests_before + requests);
                if life.is_used_up {
                    continue;
                }
                let Some(why) = life.cause(&entry.specification, now) else {
                    continue;
                };
                life.is_used_up = true;
                let pid = life.process.pid();
                tracing::info!(application = name, pid, "a worker {why}; it is replaced");
                entry.machine.recycle_worker(now, *worker);
                self.applications.has_changed = true;
            }
        }
    }
}

impl Life {
    /// Why the worker is to be replaced, in words behind its name.
    fn cause(&mut self, limits: &Specification, now: Instant) -> Option<String> {
        if limits
            .max_requests
            .is_some_and(|limit| self.requests >= limit)
        {
            return Some(format!("has had {} requests", self.requests));
        }
        let (age, share) = (self.age(now), self.share());
        if limits
            .max_age
            .is_some_and(|limit| age >= limit.mul_f64(1.0 - JITTER * share))
        {
            return Some(format!("is {} s old", age.as_secs()));
        }
        let heap = self.heap_used().unwrap_or(0);
        if limits.max_heap.is_some_and(|limit| heap > limit) {
            return Some(format!("has {} MiB in JavaScript's heap", heap >> 20));
        }
        let memory = limits.max_memory.map(|limit| (limit, self.memory()));
        match memory {
            Some((limit, bytes)) if bytes > limit => {
                self.times_too_large += 1;
                let is_too_large = self.times_too_large >= TIMES_TOO_LARGE;
                is_too_large.then(|| format!("has {} MiB of memory", bytes >> 20))
            }
            _ => {
                self.times_too_large = 0;
                None
            }
        }
    }

    /// Resident memory of its first process and of those that serve, in bytes.
    pub(super) fn memory(&self) -> u64 {
        let serving = self.registrations.iter().map(|entry| entry.pid);
        let processes: BTreeSet<_> = serving.chain([self.process.pid()]).collect();
        processes.into_iter().map(resident).sum()
    }

    /// A number from 0 to 1 that is this worker's alone.
    fn share(&self) -> f64 {
        let random = self.identity.get(self.identity.len().saturating_sub(4)..);
        let number = random.and_then(|text| u16::from_str_radix(text, 16).ok());
        f64::from(number.unwrap_or(0)) / f64::from(u16::MAX)
    }
}

/// Resident memory of a process in bytes; 0 if it has ended.
fn resident(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib: u64 = number
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0);
    kib * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_known_while_it_lives() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(resident(own) > 1 << 20);
        assert_eq!(resident(i32::MAX), 0);
    }
}
