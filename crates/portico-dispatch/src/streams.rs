//! A connection with streams, as an engine with HTTP/2 tells of it: two members share it, and each exchange begins, is
//! held, answered and given up alone.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::sync::Arc;

use portico_channel::layout::{
    body_flag, command, event, flushed_flag, request_flag, reset_code, response_flag,
    session_command,
};
use portico_channel::schema::Record;
use portico_channel::shared::ApplicationEnd;
use portico_channel::{CommandWriter, EventWriter, Records, Response};
use portico_engine::Shard;
use portico_http::Method;

use crate::QueueId;
use crate::client::{Client, MemberIndex};
use crate::commands::CommandBuffer;
use crate::dispatcher::Dispatcher;
use crate::exchange::Stage;
use crate::host_wide::HostWide;
use crate::routing::Routed;
use crate::test_support::{member, record};
use crate::user_memory::UserMemory;
use crate::validation::Verdict;

const TOKEN: u32 = 0;
/// The queues of the two members, and one without any.
const QUEUES: [QueueId; 3] = [QueueId(1), QueueId(2), QueueId(3)];

struct Connection {
    dispatcher: Dispatcher,
    applications: Vec<ApplicationEnd>,
    shard: Shard,
}

impl Connection {
    fn new() -> Self {
        let host_wide = Arc::new(HostWide::default());
        let shard = Shard::with_slots(0, 16).unwrap();
        let mut dispatcher = Dispatcher::new(
            0,
            0,
            true,
            Arc::clone(&host_wide),
            crate::caching::Caching::unused(),
        );
        let mut applications = Vec::new();
        for (id, queue) in (1..).zip(&QUEUES[..2]) {
            let (member, application, _) = member(id, *queue, &host_wide, UserMemory::unlimited());
            dispatcher.attach(member, &shard).unwrap();
            applications.push(application);
        }
        let words = event::Open {
            token: TOKEN,
            ..event::Open::default()
        };
        let opening = record(words, 0);
        let view = Records::new(&opening).next().unwrap().unwrap();
        let client = Client::opened(view.read().unwrap(), None);
        dispatcher.clients.insert(client);
        Self {
            dispatcher,
            applications,
            shard,
        }
    }

    /// A request of a stream, with its body to come, for the member of that number.
    fn request(&mut self, sequence: u32, queue: usize) {
        self.request_with(sequence, queue, 0);
    }

    fn request_with(&mut self, sequence: u32, queue: usize, flags: u32) {
        self.dispatcher.routed.push_back(Routed {
            token: TOKEN,
            sequence,
            queue: QUEUES[queue],
        });
        let words = event::Request {
            token: TOKEN,
            sequence,
            method: Method::Post as u8,
            major_version: 2,
            content_length: u64::MAX,
            ..event::Request::default()
        };
        self.event(flags, words);
    }

    fn event<R: Record>(&mut self, flags: u32, words: R) {
        let mut memory = [0; 256];
        let mut writer = EventWriter::new(&mut memory);
        writer.tell(flags, words).unwrap();
        self.dispatcher.handle_events(writer.written());
    }

    fn body(&mut self, sequence: u32, flags: u32) {
        let words = event::Body {
            token: TOKEN,
            sequence,
            ..event::Body::default()
        };
        self.event(flags, words);
    }

    /// What a member gets: kinds and numbers, but for `OPEN`.
    fn got(&mut self, index: MemberIndex) -> Vec<(u32, u32)> {
        self.dispatcher.settle_members();
        let end = &mut self.applications[index];
        let mut memory = vec![0; 64 * 1024];
        let copied = end.events.copy(&mut memory).unwrap();
        end.events.take(copied).unwrap();
        Records::new(&memory[..copied])
            .map(Result::unwrap)
            .filter(|record| record.kind() != event::OPEN)
            .map(|record| (record.kind(), record.sequence()))
            .collect()
    }

    /// What becomes of what a member says.
    fn says(&mut self, index: MemberIndex, say: impl FnOnce(&mut CommandWriter)) -> Verdict {
        let mut commands = CommandWriter::new();
        say(&mut commands);
        let record = Records::new(commands.as_bytes()).next().unwrap().unwrap();
        let mut ended = Vec::new();
        let verdict = self.dispatcher.validate(index, record, &mut ended);
        for (token, sequence) in ended {
            self.dispatcher.conclude(token, sequence);
        }
        verdict
    }

    fn answers(&mut self, index: MemberIndex, sequence: u32, flags: u32, body: &[u8]) -> Verdict {
        let response = Response {
            status: 200,
            flags: flags | response_flag::CONTENT_LENGTH,
            body,
            content_length: 5,
            ..Response::default()
        };
        self.says(index, |writer| writer.respond(TOKEN, sequence, &response))
    }

    /// What the engine is told by us: kinds and numbers.
    fn take_commands(&mut self) -> Vec<(u32, u32)> {
        let commands = std::mem::take(&mut self.dispatcher.commands);
        Records::new(commands.as_bytes())
            .flatten()
            .map(|record| (record.kind(), record.sequence()))
            .collect()
    }

