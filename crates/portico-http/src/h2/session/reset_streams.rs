//! Which of the last streams we have reset: what the peer sent before it knew is not its fault (RFC 9113, section 5.1).

/// How many of the last numbers are remembered. What concerns older ones counts as known to be reset.
const REMEMBERED: u32 = 1024;
const WORDS: usize = REMEMBERED as usize / 64;

/// The last streams of the peer, a bit each.
#[derive(Debug)]
pub(super) struct ResetStreams {
    bits: [u64; WORDS],
    /// The highest number that the peer has used, 0 before the first.
    last: u32,
}

impl ResetStreams {
    pub(super) const fn new() -> Self {
        Self {
            bits: [0; WORDS],
            last: 0,
        }
    }

    /// The peer's last stream.
    #[inline]
    pub(super) const fn last(&self) -> u32 {
        self.last
    }

    /// The peer uses a higher number. Numbers that it leaves out are closed (RFC 9113, section 5.1.1).
    #[inline]
    pub(super) fn advance(&mut self, id: u32) {
        let (old, new) = (self.last / 2, id / 2);
        if self.last == 0 || new - old >= REMEMBERED {
            self.bits = [0; WORDS];
        } else {
            for index in old + 1..=new {
                let (word, bit) = place(index);
                self.bits[word] &= !bit;
            }
        }
        self.last = id;
    }

    /// We reset it. Of pushed streams it need not be known: a client has nothing to send on them.
    pub(super) fn insert(&mut self, id: u32) {
        if id % 2 == 1 && id <= self.last && (self.last - id) / 2 < REMEMBERED {
            let (word, bit) = place(id / 2);
            self.bits[word] |= bit;
        }
    }

    /// Whether we have reset it, as far as we know.
    pub(super) fn contains(&self, id: u32) -> bool {
        if id.is_multiple_of(2) {
            return true;
        }
        let (word, bit) = place(id / 2);
        let is_old = (self.last - id.min(self.last)) / 2 >= REMEMBERED;
        id <= self.last && (is_old || self.bits[word] & bit != 0)
    }
}

#[inline]
fn place(index: u32) -> (usize, u64) {
    let index = index % REMEMBERED;
    (index as usize / 64 % WORDS, 1 << (index % 64))
}

#[cfg(test)]
mod tests {
    use super::ResetStreams;

    #[test]
    fn the_last_thousand_are_remembered() {
        let mut streams = ResetStreams::new();
        let mut id = 1;
        let mut reset = Vec::new();
        for step in 0..3000_u32 {
            streams.advance(id);
            if step % 7 == 0 {
                streams.insert(id);
                reset.push(id);
            }
            if step % 50 == 0 {
                for old in (1..=id).step_by(2) {
                    let is_old = (id - old) / 2 >= 1024;
                    assert_eq!(streams.contains(old), is_old || reset.contains(&old));
                }
            }
            id += 2 * (1 + step % 3);
        }
        streams.advance(id + 100_000);
        assert!(!streams.contains(id + 100_000) && streams.contains(id));
    }
}
