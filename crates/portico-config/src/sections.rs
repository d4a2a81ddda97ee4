//! The table of options. One line each: `name: type = default, kind, origin, when a change applies, "meaning";`
//!
//! A meaning begins with a capital letter and is read after the name on the reference page.

use std::path::PathBuf;
use std::time::Duration;

use portico_router::{Unreserved, UrlPrefix};

use crate::address::ListenAddress;
use crate::affinity::Affinity;
use crate::fields::Fields;
use crate::kinds::{
    ADDRESS, APPLICATION_NAME, AffinityRule, Choice, CommandLine, Count, EXTENSION, FileMode, Flag,
    Id, InstanceCount, Instances, List, OneOrMany, Optional, PATH, PATH_PATTERN, PREFIX, QueryKey,
    SERVER_NAME, SiteCache, SiteQueue, Size, TEXT, TOKEN, Time, UserOrGroup, Variables,
    VaryByQuery,
};
use crate::row::{Applies, Row};
use crate::section::{entries, section, settings};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const NONE: Duration = Duration::ZERO;
const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// A version of HTTP that a listener may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.0 and 1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

const HTTP_VERSION: Choice<HttpVersion> =
    Choice(&[("h2", HttpVersion::Http2), ("http/1.1", HttpVersion::Http1)]);

/// Where else kept answers may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheLocation {
    /// As the application says.
    AsAnswered,
    /// Anywhere.
    Any,
    /// At the client.
    Client,
    /// On this server alone.
    Server,
}

const CACHE_LOCATION: Choice<CacheLocation> = Choice(&[
    ("as-answered", CacheLocation::AsAnswered),
    ("any", CacheLocation::Any),
    ("client", CacheLocation::Client),
    ("server", CacheLocation::Server),
]);

settings! {
    /// `[host]`: the host itself.
    HostOptions: "host";
    socket: Option<PathBuf> = None, Optional(PATH, "by the user who runs it"), "Portico", Restart,
        "The Unix socket that applications and commands connect to.";
    shards: u32 = 0, Count(0..=64), "Portico", Restart,
        "Engine threads, each with its own listeners, connections and timers. 0: one for each core.";
    drain_timeout: Duration = seconds(30), Time(NONE..=HOUR), "Portico", AtOnce,
        "How long a host that stops, or an application that leaves, may take to finish what it has begun.";
    log_directory: Option<PathBuf> = None, Optional(PATH, "/var/log/portico of root's host, else logs beside the state file"), "Portico", Restart,
        "Where the output of applications goes, each in a folder of its own. A path that does not begin with a slash starts at the folder of the configuration file.";
    idle_exit: Duration = seconds(5), Time(SECOND..=DAY), "Portico", AtOnce,
        "How long a host that was started on demand stays after the last registration has gone.";
    unreserved: Unreserved = Unreserved::Allow,
        Choice(&[("allow", Unreserved::Allow), ("deny", Unreserved::Deny)]), "Portico", AtOnce,
        "Whether a user may register a prefix that no reservation covers, on ports from 1024 on. With \"deny\" everybody but root needs a reservation, as with HTTP.SYS.";
}

entries! {
    /// `[[listener]]`: a port that is open before a prefix needs it.
    ListenerOptions: "listener";
    address: ListenAddress = None::<ListenAddress>, ADDRESS, "", AtOnce,
        "Where to listen: \"*\" for all addresses, or one address. Ports that are not listed are opened by the first prefix that needs them, and closed after the last.";
    tls: bool = Some(false), Flag, "Portico", AtOnce,
        "Whether connections begin with TLS. Needs a certificate for the port.";
    protocols: Option<Vec<HttpVersion>> = Some(None), Optional(List(HTTP_VERSION), "[\"h2\", \"http/1.1\"] with tls, else [\"http/1.1\"]"), "Portico", NewConnections,
        "Versions of HTTP: \"h2\" and \"http/1.1\". With TLS the client chooses among them (ALPN). Without it, a client of HTTP/2 must know that the port speaks it.";
    backlog: u32 = Some(511), Count(1..=65_535), "Node", AtOnce,
        "Connections that the kernel keeps until they are accepted.";
    optional: bool = Some(false), Flag, "Portico", AtOnce,
        "Whether the host runs while it can't listen there: because another program has the port, or the machine does not have the address yet. The host tries again every 5 seconds. Otherwise the host does not start, and a reload or an upgrade is refused.";
}

