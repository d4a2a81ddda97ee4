//! What `exportKeyingMaterial()` gives, computed from the facts of a handshake. (For programs JavaScript computes it.)

use aws_lc_rs::{digest, hmac};
use portico_tls::SessionInfo;

/// What the runner wants exported.
#[derive(Clone, Default)]
pub(crate) struct Export {
    pub(crate) bytes: usize,
    pub(crate) label: Vec<u8>,
    /// `None` is not the same as an empty one in TLS 1.2.
    pub(crate) context: Option<Vec<u8>>,
}

impl Export {
    /// RFC 5705, 4; RFC 8446, 7.5.
    pub(crate) fn compute(&self, facts: &SessionInfo) -> Vec<u8> {
        let sha384 = matches!(facts.cipher_suite, 0x1302 | 0xc02c | 0xc030);
        if facts.version == 0x0304 {
            return self.tls13(facts.keying.secret(), sha384);
        }
        let [client, server] = facts.keying.randoms();
        let mut seed = [&self.label, client, server].concat();
        if let Some(context) = &self.context {
            seed.extend((context.len() as u16).to_be_bytes());
            seed.extend(context);
        }
        prf(&key(facts.keying.secret(), sha384), &seed, self.bytes)
    }

    fn tls13(&self, secret: &[u8], sha384: bool) -> Vec<u8> {
        let algorithm = if sha384 {
            &digest::SHA384
        } else {
            &digest::SHA256
        };
        let nothing = digest::digest(algorithm, b"");
        let context = digest::digest(algorithm, self.context.as_deref().unwrap_or_default());
        let length = algorithm.output_len();
        let derived = expand_label(&key(secret, sha384), &self.label, nothing.as_ref(), length);
        expand_label(
            &key(&derived, sha384),
            b"exporter",
            context.as_ref(),
            self.bytes,
        )
    }
}

fn key(secret: &[u8], sha384: bool) -> hmac::Key {
    let algorithm = if sha384 {
        hmac::HMAC_SHA384
    } else {
        hmac::HMAC_SHA256
    };
    hmac::Key::new(algorithm, secret)
}

/// RFC 5246, 5.
fn prf(key: &hmac::Key, seed: &[u8], bytes: usize) -> Vec<u8> {
    let mut output = Vec::new();
    let mut block = seed.to_vec();
    while output.len() < bytes {
        block = hmac::sign(key, &block).as_ref().to_vec();
        output.extend_from_slice(hmac::sign(key, &[&block[..], seed].concat()).as_ref());
    }
    output.truncate(bytes);
    output
}

/// RFC 8446, 7.1; RFC 5869, 2.3.
fn expand_label(key: &hmac::Key, label: &[u8], context: &[u8], bytes: usize) -> Vec<u8> {
    let mut info = (bytes as u16).to_be_bytes().to_vec();
    info.push((6 + label.len()) as u8);
    info.extend_from_slice(b"tls13 ");
    info.extend_from_slice(label);
    info.push(context.len() as u8);
    info.extend_from_slice(context);
    let (mut output, mut block) = (Vec::new(), Vec::new());
    for number in 1.. {
        if output.len() >= bytes {
            break;
        }
        block = hmac::sign(key, &[&block[..], &info, &[number]].concat())
            .as_ref()
            .to_vec();
        output.extend_from_slice(&block);
    }
    output.truncate(bytes);
    output
}
