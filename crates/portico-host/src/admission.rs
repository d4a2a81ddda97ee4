//! A registration: from the application's first line to its channels.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use portico_channel::shared::{Capacity, FINGERPRINT, HostEnd, LAYOUT_VERSION};
use portico_dispatch::{MemberId, MemberLoad, NewMember, QueueId};
use portico_router::UrlPrefix;
use portico_sys::{Bell, Credentials, Ringer, bell};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::host::{Host, Phase};
use crate::protocol::{PROTOCOL_VERSION, Register, Registered, Reply};
use crate::registry::Owner;
use crate::users::parse_prefix;
use crate::{Failure, code};

/// A channel's memory: room for what comes while the application is busy for a few milliseconds. Pages that are never
/// used cost nothing.
const CAPACITY: Capacity = Capacity {
    events: 1 << 20,
    commands: 1 << 20,
};

/// Characters of what a process says of itself that are kept.
const MAX_WORD_CHARACTERS: usize = 256;

/// A registration that was accepted.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) member: MemberId,
    /// The first answer, and the descriptors that go with it.
    pub(crate) reply: Reply,
    pub(crate) descriptors: Vec<OwnedFd>,
    /// Later lines.
    pub(crate) lines: UnboundedReceiver<Reply>,
}

/// A member that no shard knows yet.
#[derive(Debug)]
pub(crate) struct Held {
    member: MemberId,
    queue: QueueId,
    ends: Vec<(HostEnd, Bell)>,
    ringer: Arc<Ringer>,
}

/// One registration's channels, before they are used.
struct Channels {
    ringer: Arc<Ringer>,
    /// For each shard: its end and its bell.
    ends: Vec<(HostEnd, Bell)>,
    descriptors: Vec<OwnedFd>,
}

impl Host {
    /// Registers a prefix for a process.
    ///
    /// # Errors
    /// Why not; nothing has changed then.
    pub(crate) fn register(
        &mut self,
        peer: &Credentials,
        register: Register,
    ) -> Result<Admission, Failure> {
        if self.phase != Phase::Running {
            let text = "the host is about to end; register again in a moment";
            return Err(Failure::new(code::HOST_STOPPING, text));
        }
        check_versions(&register)?;
        let prefix = parse_prefix(&register.prefix)?;
        let owner = Owner {
            uid: peer.uid,
            gids: peer.gids.clone(),
        };
        self.look_up_names();
        self.check_configured_scheme(&prefix)?;
        self.registry.check(&prefix, &owner)?;
        let of_worker = self.worker_of(peer, register.worker.as_ref(), &prefix.to_string())?;
        let mut wanted = self.wanted(prefix.port(), prefix.scheme());
        if of_worker.is_some() {
            wanted.keep_to(
                register
                    .worker
                    .as_ref()
                    .and_then(|worker| worker.address.as_deref()),
            );
        }
        self.listeners.open(&self.shards, prefix.port(), wanted)?;
        let admitted = self.admit(&prefix, owner, peer.pid, register);
        let (admission, held) = admitted.inspect_err(|_| self.close_unneeded_listeners())?;
        match of_worker {
            Some(of) => self.joined(of, held, prefix.to_string(), peer.pid),
            None => self.release(held)?,
        }
        Ok(admission)
    }

    /// Lets a member have requests.
    ///
    /// # Errors
    /// It can't: it is no member any more.
    pub(crate) fn release(&mut self, held: Held) -> Result<(), Failure> {
        let member = held.member;
        self.attach(held).map_err(|error| {
            self.gone(member);
            Failure::system("a channel can't be attached", error)
        })
    }

    fn admit(
        &mut self,
        prefix: &UrlPrefix,
        owner: Owner,
        pid: i32,
        register: Register,
    ) -> Result<(Admission, Held), Failure> {
        let channels = Channels::make(self.shards.len())
            .map_err(|error| Failure::system("a channel can't be made", error))?;
        let queues = self.registry.queues().len();
        let mut process = register.process;
        process.pid = if pid > 0 { pid } else { process.pid };
        process.program = beginning(&process.program, MAX_WORD_CHARACTERS);
        process.node = beginning(&process.node, MAX_WORD_CHARACTERS);
        let told = (process.pid, process.program.clone(), owner.uid);
        self.give_up_answers_of_others(prefix, owner.uid);
        let (member, queue) = self.registry.register(prefix, owner, process)?;
        if self.registry.queues().len() != queues {
            self.publish_routes();
        }
        self.has_come_back(prefix);
        let (sender, lines) = unbounded_channel();
        self.sessions.insert(member, sender);
        let address = self.listeners.addresses(prefix.port()).into_iter().next();
        let limits = &self.settings.limits;
        let registered = Registered {
            member: member.0,
            shards: u32::try_from(self.shards.len()).unwrap_or(0),
            prefix: prefix.to_string(),
            address: address.unwrap_or_default(),
            keep_alive_timeout: u64::try_from(limits.keep_alive_timeout.as_millis())
                .unwrap_or(u64::MAX),
        };
        let (pid, program, uid) = told;
        if self.log.allows(uid, Instant::now()) {
            tracing::info!(member = member.0, pid, program, uid, "{prefix} registered");
        }
        let admission = Admission {
            member,
            reply: Reply::Registered(registered),
            descriptors: channels.descriptors,
            lines,
        };
        let held = Held {
            member,
            queue,
            ends: channels.ends,
            ringer: channels.ringer,
        };
        Ok((admission, held))
    }

