//! Events about a connection itself.

use portico_channel::EventWriter;
use portico_channel::layout::{event, flushed_flag, open_flag};
use portico_sys::{Address, Family, socket};

use super::Transport;
use crate::core::Core;
use crate::own_request::write_pretended_secure;
use crate::stop::Stop;

/// Room for `OPEN` and a `SECURE` without certificates.
const OPENING_BYTES: usize = 256;

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

    /// Our address, which need not be asked for where the listener accepts at one only.
    pub(crate) fn local_address(&self, accepted_at: Option<Address>) -> Address {
        accepted_at.unwrap_or_else(|| socket::local_address(&self.socket))
    }

    pub(super) fn write_open(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        let listener = core.listeners.find(self.listener);
        let local = match self.pretended(core) {
            Some(pretended) => pretended.local,
            None => self.local_address(listener.and_then(|listener| listener.accepted_at)),
        };
        // An adopted socket may be a Unix one whatever its listener.
        let is_unix = local.family == Family::None && self.remote.family == Family::None;
        let mut flags = if is_unix { open_flag::UNIX } else { 0 };
        if self.is_secure(core) {
            flags |= open_flag::TLS;
        }
        let words = event::Open {
            token: self.token,
            listener: self.listener,
            endpoints: endpoints(&self.remote, &local),
        };
        // Both records, or none.
        if events.remaining() < OPENING_BYTES {
            return Err(Stop::NeedSpace(OPENING_BYTES));
        }
        events.tell(flags, words)?;
        self.announced = true;
        if self.tls.is_none() && self.is_secure(core) {
            write_pretended_secure(self.token, events)?;
        }
        Ok(())
    }

    /// Writes `FLUSHED` if acknowledgements have come true.
    #[inline]
    pub(crate) fn write_flushed(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        while let Some((sequence, count)) = self.output.acked() {
            self.announce(core, events)?;
            write_flushed(events, self.token, sequence, count, self.queued())?;
            self.output.forget_acked(count);
        }
        Ok(())
    }

    /// Writes `PEER_END` with these flags ([`peer_end_flag`](portico_channel::layout::peer_end_flag)).
    pub(crate) fn write_peer_end(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
        flags: u32,
    ) -> Result<(), Stop> {
        self.announce(core, events)?;
        events.tell(flags, event::PeerEnd { token: self.token })?;
        Ok(())
    }
}

/// Writes `FLUSHED`: so many acknowledgements of an exchange; of number 0, the oldest of the connection.
pub(crate) fn write_flushed(
    events: &mut EventWriter<'_>,
    token: u32,
    sequence: u32,
    count: u32,
    queued: usize,
) -> Result<(), Stop> {
    let flags = match sequence {
        0 => 0,
        _ => flushed_flag::NAMED,
    };
    let words = event::Flushed {
        token,
        count,
        queued_bytes: u32::try_from(queued).unwrap_or(u32::MAX),
        sequence,
    };
    events.tell(flags, words)?;
    Ok(())
}

/// Both ends of a connection, as records tell them.
pub(crate) fn endpoints(remote: &Address, local: &Address) -> event::Endpoints {
    event::Endpoints {
        remote_family: remote.family.number(),
        local_family: local.family.number(),
        remote_port: remote.port,
        local_port: local.port,
        remote_address: remote.bytes,
        local_address: local.bytes,
        remote_scope: remote.scope,
    }
}
