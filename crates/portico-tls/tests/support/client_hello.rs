//! A ClientHello taken apart and put together again (RFC 8446, 4.1.2): for the tests, and apart from Portico's reader.

/// What a ClientHello says.
#[derive(Clone)]
pub(crate) struct Hello {
    pub(crate) version: [u8; 2],
    /// Random, and session id with its length.
    middle: Vec<u8>,
    pub(crate) suites: Vec<u8>,
    extensions: Vec<(u16, Vec<u8>)>,
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(length);
    *bytes = rest;
    taken
}

fn number(bytes: &mut &[u8]) -> u16 {
    u16::from_be_bytes(take(bytes, 2).try_into().unwrap())
}

fn with_length(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes(), bytes].concat()
}

impl Hello {
    /// Reads one that is alone in its record.
    pub(crate) fn read(record: &[u8]) -> Self {
        // Headers of record and message.
        let mut bytes = record.get(9..).unwrap();
        let version = take(&mut bytes, 2).try_into().unwrap();
        let id_length = usize::from(*bytes.get(32).unwrap());
        let middle = take(&mut bytes, 33 + id_length).to_vec();
        let length = number(&mut bytes);
        let suites = take(&mut bytes, usize::from(length)).to_vec();
        // One compression method, and the length of the extensions.
        take(&mut bytes, 4);
        let mut extensions = Vec::new();
        while !bytes.is_empty() {
            let kind = number(&mut bytes);
            let length = number(&mut bytes);
            extensions.push((kind, take(&mut bytes, usize::from(length)).to_vec()));
        }
        Self {
            version,
            middle,
            suites,
            extensions,
        }
    }

    /// Changes an extension, or puts one in front.
    pub(crate) fn set(&mut self, kind: u16, content: &[u8]) {
        self.remove(kind);
        self.extensions.insert(0, (kind, content.to_vec()));
    }

    pub(crate) fn remove(&mut self, kind: u16) {
        self.extensions.retain(|(found, _)| *found != kind);
    }

    /// The message in records of at most so many bytes.
    pub(crate) fn records(&self, most: usize) -> Vec<u8> {
        let mut extensions = Vec::new();
        for (kind, content) in &self.extensions {
            extensions.extend(kind.to_be_bytes());
            extensions.extend(with_length(content));
        }
        let body = [
            &self.version,
            &self.middle[..],
            &with_length(&self.suites),
            &[1, 0],
            &with_length(&extensions),
        ]
        .concat();
        let message = [&[1, 0], &with_length(&body)[..]].concat();
        let mut records = Vec::new();
        for part in message.chunks(most) {
            records.extend([22, 3, 1]);
            records.extend(with_length(part));
        }
        records
    }
}
