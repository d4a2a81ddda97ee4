//! What a host keeps of its members' answers where the site says so: validated, and used where members fail.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use portico_cache::QueryRule;
use portico_cache::site_rule::{Location, PathPattern, SiteRule, SiteRules};
use portico_cache::storing::{Rule, SetCookie};
use portico_channel::layout::{command, event, response_flag as flag};
use portico_dispatch::QueueOptions;
use support::{App, Client, Host, Req};

const STALE: &str = "ETag: \"a\"\r\nCache-Control: max-age=0\r\n";
const USABLE: &str = "ETag: \"a\"\r\nAge: 20\r\nCache-Control: max-age=10, stale-while-revalidate=1000, stale-if-error=1000\r\n";
const FRESH: &str = "Cache-Control: max-age=60\r\n";

fn keeping(rules: Vec<SiteRule>) -> QueueOptions {
    QueueOptions {
        wait: Duration::from_millis(50),
        cache: Some(Arc::new(SiteRules(
            rules.into_iter().map(Arc::new).collect(),
        ))),
        ..QueueOptions::default()
    }
}

fn standard() -> QueueOptions {
    keeping(vec![SiteRule::standard()])
}

fn profile() -> SiteRule {
    SiteRule {
        rule: Rule::Profile(Duration::from_secs(60)),
        ..SiteRule::standard()
    }
}

fn answer(app: &mut App, request: &Req, status: u32, fields: &str, body: &str) {
    let framing = if status == 304 {
        0
    } else {
        flag::CONTENT_LENGTH
    };
    let length = body.len() as u64;
    app.head(
        request,
        status,
        flag::END | framing,
        fields,
        body.as_bytes(),
        length,
    );
}

fn store(app: &mut App, client: &mut Client, target: &str, fields: &str) {
    client.get(target);
    let request = app.request();
    answer(app, &request, 200, fields, "first");
    assert_eq!(client.answer().text(), "first");
}

/// The value of a field of a request, in lower case.
fn field(request: &support::Event, name: &str) -> Option<String> {
    let words = request.read::<event::Request>();
    let mut fields = words.fields();
    let found = fields.find(|field| {
        words
            .bytes(field.name())
            .eq_ignore_ascii_case(name.as_bytes())
    });
    found.map(|field| String::from_utf8_lossy(words.bytes(field.value)).into_owned())
}

#[test]
fn a_stale_answer_is_validated_with_a_member() {
    let mut host = Host::new();
    host.route("/", 1, standard());
    let mut app = host.app(1);
    let mut client = host.connect();
    store(&mut app, &mut client, "/", STALE);
    client.get("/");
    let asked = app.next(event::REQUEST);
    assert_eq!(field(&asked, "if-none-match").as_deref(), Some("\"a\""));
    answer(&mut app, &asked.as_request(), 304, FRESH, "");
    let got = client.answer();
    assert_eq!((got.status, got.text()), (200, "first".into()));
    let told = got.field("cache-status").unwrap();
    assert_eq!(told, "portico; fwd=stale; fwd-status=304; stored");
    client.get("/");
    assert_eq!(client.answer().text(), "first");
    assert!(!app.has(event::REQUEST));
}

#[test]
fn a_member_is_asked_behind_the_clients_back_and_dies_without_harm() {
    let mut host = Host::new();
    host.route("/", 1, standard());
    let mut app = host.app(1);
    let mut client = host.connect();
    store(&mut app, &mut client, "/", USABLE);
    client.get("/");
    assert_eq!(client.answer().text(), "first");
    let asked = app.next(event::REQUEST);
    assert_eq!(field(&asked, "if-none-match").as_deref(), Some("\"a\""));
    host.kill(app);
    client.get("/");
    assert_eq!(client.answer().text(), "first");
    // A member that answers makes it fresh; for a while the dead one's answer is not asked for again.
    let mut app = host.app(1);
    store(&mut app, &mut client, "/b", USABLE);
    client.get("/b");
    assert_eq!(client.answer().text(), "first");
    let asked = app.request();
    answer(&mut app, &asked, 200, FRESH, "second");
    support::until(|| {
        client.get("/b");
        client.answer().text() == "second"
    });
}

#[test]
fn a_stale_answer_stands_in_for_a_member_that_dies_and_where_there_is_none() {
    let mut host = Host::new();
    host.route("/", 1, standard());
    let mut app = host.app(1);
    let mut client = host.connect();
    let usable = USABLE.replace("stale-while-revalidate=1000, ", "");
    store(&mut app, &mut client, "/", &usable);
    client.get("/");
    app.next(event::REQUEST);
    host.kill(app);
    assert_eq!(client.answer().text(), "first");
    let mut other = host.connect();
    other.get("/");
    let got = other.answer();
    assert_eq!((got.status, got.text()), (200, "first".into()));
    assert!(
        got.field("cache-status").unwrap().contains("fwd=stale"),
        "{}",
        got.head
    );
    other.get("/other");
    assert_eq!(other.answer().status, 503);
}