entries! {
    /// `[[certificate]]`: what proves who the host is, on one port.
    CertificateOptions: "certificate";
    port: u16 = None::<u16>, Count(1..=65_535), "", NewConnections,
        "The port that it is for.";
    names: Vec<String> = Some(Vec::new()), List(SERVER_NAME), "Portico", NewConnections,
        "Host names that it is for (SNI); \"*.example.com\" is for every name one level below. Without names it is for all clients that ask for no other.";
    certificate: PathBuf = None::<PathBuf>, PATH, "", NewConnections,
        "PEM file with the certificate, then those of its issuers. A path that does not begin with a slash starts at the folder of the configuration file.";
    key: PathBuf = None::<PathBuf>, PATH, "", NewConnections,
        "PEM file with the private key. Applications never see it.";
    client_ca: Option<PathBuf> = Some(None), Optional(PATH, "none"), "Node", NewConnections,
        "PEM file with the certificates of those who may issue client certificates.";
    request_client_certificate: bool = Some(false), Flag, "Node", NewConnections,
        "Whether clients are asked for a certificate. The application decides what one without, or with a wrong one, may do.";
    require_client_certificate: bool = Some(false), Flag, "Portico", NewConnections,
        "Whether clients must have a certificate that client_ca's issuers vouch for. Requests for these names on connections that were made for others get 421.";
}

settings! {
    /// `[limits]`: the limits of HTTP and of connections, for all ports.
    Limits: "limits";
    max_header_size: u64 = 16 * KIB, Size(KIB..=64 * KIB), "Node", NewConnections,
        "Bytes of a request's head, which must fit into a process's channel. Beyond: 431.";
    max_headers_count: u32 = 1000, Count(0..=100_000), "Node", NewConnections,
        "Header fields of a request. 0: no limit of their number.";
    headers_timeout: Duration = seconds(60), Time(NONE..=DAY), "Node", NewConnections,
        "Time for a complete head, from its first byte. Beyond: 408. 0s: no limit.";
    request_timeout: Duration = seconds(300), Time(NONE..=DAY), "Node", NewConnections,
        "Time for a complete request, body included. Beyond: 408. 0s: no limit.";
    connections_checking_interval: Duration = seconds(30), Time(Duration::from_millis(10)..=HOUR), "Node", NewConnections,
        "How often headers_timeout and request_timeout are checked.";
    keep_alive_timeout: Duration = seconds(5), Time(NONE..=DAY), "Node", NewConnections,
        "How long an idle connection is kept, as told to the client. 0s: no limit.";
    keep_alive_timeout_buffer: Duration = seconds(1), Time(NONE..=HOUR), "Node", NewConnections,
        "How much longer it is really kept, so that a client that sends at the last moment is heard.";
    min_bytes_per_second: u32 = 240, Count(0..=1_000_000), "Portico", NewConnections,
        "Bytes that a client must send of a request's body, and take of an answer, in a second on average. The connection of a slower one is closed. A client that waits for the application is not slow. 0: no limit.";
    timeout: Duration = NONE, Time(NONE..=DAY), "Node", NewConnections,
        "Time without any byte in either direction after which a connection is closed. 0s: no limit.";
    max_requests_per_socket: u32 = 0, Count(0..=u32::MAX), "Node", NewConnections,
        "Requests that a connection may make; the last answer says that it closes. 0: no limit.";
    max_connections: u32 = 0, Count(0..=16_777_215), "Node", AtOnce,
        "Open connections of a port; further ones are closed at once. 0: no limit.";
    handshake_timeout: Duration = seconds(120), Time(SECOND..=HOUR), "Node", NewConnections,
        "Time for a complete TLS handshake.";
    high_water_mark: u64 = 64 * KIB, Size(KIB..=64 * MIB), "Node", NewConnections,
        "Bytes of answers that wait for a client; while there are more, its next pipelined request is not read.";
    no_delay: bool = true, Flag, "Node", NewConnections,
        "Whether small packets are sent without waiting for more (TCP_NODELAY).";
    keep_alive: bool = false, Flag, "Node", NewConnections,
        "Whether the kernel probes idle connections (SO_KEEPALIVE).";
    keep_alive_initial_delay: Duration = NONE, Time(NONE..=DAY), "Node", NewConnections,
        "Idle time before the first probe. Below a second: the system's default.";
}

