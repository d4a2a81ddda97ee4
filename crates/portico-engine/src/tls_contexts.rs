//! TLS contexts by number.

use portico_tls::Context;

/// The contexts that the application has made. Numbers count from 1 and are not used again.
#[derive(Default)]
pub(crate) struct TlsContexts {
    entries: Vec<Option<Context>>,
}

impl std::fmt::Debug for TlsContexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsContexts")
            .field("made", &self.entries.len())
            .finish()
    }
}

impl TlsContexts {
    pub(crate) fn add(&mut self, context: Context) -> u32 {
        self.entries.push(Some(context));
        u32::try_from(self.entries.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn find(&self, number: u32) -> Option<&Context> {
        self.entries.get(index(number)?)?.as_ref()
    }

    pub(crate) fn release(&mut self, number: u32) {
        if let Some(entry) = index(number).and_then(|index| self.entries.get_mut(index)) {
            *entry = None;
        }
    }
}

fn index(number: u32) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}
