//! Entries as tests make them.
#![allow(dead_code, reason = "each test uses a part")]

use std::sync::Arc;
use std::time::Duration;

use portico_cache::store::NewEntry;
use portico_cache::{Freshness, Key, QueryRule, Target, Time, Variant};
use portico_http::semantics::FieldsBuffer;

pub(crate) const NOW: Time = Time(1_800_000_000_000);

pub(crate) fn after(seconds: u64) -> Time {
    Time(NOW.0 + seconds * 1000)
}

pub(crate) fn key_of(owner: u64, path: &str) -> Key {
    let target = Target {
        owner,
        is_secure: false,
        authority: b"a.test",
        path_and_query: path.as_bytes(),
        context: b"",
    };
    Key::new(&target, &QueryRule::All)
}

pub(crate) fn key(path: &str) -> Key {
    key_of(1, path)
}

/// An entry of owner 1 that is fresh for 60 seconds.
pub(crate) fn entry(path: &str, body: &[u8]) -> NewEntry {
    NewEntry {
        key: Arc::new(key(path)),
        variant: Variant::default(),
        freshness: Freshness::for_lifetime(Duration::from_secs(60), NOW),
        status: 200,
        fields: FieldsBuffer::default(),
        body: body.into(),
        tags: Box::default(),
    }
}

pub(crate) fn varying(path: &str, language: &str, body: &[u8]) -> NewEntry {
    let request = FieldsBuffer::from(format!("Foo: {language}").as_str());
    let response = FieldsBuffer::from("Vary: Foo");
    NewEntry {
        variant: Variant::of(request.fields(), response.fields()),
        ..entry(path, body)
    }
}
