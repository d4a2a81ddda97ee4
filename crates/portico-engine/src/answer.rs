//! Answers: one that is given whole, and the parts of one as the application's records bring them.

use std::rc::Rc;

use portico_channel::layout::response_flag;
use portico_channel::{CommandWriter, External, LentBytes, Response};
use portico_http::semantics::status;

use crate::file_range::{FileRange, Gone};
use crate::limits::{EXTERNAL_COPY_BYTES, FILE_READ_BYTES};

/// An answer that is given whole.
#[derive(Debug)]
pub struct Answer {
    /// Status code, 200 to 999.
    pub status: u16,
    /// Field lines, each with CR LF. `Content-Length` (but not of 204 and 304, which have none) and what belongs to the
    /// connection are added.
    pub fields: Vec<u8>,
    /// Whether `Date` is among the fields; else it is added.
    pub has_date: bool,
    /// The body. To a HEAD request none of it is sent, but its length is.
    pub body: Vec<Segment>,
    /// Whether the connection may go on behind the answer. It ends all the same if the request announced that, or has a
    /// body: of that nothing is read.
    pub keep_alive: bool,
}

impl Answer {
    /// What its head says, with its connection kept behind it or not.
    pub(crate) fn head(&self, keep_alive: bool) -> AnswerHead<'_> {
        let connection = if keep_alive {
            response_flag::CONNECTION_KEEP_ALIVE | response_flag::KEEP_ALIVE
        } else {
            response_flag::CONNECTION_CLOSE | response_flag::CLOSE
        };
        let length: u64 = self.body.iter().map(Segment::len).sum();
        let date = if self.has_date {
            0
        } else {
            response_flag::DATE
        };
        let framing = match self.status {
            204 | 304 => 0,
            _ => response_flag::CONTENT_LENGTH,
        };
        AnswerHead {
            status: self.status,
            flags: date | framing | connection,
            template: 0,
            reason: status::reason(self.status).unwrap_or_default().as_bytes(),
            fields: &self.fields,
            content_length: length,
        }
    }

    /// Writes it as the record (`RESPOND`) that answers a request of which the application has been told. `is_head`: the
    /// request's method is HEAD. The body is copied, ranges of files too; where such a range can't be read the record is
    /// `RESET`.
    pub fn write(&self, commands: &mut CommandWriter, token: u32, sequence: u32, is_head: bool) {
        let head = self.head(self.keep_alive);
        let mut body = Vec::new();
        if !is_head && self.copy_body(&mut body).is_err() {
            return commands.reset(token, sequence);
        }
        let response = Response {
            status: u32::from(head.status),
            flags: head.flags | response_flag::END,
            reason: head.reason,
            fields: head.fields,
            body: &body,
            content_length: head.content_length,
            template: 0,
        };
        commands.respond(token, sequence, &response);
    }

    fn copy_body(&self, to: &mut Vec<u8>) -> Result<(), Gone> {
        for segment in &self.body {
            segment.lend(|part| match part {
                Part::Bytes(body) => {
                    to.extend_from_slice(body.bytes);
                    Ok(())
                }
                Part::File(range) => copy_file(range.clone(), to),
            })?;
        }
        Ok(())
    }
}

fn copy_file(mut range: FileRange, to: &mut Vec<u8>) -> Result<(), Gone> {
    let mut piece = vec![0; FILE_READ_BYTES];
    while !range.is_empty() {
        let count = range.read(&mut piece)?;
        to.extend_from_slice(piece.get(..count).unwrap_or_default());
        range.skip(u64::try_from(count).unwrap_or(0));
    }
    Ok(())
}

/// A part of a body.
#[derive(Clone, Debug)]
pub enum Segment {
    /// Bytes that are copied into the output.
    Owned(Vec<u8>),
    /// Bytes that are sent from where they lie.
    Shared(Rc<dyn LentBytes>),
    /// A range of an open file.
    File(FileRange),
}

impl Segment {
    /// Its length in bytes; 0 once its owner has taken it away.
    pub(crate) fn len(&self) -> u64 {
        let length = match self {
            Self::Owned(bytes) => bytes.len(),
            Self::Shared(owner) => owner.bytes().map_or(0, <[u8]>::len),
            Self::File(range) => return range.len(),
        };
        u64::try_from(length).unwrap_or(u64::MAX)
    }

    /// Gives it to `send`, which may keep what is shared.
    pub(crate) fn lend<T>(&self, send: impl FnOnce(Part<'_>) -> T) -> T {
        match self {
            Self::Owned(bytes) => send(Part::Bytes(Payload::inside(bytes))),
            Self::Shared(owner) => {
                let bytes = owner.bytes().unwrap_or_default();
                let keep = || Some(Rc::clone(owner));
                send(Part::Bytes(Payload {
                    bytes,
                    external: Some(External::lent(bytes, &keep)),
                }))
            }
            Self::File(range) => send(Part::File(range)),
        }
    }
}

/// A segment as a protocol is given it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part<'a> {
    Bytes(Payload<'a>),
    File(&'a FileRange),
}

impl Part<'_> {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(body) => u64::try_from(body.bytes.len()).unwrap_or(u64::MAX),
            Self::File(range) => range.len(),
        }
    }
}

/// The head of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerHead<'a> {
    pub(crate) status: u16,
    /// [`portico_channel::layout::response_flag`].
    pub(crate) flags: u32,
    /// Number of the kept reason and fields to use instead, 0: none.
    pub(crate) template: u32,
    pub(crate) reason: &'a [u8],
    /// Field lines, each with CR LF.
    pub(crate) fields: &'a [u8],
    pub(crate) content_length: u64,
}

/// The head of an interim (1xx) response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterimHead<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a [u8],
    /// Field lines, each with CR LF.
    pub(crate) fields: &'a [u8],
}

/// Body bytes, and the same where they lie outside of the record, so that they need not be copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payload<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) external: Option<External<'a>>,
}

impl<'a> Payload<'a> {
    /// Bytes that are only here.
    pub(crate) fn inside(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            external: None,
        }
    }

    /// Bytes that are better sent from where they lie.
    #[inline]
    pub(crate) fn outside(&self) -> Option<External<'a>> {
        self.external
            .filter(|external| external.bytes().len() > EXTERNAL_COPY_BYTES)
    }
}