#[test]
fn what_must_be_validated_is_an_error_where_members_fail() {
    let mut host = Host::new();
    host.route("/", 1, standard());
    let mut app = host.app(1);
    let mut client = host.connect();
    let forbidding = USABLE.replace("max-age=10", "max-age=10, must-revalidate");
    store(&mut app, &mut client, "/", &forbidding);
    client.get("/");
    let asked = app.request();
    app.command(0, command::Destroy { token: asked.token });
    assert_eq!(client.answer().status, 504);
    let mut client = host.connect();
    client.get("/");
    app.next(event::REQUEST);
    host.kill(app);
    assert_eq!(client.answer().status, 502);
}

#[test]
fn rules_say_what_is_kept_and_by_what_it_is_found() {
    let rules = vec![
        SiteRule {
            path: Some(PathPattern::new("/news/*")),
            query: QueryRule::Names(vec!["page".into()]),
            headers: vec!["x-tenant".into()],
            location: Location::Client,
            bypass_cookies: vec!["session".into()],
            set_cookie: SetCookie::Strip,
            ..profile()
        },
        SiteRule {
            extensions: vec!["css".into()],
            min_hits: 3,
            period: Duration::from_secs(1 << 40),
            ..profile()
        },
    ];
    let mut host = Host::new();
    host.route("/", 1, keeping(rules));
    let mut app = host.app(1);
    let mut client = host.connect();
    client.get("/news/1?page=2&spy=1");
    let asked = app.request();
    let fields = "Cache-Control: no-cache\r\nExpires: 0\r\nSet-Cookie: a=b\r\n";
    answer(&mut app, &asked, 200, fields, "two");
    let got = client.answer();
    assert_eq!(got.field("cache-control"), Some("private, max-age=60"));
    assert_eq!(got.field("expires"), None);
    assert_eq!(got.field("set-cookie"), Some("a=b"));
    client.get("/news/1?spy=7&page=2");
    let got = client.answer();
    assert_eq!((got.text(), got.field("set-cookie")), ("two".into(), None));
    assert_eq!(got.field("cache-control"), Some("private, max-age=60"));
    for other in [
        "GET /news/1?page=3 HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /news/1?page=2 HTTP/1.1\r\nHost: x\r\nX-Tenant: b\r\n\r\n",
        "GET /news/1?page=2 HTTP/1.1\r\nHost: x\r\nCookie: session=1\r\n\r\n",
        "GET /other HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /other HTTP/1.1\r\nHost: x\r\n\r\n",
        // No rule is for what may be another path.
        "GET /news/..%2fa.css HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /news/..%2fa.css HTTP/1.1\r\nHost: x\r\n\r\n",
    ] {
        client.send(other);
        let asked = app.request();
        answer(&mut app, &asked, 200, "", "another");
        assert_eq!(client.answer().text(), "another", "{other}");
    }
    // A change gives up what is found by a part of the query.
    client.send("POST /news/1?page=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
    let asked = app.request();
    answer(&mut app, &asked, 200, "", "done");
    client.answer();
    client.send("GET /news/1?page=2 HTTP/1.1\r\nHost: x\r\n\r\n");
    let asked = app.request();
    answer(&mut app, &asked, 200, "", "new");
    assert_eq!(client.answer().text(), "new");
    // Kept from the third time on.
    for _ in 0..3 {
        store(&mut app, &mut client, "/a.css", "");
    }
    client.get("/a.css");
    assert_eq!(client.answer().text(), "first");
    assert!(!app.has(event::REQUEST));
}

#[test]
fn a_hostile_member_has_its_answers_kept_for_its_own_prefix_alone() {
    let mut host = Host::new();
    host.route("/a/", 1, standard());
    host.route("/b/", 2, standard());
    let (mut own, mut hostile) = (host.app(1), host.app(2));
    let mut client = host.connect();
    client.get("/b/x");
    let asked = hostile.request();
    // What it says of another's target, and of another's request, changes nothing.
    client.get("/a/x");
    let theirs = own.request();
    for (token, sequence) in [
        (asked.token, asked.sequence),
        (theirs.token, theirs.sequence),
    ] {
        let target = b"/a/x";
        let fields = b"Host: 127.0.0.1\r\n";
        let words = command::Cache {
            token,
            sequence,
            tags_bytes: 0,
            target_bytes: u32::try_from(target.len()).unwrap(),
            fields_bytes: u32::try_from(fields.len()).unwrap(),
            lifetime_ms: 60_000,
        };
        hostile.commands.write(
            portico_channel::layout::cache_flag::LIFETIME,
            words,
            &[target, fields],
        );
        hostile.submit();
    }
    answer(
        &mut hostile,
        &asked,
        200,
        "Cache-Control: max-age=60\r\nContent-Location: /a/x\r\n",
        "evil",
    );
    assert_eq!(client.answer().text(), "evil");
    answer(
        &mut own,
        &theirs,
        200,
        "Cache-Control: max-age=0\r\n",
        "own",
    );
    assert_eq!(client.answer().text(), "own");
    client.get("/a/x");
    let again = own.request();
    answer(&mut own, &again, 200, FRESH, "own again");
    assert_eq!(client.answer().text(), "own again");
    client.get("/a/x");
    assert_eq!(client.answer().text(), "own again");
}
