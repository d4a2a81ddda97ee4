//! Connection tokens: a slot, the slot's generation, and the thread that owns the slot.
//!
//! A token is `slot | generation << 20`: 20 bits of slot, 11 bits of generation, so that it is a non-negative 32-bit
//! integer. A command whose generation is not the slot's present one is ignored: it crossed with the connection's end.
//!
//! Where several threads have connections of one application, each has a part of the slots: its index stands in the
//! slot's highest bits, so tokens of several threads differ and a command finds its thread by its token. `N` threads take
//! `log2(N)` of the 20 bits (rounded up).

use crate::layout::command;
use crate::{CommandError, External, RecordView, Records};

/// Number of low bits of a token that hold the slot.
pub const SLOT_BITS: u32 = 20;
/// Mask of the slot in a token.
pub const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;
/// Number of bits that hold the generation.
pub const GENERATION_BITS: u32 = 11;

/// The token of a slot's connection.
#[inline]
#[must_use]
pub const fn token_of(slot: u32, generation: u32) -> u32 {
    slot | generation << SLOT_BITS
}

/// The slot of a token.
#[inline]
#[must_use]
pub const fn slot_of(token: u32) -> u32 {
    token & SLOT_MASK
}

/// The generation of a token. Of a word that is no token, it may be more than any generation is.
#[inline]
#[must_use]
pub const fn generation_of(token: u32) -> u32 {
    token >> SLOT_BITS
}

/// The generation of a slot's next connection.
#[inline]
#[must_use]
pub const fn next_generation(generation: u32) -> u32 {
    (generation + 1) & ((1 << GENERATION_BITS) - 1)
}

/// Whom a command is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The thread with this index, if there is one.
    Thread(usize),
    /// Each: it is about a listener, or about heads that all keep.
    All,
}

/// How slots are divided among the threads that have connections of one application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    slot_bits: u32,
}

impl Division {
    /// Among so many threads, at least one.
    #[must_use]
    pub const fn among(threads: usize) -> Self {
        let threads = if threads == 0 { 1 } else { threads };
        let bits = threads.next_power_of_two().trailing_zeros();
        Self {
            slot_bits: SLOT_BITS.saturating_sub(bits),
        }
    }

    /// Who gets a command record.
    #[inline]
    #[must_use]
    pub fn recipient_of(self, record: RecordView<'_>) -> Recipient {
        match record.kind() {
            command::TEMPLATE | command::CLOSE_IDLE | command::CLOSE_ALL => Recipient::All,
            _ => Recipient::Thread(self.thread_of(record.token())),
        }
    }

    /// Gives each record of a submission to the links of the threads that it concerns, in order, with its bytes.
    /// `external` is the body of the record that says so, which is about one connection.
    ///
    /// # Errors
    /// [`CommandError::Malformed`]: from there on the records can't be told apart. Those before have been given.
    pub fn distribute<L>(
        self,
        commands: &[u8],
        external: Option<External<'_>>,
        links: &mut [L],
        mut give: impl FnMut(&mut L, RecordView<'_>, &[u8], Option<External<'_>>),
    ) -> Result<(), CommandError> {
        let mut records = Records::new(commands);
        loop {
            let offset = records.offset();
            let record = match records.next() {
                None => return Ok(()),
                Some(Err(_)) => return Err(CommandError::Malformed { offset }),
                Some(Ok(record)) => record,
            };
            let bytes = commands.get(offset..records.offset()).unwrap_or_default();
            match self.recipient_of(record) {
                Recipient::All => {
                    for link in &mut *links {
                        give(link, record, bytes, None);
                    }
                }
                Recipient::Thread(index) => {
                    if let Some(link) = links.get_mut(index) {
                        give(link, record, bytes, external);
                    }
                }
            }
        }
    }

    /// The index of the thread that a connection lives on. Of a word that is no token, it may be more than there are.
    #[inline]
    #[must_use]
    pub const fn thread_of(self, token: u32) -> usize {
        (slot_of(token) >> self.slot_bits) as usize
    }

    /// The first slot of a thread.
    #[must_use]
    pub const fn first_slot(self, thread: usize) -> u32 {
        (thread as u32) << self.slot_bits & SLOT_MASK
    }

    /// The slot of a token, counted from its thread's first.
    #[inline]
    #[must_use]
    pub const fn own_slot_of(self, token: u32) -> u32 {
        token & ((1 << self.slot_bits) - 1)
    }

    /// Connections that a thread may have. Where it is alone, the slot of all ones stays free.
    #[must_use]
    pub const fn slots(self) -> usize {
        let slots = 1 << self.slot_bits;
        if slots > SLOT_MASK {
            SLOT_MASK as usize
        } else {
            slots as usize
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommandWriter, Records};

    #[test]
    fn a_token_is_taken_apart_into_what_it_was_made_of() {
        for slot in [0, 1, 77, SLOT_MASK] {
            let mut generation = 0;
            for _ in 0..(1 << GENERATION_BITS) {
                let token = token_of(slot, generation);
                assert_eq!((slot_of(token), generation_of(token)), (slot, generation));
                assert_eq!(token >> 31, 0);
                generation = next_generation(generation);
            }
            assert_eq!(generation, 0);
        }
    }

    #[test]
    fn every_slot_belongs_to_one_thread() {
        for threads in 1..=64 {
            let division = Division::among(threads);
            for thread in 0..threads {
                let first = division.first_slot(thread);
                let last = first + division.slots() as u32 - 1;
                for slot in [first, first + 1, last] {
                    let token = token_of(slot, 5);
                    assert_eq!(division.thread_of(token), thread, "{threads}");
                    assert_eq!(division.own_slot_of(token), slot - first);
                }
            }
        }
    }

    #[test]
    fn a_command_finds_its_connections_thread_and_one_about_all_connections_finds_all() {
        let mut commands = CommandWriter::new();
        let division = Division::among(4);
        let token = token_of(division.first_slot(2) + 5, 3);
        commands.write(0, command::TakeOver { token }, &[]);
        commands.write(0, command::CloseIdle { listener: 7 }, &[]);
        commands.template(9, b"OK", b"");
        let recipients: Vec<_> = Records::new(commands.as_bytes())
            .map(|record| division.recipient_of(record.unwrap()))
            .collect();
        assert_eq!(
            recipients,
            [Recipient::Thread(2), Recipient::All, Recipient::All]
        );
    }

    #[test]
    fn one_thread_has_all_slots_but_the_last() {
        let division = Division::among(1);
        assert_eq!(
            (division.slots(), division.first_slot(0)),
            (SLOT_MASK as usize, 0)
        );
        assert_eq!(Division::among(0), division);
        assert_eq!(division.thread_of(u32::MAX), 0);
        assert_eq!(Division::among(3).slots(), 1 << 18);
        assert_eq!(Division::among(3).thread_of(u32::MAX), 3);
    }
}
