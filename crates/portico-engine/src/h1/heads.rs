//! Heads of answers in the bytes of HTTP/1.

use portico_channel::layout::response_flag;
use portico_http::h1::{
    BodyFraming, ConnectionField, KeepAlive, ResponseHead, write_response_head,
};

use crate::answer::{AnswerHead, InterimHead};
use crate::core::Core;

/// Writes the head of an answer that came by this listener.
pub(super) fn write_head(core: &mut Core, listener: u32, out: &mut Vec<u8>, head: &AnswerHead<'_>) {
    let flags = head.flags;
    let Core {
        templates,
        clock,
        listeners,
        ..
    } = core;
    let (reason, fields) = match templates.find(head.template) {
        Some(template) => (&template.reason[..], &template.fields[..]),
        None => (head.reason, head.fields),
    };
    let connection = if flags & response_flag::CONNECTION_CLOSE != 0 {
        ConnectionField::Close
    } else if flags & response_flag::CONNECTION_KEEP_ALIVE != 0 {
        ConnectionField::KeepAlive
    } else {
        ConnectionField::None
    };
    let keep_alive = listeners
        .find(listener)
        .filter(|_| flags & response_flag::KEEP_ALIVE != 0)
        .map(|listener| {
            let max = listener.options.max_requests_per_socket;
            KeepAlive {
                timeout_seconds: u32::try_from(listener.options.keep_alive_timeout.as_secs())
                    .unwrap_or(u32::MAX),
                max: (max != 0).then_some(max),
            }
        });
    let framing = if flags & response_flag::CONTENT_LENGTH != 0 {
        BodyFraming::ContentLength(head.content_length)
    } else if flags & response_flag::TRANSFER_ENCODING != 0 {
        BodyFraming::Chunked
    } else {
        BodyFraming::None
    };
    let date = (flags & response_flag::DATE != 0).then(|| clock.date());
    write_response_head(
        out,
        &ResponseHead {
            status: head.status,
            reason,
            fields,
            date,
            connection,
            keep_alive,
            framing,
        },
    );
}

/// Writes the head of an interim answer (RFC 9110, section 15.2).
pub(super) fn write_interim_head(out: &mut Vec<u8>, head: &InterimHead<'_>) {
    write_response_head(
        out,
        &ResponseHead {
            status: head.status,
            reason: head.reason,
            fields: head.fields,
            date: None,
            connection: ConnectionField::None,
            keep_alive: None,
            framing: BodyFraming::None,
        },
    );
}