settings! {
    /// `[cache]`: answers that the host keeps, of all prefixes together.
    CacheOptions: "cache";
    max_bytes: u64 = 64 * MIB, Size(MIB..=64 * 1024 * MIB), "Portico", Restart,
        "Bytes that the answers may take together, with what it costs to keep them. Beyond, those make room that are asked for least.";
    max_entry_bytes: u64 = MIB, Size(KIB..=1024 * MIB), "Portico", Restart,
        "Bytes of an answer's body. A larger one is not kept.";
}

settings! {
    /// `[queue]`: the request queues of prefixes.
    QueueOptions: "queue";
    length: u32 = 1000, Count(1..=1_000_000), "HTTP.SYS", AtOnce,
        "Requests of a prefix that may wait until a process takes them. Beyond: 503 at once.";
    wait: Duration = seconds(10), Time(NONE..=HOUR), "Portico", AtOnce,
        "How long requests wait for a process when the prefix has none left. Beyond: 503.";
    retry_after: Duration = seconds(1), Time(SECOND..=DAY), "Portico", AtOnce,
        "What 503 answers tell clients (Retry-After), rounded up to seconds.";
    max_in_flight_per_process: u32 = 1000, Count(1..=1_000_000), "Portico", AtOnce,
        "Requests that one process works on at a time; further ones wait in the queue. Those whose body has not arrived are not counted here.";
    max_uploads_per_process: u32 = 10_000, Count(1..=1_000_000), "Portico", AtOnce,
        "Requests whose body has not arrived, for each process of the prefix. Beyond: 503. When half of them are there, one client address (of IPv6: a /64) may have no more than a sixteenth.";
    response_timeout: Duration = NONE, Time(NONE..=DAY), "Portico", AtOnce,
        "How long a process may take until the head of its answer, from when it got the request, or the last part of its body. Beyond: 504. 0s: no limit.";
}

entries! {
    /// `[[site]]`: what holds for one prefix.
    SiteOptions: "site";
    prefix: UrlPrefix = None::<UrlPrefix>, PREFIX, "", AtOnce,
        "The prefix, as applications register it.";
    queue: QueueOptions = None::<QueueOptions>, SiteQueue, "", AtOnce,
        "What differs from `[queue]`.";
    retry_safe_methods: bool = Some(false), Flag, "Portico", AtOnce,
        "Whether a GET, HEAD or OPTIONS request without a body goes to another process if the one that took it ended before it answered. Otherwise: 502.";
    affinity: Option<Affinity> = Some(None), Optional(AffinityRule, "none"), "Portico", AtOnce,
        "What ties a client to one process: a cookie, a header field, or a segment of the path (counted from 1). Without it each request goes to the process with the least to do.";
    cache: Vec<SiteCacheRule> = Some(Vec::new()), SiteCache, "Portico", AtOnce,
        "What is kept of its answers, beside those that ask for it. \"standard\": what their own Cache-Control allows.";
}

