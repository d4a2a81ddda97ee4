//! Who serves which prefix: members (registrations), the queues that they share, and reservations. No I/O, no clock.
//!
//! A queue is made by the first member of its prefix, or by the configuration. It outlives its last member for
//! `QueueOptions::wait`, so that requests find the replacement of a process that died; where a reservation or a site
//! names its prefix it stays. While it has no member it belongs to the user who had it.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use portico_dispatch::{MemberId, QueueId, QueueOptions, Routes};
use portico_router::{Requester, Reservations, Scheme, SchemeConflict, Table, UrlPrefix};

use crate::protocol::Process;
use crate::{Failure, code};

/// Registrations of a host, at most.
pub const MAX_MEMBERS: usize = 16_384;
/// Registrations of one user other than root and the host's own, at most: so that no user takes the host's memory alone.
pub const MAX_MEMBERS_OF_A_USER: usize = 2_048;

/// A user, by the kernel's word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// User id.
    pub uid: u32,
    /// Group ids.
    pub gids: Vec<u32>,
}

impl Owner {
    /// The same for the router.
    #[must_use]
    pub fn requester(&self) -> Requester<'_> {
        Requester {
            uid: self.uid,
            gids: &self.gids,
        }
    }
}

/// One registration of one process.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its queue.
    pub queue: QueueId,
    /// Whose process it is.
    pub owner: Owner,
    /// What the process says of itself.
    pub process: Process,
    /// It takes nothing new.
    pub leaving: bool,
}

/// The request queue of one prefix.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The prefix.
    pub prefix: UrlPrefix,
    /// Settings.
    pub options: QueueOptions,
    /// Who had the prefix last.
    owner: Owner,
    /// Members that have not left.
    pub members: Vec<MemberId>,
    /// Until when it waits for a member, while it has none. `None`: as long as it is kept.
    until: Option<Instant>,
}

impl Queue {
    /// Who registered the prefix last; root where no user has.
    #[must_use]
    pub fn owner(&self) -> &Owner {
        &self.owner
    }
}

/// What the configuration says of queues and reservations.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Settings of queues that no site names.
    pub default_queue: QueueOptions,
    /// Sites: these prefixes have a queue even without members.
    pub sites: BTreeMap<UrlPrefix, QueueOptions>,
    /// All reservations in force, configured and run-time ones.
    pub reservations: Reservations,
    /// What is wrong with some of them, for people.
    pub problems: BTreeMap<UrlPrefix, String>,
    /// Whether some of them name users or groups that are not known now.
    pub unknown_names: bool,
    /// Registrations, at most, where it is less than [`MAX_MEMBERS`].
    pub members: Option<usize>,
    /// Registrations of one user, at most, where it is less than [`MAX_MEMBERS_OF_A_USER`].
    pub members_of_a_user: Option<usize>,
}

/// The registry.
#[derive(Debug, Default)]
pub struct Registry {
    table: Table<QueueId>,
    queues: BTreeMap<QueueId, Queue>,
    members: BTreeMap<MemberId, Member>,
    rules: Rules,
    last_member: u32,
    last_queue: u32,
}

impl Registry {
    /// The members.
    #[must_use]
    pub fn members(&self) -> &BTreeMap<MemberId, Member> {
        &self.members
    }

    /// The queues.
    #[must_use]
    pub fn queues(&self) -> &BTreeMap<QueueId, Queue> {
        &self.queues
    }

    /// The rules in force.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The queue of a prefix.
    #[must_use]
    pub fn queue(&self, prefix: &UrlPrefix) -> Option<&Queue> {
        self.queues.get(self.table.get_exact(prefix)?)
    }

