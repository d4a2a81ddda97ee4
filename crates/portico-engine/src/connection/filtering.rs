//! A request's responder between the application and the protocol: waits that end, and filters of answers.

use portico_channel::layout::response_flag;

use super::Connection;
use crate::answer::{AnswerHead, Payload};
use crate::core::Core;
use crate::filter::{AnswerFilter, BodyLength, CacheWish, Replaced};
use crate::offer::Offered;
use crate::protocol::{Protocol, on_protocol};

/// Flags that say where a body ends.
const FRAMING: u32 =
    response_flag::CONTENT_LENGTH | response_flag::TRANSFER_ENCODING | response_flag::CHUNKED;

impl Connection {
    /// What becomes of a request that waits for its responder. `false`: it does not wait.
    pub(crate) fn settle(&mut self, core: &mut Core, sequence: u32, offered: Offered) -> bool {
        on_protocol!(&mut self.protocol, protocol => {
            protocol.settle(&mut self.transport, core, sequence, offered)
        })
    }

    /// Numbers of the requests that wait for their responder, and since when.
    pub(crate) fn each_waiting(&self, visit: impl FnMut(u32, u64)) {
        on_protocol!(&self.protocol, protocol => protocol.each_waiting(visit));
    }

    /// Enters filters for answers to requests that have been passed.
    #[cold]
    pub(crate) fn filter_answers(&mut self, filters: &mut Vec<(u32, Box<dyn AnswerFilter>)>) {
        let own = self.filters.get_or_insert_default();
        for (sequence, filter) in filters.drain(..) {
            own.enter(sequence, filter);
        }
    }

    /// Drops the filters of streams that have gone without an answer: who waits for one learns that there will be none.
    #[inline]
    pub(crate) fn drop_filters_of_gone(&mut self) {
        if let (Some(filters), Protocol::H2(protocol)) = (&mut self.filters, &self.protocol) {
            filters.keep(|sequence| protocol.has_exchange(sequence));
        }
    }

    /// `CACHE`. `false`: the answer has no filter.
    pub(crate) fn wish(&mut self, sequence: u32, wish: &CacheWish<'_>) -> bool {
        let filters = self.filters.as_mut();
        filters.is_some_and(|filters| filters.wished(sequence, wish))
    }

    #[cold]
    pub(super) fn respond_filtered(
        &mut self,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        body: Payload<'_>,
    ) {
        let filters = self.filters.as_mut();
        let Replaced {
            head: new,
            body: instead,
        } = filters
            .and_then(|filters| filters.head(&core.templates, sequence, head, body))
            .unwrap_or_default();
        let body = instead.as_deref().map_or(body, Payload::inside);
        // The reason of a template is the standard one, or nobody reads it.
        let head = match &new {
            None => *head,
            Some(new) => {
                let (own, content_length) = match new.length {
                    BodyLength::AsItWas => (head.flags & FRAMING, head.content_length),
                    BodyLength::Known(length) => (response_flag::CONTENT_LENGTH, length),
                    BodyLength::Unknown => {
                        (response_flag::TRANSFER_ENCODING | response_flag::CHUNKED, 0)
                    }
                };
                AnswerHead {
                    flags: head.flags & !FRAMING | own,
                    template: 0,
                    fields: &new.fields,
                    content_length,
                    ..*head
                }
            }
        };
        on_protocol!(&mut self.protocol, protocol => {
            protocol.respond(&mut self.transport, core, sequence, &head, body);
        });
    }

    #[cold]
    pub(super) fn data_filtered(
        &mut self,
        core: &mut Core,
        sequence: u32,
        flags: u32,
        body: Payload<'_>,
    ) {
        let filters = self.filters.as_mut();
        let instead = filters.and_then(|filters| filters.body(sequence, flags, body.bytes));
        let body = instead.as_deref().map_or(body, Payload::inside);
        on_protocol!(&mut self.protocol, protocol => {
            protocol.data(&mut self.transport, core, sequence, flags, body);
        });
    }

    /// What a filter has still to say before the end.
    #[cold]
    pub(super) fn end_filtered(&mut self, core: &mut Core, sequence: u32) {
        let filters = self.filters.as_mut();
        let rest = filters.and_then(|filters| filters.body(sequence, response_flag::END, b""));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            on_protocol!(&mut self.protocol, protocol => {
                protocol.data(&mut self.transport, core, sequence, 0, Payload::inside(&rest));
            });
        }
    }
}