entries! {
    /// `[[site.cache]]`: what is kept of a site's answers.
    SiteCacheRule: "site.cache";
    path: Option<String> = Some(None), Optional(PATH_PATTERN, "all paths"), "Portico", AtOnce,
        "Paths that the rule is for, as clients send them, without the query. Of the rules that match, the first holds. None holds for a path that applications may take for another: with \";\", a backslash, \"..\", or an escaped slash or dot.";
    extensions: Vec<String> = Some(Vec::new()), List(EXTENSION), "IIS", AtOnce,
        "What the path ends with behind a dot, for it to be of the rule.";
    duration: Option<Duration> = Some(None), Optional(Time(Duration::from_millis(1)..=DAY), "as each answer says"), "IIS", AtOnce,
        "How long answers are kept whose status allows it. Without it, as their own Cache-Control says.";
    vary_by_query: QueryKey = Some(QueryKey::All), VaryByQuery, "IIS", AtOnce,
        "Parameters of the query that tell answers apart. Others count for nothing.";
    vary_by_header: Vec<String> = Some(Vec::new()), List(TOKEN), "IIS", AtOnce,
        "Header fields of requests that tell answers apart, beside those of their Vary.";
    location: CacheLocation = Some(CacheLocation::AsAnswered), CACHE_LOCATION, "IIS", AtOnce,
        "What the Cache-Control of kept answers says to others: as the application says; that anybody may keep them for as long; the client alone; or that they are kept on this server only. Needs duration.";
    min_hits: u8 = Some(1), Count(1..=255), "IIS", AtOnce,
        "Requests for a URL that must have come within min_hits_period before its answer is kept. IIS waits for 2.";
    min_hits_period: Duration = Some(seconds(10)), Time(SECOND..=HOUR), "IIS", AtOnce,
        "See min_hits.";
    bypass_cookies: Vec<String> = Some(Vec::new()), List(TOKEN), "Portico", AtOnce,
        "A request with a cookie of such a name is answered by the application, and its answer is not kept.";
    bypass_headers: Vec<String> = Some(Vec::new()), List(TOKEN), "Portico", AtOnce,
        "The same of header fields.";
    strip_set_cookie: bool = Some(false), Flag, "Portico", AtOnce,
        "Whether answers that set cookies are kept, without these. The first client gets them, others don't. Otherwise such answers are not kept.";
}

entries! {
    /// `[[reservation]]`: who may register a prefix and what is below it. No other user gets its requests.
    ReservationOptions: "reservation";
    prefix: UrlPrefix = None::<UrlPrefix>, PREFIX, "", AtOnce,
        "What is reserved.";
    users: Vec<Id> = Some(Vec::new()), List(UserOrGroup), "HTTP.SYS", AtOnce,
        "Users who may register.";
    groups: Vec<Id> = Some(Vec::new()), List(UserOrGroup), "HTTP.SYS", AtOnce,
        "Groups whose members may register.";
    everyone: bool = Some(false), Flag, "HTTP.SYS", AtOnce,
        "Whether every user may register.";
    delegate: bool = Some(false), Flag, "HTTP.SYS", AtOnce,
        "Whether those who may register may also reserve what is below, for themselves or others.";
}