    /// Whether this user may register the prefix now. Changes nothing.
    ///
    /// # Errors
    /// Taken, reserved, the port has another scheme, too many registrations.
    pub fn check(&self, prefix: &UrlPrefix, owner: &Owner) -> Result<(), Failure> {
        self.table
            .check_scheme(prefix)
            .map_err(|conflict| scheme_conflict(&conflict))?;
        self.rules
            .reservations
            .may_register(prefix, owner.requester(), self.registered())
            .map_err(|denied| Failure::new(denied.code(), format!("{prefix}: {denied}")))?;
        // Prefixes that wait for their next process count too: otherwise coming and going would make ever more.
        let of_user = || {
            let same = |member: &&Member| member.owner.uid == owner.uid;
            let waits = |queue: &&Queue| {
                let vacant = queue.members.is_empty() && queue.until.is_some();
                vacant && queue.owner.uid == owner.uid && queue.prefix != *prefix
            };
            let members = self.members.values().filter(same).count();
            members + self.queues.values().filter(waits).count()
        };
        let limit = self.rules.members.unwrap_or(usize::MAX).min(MAX_MEMBERS);
        if self.members.len() >= limit {
            return Err(too_many("this host has", limit));
        }
        let limit = self.rules.members_of_a_user.unwrap_or(usize::MAX);
        let limit = limit.min(MAX_MEMBERS_OF_A_USER);
        if !is_trusted(owner.uid) && of_user() >= limit {
            return Err(too_many("this user has", limit));
        }
        Ok(())
    }

    /// Adds a member to the prefix's queue, which is made if there is none.
    ///
    /// # Errors
    /// As [`Registry::check`]: nothing has changed then.
    pub fn register(
        &mut self,
        prefix: &UrlPrefix,
        owner: Owner,
        process: Process,
    ) -> Result<(MemberId, QueueId), Failure> {
        self.check(prefix, &owner)?;
        let queue = self.queue_for(prefix, &owner)?;
        self.last_member += 1;
        let member = MemberId(self.last_member);
        if let Some(entry) = self.queues.get_mut(&queue) {
            entry.members.push(member);
            entry.owner = owner.clone();
            entry.until = None;
        }
        let entry = Member {
            queue,
            owner,
            process,
            leaving: false,
        };
        self.members.insert(member, entry);
        Ok((member, queue))
    }

    /// The prefix has no member yet, and its queue waits for one of this user: the host before this one had it.
    ///
    /// # Errors
    /// The port has another scheme.
    pub fn expect(
        &mut self,
        prefix: &UrlPrefix,
        owner: &Owner,
        until: Instant,
    ) -> Result<(), Failure> {
        let queue = self.queue_for(prefix, owner)?;
        if let Some(entry) = self.queues.get_mut(&queue)
            && entry.members.is_empty()
        {
            entry.owner = owner.clone();
            entry.until = Some(until);
        }
        Ok(())
    }

    /// The member takes nothing new from now on. Whether it was there and had not said so before.
    pub fn leave(&mut self, now: Instant, member: MemberId) -> bool {
        let Some(entry) = self.members.get_mut(&member) else {
            return false;
        };
        if std::mem::replace(&mut entry.leaving, true) {
            return false;
        }
        let queue = entry.queue;
        self.take_from_queue(now, member, queue);
        true
    }

    /// The member is no more.
    pub fn gone(&mut self, now: Instant, member: MemberId) -> Option<Member> {
        let entry = self.members.remove(&member)?;
        self.take_from_queue(now, member, entry.queue);
        Some(entry)
    }

    /// Removes the queues that have waited long enough. Returns their prefixes.
    pub fn expire(&mut self, now: Instant) -> Vec<UrlPrefix> {
        let expired: Vec<_> = self
            .queues
            .iter()
            .filter(|(_, queue)| {
                queue.members.is_empty()
                    && queue.until.is_none_or(|until| until <= now)
                    && !self.is_kept(&queue.prefix)
            })
            .map(|(id, queue)| (*id, queue.prefix.clone()))
            .collect();
        for (id, prefix) in &expired {
            self.queues.remove(id);
            self.table.remove(prefix);
        }
        expired.into_iter().map(|(_, prefix)| prefix).collect()
    }

