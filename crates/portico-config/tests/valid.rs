//! Configurations without mistakes, and the pages that go with them.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use portico_config::{
    Affinity, Applies, Config, Id, Instances, Limits, ListenAddress, QueryKey, QueueOptions,
    reference, rows,
};
use portico_router::Unreserved;

const EXAMPLE: &str = include_str!("../../../examples/portico.toml");

fn parse(text: &str) -> Config {
    Config::parse(text, "portico.toml").unwrap()
}

#[test]
fn an_empty_file_is_a_configuration_of_defaults() {
    let config = parse("");
    assert_eq!(config, Config::default());
    assert_eq!(config.host.unreserved, Unreserved::Allow);
    assert_eq!(config.queue.length, 1000);
    assert_eq!(config.queue.wait, Duration::from_secs(10));
}

#[test]
fn the_example_is_valid_and_has_the_defaults_where_it_says_so() {
    let config = parse(EXAMPLE);
    assert_eq!(config.host, Config::default().host);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.queue, QueueOptions::default());
    assert_eq!(config.listeners.len(), 1);
    assert_eq!(config.sites.len(), 3);
    let kept = &config.sites[2].cache;
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0].vary_by_query, QueryKey::Names(vec!["page".into()]));
    assert_eq!(kept[0].duration, Some(Duration::from_secs(10)));
    assert_eq!((kept[1].duration, kept[1].min_hits), (None, 1));
    assert_eq!(config.reservations.len(), 2);
    let whole = parse(&uncommented(EXAMPLE));
    assert_eq!(whole.listeners.len(), 2);
    assert_eq!(whole.certificates.len(), 2);
    assert_eq!(whole.applications.len(), 1);
}

/// With the sections and options that the example has as comments.
fn uncommented(example: &str) -> String {
    let is_toml = |line: &str| {
        let is_option = |(name, _): (&str, &str)| {
            name.bytes()
                .all(|byte| byte == b'_' || byte.is_ascii_lowercase())
        };
        line.starts_with("[[") || line.split_once(" = ").is_some_and(is_option)
    };
    let mut text = String::new();
    for line in example.lines() {
        let uncommented = line.strip_prefix("# ").filter(|line| is_toml(line));
        text.push_str(uncommented.unwrap_or(line));
        text.push('\n');
    }
    text
}

#[test]
fn the_example_shows_every_option() {
    for row in rows() {
        let shown = EXAMPLE
            .lines()
            .map(|line| line.trim_start_matches("# "))
            .any(|line| line.starts_with(&format!("{} = ", row.name)));
        assert!(shown, "[{}] {}", row.section, row.name);
    }
}

#[test]
fn values_arrive() {
    let config = parse(
        r#"
        [host]
        socket = "/run/p.sock"
        shards = 0x4
        unreserved = "deny"
        idle_exit = "1500ms"
        [limits]
        max_header_size = "64KiB"
        no_delay = false
        [[listener]]
        address = "[::]:80"
        backlog = 1_000
        [[site]]
        prefix = "http://*:80/a"
        affinity = { header = "X-Tenant" }
        [[site]]
        prefix = "http://*:80/b/"
        affinity.cookie = "Session"
        [[reservation]]
        prefix = "http://*:80/a/"
        users = ["alice", 1000]
        delegate = true
        "#,
    );
    assert_eq!(
        config.host.socket.as_deref(),
        Some(Path::new("/run/p.sock"))
    );
    assert_eq!(config.host.shards, 4);
    assert_eq!(config.host.unreserved, Unreserved::Deny);
    assert_eq!(config.host.idle_exit, Duration::from_millis(1500));
    assert_eq!(config.limits.max_header_size, 64 << 10);
    assert!(!config.limits.no_delay);
    let address = ListenAddress {
        ip: Some("::".parse().unwrap()),
        port: 80,
    };
    assert_eq!(
        (config.listeners[0].address, config.listeners[0].backlog),
        (address, 1000)
    );
    assert_eq!(config.sites[0].prefix.to_string(), "http://*:80/a/");
    assert_eq!(config.sites[0].line, 13);
    assert_eq!(
        config.sites[0].affinity,
        Some(Affinity::Header("x-tenant".to_owned()))
    );
    assert_eq!(
        config.sites[1].affinity,
        Some(Affinity::Cookie("Session".to_owned()))
    );
    let users = [Id::Name("alice".to_owned()), Id::Number(1000)];
    assert_eq!(config.reservations[0].users, users);
    assert!(config.reservations[0].delegate);
}

