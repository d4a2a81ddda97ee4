//! What the dispatcher knows of a client's connection: who has been told of it, and its requests in flight.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portico_channel::layout::event;
use portico_channel::schema::View;
use portico_channel::token;
use portico_sys::{Address, Family};

use crate::acks::Acks;
use crate::broken_requests::BrokenRequest;
use crate::exchange::Exchange;
use crate::flow::{Ack, Flow};
use crate::in_flight::InFlight;
use crate::listening::Admission;
use crate::peer_end::PeerEnd;
use crate::uploads::Source;

/// Index of a member in the dispatcher's table.
pub(crate) type MemberIndex = usize;

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) token: u32,
    /// Address of our end.
    pub(crate) local: IpAddr,
    /// What it has shown of client certificates; `None` where no name of its listener asks for one.
    pub(crate) admission: Option<Admission>,
    /// Where the client is.
    pub(crate) source: Source,
    /// Its `OPEN` and `SECURE`, for members that meet it later.
    opening: Vec<u8>,
    /// Members that have been told of it.
    known: Vec<MemberIndex>,
    /// Whether its exchanges are streams: they end alone, in any order, and each is told of by itself (HTTP/2).
    pub(crate) has_streams: bool,
    /// Requests in flight.
    pub(crate) exchanges: InFlight,
    /// Acknowledgements that are due.
    pub(crate) acks: Acks,
    /// Who took it over as a byte stream.
    tunnel: Option<MemberIndex>,
    /// Output of the tunnel, or of whoever answers a broken request.
    pub(crate) raw: Flow,
    /// Bodies that are still coming though their requests have been answered or are a tunnel's; without streams, one at
    /// most.
    trailing: Vec<Trailing>,
    /// What is known of bytes that are no HTTP.
    pub(crate) broken: BrokenRequest,
    /// It ends behind an answer that has been given: what is asked behind it gets no answer.
    is_closing: bool,
    /// Who wants no more of the tunnel's bytes for now.
    tunnel_hold: Hold,
    /// What is known of the end of the client's side.
    pub(crate) peer_end: PeerEnd,
    /// A member has set an inactivity timeout.
    timeout_set: bool,
}

/// A body that is still coming though its request has been answered, or is a tunnel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trailing {
    sequence: u32,
    /// Who has answered the request or has the tunnel, and wants the body.
    owner: MemberIndex,
    hold: Hold,
}

/// Who wants no more of the bytes that are arriving: of one body, or of the tunnel. It is about these bytes alone and
/// is forgotten with them, as the engine forgets what it was told of a body when that ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hold {
    /// The member that gets them.
    pub(crate) by_member: bool,
    /// We: whoever they are for is behind, or no member has the request yet.
    pub(crate) by_us: bool,
    /// Its member wants no more of this body at all: the engine drops it, and takes no notice of holds.
    pub(crate) discarded: bool,
}

impl Hold {
    pub(crate) fn is_held(self) -> bool {
        !self.discarded && (self.by_member || self.by_us)
    }
}

impl Client {
    /// A connection that an `OPEN` record tells of.
    pub(crate) fn opened(open: View<'_, event::Open>, admission: Option<Admission>) -> Self {
        let ends = open.endpoints;
        Self {
            token: open.token,
            local: address(ends.local_address, ends.local_family),
            admission,
            source: match ends.remote_family {
                0 => Source::Local,
                family => Source::of(address(ends.remote_address, family)),
            },
            opening: open.record().as_bytes().to_vec(),
            known: Vec::new(),
            has_streams: false,
            exchanges: InFlight::default(),
            acks: Acks::default(),
            tunnel: None,
            raw: Flow::default(),
            trailing: Vec::new(),
            broken: BrokenRequest::default(),
            is_closing: false,
            tunnel_hold: Hold::default(),
            peer_end: PeerEnd::default(),
            timeout_set: false,
        }
    }

    /// The request of a number, if it is in flight.
    pub(crate) fn exchange(&mut self, sequence: u32) -> Option<&mut Exchange> {
        self.exchanges.find_mut(sequence)
    }

    /// Members that have been told of it.
    pub(crate) fn known(&self) -> &[MemberIndex] {
        &self.known
    }

