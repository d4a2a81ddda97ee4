//! Connections by token.
//!
//! A slot is used again only after the application has been told that its connection is gone, with the next
//! generation, so that a command which crossed with the end never reaches the wrong connection.

use portico_channel::token;

use crate::connection::Connection;
use crate::limits::CONNECTIONS;

#[derive(Debug)]
struct Slot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// The connections of a shard.
#[derive(Debug)]
pub(crate) struct ConnectionTable {
    slots: Vec<Slot>,
    /// Slots whose connections are gone and told; the last one freed is used first.
    free: Vec<u32>,
    open: usize,
    /// Bits that every slot number of this shard has: tells the threads of an engine apart.
    slot_base: u32,
    /// Slots there may be.
    capacity: usize,
}

impl ConnectionTable {
    /// A table whose slot numbers begin at `slot_base` (a multiple of `capacity`).
    pub(crate) fn new(slot_base: u32, capacity: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            open: 0,
            slot_base,
            capacity: capacity.min(CONNECTIONS),
        }
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.open
    }

    /// Enters a connection, which is made from its token. `None` if the table is full.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u32) -> Box<Connection>) -> Option<u32> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < self.capacity => {
                self.slots.push(Slot {
                    generation: 0,
                    connection: None,
                });
                u32::try_from(self.slots.len() - 1).ok()?
            }
            None => return None,
        };
        let slot_base = self.slot_base;
        let slot = self.slots.get_mut(usize::try_from(index).ok()?)?;
        let token = token::token_of(index + slot_base, slot.generation);
        slot.connection = Some(make(token));
        self.open += 1;
        Some(token)
    }

    /// The connection of a token, unless it is gone.
    #[inline]
    pub(crate) fn find(&mut self, token: u32) -> Option<&mut Connection> {
        let generation = token::generation_of(token);
        let slot = self.slot_mut(token)?;
        if slot.generation != generation {
            return None;
        }
        slot.connection.as_deref_mut()
    }

    /// Takes a connection out. Its token is dead; [`ConnectionTable::release`] frees the slot.
    pub(crate) fn remove(&mut self, token: u32) -> Option<Box<Connection>> {
        let generation = token::generation_of(token);
        let slot = self.slot_mut(token)?;
        if slot.generation != generation {
            return None;
        }
        let connection = slot.connection.take()?;
        self.open -= 1;
        Some(connection)
    }

    /// Lets the slot of a removed connection be used again.
    pub(crate) fn release(&mut self, token: u32) {
        let Some(index) = token::slot_of(token).checked_sub(self.slot_base) else {
            return;
        };
        if let Some(slot) = self.slot_mut(token)
            && slot.connection.is_none()
            && slot.generation == token::generation_of(token)
        {
            slot.generation = token::next_generation(slot.generation);
            self.free.push(index);
        }
    }

    /// All open connections.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots
            .iter_mut()
            .filter_map(|slot| slot.connection.as_deref_mut())
    }

    #[inline]
    fn slot_mut(&mut self, token: u32) -> Option<&mut Slot> {
        let index = token::slot_of(token).checked_sub(self.slot_base)?;
        self.slots.get_mut(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::protocol::Protocol;
    use crate::transport::Transport;

    fn enter(table: &mut ConnectionTable) -> Option<u32> {
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let remote = portico_sys::Address::default();
        table.insert(|token| {
            let transport = Transport::new(socket.into(), token, 0, remote, None, 0);
            Box::new(Connection::new(transport, Protocol::h1(0)))
        })
    }

    #[test]
    fn a_slot_is_used_again_only_after_its_release_and_with_another_token() {
        let mut table = ConnectionTable::new(0, 1);
        let first = enter(&mut table).unwrap();
        assert!(enter(&mut table).is_none());
        assert!(table.remove(first).is_some());
        assert!(enter(&mut table).is_none());
        table.release(first);
        let second = enter(&mut table).unwrap();
        assert_ne!(first, second);
        assert!(table.find(first).is_none());
        assert!(table.remove(first).is_none());
        table.release(first);
        assert!(table.find(second).is_some());
        assert_eq!(table.open(), 1);
    }

    #[test]
    fn no_table_has_more_slots_than_a_token_can_name() {
        let table = ConnectionTable::new(0, usize::MAX);
        assert_eq!(table.capacity, token::SLOT_MASK as usize);
    }

    #[test]
    fn tokens_stay_non_negative_and_within_their_shard() {
        let mut table = ConnectionTable::new(1 << 18, 2);
        for _ in 0..5_000 {
            let token = enter(&mut table).unwrap();
            assert_eq!(token >> 31, 0);
            assert_eq!(token::slot_of(token) >> 18, 1);
            table.remove(token);
            table.release(token);
        }
        assert!(table.find(u32::MAX).is_none());
        assert!(table.find(0).is_none());
    }
}
