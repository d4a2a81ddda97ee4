//! Events about a connection itself.

use portico_channel::layout::{event, open_flag};
use portico_channel::{EventWriter, Record};
use portico_sys::{Address, Family, socket};

use super::Transport;
use crate::core::Core;
use crate::stop::Stop;

/// Words of `OPEN` and `DROPPED`.
const ADDRESS_WORDS: usize = 15;

impl Transport {
    /// Writes `OPEN` unless it has been, and `SECURE` if it is due: what comes before every other event.
    #[inline]
    pub(crate) fn announce(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if !self.announced {
            self.write_open(core, events)?;
        }
        match &self.tls {
            Some(_) => self.write_secure_if_due(events),
            None => Ok(()),
        }
    }

    pub(super) fn write_open(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        let listener = core.listeners.find(self.listener);
        let local = listener
            .and_then(|listener| listener.accepted_at)
            .unwrap_or_else(|| socket::local_address(&self.socket));
        // An adopted socket may be a Unix one whatever its listener.
        let is_unix = local.family == Family::None && self.remote.family == Family::None;
        let mut flags = if is_unix { open_flag::UNIX } else { 0 };
        if self.tls.is_some() {
            flags |= open_flag::TLS;
        }
        let mut record = events.record(event::OPEN, flags, self.token, ADDRESS_WORDS, 0)?;
        record.set(3, self.listener);
        write_address_words(&mut record, &self.remote, &local);
        self.announced = true;
        Ok(())
    }

    /// Writes `FLUSHED` if acknowledgements have come true.
    #[inline]
    pub(crate) fn write_flushed(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if self.output.acked == 0 {
            return Ok(());
        }
        self.announce(core, events)?;
        let mut record = events.record(event::FLUSHED, 0, self.token, 5, 0)?;
        record.set(3, self.output.acked);
        record.set(4, u32::try_from(self.queued()).unwrap_or(u32::MAX));
        self.output.acked = 0;
        Ok(())
    }

    pub(crate) fn write_peer_end(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        self.announce(core, events)?;
        events.record(event::PEER_END, 0, self.token, 3, 0)?;
        Ok(())
    }
}

/// Writes words 4 to 14 of `OPEN` and `DROPPED`.
pub(crate) fn write_address_words(record: &mut Record<'_>, remote: &Address, local: &Address) {
    record.set(4, remote.family.number() | local.family.number() << 8);
    record.set(5, u32::from(remote.port) | u32::from(local.port) << 16);
    for (start, address) in [(6, remote), (10, local)] {
        for (index, bytes) in address.bytes.chunks_exact(4).enumerate() {
            if let &[a, b, c, d] = bytes {
                record.set(start + index, u32::from_le_bytes([a, b, c, d]));
            }
        }
    }
    record.set(14, remote.scope);
}
