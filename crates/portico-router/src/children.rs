//! The nodes below a node, by segment: compared one by one while there are few, hashed when there are many.

use std::collections::HashMap;

use crate::hash::Seeded;

/// Children up to which comparing with each costs less than hashing.
const FEW: usize = 4;

#[derive(Clone, Debug)]
pub(crate) enum Children<N> {
    /// At most [`FEW`].
    Few(Vec<(Box<[u8]>, N)>),
    Many(HashMap<Box<[u8]>, N, Seeded>),
}

impl<N> Children<N> {
    pub(crate) const fn new() -> Self {
        Self::Few(Vec::new())
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Few(few) => few.is_empty(),
            Self::Many(many) => many.is_empty(),
        }
    }

    #[inline]
    pub(crate) fn get(&self, segment: &[u8]) -> Option<&N> {
        match self {
            Self::Few(few) => few
                .iter()
                .find(|(own, _)| **own == *segment)
                .map(|(_, node)| node),
            Self::Many(many) => many.get(segment),
        }
    }

    pub(crate) fn get_mut(&mut self, segment: &[u8]) -> Option<&mut N> {
        match self {
            Self::Few(few) => few
                .iter_mut()
                .find(|(own, _)| **own == *segment)
                .map(|(_, node)| node),
            Self::Many(many) => many.get_mut(segment),
        }
    }

    /// The child of a segment, made if there is none.
    pub(crate) fn child(
        &mut self,
        segment: &[u8],
        seed: Seeded,
        make: impl FnOnce() -> N,
    ) -> &mut N {
        if let Self::Few(few) = self
            && few.len() == FEW
            && !few.iter().any(|(own, _)| **own == *segment)
        {
            let mut many = HashMap::with_hasher(seed);
            many.extend(few.drain(..));
            *self = Self::Many(many);
        }
        match self {
            Self::Few(few) => {
                let place = few.iter().position(|(own, _)| **own == *segment);
                let place = place.unwrap_or_else(|| {
                    few.push((segment.into(), make()));
                    few.len() - 1
                });
                // Found or just added.
                &mut few[place].1
            }
            Self::Many(many) => many.entry(segment.into()).or_insert_with(make),
        }
    }

    pub(crate) fn remove(&mut self, segment: &[u8]) {
        match self {
            Self::Few(few) => few.retain(|(own, _)| **own != *segment),
            Self::Many(many) => {
                many.remove(segment);
            }
        }
    }
}