entries! {
    /// `[[application]]`: a program whose processes the host starts and keeps running.
    ApplicationOptions: "application";
    name: String = None::<String>, APPLICATION_NAME, "", Workers,
        "What commands and logs call it.";
    command: Vec<String> = None::<Vec<String>>, CommandLine, "", Workers,
        "What is started: a script that Node runs, a folder with a package.json, another executable file, or a line for /bin/sh. In a list the first is the program, and what follows are its arguments. Paths start at directory.";
    directory: Option<PathBuf> = Some(None), Optional(PATH, "the folder of the configuration file"), "Portico", Workers,
        "Where it runs. A path that does not begin with a slash starts at the folder of the configuration file.";
    prefix: Vec<UrlPrefix> = Some(Vec::new()), OneOrMany(PREFIX), "Portico", Workers,
        "The URL prefixes whose requests it gets. They are reserved for its user. Without one it serves no requests and is kept running all the same.";
    port: Option<u16> = Some(None), Optional(Count(1..=65_535), "told to the program by PORT"), "Portico", Workers,
        "The number of the port that the program listens on, if it does not take PORT.";
    instances: Instances = Some(Instances::Count(1)), InstanceCount, "Portico", AtOnce,
        "How many workers it has; \"max\" is one for each core.";
    user: Option<Id> = Some(None), Optional(UserOrGroup, "the host's"), "Portico", Workers,
        "The user that it runs as. Only a host that runs as root can choose.";
    group: Option<Id> = Some(None), Optional(UserOrGroup, "the user's"), "Portico", Workers,
        "The group that it runs as. Only a host that runs as root can choose.";
    umask: Option<u32> = Some(None), Optional(FileMode, "the host's"), "Portico", Workers,
        "Which permissions the files that it makes do not have.";
    environment: Vec<(String, String)> = Some(Vec::new()), Variables, "Portico", Workers,
        "Environment variables. Beside them it has the host's PATH, LANG, LC_*, TZ and NODE_OPTIONS, the HOME, USER, LOGNAME and SHELL of its user, and what docs/workers.md names.";
    environment_file: Option<PathBuf> = Some(None), Optional(PATH, "none"), "Portico", Workers,
        "A file with more of them, a NAME=value a line. Those of environment win. It is read when the configuration is.";
    node: Option<PathBuf> = Some(None), Optional(PATH, "node, as PATH finds it"), "Portico", Workers,
        "The Node that runs it: the program, or the folder of a version, which has bin/node.";
    node_arguments: Vec<String> = Some(Vec::new()), List(TEXT), "Portico", Workers,
        "Options of Node, before the script. For a command that starts Node by itself, use NODE_OPTIONS.";
    start_timeout: Duration = Some(seconds(30)), Time(SECOND..=HOUR), "Portico", AtOnce,
        "How long a worker may take until it serves its prefixes. Beyond, it has failed.";
    drain_timeout: Duration = Some(seconds(30)), Time(NONE..=DAY), "Portico", AtOnce,
        "How long a worker that is to end may go on with what it has in flight.";
    stop_timeout: Duration = Some(seconds(10)), Time(NONE..=HOUR), "Portico", AtOnce,
        "How long a worker may take to end after SIGTERM. Beyond: SIGKILL.";
    max_unavailable: u32 = Some(1), Count(1..=1000), "Portico", AtOnce,
        "Workers that are replaced at a time.";
    overlapped: bool = Some(true), Flag, "IIS", AtOnce,
        "Whether a worker's successor is ready before the worker is told to go. Programs of which there may never be two at once need false; requests wait meanwhile.";
    max_requests: u64 = Some(0), Count(0..=u64::MAX), "IIS", AtOnce,
        "Requests after which a worker is replaced. The host looks once a second. 0: no limit.";
    max_memory: u64 = Some(0), Size(0..=1024 * 1024 * MIB), "IIS", AtOnce,
        "Resident memory of a worker's processes that serve, and of the one that was started. A worker that has more, three seconds in a row, is replaced. 0B: no limit.";
    max_heap: u64 = Some(0), Size(0..=1024 * 1024 * MIB), "Portico", AtOnce,
        "JavaScript's heap in use, of the process that has most, beyond which a worker is replaced. 0B: no limit.";
    max_age: Duration = Some(NONE), Time(NONE..=seconds(3660 * 24 * 3600)), "Portico", AtOnce,
        "The age at which a worker is replaced, or up to a tenth of it before, so that not all are at once. 0s: no limit. IIS has 29 hours.";
    wait_ready: bool = Some(false), Flag, "PM2", AtOnce,
        "Whether a worker is ready when its program says process.send('ready'). Until then it gets no requests. Otherwise it is when it serves its prefixes.";
    shutdown_message: bool = Some(false), Flag, "PM2", AtOnce,
        "Whether a program is told to end by the message 'shutdown' in place of SIGTERM, if it listens to 'message' on process.";
    hang_timeout: Duration = Some(NONE), Time(NONE..=DAY), "Portico", AtOnce,
        "How long a worker may take none of the requests that are there for it, or its event loop may not turn. Beyond, it is killed and replaced. 0s: no limit.";
    log_max_size: u64 = Some(10 * MIB), Size(KIB..=64 * 1024 * MIB), "Portico", Workers,
        "Bytes of a log. A full one is put behind, as SLOT.log.1, and those before it move on.";
    log_files: u32 = Some(10), Count(0..=10_000), "Portico", Workers,
        "How many logs of each slot are kept behind the one that is written.";
    log_max_age: Duration = Some(seconds(30 * 24 * 3600)), Time(HOUR..=seconds(3660 * 24 * 3600)), "Portico", Workers,
        "How long a log that was put behind is kept after its last line.";
    rapid_failures: u32 = Some(5), Count(1..=1000), "IIS", AtOnce,
        "Failures within rapid_failure_window from which on restarts wait: a second, then twice as long each time, up to a minute.";
    rapid_failure_window: Duration = Some(seconds(300)), Time(SECOND..=DAY), "IIS", AtOnce,
        "The time in which failures are counted.";
}
