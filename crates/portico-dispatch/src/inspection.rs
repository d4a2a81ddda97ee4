//! Every request in flight and what it waits for: `portico status --requests`.
//!
//! For whoever looks for a request that hangs: it says which process has it, and whether what was told of it has been taken
//! and what was answered has been applied. Costs a look at each connection, and nothing while it is not asked for.

use portico_engine::Shard;

use crate::client::{Client, Hold};
use crate::dispatcher::Dispatcher;
use crate::exchange::{Exchange, Stage};
use crate::member::Member;
use crate::{MemberId, QueueId};

/// Requests that are told, about: an answer of some megabytes for each shard.
const ROWS: usize = 10_000;

/// What one shard has in work.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// Its members.
    pub members: Vec<InspectedMember>,
    /// Requests that are not answered completely, and bodies and byte streams that outlast theirs: about 10,000 at most.
    pub requests: Vec<InspectedRequest>,
}

/// A member and its channel.
#[derive(Clone, Debug)]
pub struct InspectedMember {
    /// The member.
    pub member: MemberId,
    /// Where it stands, in words.
    pub state: String,
}

/// A request in flight.
#[derive(Clone, Debug)]
pub struct InspectedRequest {
    /// Number of its connection in records.
    pub connection: u32,
    /// Its number on the connection; 0: a byte stream.
    pub sequence: u32,
    /// Its queue; `None` of what outlasts its request.
    pub queue: Option<QueueId>,
    /// The member that has it.
    pub member: Option<MemberId>,
    /// Milliseconds since its member got it, or the last part of its body.
    pub idle_ms: u64,
    /// Where it stands, in words.
    pub state: String,
    /// Where its connection stands, in words.
    pub connection_state: String,
}

impl Dispatcher {
    /// All that is in work on this shard, by connection.
    pub(crate) fn inspect(&mut self, shard: &mut Shard) -> Inspection {
        let now_ms = self.now_ms;
        let Self {
            clients, members, ..
        } = self;
        let id_of = |index: usize| members.get(index)?.as_ref().map(|member| member.id);
        let mut requests = Vec::new();
        for client in clients.iter_mut() {
            if requests.len() >= ROWS {
                break;
            }
            let outlasting = |sequence: &u32| client.exchanges.find(*sequence).is_none();
            let rest: Vec<u32> = client.arriving().filter(outlasting).collect();
            if client.exchanges.is_empty() && rest.is_empty() {
                continue;
            }
            let connection_state =
                shard.inspect(client.token).unwrap_or_default() + &marks_of(client);
            let row = |sequence, queue, member: Option<usize>, idle_ms, state| InspectedRequest {
                connection: client.token,
                sequence,
                queue,
                member: member.and_then(id_of),
                idle_ms,
                state,
                connection_state: connection_state.clone(),
            };
            requests.extend(client.exchanges.iter().map(|exchange| {
                let idle_ms = now_ms.saturating_sub(exchange.since_ms());
                let (queue, member) = (Some(exchange.queue), exchange.member());
                row(
                    exchange.sequence,
                    queue,
                    member,
                    idle_ms,
                    state_of(exchange),
                )
            }));
            requests.extend(rest.iter().map(|sequence| {
                let state = match sequence {
                    0 => "byte stream".into(),
                    _ => "answered, its body arrives".into(),
                };
                row(*sequence, None, client.receiver_of(*sequence), 0, state)
            }));
        }
        Inspection {
            members: members
                .iter_mut()
                .flatten()
                .map(InspectedMember::of)
                .collect(),
            requests,
        }
    }
}

impl InspectedMember {
    fn of(member: &mut Member) -> Self {
        // As of now: what is kept of it is older, and looking must not wake it.
        let end = member.backlog.taken() + u64::try_from(member.backlog.len()).unwrap_or(0);
        let untaken = member.end.events.taken().map(|taken| end - taken.min(end));
        let rhythm = |is_asleep| if is_asleep { "asleep" } else { "awake" };
        let written =
            |bytes: Result<usize, _>| bytes.map_or("broken".into(), |bytes| bytes.to_string());
        let mut facts = vec![
            format!("process {}", rhythm(member.end.application().is_asleep())),
            format!("shard {} to it", rhythm(member.end.host().is_asleep())),
            untaken.map_or("broken".into(), |bytes| format!("{bytes} bytes not taken")),
            format!(
                "{} bytes of answers not applied",
                written(member.end.commands.available())
            ),
            format!("{} in flight", member.in_flight),
        ];
        let flags = [
            (member.backlog.is_waiting(), "channel full"),
            (
                member.end.application_wants_room().is_asleep(),
                "process waits for room",
            ),
            (member.is_behind(), "bodies held back"),
            (member.leaving, "leaving"),
            (!member.active, "not looked at until it rings"),
        ];
        facts.extend(
            flags
                .iter()
                .filter(|(is_so, _)| *is_so)
                .map(|(_, text)| (*text).into()),
        );
        Self {
            member: member.id,
            state: facts.join(", "),
        }
    }
}

fn state_of(exchange: &Exchange) -> String {
    let stage = match exchange.stage() {
        Stage::Waiting => "waits for a process",
        Stage::Behind => "upgrade behind other requests",
        Stage::With(_) => "with its process",
    };
    let body = match exchange.is_receiving() {
        true => format!("its body arrives{}", held(exchange.hold())),
        false => "it has arrived".into(),
    };
    format!("{stage}, {body}, answer {:?}", exchange.answer)
}

fn held(hold: Hold) -> &'static str {
    match (hold.discarded, hold.by_member, hold.by_us) {
        (true, ..) => " and is dropped",
        (false, true, true) => ", held by process and host",
        (false, true, false) => ", held by its process",
        (false, false, true) => ", held by the host",
        (false, false, false) => "",
    }
}

fn marks_of(client: &Client) -> String {
    let flags = [
        (!client.acks.is_empty(), "acknowledgements due"),
        (client.is_closing(), "ends behind an answer"),
        (client.broken.is_known(), "being refused"),
    ];
    flags
        .iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, text)| format!(", {text}"))
        .collect()
}
