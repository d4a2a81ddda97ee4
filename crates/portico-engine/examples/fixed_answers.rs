//! A server whose every answer is the engine's own, over HTTP/1 and HTTP/2: what requests cost before an application has
//! anything to do with them. The body is so many bytes of memory, or a file.
//!
//! ```text
//! cargo run --release -p portico-engine --example fixed_answers -- 8080 612 [certificate.der key.der]
//! cargo run --release -p portico-engine --example fixed_answers -- 8080 file.bin [certificate.der key.der]
//! ```
#![allow(clippy::unwrap_used, reason = "an example")]

use std::fs::File;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use portico_channel::{EventWriter, LentBytes};
use portico_engine::{
    Answer, FileRange, ListenerOptions, Offer, Offered, Protocols, Responder, Segment, Shard,
};
use portico_tls::{Context, ContextOptions, Identity};

#[derive(Debug)]
struct Body(Vec<u8>);

impl LentBytes for Body {
    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.0)
    }
}

struct Fixed(Segment);

impl Responder for Fixed {
    fn offer(&mut self, _: &Offer<'_>) -> Offered {
        Offered::Answered(Answer {
            status: 200,
            fields: b"content-type: text/plain\r\n".to_vec(),
            has_date: false,
            body: vec![self.0.clone()],
            keep_alive: true,
        })
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let port = arguments.first().map_or(0, |text| text.parse().unwrap());
    let body = arguments.get(1).map_or("612", |text| text);
    let mut shard = Shard::new().unwrap();
    let mut options = ListenerOptions {
        protocols: Protocols {
            http1: true,
            http2: true,
        },
        ..ListenerOptions::default()
    };
    if let [certificate, key] = arguments.get(2..).unwrap_or_default() {
        let context = ContextOptions {
            identities: vec![Identity {
                chain: vec![std::fs::read(certificate).unwrap()],
                key: std::fs::read(key).unwrap(),
            }],
            alpn: vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            ..ContextOptions::default()
        };
        options.tls = shard.add_tls_context(Context::new(&context).unwrap());
    }
    let socket = TcpListener::bind(("127.0.0.1", port)).unwrap();
    println!("{}", socket.local_addr().unwrap());
    shard.listen(socket.into(), 511, options).unwrap();
    let mut responder = Fixed(match body.parse::<u32>() {
        Ok(bytes) => Segment::Shared(Rc::new(Body(vec![b'x'; bytes as usize]))),
        Err(_) => {
            let file = File::open(body).unwrap();
            let length = file.metadata().unwrap().len();
            Segment::File(FileRange::new(Arc::new(file.into()), 0, length))
        }
    });
    let mut memory = vec![0; 256 * 1024];
    loop {
        let mut events = EventWriter::new(&mut memory);
        shard.turn_with(Some(Duration::from_secs(1)), &mut events, &mut responder);
    }
}
