//! Events about a connection's TLS.

use portico_channel::EventWriter;
use portico_channel::layout::{event, secure_flag};
use portico_tls::Facts;

use super::tls::Question;
use super::{Connection, Stop};
use crate::core::Core;

/// Words of `SECURE` before its certificates.
const SECURE_WORDS: usize = 15;

impl Connection {
    /// Writes what is due: lines for the key log, questions, the end of the handshake if the connection is known to
    /// the application, and failure.
    pub(super) fn tell_tls(
        &mut self,
        core: &mut Core,
        events: &mut EventWriter<'_>,
    ) -> Result<(), Stop> {
        if self.tls.is_none() {
            return Ok(());
        }
        self.tell_key_log(core, events)?;
        self.tell_question(core, events)?;
        if self.tls.as_ref().is_some_and(|tls| tls.secure_untold) && self.open_told {
            self.tell_secure(events)?;
        }
        self.tell_tls_error(events)
    }

    fn tell_key_log(&mut self, core: &Core, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        while self.tls.as_ref().is_some_and(|tls| !tls.key_log.is_empty()) {
            if !self.open_told {
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

    fn tell_question(&mut self, core: &mut Core, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let Some(tls) = &self.tls else { return Ok(()) };
        let question = tls.question;
        match question {
            Question::ServerName { told: false } => {}
            Question::Alpn { told: false } => {
                // Nothing may be left to ask.
                self.ask_alpn_or_go_on(core);
                let asked = matches!(
                    self.tls.as_ref().map(|tls| tls.question),
                    Some(Question::Alpn { .. })
                );
                if !asked {
                    return self.tell_key_log(core, events);
                }
            }
            _ => return Ok(()),
        }
        if !self.open_told {
            self.write_open(core, events)?;
        }
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let Some(hello) = tls.session.client_hello() else {
            return Ok(());
        };
        let name = hello.server_name.as_deref().unwrap_or_default().as_bytes();
        if matches!(question, Question::ServerName { .. }) {
            let mut record = events.record(event::SERVER_NAME, 0, self.token, 6, name.len())?;
            let offset = record.payload_offset;
            record.set(3, self.listener);
            record.set(4, offset);
            record.set(5, length(name));
            record.put(0, name);
            tls.question = Question::ServerName { told: true };
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
            tls.question = Question::Alpn { told: true };
        }
        Ok(())
    }

    /// Writes `SECURE`. An idle connection keeps nothing of the handshake's facts.
    pub(super) fn tell_secure(&mut self, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        if let Some(facts) = tls.session.facts() {
            write_secure(events, self.token, facts)?;
        }
        tls.session.take_facts();
        tls.secure_untold = false;
        Ok(())
    }

    fn tell_tls_error(&mut self, events: &mut EventWriter<'_>) -> Result<(), Stop> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        let Some(error) = &tls.error else {
            return Ok(());
        };
        let text = format!("{} {}", error.code(), error.message());
        let token = if self.open_told { self.token } else { 0 };
        let mut record = events.record(event::TLS_ERROR, 0, token, 6, text.len())?;
        let offset = record.payload_offset;
        record.set(3, self.listener);
        record.set(4, offset);
        record.set(5, length(text.as_bytes()));
        record.put(0, text.as_bytes());
        tls.error = None;
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
