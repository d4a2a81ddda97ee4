//! Response heads that the application keeps for later `RESPOND`s.

use crate::limits::MAX_TEMPLATES;

/// A kept head.
#[derive(Debug, Default, Clone)]
pub(crate) struct Template {
    pub(crate) reason: Box<[u8]>,
    /// Field lines, each with CR LF.
    pub(crate) fields: Box<[u8]>,
}

/// Heads by number, from 1.
#[derive(Debug, Default)]
pub(crate) struct Templates {
    kept: Vec<Option<Template>>,
}

impl Templates {
    /// Keeps a head. Returns whether the number is in range.
    pub(crate) fn keep(&mut self, number: u32, reason: &[u8], fields: &[u8]) -> bool {
        let Some(index) = usize::try_from(number)
            .ok()
            .filter(|index| (1..MAX_TEMPLATES).contains(index))
        else {
            return false;
        };
        if self.kept.len() <= index {
            self.kept.resize(index + 1, None);
        }
        if let Some(place) = self.kept.get_mut(index) {
            *place = Some(Template {
                reason: reason.into(),
                fields: fields.into(),
            });
        }
        true
    }

    pub(crate) fn find(&self, number: u32) -> Option<&Template> {
        self.kept.get(usize::try_from(number).ok()?)?.as_ref()
    }
}
