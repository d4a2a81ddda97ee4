//! Nanoseconds for each head, beside `httparse`, which validates but looks up no names and evaluates no field, and
//! beside `httparse` with the names looked up.
//!
//! `cargo run --release -p portico-http --example parse_bench`; with a case, a count and perhaps `httparse` or
//! `names` as arguments it runs that case alone, for counting instructions.

use std::hint::black_box;
use std::time::{Duration, Instant};

use portico_http::h1::{HeadLimits, HeadParser, HeadProgress};
use portico_http::semantics::field_name_number;

const SMALL: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n";
const POST: &[u8] =
    b"POST /api/v1/items HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\n\
Content-Length: 27\r\nAuthorization: Bearer 0123456789abcdef\r\nAccept: */*\r\n\r\n";
const BROWSER: &[u8] = b"GET /wp-content/uploads/2010/03/hello-kitty-darth-vader-pink.jpg HTTP/1.1\r\n\
Host: www.kittyhell.com\r\n\
User-Agent: Mozilla/5.0 (Macintosh; U; Intel Mac OS X 10.6; ja-JP-mac; rv:1.9.2.3) Gecko/20100401 Firefox/3.6.3 Pathtraq/0.9\r\n\
Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
Accept-Language: ja,en-us;q=0.7,en;q=0.3\r\n\
Accept-Encoding: gzip,deflate\r\n\
Accept-Charset: Shift_JIS,utf-8;q=0.7,*;q=0.7\r\n\
Upgrade-Insecure-Requests: 1\r\n\
Connection: keep-alive\r\n\
Referer: http://www.kittyhell.com/2010/03/hello-kitty-darth-vader/\r\n\
Cookie: wp_ozh_wsa_visits=2; wp_ozh_wsa_visit_lasttime=xxxxxxxxxx; __utma=xxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.x\r\n\r\n";
const UNKNOWN: &[u8] = b"GET /a HTTP/1.1\r\nHost: a.example\r\nX-Tenant-Region: eu-central-1\r\nX-Trace-Parent-Span: 0af7651916cd43dd\r\n\
X-Feature-Flags: a,b,c\r\nX-Deployment-Colour: green\r\nX-Internal-Auth-User: somebody@example.com\r\n\r\n";

const CASES: [(&str, &[u8]); 4] = [
    ("small", SMALL),
    ("post", POST),
    ("browser", BROWSER),
    ("unknown", UNKNOWN),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [name, count, parser @ ..] = &arguments[..] {
        let head = CASES
            .into_iter()
            .find(|case| case.0 == name)
            .map_or(SMALL, |case| case.1);
        let count = count.parse().unwrap_or(1);
        match parser {
            [] => run_portico(head, count),
            [parser, ..] => run_httparse(head, count, parser == "names"),
        }
        return;
    }
    println!(
        "{:<10} {:>6} {:>7} {:>10} {:>10} {:>10}",
        "head", "bytes", "fields", "portico", "httparse", "+ names"
    );
    for (name, head) in CASES {
        let portico = best(|count| run_portico(head, count));
        let httparse = best(|count| run_httparse(head, count, false));
        let with_names = best(|count| run_httparse(head, count, true));
        let mut parser = HeadParser::new();
        let parsed = parser.parse(head, &mut HeadProgress::default(), &HeadLimits::default());
        assert!(matches!(parsed, Ok(Some(_))), "{name}: {parsed:?}");
        let fields = parser.fields().len();
        println!(
            "{name:<10} {:>6} {fields:>7} {portico:>10.1} {httparse:>10.1} {with_names:>10.1}",
            head.len()
        );
    }
}

fn run_portico(head: &[u8], count: u32) {
    let limits = HeadLimits::default();
    let mut parser = HeadParser::new();
    let mut progress = HeadProgress::default();
    for _ in 0..count {
        let parsed = parser.parse(black_box(head), &mut progress, &limits);
        let _ = black_box(parsed);
        black_box(parser.fields());
    }
}

fn run_httparse(head: &[u8], count: u32, names: bool) {
    for _ in 0..count {
        let mut fields = [const { std::mem::MaybeUninit::uninit() }; 64];
        let mut request = httparse::Request::new(&mut []);
        let parsed = request.parse_with_uninit_headers(black_box(head), &mut fields);
        let _ = black_box(parsed);
        if names {
            for header in &*request.headers {
                black_box(field_name_number(header.name.as_bytes()));
            }
        }
        black_box(&request);
    }
}

/// The best of many short runs: what the machine can do when nothing disturbs it.
fn best(run: impl Fn(u32)) -> f64 {
    const COUNT: u32 = 20_000;
    let mut best = Duration::MAX;
    for _ in 0..200 {
        let start = Instant::now();
        run(COUNT);
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / f64::from(COUNT)
}