#[test]
fn the_queue_of_a_site_starts_from_the_common_one_wherever_that_stands() {
    let config = parse(
        "[[site]]\nprefix = \"http://*:80/\"\nqueue.wait = \"2s\"\n\
         [[site]]\nprefix = \"http://*:81/\"\n[queue]\nlength = 7\n",
    );
    let common = QueueOptions {
        length: 7,
        ..QueueOptions::default()
    };
    assert_eq!(
        config.sites[0].queue,
        QueueOptions {
            wait: Duration::from_secs(2),
            ..common.clone()
        }
    );
    assert_eq!(config.sites[1].queue, common);
}

#[test]
fn reservations_that_only_a_lookup_of_names_could_tell_apart_are_left_to_it() {
    parse(
        "[[reservation]]\nprefix = \"http://*:80/\"\nusers = [\"alice\"]\n\
         [[reservation]]\nprefix = \"http://*:80/a/\"\nusers = [1000]\n",
    );
}

#[test]
fn a_certificate_without_names_and_one_with_serve_a_port_together() {
    let certificate = "certificate = \"a.pem\"\nkey = \"a.key\"\nport = 443\n";
    let config = parse(&format!(
        "[[certificate]]\n{certificate}[[certificate]]\n{certificate}names = [\"A.example\"]\n\
         [[site]]\nprefix = \"https://b.example:443/\"\n"
    ));
    assert_eq!(config.certificates[1].names, ["a.example"]);
}