    /// Whether a member has been told of it.
    pub(crate) fn is_known_to(&self, member: MemberIndex) -> bool {
        self.known.contains(&member)
    }

    /// A member gets a request of it. What it is to be told before, if it has been told nothing of it.
    pub(crate) fn introduce(&mut self, member: MemberIndex) -> Option<Vec<u8>> {
        if self.is_known_to(member) {
            return None;
        }
        self.known.push(member);
        Some(self.opening.clone())
    }

    /// A member knows it no longer.
    pub(crate) fn forget(&mut self, member: MemberIndex) {
        self.known.retain(|known| *known != member);
    }

    /// Its handshake is over, as this record tells.
    pub(crate) fn secured(&mut self, record: &[u8], server_name: Option<&[u8]>) {
        self.opening.extend_from_slice(record);
        if let (Some(admission), Some(server_name)) = (&mut self.admission, server_name) {
            admission.secured(server_name);
        }
    }

    /// It ends behind an answer that has been given.
    pub(crate) fn begin_closing(&mut self) {
        self.is_closing = true;
    }

    /// Whether it does.
    pub(crate) fn is_closing(&self) -> bool {
        self.is_closing
    }

    /// A member has set an inactivity timeout.
    pub(crate) fn note_timeout(&mut self) {
        self.timeout_set = true;
    }

    /// Whether such a timeout is to end: nothing is in flight any more. Says so once.
    pub(crate) fn take_timeout(&mut self) -> bool {
        self.exchanges.is_empty() && std::mem::take(&mut self.timeout_set)
    }

    /// Whether a member has a say in the connection: a request of its own, the tunnel, or a broken request.
    pub(crate) fn is_used_by(&self, member: MemberIndex) -> bool {
        self.tunnel == Some(member)
            || self.broken.refuser() == Some(member)
            || self.is_asking(member)
            || self.is_trailing(member)
    }

    /// Whether a member wants the rest of a body whose request it has answered.
    pub(crate) fn is_trailing(&self, member: MemberIndex) -> bool {
        self.trailing.iter().any(|rest| rest.owner == member)
    }

    /// What is arriving: the requests whose bodies come, and 0 for a tunnel's bytes, which may begin behind a body.
    pub(crate) fn arriving(&self) -> impl Iterator<Item = u32> {
        let trailing = self.trailing.iter().map(|rest| rest.sequence);
        let receiving = self
            .exchanges
            .iter()
            .filter(|exchange| exchange.is_receiving());
        let tunnel = self.tunnel.filter(|_| self.trailing.is_empty());
        trailing
            .chain(receiving.map(|exchange| exchange.sequence))
            .chain(tunnel.map(|_| 0))
    }

    /// Who gets what is arriving under a number.
    pub(crate) fn receiver_of(&self, sequence: u32) -> Option<MemberIndex> {
        if sequence == 0 {
            return self.tunnel;
        }
        if let Some(rest) = self.trailing.iter().find(|rest| rest.sequence == sequence) {
            return Some(rest.owner);
        }
        let exchange = self.exchanges.find(sequence)?;
        exchange.member().filter(|_| exchange.is_receiving())
    }

    /// Who gets the bytes that are read from a connection without streams.
    pub(crate) fn receiver(&self) -> Option<MemberIndex> {
        self.tunnel.or_else(|| {
            self.arriving()
                .last()
                .and_then(|last| self.receiver_of(last))
        })
    }

    /// What is said of something that is arriving; `None` of what is not.
    pub(crate) fn hold(&mut self, sequence: u32) -> Option<&mut Hold> {
        if sequence == 0 {
            let is_arriving = self.tunnel.is_some() && self.trailing.is_empty();
            return is_arriving.then_some(&mut self.tunnel_hold);
        }
        if let Some(exchange) = self.exchanges.find_mut(sequence) {
            return exchange.body_hold();
        }
        let mut rest = self.trailing.iter_mut();
        let rest = rest.find(|rest| rest.sequence == sequence);
        rest.map(|rest| &mut rest.hold)
    }

    /// Who took the connection over as a byte stream.
    pub(crate) fn tunnel(&self) -> Option<MemberIndex> {
        self.tunnel
    }

