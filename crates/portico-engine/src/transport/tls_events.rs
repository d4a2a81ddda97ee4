//! Events about a connection's TLS.

use portico_channel::EventWriter;
use portico_channel::layout::{event, secure_flag};
use portico_channel::schema::{Range, Record};
use portico_tls::SessionInfo;

use super::Transport;
use super::tls::Stage;
use crate::core::Core;
use crate::stop::Stop;

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
            events.tell_bytes(0, line, |line| event::KeyLog {
                token: self.token,
                listener: self.listener,
                line,
            })?;
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
            events.tell_bytes(0, name, |name| event::ServerName {
                token: self.token,
                listener: self.listener,
                name,
            })?;
        } else {
            let in_record = Range::of(event::Alpn::payload_offset(0), name);
            let words = event::Alpn {
                token: self.token,
                listener: self.listener,
                name: in_record,
                protocols: Range::of(in_record.end(), &hello.alpn),
            };
            let mut room = events.write(0, words, 0, name.len() + hello.alpn.len())?;
            room.put(0, name);
            room.put(name.len(), &hello.alpn);
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
        if let Some(info) = tls.session_info() {
            write_secure(events, self.token, info)?;
        }
        tls.forget_handshake();
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
        events.tell_bytes(0, text.as_bytes(), |text| event::TlsError {
            token,
            listener: self.listener,
            text,
        })?;
        *error = None;
        Ok(())
    }
}

fn write_secure(events: &mut EventWriter<'_>, token: u32, info: &SessionInfo) -> Result<(), Stop> {
    let name = info.server_name.as_deref().unwrap_or_default().as_bytes();
    let alpn = info.alpn.as_deref().unwrap_or_default();
    let certificates = &info.peer_certificates;
    let schemes: Vec<u8> = info
        .client_schemes
        .iter()
        .flat_map(|scheme| scheme.to_be_bytes())
        .collect();
    let keying = &info.keying;
    let [client_random, server_random] = keying.randoms();
    let kept = [
        keying.finished(),
        keying.peer_finished(),
        keying.secret(),
        client_random,
        server_random,
        &schemes,
    ];
    let server_name = Range::of(event::Secure::payload_offset(certificates.len()), name);
    let protocol = Range::of(server_name.end(), alpn);
    let words = event::Secure {
        token,
        version: info.version,
        cipher_suite: info.cipher_suite,
        verify_error: info.verify_error.number(),
        server_name,
        alpn: protocol,
        certificate_count: u32::try_from(certificates.len()).unwrap_or(0),
        named_group: u32::from(info.named_group),
        keying: Range {
            offset: protocol.end(),
            length: kept.iter().map(|part| length(part)).sum(),
        },
        finished_bytes: length(keying.finished()),
        secret_bytes: length(keying.secret()),
    };
    let mut flags = if info.resumed {
        secure_flag::RESUMED
    } else {
        0
    };
    if info.certificate_requested {
        flags |= secure_flag::CERTIFICATE_REQUESTED;
    }
    let parts = [name, alpn].into_iter().chain(kept);
    let parts = parts.chain(certificates.iter().map(Vec::as_slice));
    let bytes = parts.clone().map(<[u8]>::len).sum();
    let mut room = events.write(flags, words, certificates.len(), bytes)?;
    let mut at = 0;
    for part in parts {
        room.put(at, part);
        at += part.len();
    }
    let mut end = words.keying.end();
    room.fill_table(certificates.iter().map(|certificate| {
        let der = Range::of(end, certificate);
        end = der.end();
        event::Certificate { der }
    }));
    Ok(())
}

fn length(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
