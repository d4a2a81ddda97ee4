//! Applications that come, change and go with the configuration.

use std::time::Instant;

use portico_supervisor::Condition;

use crate::applications::entries::{Applications, Entry};
use crate::applications::specification::Specification;

impl Applications {
    /// These are the applications of the configuration from now on. Those that have not changed are not touched.
    pub(crate) fn configure(&mut self, specifications: &[Specification], now: Instant) {
        let is_named = |name: &str| specifications.iter().any(|own| own.name == name);
        let removed = self.entries.iter_mut();
        for (name, entry) in removed.filter(|(name, entry)| entry.is_configured && !is_named(name))
        {
            if !entry.is_removed {
                tracing::info!(application = name, "is no longer configured; it is stopped");
                entry.is_removed = true;
                entry.machine.stop(now);
            }
        }
        self.has_changed = true;
        for specification in specifications {
            match self.entries.get_mut(&specification.name) {
                Some(entry) => entry.reconfigure(specification, now),
                None => self.insert(specification.clone(), true, now),
            }
        }
    }
}

impl Entry {
    /// Puts changed options into force: a worker is replaced only where it would be started in another way now.
    fn reconfigure(&mut self, new: &Specification, now: Instant) {
        if self.specification == *new && !self.is_removed {
            return;
        }
        let before = std::mem::replace(&mut self.specification, new.clone());
        if before.policy != new.policy {
            self.machine.set_policy(now, new.policy.clone());
        }
        // A number that was set by `portico scale` stays until the file has another.
        if before.instances != new.instances || self.is_removed {
            self.machine.scale(now, new.instances);
        }
        let stays_stopped = self.machine.condition() == Condition::Stopped && !self.is_removed;
        if !stays_stopped && (self.is_removed || !before.starts_as(new)) {
            tracing::info!(
                application = new.name,
                "has changed; its workers are replaced"
            );
            self.machine.recycle(now);
        }
        self.is_removed = false;
    }
}
