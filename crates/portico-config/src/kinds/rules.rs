//! Values with a form of their own: users, affinity, the queue of a site.

use std::marker::PhantomData;

use toml::de::DeValue;

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use super::plain::Count;
use super::text::Text;
use crate::affinity::Affinity;
use crate::fields::{Fields, find};
use crate::reader::Reader;
use crate::section::Settings;
use crate::sections::QueueOptions;

/// A user or group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Id {
    /// By name. Who applies the configuration looks it up.
    Name(String),
    /// By number.
    Number(u32),
}

/// A user or group, by name or number.
pub(crate) struct UserOrGroup;

impl Kind for UserOrGroup {
    type Value = Id;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Id, Fault> {
        match given.get_ref() {
            DeValue::String(name) if name.is_empty() => fault(given, "a name can't be empty"),
            DeValue::String(name) => Ok(Id::Name(name.clone().into_owned())),
            // 4,294,967,295 means "no user" to the system.
            DeValue::Integer(_) => Count(0..=u32::MAX - 1).read(given, reader).map(Id::Number),
            _ => wrong_type(given, &self.describe()),
        }
    }

    fn describe(&self) -> String {
        "a name in quotes or an id".to_owned()
    }

    fn show(&self, value: &Id) -> String {
        match value {
            Id::Name(name) => format!("\"{name}\""),
            Id::Number(number) => number.to_string(),
        }
    }
}

/// What ties a client to a process.
pub(crate) struct AffinityRule;

const AFFINITY: &str = "{ cookie = \"name\" }, { header = \"name\" } or { segment = 1 }";

impl Kind for AffinityRule {
    type Value = Affinity;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<Affinity, Fault> {
        let DeValue::Table(table) = given.get_ref() else {
            return wrong_type(given, AFFINITY);
        };
        let rule = (table.len() == 1).then_some(());
        let value = |key| rule.and_then(|()| find(table, key));
        if let Some(cookie) = value("cookie") {
            return token(cookie).map(Affinity::Cookie);
        }
        if let Some(header) = value("header") {
            return token(header).map(|name| Affinity::Header(name.to_ascii_lowercase()));
        }
        if let Some(segment) = value("segment") {
            return Count(1..=64).read(segment, reader).map(Affinity::Segment);
        }
        fault(given, format!("must be {AFFINITY}"))
    }

    fn describe(&self) -> String {
        AFFINITY.to_owned()
    }

    fn show(&self, value: &Affinity) -> String {
        match value {
            Affinity::Cookie(name) => format!("{{ cookie = \"{name}\" }}"),
            Affinity::Header(name) => format!("{{ header = \"{name}\" }}"),
            Affinity::Segment(number) => format!("{{ segment = {number} }}"),
        }
    }
}

/// A name of a cookie or header field (RFC 9110, section 5.6.2).
fn token(given: &Given<'_>) -> Result<String, Fault> {
    let DeValue::String(text) = given.get_ref() else {
        return wrong_type(given, "a name in quotes");
    };
    match (TOKEN.parse)(text) {
        Ok(name) => Ok(name),
        Err(wrong) => fault(given, wrong),
    }
}

/// The same, in a list; also a name of a query's parameter.
pub(crate) const TOKEN: Text<String> = Text {
    about: "a name in quotes",
    parse: |text| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if text.is_empty() || !text.bytes().all(fits) {
            return Err(format!(
                "\"{}\" is no name of a cookie or header",
                text.escape_debug()
            ));
        }
        Ok(text.to_owned())
    },
    marker: PhantomData,
};

/// The queue of a site: `[queue]`, and what the site changes of it.
pub(crate) struct SiteQueue;

impl Kind for SiteQueue {
    type Value = QueueOptions;

    fn read(&self, given: &Given<'_>, reader: &mut Reader) -> Result<QueueOptions, Fault> {
        let DeValue::Table(table) = given.get_ref() else {
            return wrong_type(given, &self.describe());
        };
        let base = reader.queue.clone();
        let mut fields = Fields::new("site.queue", table, given.span(), reader);
        QueueOptions::read_over(&base, &mut fields).ok_or(Fault(Vec::new()))
    }

    fn describe(&self) -> String {
        "a table with keys of [queue]".to_owned()
    }

    fn show(&self, _value: &QueueOptions) -> String {
        self.when_missing()
    }

    fn missing(&self, reader: &Reader) -> Option<QueueOptions> {
        Some(reader.queue.clone())
    }

    fn when_missing(&self) -> String {
        "as in [queue]".to_owned()
    }
}
