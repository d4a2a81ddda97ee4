//! A request's responder between the application and the protocol: waits that end, and filters of answers.

use portico_channel::layout::response_flag;

use super::Connection;
use crate::answer::{Answer, AnswerHead, Payload};
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
            answer,
        } = filters
            .and_then(|filters| filters.head(&core.templates, sequence, head, body))
            .unwrap_or_default();
        if let Some(answer) = answer {
            return self.give_instead(core, sequence, head.flags, &answer);
        }
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
        if self.drops(core, sequence, flags) {
            return;
        }
        let filters = self.filters.as_mut();
        let instead = filters.and_then(|filters| filters.body(sequence, flags, body.bytes));
        let body = instead.as_deref().map_or(body, Payload::inside);
        on_protocol!(&mut self.protocol, protocol => {
            protocol.data(&mut self.transport, core, sequence, flags, body);
        });
    }

    /// What a filter has still to say before the end. `false`: that is not the end of what the client gets.
    #[cold]
    pub(super) fn end_filtered(&mut self, core: &mut Core, sequence: u32, flags: u32) -> bool {
        if self.drops(core, sequence, flags | response_flag::END) {
            return false;
        }
        let filters = self.filters.as_mut();
        let rest = filters.and_then(|filters| filters.body(sequence, response_flag::END, b""));
        if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
            on_protocol!(&mut self.protocol, protocol => {
                protocol.data(&mut self.transport, core, sequence, 0, Payload::inside(&rest));
            });
        }
        true
    }

    /// Gives the client an answer in the place of the application's, with what that says of the connection.
    fn give_instead(&mut self, core: &mut Core, sequence: u32, flags: u32, answer: &Answer) {
        const OF_THE_ANSWER: u32 = FRAMING | response_flag::DATE;
        let is_last = flags & response_flag::END;
        let own = answer.head(true);
        let kept = flags & !(OF_THE_ANSWER | response_flag::ACK | response_flag::END);
        let head = AnswerHead {
            flags: own.flags & OF_THE_ANSWER | kept & !response_flag::EXTERNAL,
            ..own
        };
        self.give_whole(core, sequence, &head, answer);
        let ack = flags & response_flag::ACK;
        self.drops(core, sequence, ack | is_last);
    }

    fn give_whole(
        &mut self,
        core: &mut Core,
        sequence: u32,
        head: &AnswerHead<'_>,
        answer: &Answer,
    ) {
        on_protocol!(&mut self.protocol, protocol => {
            let nothing = Payload::inside(b"");
            protocol.respond(&mut self.transport, core, sequence, head, nothing);
            for segment in &answer.body {
                segment.lend(|part| protocol.give(&mut self.transport, core, sequence, 0, part));
            }
            protocol.end(&mut self.transport, core, sequence, 0, b"");
        });
    }

    /// Whether a record is dropped, since another answer has gone out. It is acknowledged all the same.
    fn drops(&mut self, core: &mut Core, sequence: u32, flags: u32) -> bool {
        let filters = self.filters.as_mut();
        let is_dropped = filters.is_some_and(|filters| filters.drops(sequence, flags));
        if is_dropped && flags & response_flag::ACK != 0 {
            let named = if self.is_h2() { sequence } else { 0 };
            let position = self.transport.position();
            self.transport.acknowledge(position, named);
            self.transport.flush_later(core);
        }
        is_dropped
    }

    /// Gives what stands in for the answer to a request that gets none from the application. `false`: nothing does.
    pub(crate) fn stand_in(&mut self, core: &mut Core, sequence: u32, keep_alive: bool) -> bool {
        let filters = self.filters.as_mut();
        let Some(answer) = filters.and_then(|filters| filters.given_up(sequence)) else {
            return false;
        };
        if let Some(filters) = &mut self.filters {
            // Who waits for the application's answer learns that there will be none.
            filters.drop_one(sequence);
        }
        self.give_whole(core, sequence, &answer.head(keep_alive), &answer);
        true
    }

    /// The same for the request whose turn it is on a connection that the application ends, which then ends behind that
    /// answer.
    pub(crate) fn stand_in_at_end(&mut self, core: &mut Core) -> bool {
        let Protocol::H1(protocol) = &self.protocol else {
            return false;
        };
        let Some(sequence) = protocol.unanswered() else {
            return false;
        };
        let has_given = self.stand_in(core, sequence, false);
        if has_given {
            self.shutdown(core, true);
        }
        has_given
    }
}
