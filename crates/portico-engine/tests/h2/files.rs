//! Ranges of files as bodies of streams.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use portico_channel::layout::event;
use portico_engine::{Answer, FileRange, Offer, Offered, Responder, Segment};

use super::client::fields;
use super::support::memory_file;
use super::*;

/// Answers with so much of a file, and bytes behind it.
struct Part(Arc<OwnedFd>, u64);

impl Responder for Part {
    fn offer(&mut self, _: &Offer<'_>) -> Offered {
        let range = FileRange::new(Arc::clone(&self.0), 10, self.1);
        Offered::Answered(Answer {
            status: 200,
            fields: Vec::new(),
            has_date: false,
            body: vec![Segment::File(range), Segment::Owned(b"tail".to_vec())],
            keep_alive: true,
        })
    }
}

fn with_file(bytes: &[u8], length: u64) -> (Server, Client, Arc<OwnedFd>) {
    let file = memory_file(bytes);
    let (mut server, client) = pair(options());
    server.responder = Some(Box::new(Part(Arc::clone(&file), length)));
    (server, client, file)
}

#[test]
fn a_range_is_framed_as_windows_allow_and_held_as_a_descriptor_until_then() {
    let bytes: Vec<u8> = (0..300_000_u32).map(|it| (it / 251) as u8).collect();
    let (mut server, mut client, file) = with_file(&[0; 300_000], 200_000);
    client.get(1, "/");
    client.headers(3, &fields("HEAD", "/"), true);
    let is_head_answered = |frames: &[Frame]| frames.iter().any(|it| it.stream == 3 && it.ends());
    let (frames, _) = until(&mut server, &mut client, is_head_answered);
    assert_eq!(body_of(&frames, 3), b"");
    server.settle();
    let mut body = body_of(&frames, 1);
    body.extend(body_of(&client.frames(), 1));
    // The connection's window is used up.
    assert_eq!(body.len(), 65_535);
    assert_eq!(Arc::strong_count(&file), 3);
    // What has not been framed has not been read.
    assert_eq!(rustix::io::pwrite(&file, &bytes, 0), Ok(300_000));
    client.window(0, 1 << 20);
    client.window(1, 1 << 20);
    let frames = until_ended(&mut server, &mut client, 1);
    body.extend(body_of(&frames, 1));
    let wanted = [&[0; 65_535], &bytes[65_545..200_010], b"tail"].concat();
    assert!(body == wanted);
    assert_eq!(Arc::strong_count(&file), 2);
}

#[test]
fn a_file_that_ends_before_its_range_ends_the_connection_without_the_end_of_the_stream() {
    let (mut server, mut client, file) = with_file(&[7; 1000], 1000);
    client.get(1, "/");
    let mut frames = Vec::new();
    server.next(event::CLOSED);
    while !client.is_over {
        frames.extend(client.frames());
    }
    assert!(frames.iter().all(|frame| !frame.ends()));
    assert!(body_of(&frames, 1).len() < 1000);
    assert_eq!(Arc::strong_count(&file), 2);
}
