//! The frames.

/// Bytes before a payload.
const HEAD_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A request with a body, or an answer.
    Head = 1,
    /// A request without a body.
    WholeHead = 2,
    Data = 3,
    End = 4,
    /// Payload: the code.
    Reset = 5,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) stream: u32,
    pub(crate) kind: Kind,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The first frame, and its size; `None`: it is not whole.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [a, b, c, d, kind, x, y, z] = *head;
        let length = usize::try_from(u32::from_be_bytes([0, x, y, z])).unwrap();
        let kind = match kind {
            1 => Kind::Head,
            2 => Kind::WholeHead,
            3 => Kind::Data,
            4 => Kind::End,
            _ => Kind::Reset,
        };
        let frame = Self {
            stream: u32::from_be_bytes([a, b, c, d]),
            kind,
            payload: rest.get(..length)?,
        };
        Some((frame, HEAD_BYTES + length))
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        write_head(out, self.stream, self.kind, self.payload.len());
        out.extend_from_slice(self.payload);
    }
}

/// What stands before a payload of so many bytes.
pub(crate) fn write_head(out: &mut Vec<u8>, stream: u32, kind: Kind, length: usize) {
    let length = u32::try_from(length).unwrap().to_be_bytes();
    out.extend_from_slice(&stream.to_be_bytes());
    out.push(kind as u8);
    out.extend_from_slice(&length[1..]);
}