    fn in_flight(&mut self, index: MemberIndex) -> u32 {
        self.dispatcher.member(index).unwrap().in_flight
    }

    fn client(&mut self) -> &mut Client {
        self.dispatcher.clients.find(TOKEN).unwrap()
    }
}

#[test]
fn bodies_arrive_at_once_and_each_is_held_alone() {
    let mut connection = Connection::new();
    connection.request(1, 0);
    connection.request(3, 1);
    connection.request(7, 0);
    assert_eq!(
        connection.got(0),
        [(event::REQUEST, 1), (event::REQUEST, 7)]
    );
    assert_eq!(connection.got(1), [(event::REQUEST, 3)]);
    let pause = |sequence| {
        move |writer: &mut CommandWriter| {
            writer.write(
                0,
                command::Pause {
                    token: TOKEN,
                    sequence,
                },
                &[],
            );
        }
    };
    connection.says(0, pause(1));
    // This one is another member's.
    connection.says(0, pause(3));
    assert_eq!(connection.take_commands(), [(command::PAUSE, 1)]);
    for sequence in [3, 7, 3] {
        connection.body(sequence, 0);
    }
    connection.body(7, body_flag::LAST);
    assert_eq!(connection.got(0), [(event::BODY, 7), (event::BODY, 7)]);
    assert_eq!(connection.got(1), [(event::BODY, 3), (event::BODY, 3)]);
    connection.says(0, |writer| {
        writer.write(
            0,
            command::Resume {
                token: TOKEN,
                sequence: 1,
            },
            &[],
        );
    });
    assert_eq!(connection.take_commands(), [(command::RESUME, 1)]);
}

#[test]
fn exchanges_end_in_any_order_and_a_body_may_outlast_its_answer() {
    let mut connection = Connection::new();
    for sequence in [1, 5, 9] {
        connection.request(sequence, 0);
    }
    connection.got(0);
    let end = response_flag::END | response_flag::CLOSE;
    // An answer of one ends no connection that is others' too.
    let kept = response_flag::END | response_flag::CONTENT_LENGTH;
    assert_eq!(
        connection.answers(0, 5, end, b"fifth"),
        Verdict::ApplyWith(kept)
    );
    assert_eq!(connection.answers(0, 5, end, b"again"), Verdict::LeaveOut);
    assert_eq!(connection.in_flight(0), 2);
    connection.body(9, body_flag::LAST);
    connection.body(5, body_flag::LAST);
    assert_eq!(connection.got(0), [(event::BODY, 9), (event::BODY, 5)]);
    assert!(!connection.client().is_trailing(0));
    connection.answers(0, 9, end, b"ninth");
    connection.answers(0, 1, end, b"first");
    assert_eq!(connection.in_flight(0), 0);
    assert_eq!(connection.take_commands(), []);
}

#[test]
fn a_member_gives_up_one_exchange_and_the_others_go_on() {
    let mut connection = Connection::new();
    for sequence in [1, 3] {
        connection.request(sequence, 0);
    }
    connection.got(0);
    assert_eq!(connection.answers(0, 1, 0, b"ha"), Verdict::Apply);
    assert_eq!(
        connection.says(1, |writer| writer.reset(TOKEN, 1)),
        Verdict::LeaveOut
    );
    assert_eq!(
        connection.says(0, |writer| writer.reset(TOKEN, 1)),
        Verdict::Apply
    );
    assert_eq!(connection.in_flight(0), 1);
    let rest = |writer: &mut CommandWriter| writer.data(TOKEN, 1, response_flag::END, b"lf");
    assert_eq!(connection.says(0, rest), Verdict::LeaveOut);
    // What crossed with it is about nothing.
    connection.body(1, 0);
    connection.body(3, 0);
    assert_eq!(connection.got(0), [(event::BODY, 3)]);
    assert_eq!(
        connection.answers(0, 3, response_flag::END, b"whole"),
        Verdict::Apply
    );
}

#[test]
fn a_client_gives_up_one_exchange_wherever_it_is() {
    let mut connection = Connection::new();
    connection.request(1, 0);
    connection.request(3, 2);
    connection.request(5, 0);
    connection.got(0);
    connection.answers(0, 5, response_flag::END, b"early");
    for sequence in [1, 3, 5, 7] {
        let words = event::Reset {
            token: TOKEN,
            sequence,
            code: reset_code::CANCEL,
        };
        connection.event(0, words);
    }
    assert_eq!(connection.got(0), [(event::RESET, 1), (event::RESET, 5)]);
    assert_eq!(connection.in_flight(0), 0);
    let client = connection.client();
    assert!(client.exchanges.is_empty() && !client.is_trailing(0));
    assert_eq!(
        connection.answers(0, 1, response_flag::END, b"crossed"),
        Verdict::LeaveOut
    );
    // Its place in the queue is free again.
    let queue = connection.dispatcher.queue_mut(QUEUES[2]);
    queue.options.length = 1;
    let counts = Arc::clone(&queue.counts);
    assert!(counts.claim(true, 1));
}

