//! The reference page, from the table of options.

use std::fmt::Write as _;

use crate::row::{Row, rows};

const HEAD: &str = "\
<!-- Generated from crates/portico-config/src/sections.rs by `make generate`. Do not edit. -->

# Configuration

`portico host --config FILE` reads one TOML file; [examples/portico.toml](../examples/portico.toml) shows all of it. Every
option has a default, and an empty file is a valid configuration.

- A duration is a whole number with a unit, `\"250ms\"`, `\"30s\"`, `\"5m\"` or `\"1h\"`; a number alone is refused.
- A size is a whole number with a unit, `\"512B\"`, `\"64KiB\"`, `\"8MiB\"` or `\"1GiB\"`.
- An unknown key, a wrong value, or sections that contradict each other are errors: all of them are reported at once, with
  line and column and the name that was probably meant. A running host keeps its configuration when a new one is wrong.
- Prefixes are explained in [url-prefixes.md](url-prefixes.md).
- *Applies* says when a changed option takes effect in a running host: at once, for new connections, by replacing the
  application's workers one after the other (new workers), or when the host is started or upgraded.
- *From* says whose default it is: Node's, HTTP.SYS's, IIS's, PM2's, or Portico's own.
";

const SECTIONS: [(&str, &str, &str); 10] = [
    ("host", "[host]", "The host itself."),
    (
        "listener",
        "[[listener]]",
        "A port that is open before a prefix needs it. Each port is http or https, never both.",
    ),
    (
        "certificate",
        "[[certificate]]",
        "What proves who the host is, on one port. Files are read again when the configuration is loaded again.",
    ),
    (
        "limits",
        "[limits]",
        "The limits of HTTP and of connections, for all ports.",
    ),
    (
        "cache",
        "[cache]",
        "Answers that the host keeps ([cache.md](cache.md)), of all prefixes together.",
    ),
    ("queue", "[queue]", "The request queues of prefixes."),
    (
        "site",
        "[[site]]",
        "What holds for one prefix. An `https` prefix needs a certificate for its port and name.",
    ),
    (
        "site.cache",
        "[[site.cache]]",
        "What is kept of the answers of the `[[site]]` above it ([cache.md](cache.md)).",
    ),
    (
        "reservation",
        "[[reservation]]",
        "Who may register a prefix and what is below it; no other user gets its requests. While no process serves it, they are answered with 503. A reservation below another one must be for the same users and groups, unless the upper one says `delegate = true`.",
    ),
    (
        "application",
        "[[application]]",
        "A program that the host starts and keeps running ([process-host.md](process-host.md)). A reload of the configuration touches the applications that it changes and no others.",
    ),
];

/// The text of `docs/configuration.md`.
#[must_use]
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let rows = rows();
    for (name, title, about) in SECTIONS {
        // Writing to a String does not fail.
        let _ = write!(
            page,
            "\n## `{title}`\n\n{about}\n\n| Key | Type | Range | Default | From | Applies | |\n|---|---|---|---|---|---|---|\n"
        );
        for row in rows.iter().filter(|row| row.section == name) {
            page.push_str(&line(row));
        }
    }
    page
}

fn line(row: &Row) -> String {
    let default = if row.default.starts_with(['"', '['])
        || row.default.parse::<u64>().is_ok()
        || ["true", "false"].contains(&&*row.default)
    {
        format!("`{}`", row.default)
    } else {
        row.default.clone()
    };
    format!(
        "| `{}` | {} | {} | {default} | {} | {} | {} |\n",
        row.name, row.kind, row.range, row.origin, row.applies, row.meaning
    )
}
