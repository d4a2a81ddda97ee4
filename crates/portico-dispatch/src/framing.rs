//! Whether the bytes of an answer agree with what its head says of them.
//!
//! A connection is shared by many applications, so one of them must not be able to leave it in a state in which the
//! next one's answer is read as part of its own (RFC 9112, 6.3 and 11.2). Three outcomes:
//!
//! | outcome | when | what is done |
//! |---|---|---|
//! | fine | the end of the answer is where its head says | |
//! | too long | there are more bytes than its head says | those it says go out, and the connection ends behind them |
//! | last | a client might see the end elsewhere, or sees it in the connection's end | the connection ends behind it |
//! | wrong | what is sent can't be what the head says | before the head: 502; behind it: cut off, and the end |

use portico_channel::layout::response_flag;
use portico_http::semantics::FramingFields;
use portico_http::semantics::response_framing::{AddedFraming, BodyEnd, ResponseFraming};

use crate::request::RequestTraits;

/// How far an answer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerState {
    /// No head yet.
    #[default]
    Awaited,
    /// So many bytes are still to come.
    Sized(u64),
    /// In chunks that the engine makes.
    Chunked,
    /// Until the connection ends.
    UntilClose,
    /// Complete.
    Ended,
}

/// What the bytes of one record mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    /// The connection must end behind this answer.
    Last,
    /// Only so many of the bytes belong to the answer: it ends with them, and the connection behind it.
    TooLong(u64),
    /// They must not go out, and the answer can't go on.
    Wrong,
    /// They must not go out; the answer goes on without them.
    Nothing,
}

impl AnswerState {
    /// Whether the head has been given.
    pub(crate) fn has_begun(self) -> bool {
        self != Self::Awaited
    }

    /// Whether the engine takes body bytes now.
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Self::Awaited | Self::Ended)
    }

    /// A head. `length` is Content-Length where the flags have the engine write it.
    pub(crate) fn begin(
        &mut self,
        traits: RequestTraits,
        status: u32,
        flags: u32,
        length: u64,
        fields: &FramingFields,
    ) -> Outcome {
        let has = |flag: u32| flags & flag != 0;
        let mut added = AddedFraming {
            content_length: has(response_flag::CONTENT_LENGTH).then_some(length),
            transfer_encoding: has(response_flag::TRANSFER_ENCODING),
            in_chunks: has(response_flag::CHUNKED),
        };
        let mut fields = *fields;
        if traits.has_stream {
            // Frames say where a stream's answer ends, and these fields are left out of it (RFC 9113, section 8.2.2).
            (added.transfer_encoding, added.in_chunks) = (false, false);
            (fields.has_transfer_encoding, fields.is_chunked) = (false, false);
        }
        let Ok(framing) = ResponseFraming::of(traits.answered(), status, &fields, added) else {
            return Outcome::Wrong;
        };
        *self = match framing.end {
            BodyEnd::Length(bytes) => Self::Sized(bytes),
            BodyEnd::LastChunk => Self::Chunked,
            BodyEnd::ConnectionEnd => Self::UntilClose,
        };
        if framing.is_last {
            Outcome::Last
        } else {
            Outcome::Fine
        }
    }

    /// Bytes of the body. The answer must be open.
    pub(crate) fn add(&mut self, bytes: u64) -> Outcome {
        if let Self::Sized(left) = self {
            match left.checked_sub(bytes) {
                Some(rest) => *left = rest,
                None => return Outcome::TooLong(*left),
            }
        }
        Outcome::Fine
    }

    /// Whether its end would come too early.
    pub(crate) fn lacks_bytes(self) -> bool {
        matches!(self, Self::Sized(left) if left > 0)
    }

    /// The end. A body that is too short: the client waits for the rest until the connection ends.
    pub(crate) fn end(&mut self) -> Outcome {
        let outcome = match *self {
            Self::Sized(left) if left > 0 => Outcome::Last,
            _ => Outcome::Fine,
        };
        *self = Self::Ended;
        outcome
    }
}

#[cfg(test)]
mod tests {
    use response_flag::{CHUNKED, CONTENT_LENGTH, TRANSFER_ENCODING};

    use super::*;