#[test]
fn paths_of_a_loaded_file_start_at_its_folder() {
    let folder = std::env::temp_dir().join(format!("portico-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("portico.toml");
    std::fs::write(
        &file,
        "[[certificate]]\nport = 443\ncertificate = \"a.pem\"\nkey = \"/keys/a.key\"\n",
    )
    .unwrap();
    let config = Config::load(&file);
    std::fs::remove_dir_all(&folder).unwrap();
    let config = config.unwrap();
    assert_eq!(config.certificates[0].certificate, folder.join("a.pem"));
    assert_eq!(config.certificates[0].key, Path::new("/keys/a.key"));
}

#[test]
fn an_application_needs_a_name_and_a_command_and_its_paths_start_at_the_folder_of_the_file() {
    let folder = std::env::temp_dir().join(format!("portico-applications-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("portico.toml");
    let text = r#"
        [[application]]
        name = "shop-2"
        command = "npm start"
        [[application]]
        name = "rooms"
        command = ["server.js", "--colour"]
        directory = "rooms"
        prefix = "http://*:8080/rooms/"
        instances = "max"
        umask = "027"
        environment = { NODE_ENV = "production", WIDTH = 7, DEBUG = false }
        environment_file = "rooms.env"
        node = "/opt/node-24"
    "#;
    std::fs::write(&file, text).unwrap();
    let config = Config::load(&file).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let [shop, rooms] = config.applications.as_slice() else {
        panic!("{config:?}");
    };
    assert_eq!((shop.command.len(), shop.prefix.len()), (1, 0));
    assert_eq!(shop.instances, Instances::Count(1));
    assert_eq!(shop.directory.as_deref(), Some(folder.as_path()));
    assert_eq!(rooms.command, ["server.js", "--colour"]);
    assert_eq!(rooms.directory, Some(folder.join("rooms")));
    assert_eq!(rooms.environment_file, Some(folder.join("rooms.env")));
    assert_eq!(rooms.node, Some("/opt/node-24".into()));
    assert_eq!(
        (rooms.instances, rooms.umask),
        (Instances::Max, Some(0o027))
    );
    let mut variables = rooms.environment.clone();
    variables.sort();
    let pair = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let expected = [
        ("DEBUG", "false"),
        ("NODE_ENV", "production"),
        ("WIDTH", "7"),
    ]
    .map(pair);
    assert_eq!(variables, expected);
}

#[test]
fn a_file_may_have_4_mib_and_not_a_byte_more() {
    let name = format!("portico-config-{}-large.toml", std::process::id());
    let file = std::env::temp_dir().join(name);
    let mut text = "[host]\nshards = 2\n#".to_owned();
    text.extend(std::iter::repeat_n('x', 4 * 1024 * 1024 - text.len()));
    std::fs::write(&file, &text).unwrap();
    let largest = Config::load(&file);
    text.push('x');
    std::fs::write(&file, &text).unwrap();
    let larger = Config::load(&file);
    std::fs::remove_file(&file).unwrap();

    assert_eq!(
        largest.unwrap().host.shards,
        parse("[host]\nshards = 2\n").host.shards
    );
    let errors: Vec<_> = larger
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        errors,
        [format!("{}: is larger than 4 MiB", file.display())]
    );
}

#[test]
fn options_that_need_a_restart_are_named_when_they_differ() {
    let old = Config::default();
    let new = parse("[host]\nshards = 2\ndrain_timeout = \"1s\"\n[limits]\ntimeout = \"1s\"\n");
    assert_eq!(old.needs_restart(&new), ["host.shards"]);
    assert!(new.needs_restart(&new.clone()).is_empty());
}

#[test]
fn every_option_says_where_its_default_comes_from_and_ends_in_a_full_stop() {
    for row in rows() {
        assert_eq!(
            row.origin.is_empty(),
            ["required", "as in [queue]"].contains(&&*row.default)
        );
        assert!(row.meaning.ends_with('.'), "{}", row.name);
        assert!(row.section != "host" || row.applies != Applies::NewConnections);
    }
}

#[test]
fn every_default_is_a_value_that_parses() {
    for row in rows() {
        let one_of_a_kind = ["host", "limits", "queue"].contains(&row.section);
        if one_of_a_kind && !["socket", "log_directory"].contains(&row.name) {
            let text = format!("[{}]\n{} = {}\n", row.section, row.name, row.default);
            assert_eq!(Config::parse(&text, ""), Ok(Config::default()), "{text}");
        }
    }
}

#[test]
fn the_reference_page_has_a_line_for_each_option() {
    let page = reference();
    for row in rows() {
        assert!(
            page.contains(&format!("| `{}` | {} |", row.name, row.kind)),
            "{}",
            row.name
        );
    }
    let lines = page.lines().filter(|line| line.starts_with("| `")).count();
    assert_eq!(lines, rows().len());
}

/// The engine is above this crate, so its source is read.
#[test]
fn the_limits_default_to_what_the_engine_does() {
    let source = include_str!("../../portico-engine/src/options.rs");
    for (name, default) in [
        ("headers_timeout", "Duration::from_secs(60)"),
        ("request_timeout", "Duration::from_secs(300)"),
        ("keep_alive_timeout", "Duration::from_secs(5)"),
        ("keep_alive_timeout_buffer", "Duration::from_secs(1)"),
        ("timeout", "Duration::ZERO"),
        ("connections_checking_interval", "Duration::from_secs(30)"),
        ("max_requests_per_socket", "0"),
        ("max_headers_count", "1000"),
        ("max_header_size", "16 * 1024"),
        ("max_connections", "None"),
        ("no_delay", "true"),
        ("keep_alive", "false"),
        ("keep_alive_initial_delay", "Duration::ZERO"),
        ("high_water_mark", "64 * 1024"),
        ("handshake_timeout", "Duration::from_secs(120)"),
    ] {
        let line = format!("            {name}: {default},\n");
        assert!(source.contains(&line), "{name}");
    }
    let limits = Limits::default();
    let seconds = |duration: Duration| duration.as_secs();
    assert_eq!(
        (
            seconds(limits.headers_timeout),
            seconds(limits.request_timeout)
        ),
        (60, 300)
    );
    assert_eq!(
        (
            seconds(limits.keep_alive_timeout),
            seconds(limits.keep_alive_timeout_buffer)
        ),
        (5, 1)
    );
    assert_eq!(
        (seconds(limits.timeout), seconds(limits.handshake_timeout)),
        (0, 120)
    );
    assert_eq!(seconds(limits.connections_checking_interval), 30);
    assert_eq!(
        (limits.max_requests_per_socket, limits.max_connections),
        (0, 0)
    );
    assert_eq!(
        (limits.max_headers_count, limits.max_header_size),
        (1000, 16 * 1024)
    );
    assert_eq!((limits.no_delay, limits.keep_alive), (true, false));
    assert_eq!(limits.keep_alive_initial_delay, Duration::ZERO);
    assert_eq!(limits.high_water_mark, 64 * 1024);
}