    /// A member takes the connection over with its last request: as a byte stream at once, or from the end of that
    /// request's body on.
    pub(crate) fn begin_tunnel(&mut self, owner: MemberIndex, behind: Option<u32>) {
        self.trailing.clear();
        if let Some(sequence) = behind {
            self.trail(sequence, owner, Hold::default());
        }
        self.tunnel = Some(owner);
        self.tunnel_hold = Hold::default();
        // The engine forgets them: their turn never comes.
        self.exchanges.clear();
    }

    /// The member that had the tunnel is gone.
    pub(crate) fn abandon_tunnel(&mut self) {
        self.tunnel = None;
    }

    /// The rest of a request's body is still coming though it has been answered.
    pub(crate) fn trail(&mut self, sequence: u32, owner: MemberIndex, hold: Hold) {
        self.trailing.push(Trailing {
            sequence,
            owner,
            hold,
        });
    }

    /// A member wants none of the bodies any more whose requests it has answered. Their numbers.
    pub(crate) fn drop_trailing_of(&mut self, member: MemberIndex) -> Vec<u32> {
        let dropped = self.trailing.extract_if(.., |rest| rest.owner == member);
        dropped.map(|rest| rest.sequence).collect()
    }

    /// No more of anything that is arriving comes. Who wanted the rest of a body.
    pub(crate) fn end_arriving(&mut self) -> Option<MemberIndex> {
        let trailing = self.trailing.pop();
        self.trailing.clear();
        self.tunnel_hold = Hold::default();
        if let Some(last) = self.exchanges.last_mut() {
            last.forget_hold();
        }
        trailing.map(|rest| rest.owner)
    }

    /// The body of an answered request has come to its end, or never will. Who wanted it.
    pub(crate) fn take_trailing(&mut self, sequence: u32) -> Option<MemberIndex> {
        let mut rest = self.trailing.iter();
        let place = rest.position(|rest| rest.sequence == sequence)?;
        Some(self.trailing.swap_remove(place).owner)
    }

    /// Whether a member has a request of the connection.
    pub(crate) fn is_asking(&self, member: MemberIndex) -> bool {
        self.exchanges
            .iter()
            .any(|exchange| exchange.is_with(member))
    }

    /// Moves the window of an answer or of the tunnel. False if that has ended.
    pub(crate) fn grant(&mut self, ack: Ack) -> bool {
        let flow = match ack.sequence {
            0 => Some(&mut self.raw),
            sequence => self.exchange(sequence).map(|exchange| &mut exchange.flow),
        };
        flow.map(|flow| flow.grant(ack.grants)).is_some()
    }
}

/// Connections by slot.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    slots: Vec<Option<Box<Client>>>,
    base: u32,
}

impl Clients {
    pub(crate) fn new(base: u32) -> Self {
        Self {
            slots: Vec::new(),
            base,
        }
    }

    #[inline]
    pub(crate) fn find(&mut self, token: u32) -> Option<&mut Client> {
        let index = self.index(token)?;
        self.slots
            .get_mut(index)?
            .as_deref_mut()
            .filter(|client| client.token == token)
    }

    pub(crate) fn insert(&mut self, client: Client) {
        let Some(index) = self.index(client.token) else {
            return;
        };
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        if let Some(slot) = self.slots.get_mut(index) {
            *slot = Some(Box::new(client));
        }
    }

    pub(crate) fn remove(&mut self, token: u32) -> Option<Box<Client>> {
        let index = self.index(token)?;
        self.slots
            .get_mut(index)?
            .take_if(|client| client.token == token)
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Client> {
        self.slots.iter_mut().flatten().map(|client| &mut **client)
    }

    fn index(&self, token: u32) -> Option<usize> {
        usize::try_from(token::slot_of(token).checked_sub(self.base)?).ok()
    }
}

/// An address of `OPEN`. A Unix socket has none: no IP prefix is meant.
fn address(bytes: [u8; 16], family: u16) -> IpAddr {
    ip_of(bytes, family == 6)
}

/// An address of the engine's, likewise.
pub(crate) fn ip_address(address: Address) -> IpAddr {
    ip_of(address.bytes, address.family == Family::V6)
}

fn ip_of(bytes: [u8; 16], is_v6: bool) -> IpAddr {
    if is_v6 {
        return IpAddr::V6(Ipv6Addr::from(bytes));
    }
    let [a, b, c, d, ..] = bytes;
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}