    const PLAIN: RequestTraits = RequestTraits {
        keep_alive: true,
        complete: true,
        upgrade: false,
        connect: false,
        head: false,
        has_stream: false,
        is_old: false,
        safe: true,
    };
    const HEAD: RequestTraits = RequestTraits {
        head: true,
        ..PLAIN
    };
    const OLD: RequestTraits = RequestTraits {
        is_old: true,
        ..PLAIN
    };
    const CONNECT: RequestTraits = RequestTraits {
        connect: true,
        ..PLAIN
    };

    fn declared(length: Option<u64>, coding: &str) -> FramingFields {
        FramingFields {
            content_length: length,
            has_transfer_encoding: !coding.is_empty(),
            is_chunked: coding == "chunked",
            ..FramingFields::default()
        }
    }

    #[test]
    fn a_head_says_how_its_body_ends() {
        use AnswerState::{Chunked, Sized, UntilClose};
        use Outcome::{Fine, Last};
        let none = declared(None, "");
        let rows: &[(RequestTraits, u32, u32, FramingFields, Outcome, AnswerState)] = &[
            (PLAIN, 200, CONTENT_LENGTH, none, Fine, Sized(5)),
            (PLAIN, 200, 0, declared(Some(7), ""), Fine, Sized(7)),
            (
                PLAIN,
                200,
                CONTENT_LENGTH,
                declared(Some(5), ""),
                Fine,
                Sized(5),
            ),
            (PLAIN, 200, CHUNKED | TRANSFER_ENCODING, none, Fine, Chunked),
            (
                PLAIN,
                200,
                CHUNKED,
                declared(None, "chunked"),
                Fine,
                Chunked,
            ),
            (PLAIN, 200, 0, none, Last, UntilClose),
            (PLAIN, 200, CHUNKED, none, Last, UntilClose),
            (PLAIN, 200, 0, declared(None, "gzip"), Last, UntilClose),
            (PLAIN, 200, 0, declared(Some(5), "gzip"), Last, UntilClose),
            (
                PLAIN,
                200,
                CHUNKED,
                declared(Some(5), "chunked"),
                Last,
                Chunked,
            ),
            (OLD, 200, CHUNKED | TRANSFER_ENCODING, none, Last, Chunked),
            (PLAIN, 204, 0, none, Fine, Sized(0)),
            (PLAIN, 304, CONTENT_LENGTH, none, Fine, Sized(0)),
            (PLAIN, 304, TRANSFER_ENCODING, none, Fine, Sized(0)),
            (HEAD, 200, CONTENT_LENGTH, none, Fine, Sized(0)),
            (CONNECT, 200, CONTENT_LENGTH, none, Last, Sized(5)),
            (CONNECT, 403, CONTENT_LENGTH, none, Fine, Sized(5)),
        ];
        for (traits, status, flags, declared, outcome, state) in rows {
            let mut answer = AnswerState::Awaited;
            let found = answer.begin(*traits, *status, *flags, 5, declared);
            assert_eq!(
                (found, answer),
                (*outcome, *state),
                "{status} {flags} {declared:?}"
            );
        }
    }

    #[test]
    fn what_contradicts_itself_is_wrong() {
        for (traits, status, flags, declared) in [
            (PLAIN, 200, CONTENT_LENGTH, declared(Some(6), "")),
            (PLAIN, 200, CONTENT_LENGTH | CHUNKED, declared(None, "")),
            (PLAIN, 200, CHUNKED, declared(Some(5), "")),
            (PLAIN, 200, 0, declared(None, "chunked")),
            (PLAIN, 101, 0, declared(None, "")),
            (PLAIN, 100, 0, declared(None, "")),
            (HEAD, 200, CHUNKED | TRANSFER_ENCODING, declared(None, "")),
            (PLAIN, 204, CHUNKED, declared(None, "chunked")),
        ] {
            let outcome = AnswerState::Awaited.begin(traits, status, flags, 5, &declared);
            assert_eq!(outcome, Outcome::Wrong, "{status} {flags} {declared:?}");
        }
    }

    #[test]
    fn no_byte_beyond_the_length_and_none_missing() {
        let mut answer = AnswerState::Sized(5);
        assert_eq!(answer.add(3), Outcome::Fine);
        assert_eq!(answer.add(3), Outcome::TooLong(2));
        assert_eq!(answer.add(2), Outcome::Fine);
        assert_eq!(answer.end(), Outcome::Fine);
        assert_eq!(AnswerState::Sized(1).end(), Outcome::Last);
        assert_eq!(AnswerState::Chunked.end(), Outcome::Fine);
    }
}