    fn attach(&mut self, held: Held) -> io::Result<()> {
        let Held {
            member,
            queue,
            ends,
            ringer,
        } = held;
        let load = Arc::<MemberLoad>::default();
        let owner = self.registry.members().get(&member);
        let memory = self.memories.of(owner.map_or(0, |entry| entry.owner.uid));
        for (shard, (end, bell)) in self.shards.iter().zip(ends) {
            shard.attach(NewMember {
                id: member,
                queue,
                end,
                bell,
                ringer: Arc::clone(&ringer),
                load: Arc::clone(&load),
                memory: Arc::clone(&memory),
            })?;
        }
        Ok(())
    }

    fn check_configured_scheme(&self, prefix: &UrlPrefix) -> Result<(), Failure> {
        let configured = self.settings.listeners.get(&prefix.port());
        match configured.map(|listener| listener.scheme) {
            Some(scheme) if scheme != prefix.scheme() => Err(Failure::new(
                code::SCHEME_CONFLICT,
                format!(
                    "the configuration says that port {} is for {scheme}; use {scheme}:// or another port",
                    prefix.port()
                ),
            )),
            _ => Ok(()),
        }
    }

    fn has_come_back(&mut self, prefix: &UrlPrefix) {
        if let Some(missing) = self.expected.get_mut(prefix) {
            *missing = missing.saturating_sub(1);
            if *missing == 0 {
                self.expected.remove(prefix);
            }
        }
    }
}

impl Held {
    /// Its number.
    pub(crate) fn member(&self) -> MemberId {
        self.member
    }
}

impl Channels {
    fn make(shards: usize) -> io::Result<Self> {
        let (ringer, its_bell) = bell()?;
        let mut descriptors = vec![its_bell.into()];
        let mut ends = Vec::new();
        for _ in 0..shards {
            let (end, memory) = HostEnd::create(CAPACITY)?;
            let (its_ringer, bell) = bell()?;
            descriptors.push(memory);
            descriptors.push(its_ringer.into());
            ends.push((end, bell));
        }
        Ok(Self {
            ringer: Arc::new(ringer),
            ends,
            descriptors,
        })
    }
}

/// The beginning of a text.
pub(crate) fn beginning(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

fn check_versions(register: &Register) -> Result<(), Failure> {
    let rows = [
        ("control protocol", register.protocol, PROTOCOL_VERSION),
        ("channel's layout", register.layout, LAYOUT_VERSION),
    ];
    for (what, theirs, ours) in rows {
        let older = match theirs.cmp(&ours) {
            std::cmp::Ordering::Equal => continue,
            std::cmp::Ordering::Less => "upgrade the application's `portico` package",
            std::cmp::Ordering::Greater => {
                "upgrade the host (`portico upgrade` after installing the new program)"
            }
        };
        let text = format!(
            "the application speaks version {theirs} of the {what}, and the host ({}) version {ours}: {older}",
            env!("CARGO_PKG_VERSION")
        );
        return Err(Failure::new(code::PROTOCOL, text));
    }
    check_records(register)
}

/// Builds of one version may have been made from different tables of records.
fn check_records(register: &Register) -> Result<(), Failure> {
    if register.records == FINGERPRINT {
        return Ok(());
    }
    let package = match beginning(&register.process.package, 40) {
        package if package.is_empty() => "of a version it does not name".to_owned(),
        package => package,
    };
    let advice = match register.records {
        0 => "the application's is the older one: upgrade it",
        _ => "install the same version of both, then restart the older one",
    };
    let text = format!(
        "the application's `portico` package ({package}) and the host ({}) were built from different tables of records, so \
         neither would understand the other: {advice}",
        env!("CARGO_PKG_VERSION")
    );
    Err(Failure::new(code::PROTOCOL, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Request;

    fn registering(protocol: u32, layout: u32, records: &str) -> Register {
        let line = format!(
            r#"{{"type":"register","protocol":{protocol},"layout":{layout},{records}"prefix":"http://*:8080/1/","process":{{"pid":1,"program":"a.js","node":"20.20.2"}}}}"#
        );
        match Request::parse(&line) {
            Ok(Request::Register(register)) => register,
            other => panic!("not a registration: {other:?}"),
        }
    }

    #[test]
    fn an_application_with_another_layout_of_records_is_refused_and_told_what_to_upgrade() {
        assert!(check_versions(&registering(PROTOCOL_VERSION, LAYOUT_VERSION, &ours())).is_ok());
        for (theirs, advice) in [
            (
                LAYOUT_VERSION - 1,
                "upgrade the application's `portico` package",
            ),
            (LAYOUT_VERSION + 1, "upgrade the host"),
        ] {
            let failure =
                check_versions(&registering(PROTOCOL_VERSION, theirs, &ours())).unwrap_err();
            assert_eq!(failure.code, code::PROTOCOL);
            let versions = format!("speaks version {theirs} of the channel's layout");
            assert!(failure.message.contains(&versions), "{failure}");
            assert!(failure.message.contains(advice), "{failure}");
        }
    }

    fn ours() -> String {
        format!(r#""records":{FINGERPRINT},"#)
    }

    #[test]
    fn an_application_built_from_other_records_or_that_names_none_is_refused() {
        let other = format!(r#""records":{},"#, FINGERPRINT ^ 1);
        for (records, advice) in [
            (other.as_str(), "install the same version of both"),
            ("", "the application's is the older one"),
        ] {
            let register = registering(PROTOCOL_VERSION, LAYOUT_VERSION, records);
            let failure = check_versions(&register).unwrap_err();
            assert_eq!(failure.code, code::PROTOCOL);
            assert!(failure.message.contains("different tables of records"));
            assert!(failure.message.contains(advice), "{failure}");
        }
    }
}
