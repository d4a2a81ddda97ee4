//! What the dispatcher knows of a client's connection: who has been told of it, and its requests in flight.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use portico_channel::RecordView;
use portico_channel::layout::SLOT_MASK;

use crate::QueueId;
use crate::request::Facts;

/// Index of a member in the dispatcher's table.
pub(crate) type MemberIndex = usize;

/// A connection.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) token: u32,
    pub(crate) listener: u32,
    /// Address of our end.
    pub(crate) local: IpAddr,
    /// Its `OPEN` and `SECURE`, for members that meet it later.
    pub(crate) opening: Vec<u8>,
    /// Members that have been told of it.
    pub(crate) known: Vec<MemberIndex>,
    /// Requests in flight, oldest first.
    pub(crate) exchanges: VecDeque<Exchange>,
    /// Acknowledgements that are due, in the order of the answers.
    pub(crate) acks: VecDeque<(u32, MemberIndex)>,
    /// Who took it over as a byte stream.
    pub(crate) tunnel: Option<MemberIndex>,
    /// Who answers its broken request.
    pub(crate) refuser: Option<MemberIndex>,
    /// Our answer to a broken request, while earlier ones are unanswered.
    pub(crate) refusal: Option<&'static [u8]>,
    /// A member does not want to read on.
    pub(crate) paused_by_member: bool,
    /// We don't: whoever the bytes are for is behind.
    pub(crate) paused_by_us: bool,
    /// A member has set an inactivity timeout.
    pub(crate) timeout_set: bool,
}

/// A request that has not been answered completely.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) sequence: u32,
    pub(crate) queue: QueueId,
    pub(crate) facts: Facts,
    pub(crate) stage: Stage,
    /// Whether more of its body is to come.
    pub(crate) receiving: bool,
    /// Whether a head of its answer has been given to the engine.
    pub(crate) answered: bool,
    /// Its records: all while it waits, only the head's where it may be tried again, else none.
    pub(crate) records: Vec<u8>,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// In its queue.
    Waiting,
    /// Dispatched to a member.
    With(MemberIndex),
}

impl Client {
    /// A connection that an `OPEN` record tells of.
    pub(crate) fn opened(record: RecordView<'_>, bytes: &[u8]) -> Self {
        Self {
            token: record.word(2),
            listener: record.word(3),
            local: local_address(record),
            opening: bytes.to_vec(),
            known: Vec::new(),
            exchanges: VecDeque::new(),
            acks: VecDeque::new(),
            tunnel: None,
            refuser: None,
            refusal: None,
            paused_by_member: false,
            paused_by_us: false,
            timeout_set: false,
        }
    }

    pub(crate) fn exchange(&mut self, sequence: u32) -> Option<&mut Exchange> {
        self.exchanges
            .iter_mut()
            .find(|exchange| exchange.sequence == sequence)
    }

    /// Whether a member has a say in the connection: a request of its own, the tunnel, or a broken request.
    pub(crate) fn is_used_by(&self, member: MemberIndex) -> bool {
        self.tunnel == Some(member) || self.refuser == Some(member) || self.is_asking(member)
    }

    /// Whether a member has a request of the connection.
    pub(crate) fn is_asking(&self, member: MemberIndex) -> bool {
        self.exchanges
            .iter()
            .any(|exchange| exchange.stage == Stage::With(member))
    }

    /// Enters an acknowledgement in the order in which the engine will give them: that of the requests.
    pub(crate) fn expect_ack(&mut self, sequence: u32, member: MemberIndex) {
        let place = self
            .acks
            .iter()
            .rposition(|(earlier, _)| sequence.wrapping_sub(*earlier) < u32::MAX / 2)
            .map_or(0, |index| index + 1);
        self.acks.insert(place, (sequence, member));
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
        usize::try_from((token & SLOT_MASK).checked_sub(self.base)?).ok()
    }
}

/// Our end's address in `OPEN`. A Unix socket has none: no IP prefix is meant.
fn local_address(record: RecordView<'_>) -> IpAddr {
    let mut bytes = [0u8; 16];
    for (index, place) in bytes.chunks_exact_mut(4).enumerate() {
        place.copy_from_slice(&record.word(10 + index).to_le_bytes());
    }
    match record.word(4) >> 8 & 0xff {
        6 => IpAddr::V6(Ipv6Addr::from(bytes)),
        _ => {
            let [a, b, c, d, ..] = bytes;
            IpAddr::V4(Ipv4Addr::new(a, b, c, d))
        }
    }
}
