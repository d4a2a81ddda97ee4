//! Judges chains that come on the standard input, one a line, and prints OpenSSL's number for each (0: accepted), or
//! why the store could not be built. For `conformance/tls`, which compares the verdicts with OpenSSL's.
//!
//! A line: purpose (`client`, `server`), time (seconds since 1970), `whole` or `partial`, and then three lists of
//! certificates or revocation lists in hexadecimal digits, divided by commas, `-` if empty: anchors, chain, lists.

use std::io::{BufRead, Write};

use portico_x509::{Purpose, TrustOptions, TrustStore};

fn main() -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        match judge(&line?) {
            Some(verdict) => writeln!(out, "{verdict}")?,
            None => writeln!(out, "this line makes no sense")?,
        }
    }
    out.flush()
}

fn judge(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let purpose = match words.next()? {
        "client" => Purpose::Client,
        "server" => Purpose::Server,
        _ => return None,
    };
    let now = words.next()?.parse().ok()?;
    let partial_chains = words.next()? == "partial";
    let (anchors, chain, lists) = (
        many(words.next()?)?,
        many(words.next()?)?,
        many(words.next()?)?,
    );
    let options = TrustOptions {
        anchors: &anchors,
        revocation_lists: &lists,
        partial_chains,
    };
    Some(match TrustStore::new(&options) {
        Ok(store) => match store.verify(&chain, purpose, now) {
            Ok(_) => "0".to_owned(),
            Err(refusal) => refusal.code.to_string(),
        },
        Err(error) => error.to_string(),
    })
}

fn many(word: &str) -> Option<Vec<Vec<u8>>> {
    if word == "-" {
        return Some(Vec::new());
    }
    word.split(',').map(bytes).collect()
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else {
        return None;
    };
    pairs
        .iter()
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect()
}
