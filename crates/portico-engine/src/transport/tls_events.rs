//! Events about a connection's TLS.

use portico_channel::EventWriter;
use portico_channel::layout::{event, secure_flag};
use portico_tls::Facts;

use super::Transport;
use super::tls::Stage;
use crate::core::Core;
use crate::stop::Stop;

/// Words of `SECURE` before its certificates.
const SECURE_WORDS: usize = 15;

impl Transport {
    /// Writes what is due: lines for the key log, questions, the end of the handshake if the application knows the
    /// connection, and failure.
    pub(crate) fn write_tls_events(
        &mut self,
        core: &Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if self.tls.is_none() {
            return Ok(());
        }
        self.write_key_log(core, events)?;
        self.write_question(core, events)?;
        if self.announced {
            self.write_secure_if_due(events)?;
        }
        self.write_tls_error(events)
    }

    fn write_key_log(&mut self, core: &Core, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        while self.tls.as_ref().is_some_and(|tls| !tls.key_log.is_empty()) {
            if !self.announced {
                self.write_open(core, events)?;
            }
            let Some(tls) = &mut self.tls else {
                return Ok(());
            };
            let Some(line) = tls.key_log.first() else {
                return Ok(());
            };
            let mut record = events.record(event::KEY_LOG, 0, self.token, 6, line.len())?;
            let offset = record.payload_offset;
            record.set(3, self.listener);
            record.set(4, offset);
            record.set(5, length(line));
            record.put(0, line);
            tls.key_log.remove(0);
        }
        Ok(())
    }

    /// Asks the application what it wants to be asked about a ClientHello.
    fn write_question(&mut self, core: &Core, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let is_due = self.tls.as_ref().is_some_and(|tls| {
            matches!(
                tls.stage,
                Stage::AwaitsContext { asked: false } | Stage::AwaitsProtocol { asked: false, .. }
            )
        });
        if !is_due {
            return Ok(());
        }
        if !self.announced {
            self.write_open(core, events)?;
        }
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let Some(hello) = tls.client_hello() else {
            return Ok(());
        };
        let name = hello.server_name.as_deref().unwrap_or_default().as_bytes();
        if matches!(tls.stage, Stage::AwaitsContext { .. }) {
            let mut record = events.record(event::SERVER_NAME, 0, self.token, 6, name.len())?;
            let offset = record.payload_offset;
            record.set(3, self.listener);
            record.set(4, offset);
            record.set(5, length(name));
            record.put(0, name);
        } else {
            let bytes = name.len() + hello.alpn.len();
            let mut record = events.record(event::ALPN, 0, self.token, 8, bytes)?;
            let offset = record.payload_offset;
            record.set(3, self.listener);
            record.set(4, offset);
            record.set(5, length(name));
            record.set(6, offset + length(name));
            record.set(7, length(&hello.alpn));
            record.put(0, name);
            record.put(name.len(), &hello.alpn);
        }
        if let Stage::AwaitsContext { asked } | Stage::AwaitsProtocol { asked, .. } = &mut tls.stage
        {
            *asked = true;
        }
        Ok(())
    }

    /// Writes `SECURE` once, when the handshake is complete.
    pub(super) fn write_secure_if_due(&mut self, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        if !matches!(tls.stage, Stage::Established { announced: false }) {
            return Ok(());
        }
        if let Some(facts) = tls.facts() {
            write_secure(events, self.token, facts)?;
        }
        tls.forget_facts();
        Ok(())
    }

    fn write_tls_error(&mut self, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let Stage::Failed { error } = &mut tls.stage else {
            return Ok(());
        };
        let Some(why) = error else {
            return Ok(());
        };
        let text = format!("{} {}", why.code(), why.message());
        let token = if self.announced { self.token } else { 0 };
        let mut record = events.record(event::TLS_ERROR, 0, token, 6, text.len())?;
        let offset = record.payload_offset;
        record.set(3, self.listener);
        record.set(4, offset);
        record.set(5, length(text.as_bytes()));
        record.put(0, text.as_bytes());
        *error = None;
        Ok(())
    }
}

fn write_secure(events: &mut EventWriter<'_>, token: u32, facts: &Facts) -> Result<(), Stop> {
    let name = facts.server_name.as_deref().unwrap_or_default().as_bytes();
    let alpn = facts.alpn.as_deref().unwrap_or_default();
    let certificates = &facts.peer_certificates;
    let keying = &facts.keying;
    let [client_random, server_random] = keying.randoms();
    let parts = [
        name,
        alpn,
        keying.finished(),
        keying.peer_finished(),
        keying.secret(),
        client_random,
        server_random,
    ];
    let schemes = &facts.client_schemes;
    let bytes = parts.iter().map(|part| part.len()).sum::<usize>()
        + schemes.len() * 2
        + certificates.iter().map(Vec::len).sum::<usize>();
    let mut flags = if facts.resumed {
        secure_flag::RESUMED
    } else {
        0
    };
    if facts.certificate_requested {
        flags |= secure_flag::CERTIFICATE_REQUESTED;
    }
    let words = SECURE_WORDS + certificates.len() * 2;
    let mut record = events.record(event::SECURE, flags, token, words, bytes)?;
    let base = record.payload_offset;
    record.set(
        3,
        u32::from(facts.version) | u32::from(facts.cipher_suite) << 16,
    );
    record.set(4, facts.verify_error.number());
    record.set(5, base);
    record.set(6, length(name));
    record.set(7, base + length(name));
    record.set(8, length(alpn));
    record.set(9, u32::try_from(certificates.len()).unwrap_or(0));
    record.set(10, u32::from(facts.named_group));
    record.set(11, base + length(name) + length(alpn));
    record.set(12, length(keying.finished()));
    record.set(13, length(keying.secret()));
    record.set(14, u32::try_from(schemes.len()).unwrap_or(0));
    let mut at = 0;
    for part in parts {
        record.put(at, part);
        at += part.len();
    }
    for scheme in schemes {
        record.put(at, &scheme.to_be_bytes());
        at += 2;
    }
    for (index, certificate) in certificates.iter().enumerate() {
        record.set(
            SECURE_WORDS + index * 2,
            base + u32::try_from(at).unwrap_or(0),
        );
        record.set(SECURE_WORDS + index * 2 + 1, length(certificate));
        record.put(at, certificate);
        at += certificate.len();
    }
    Ok(())
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