    /// Puts new rules into force. Registrations stay as they are, even where the rules would refuse them now.
    ///
    /// # Errors
    /// Two prefixes want different schemes on a port: the old rules stay in force.
    pub fn apply(&mut self, rules: Rules) -> Result<(), Failure> {
        let mut next = Self {
            last_queue: self.last_queue,
            last_member: self.last_member,
            rules,
            ..Self::default()
        };
        let used = |queue: &&Queue| !queue.members.is_empty() || queue.until.is_some();
        for (id, queue) in self.queues.iter().filter(|(_, queue)| used(queue)) {
            next.table
                .insert(queue.prefix.clone(), *id)
                .map_err(|conflict| scheme_conflict(&conflict))?;
            let mut queue = queue.clone();
            queue.options = next.options_for(&queue.prefix);
            next.queues.insert(*id, queue);
        }
        let sites: Vec<_> = next.rules.sites.keys().cloned().collect();
        for prefix in &sites {
            next.queue_for(prefix, &Owner::default())?;
        }
        for reservation in next.rules.reservations.iter() {
            next.table
                .reserve(reservation.prefix.clone())
                .map_err(|conflict| scheme_conflict(&conflict))?;
        }
        next.members = std::mem::take(&mut self.members);
        *self = next;
        Ok(())
    }

    /// The table for the shards.
    #[must_use]
    pub fn routes(&self) -> Routes {
        let options = |(id, queue): (&QueueId, &Queue)| (*id, queue.options.clone());
        Routes {
            table: self.table.clone(),
            queues: self.queues.iter().map(options).collect::<HashMap<_, _>>(),
        }
    }

    /// The ports that queues need, with their schemes.
    #[must_use]
    pub fn ports(&self) -> BTreeMap<u16, Scheme> {
        let port = |queue: &Queue| (queue.prefix.port(), queue.prefix.scheme());
        self.queues.values().map(port).collect()
    }

    /// Registered prefixes with their owners. A queue without members is its last owner's.
    fn registered(&self) -> impl Iterator<Item = (&UrlPrefix, Requester<'_>)> {
        self.queues.values().flat_map(|queue| {
            let vacant = queue.members.is_empty() && queue.until.is_some();
            let last = vacant.then(|| queue.owner.requester());
            let members = queue.members.iter().filter_map(|id| self.members.get(id));
            let owners = members.map(|member| member.owner.requester());
            owners.chain(last).map(|owner| (&queue.prefix, owner))
        })
    }

    fn is_kept(&self, prefix: &UrlPrefix) -> bool {
        self.rules.sites.contains_key(prefix) || self.rules.reservations.get(prefix).is_some()
    }

    fn options_for(&self, prefix: &UrlPrefix) -> QueueOptions {
        let site = self.rules.sites.get(prefix);
        site.unwrap_or(&self.rules.default_queue).clone()
    }

    fn queue_for(&mut self, prefix: &UrlPrefix, owner: &Owner) -> Result<QueueId, Failure> {
        if let Some(id) = self.table.get_exact(prefix) {
            return Ok(*id);
        }
        let id = QueueId(self.last_queue + 1);
        self.table
            .insert(prefix.clone(), id)
            .map_err(|conflict| scheme_conflict(&conflict))?;
        self.last_queue = id.0;
        let queue = Queue {
            prefix: prefix.clone(),
            options: self.options_for(prefix),
            owner: owner.clone(),
            members: Vec::new(),
            until: None,
        };
        self.queues.insert(id, queue);
        Ok(id)
    }

    fn take_from_queue(&mut self, now: Instant, member: MemberId, queue: QueueId) {
        let Some(queue) = self.queues.get_mut(&queue) else {
            return;
        };
        let before = queue.members.len();
        queue.members.retain(|id| *id != member);
        if before > 0 && queue.members.is_empty() {
            queue.until = Some(now + queue.options.wait);
        }
    }
}

/// Whether a user may take as much of the host as there is: root, and the host's own.
pub(crate) fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

fn scheme_conflict(conflict: &SchemeConflict) -> Failure {
    Failure::new(code::SCHEME_CONFLICT, conflict.to_string())
}

fn too_many(who: &str, limit: usize) -> Failure {
    Failure::new(
        code::LIMIT,
        format!("{who} {limit} registrations, and that is the limit; end some of them first"),
    )
}