#[test]
fn the_end_of_a_member_ends_its_streams_and_no_connection() {
    let mut connection = Connection::new();
    for (sequence, queue) in [(1, 0), (3, 0), (5, 1)] {
        connection.request_with(sequence, queue, request_flag::COMPLETE);
    }
    connection.got(0);
    connection.got(1);
    connection.answers(0, 1, 0, b"ha");
    connection.dispatcher.settle_member(0);
    let Connection {
        dispatcher, shard, ..
    } = &mut connection;
    dispatcher.detach(0, shard, &mut CommandBuffer::default());
    // Half an answer is given up, one that has not begun becomes 502, and the other member's goes on.
    assert_eq!(
        connection.take_commands(),
        [(command::RESET, 1), (command::RESPOND, 3)]
    );
    assert_eq!(
        connection.answers(1, 5, response_flag::END, b"other"),
        Verdict::Apply
    );
}

#[test]
fn a_member_that_wants_no_more_of_the_connection_gives_up_its_own_streams() {
    let mut connection = Connection::new();
    connection.request(1, 0);
    connection.request(3, 1);
    connection.request(5, 0);
    connection.got(1);
    connection.answers(0, 5, response_flag::END, b"early");
    let destroy =
        |writer: &mut CommandWriter| writer.write(0, command::Destroy { token: TOKEN }, &[]);
    assert_eq!(connection.says(0, destroy), Verdict::LeaveOut);
    assert_eq!(
        connection.take_commands(),
        [(command::DISCARD, 5), (command::RESET, 1)]
    );
    assert_eq!(connection.in_flight(0), 0);
    connection.body(3, body_flag::LAST);
    assert_eq!(connection.got(1), [(event::BODY, 3)]);
    connection.dispatcher.close_all(1);
    assert_eq!(connection.take_commands(), [(command::RESET, 3)]);
    assert!(connection.client().exchanges.is_empty());
}

#[test]
fn an_answer_that_is_shorter_than_it_says_is_given_up() {
    let mut connection = Connection::new();
    connection.request_with(1, 0, request_flag::COMPLETE);
    let end = response_flag::END;
    assert_eq!(connection.answers(0, 1, end, b"ha"), Verdict::LeaveOut);
    assert_eq!(connection.take_commands(), [(command::RESET, 1)]);
    connection.request_with(3, 0, request_flag::COMPLETE);
    let flags = end | response_flag::CONTENT_LENGTH;
    let too_long = connection.answers(0, 3, end, b"whole and more");
    assert_eq!(too_long, Verdict::Shorten(flags, 5));
    assert_eq!(connection.in_flight(0), 0);
}

#[test]
fn refusals_and_acknowledgements_are_one_exchanges() {
    let mut connection = Connection::new();
    connection.request(1, 0);
    connection.request(3, 1);
    let ack = response_flag::ACK;
    connection.answers(0, 1, ack, b"");
    connection.answers(1, 3, ack, b"");
    connection.dispatcher.queue_mut(QUEUES[2]).options.length = 0;
    connection.request(5, 2);
    assert_eq!(
        connection.take_commands(),
        [(command::DISCARD, 5), (command::RESPOND, 5)]
    );
    assert!(!connection.client().is_closing());
    let flushed = event::Flushed {
        token: TOKEN,
        count: 1,
        queued_bytes: 0,
        sequence: 3,
    };
    connection.got(0);
    connection.got(1);
    connection.event(flushed_flag::NAMED, flushed);
    assert_eq!(connection.got(1).len(), 1);
    assert_eq!(connection.got(0), []);
    let stages = connection.client().exchanges.iter().map(|it| it.stage());
    assert_eq!(stages.collect::<Vec<_>>(), [Stage::With(0), Stage::With(1)]);
}

#[test]
fn a_member_has_no_say_in_the_session_that_others_have_streams_of() {
    let mut connection = Connection::new();
    connection.request(1, 0);
    let goaway = |writer: &mut CommandWriter| {
        let words = command::Session {
            token: TOKEN,
            subject: session_command::GOAWAY,
            stream: 0,
            code: 0,
            data_bytes: 0,
        };
        writer.write(0, words, &[]);
    };
    assert_eq!(connection.says(0, goaway), Verdict::LeaveOut);
    let push = |writer: &mut CommandWriter| {
        let words = command::Push {
            token: TOKEN,
            sequence: 1,
            method_bytes: 3,
            scheme_bytes: 5,
            authority_bytes: 1,
            path_bytes: 1,
            fields_bytes: 0,
        };
        writer.write(0, words, &[b"GET", b"https", b"a", b"/"]);
    };
    assert_eq!(connection.says(0, push), Verdict::LeaveOut);
    assert_eq!(connection.in_flight(0), 1);
}
