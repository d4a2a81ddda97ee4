//! Response heads that the application keeps for later `RESPOND`s.

use crate::limits::MAX_TEMPLATES;

/// A kept head.
#[derive(Debug, Default, Clone)]
pub(crate) struct Template {
    pub(crate) reason: Box<[u8]>,
    /// Field lines, each with CR LF.
    pub(crate) fields: Box<[u8]>,
}

/// Heads by number, from 1, for each space of numbers: every application of a shard has one of its own.
#[derive(Debug)]
pub(crate) struct Templates {
    spaces: Vec<Vec<Option<Template>>>,
    /// The space that the commands in work belong to.
    current: usize,
}

impl Default for Templates {
    fn default() -> Self {
        Self {
            spaces: vec![Vec::new()],
            current: 0,
        }
    }
}

impl Templates {
    /// What follows belongs to this space.
    pub(crate) fn select(&mut self, space: usize) {
        if self.spaces.len() <= space {
            self.spaces.resize(space + 1, Vec::new());
        }
        self.current = space;
    }

    /// Forgets a space's heads.
    pub(crate) fn forget(&mut self, space: usize) {
        if let Some(kept) = self.spaces.get_mut(space) {
            *kept = Vec::new();
        }
    }

    /// Keeps a head. Returns whether the number is in range.
    pub(crate) fn keep(&mut self, number: u32, reason: &[u8], fields: &[u8]) -> bool {
        let Some(index) = usize::try_from(number)
            .ok()
            .filter(|index| (1..MAX_TEMPLATES).contains(index))
        else {
            return false;
        };
        let Some(kept) = self.spaces.get_mut(self.current) else {
            return false;
        };
        if kept.len() <= index {
            kept.resize(index + 1, None);
        }
        if let Some(place) = kept.get_mut(index) {
            *place = Some(Template {
                reason: reason.into(),
                fields: fields.into(),
            });
        }
        true
    }

    #[inline]
    pub(crate) fn find(&self, number: u32) -> Option<&Template> {
        self.spaces
            .get(self.current)?
            .get(usize::try_from(number).ok()?)?
            .as_ref()
    }
}
