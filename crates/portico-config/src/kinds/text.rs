//! Strings that mean something: paths, prefixes, addresses, names.

use std::marker::PhantomData;
use std::path::PathBuf;

use portico_router::UrlPrefix;
use toml::de::DeValue;

use super::kind::{Fault, Given, Kind, fault, wrong_type};
use crate::address::ListenAddress;
use crate::reader::Reader;

/// A string that means something.
pub(crate) struct Text<T> {
    /// What it is: "a path".
    pub(crate) about: &'static str,
    /// The meaning, or what is wrong.
    pub(crate) parse: fn(&str) -> Result<T, String>,
    pub(crate) marker: PhantomData<T>,
}

impl<T: Clone + ToText> Kind for Text<T> {
    type Value = T;

    fn read(&self, given: &Given<'_>, _reader: &mut Reader) -> Result<T, Fault> {
        let DeValue::String(text) = given.get_ref() else {
            return wrong_type(given, self.about);
        };
        match (self.parse)(text) {
            Ok(value) => Ok(value),
            Err(wrong) => fault(given, wrong),
        }
    }

    fn describe(&self) -> String {
        self.about.to_owned()
    }

    fn show(&self, value: &T) -> String {
        format!("\"{}\"", value.to_text())
    }
}

/// What a string's value looks like in the file.
pub(crate) trait ToText {
    fn to_text(&self) -> String;
}

impl ToText for PathBuf {
    fn to_text(&self) -> String {
        self.display().to_string()
    }
}

impl ToText for String {
    fn to_text(&self) -> String {
        self.clone()
    }
}

impl ToText for UrlPrefix {
    fn to_text(&self) -> String {
        self.to_string()
    }
}

impl ToText for ListenAddress {
    fn to_text(&self) -> String {
        self.to_string()
    }
}

/// The path of a file.
pub(crate) const PATH: Text<PathBuf> = Text {
    about: "the path of a file, in quotes",
    parse: |text| match text {
        "" => Err("a path can't be empty".to_owned()),
        _ if text.contains('\0') => Err("a path can't have a NUL".to_owned()),
        _ => Ok(PathBuf::from(text)),
    },
    marker: PhantomData,
};

/// Any text that can be an argument of a program.
pub(crate) const TEXT: Text<String> = Text {
    about: "text in quotes",
    parse: |text| match text.contains('\0') {
        true => Err("a text can't have a NUL".to_owned()),
        false => Ok(text.to_owned()),
    },
    marker: PhantomData,
};

/// Characters of an application's name, at most: it is part of file names.
const MAX_NAME_LENGTH: usize = 64;

/// The name of an application, which is also a folder's.
pub(crate) const APPLICATION_NAME: Text<String> = Text {
    about: "a name in quotes: letters, digits, `-`, `_` and `.`",
    parse: |text| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let begins = text
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric());
        if begins && text.len() <= MAX_NAME_LENGTH && text.bytes().all(fits) {
            return Ok(text.to_owned());
        }
        Err(format!(
            "\"{}\" can't be a name; write up to {MAX_NAME_LENGTH} letters, digits, `-`, `_` and `.`, a letter or digit first",
            text.escape_debug()
        ))
    },
    marker: PhantomData,
};

/// A URL prefix.
pub(crate) const PREFIX: Text<UrlPrefix> = Text {
    about: "a URL prefix, as in \"http://*:8080/app/\"",
    parse: |text| UrlPrefix::parse(text).map_err(|error| error.to_string()),
    marker: PhantomData,
};

/// Where to listen.
pub(crate) const ADDRESS: Text<ListenAddress> = Text {
    about: "an address with a port, as in \"*:8443\"",
    parse: |text| {
        ListenAddress::parse(text).ok_or_else(|| {
            format!(
                "\"{}\" is no address with a port; write \"*:8443\", \"127.0.0.1:8080\" or \"[::1]:80\"",
                text.escape_debug()
            )
        })
    },
    marker: PhantomData,
};

/// A name that clients ask for (SNI), perhaps with a wildcard as its first label.
pub(crate) const SERVER_NAME: Text<String> = Text {
    about: "a host name, perhaps beginning with \"*.\"",
    parse: server_name,
    marker: PhantomData,
};

fn server_name(text: &str) -> Result<String, String> {
    let (wildcard, name) = match text.strip_prefix("*.") {
        Some(rest) => ("*.", rest),
        None => ("", text),
    };
    if name.contains('*') && text != "*" {
        return Err(format!(
            "\"{}\": a wildcard is the whole first part of a name, as in \"*.example.com\"",
            text.escape_debug()
        ));
    }
    // The grammar of names is the router's, and so are its texts.
    match UrlPrefix::parse(&format!("http://{name}:1/")) {
        Ok(prefix) => match prefix.host() {
            portico_router::Host::Name(name) => Ok(format!("{wildcard}{name}")),
            _ => Err(format!(
                "\"{}\" is no host name; leave names out for a certificate that serves every name and address",
                text.escape_debug()
            )),
        },
        Err(error) => Err(format!("\"{}\": {}", text.escape_debug(), error.kind())),
    }
}

/// A path with `*` for anything.
pub(crate) const PATH_PATTERN: Text<String> = Text {
    about: "a path, with \"*\" for anything",
    parse: |text| {
        let is_path = text.starts_with(['/', '*']);
        let fits = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#');
        if !is_path || !text.bytes().all(fits) {
            return Err(format!(
                "\"{}\" is no path; write one such as \"/news/*\" or \"*.html\", as clients send it and without a query",
                text.escape_debug()
            ));
        }
        Ok(text.to_owned())
    },
    marker: PhantomData,
};

/// What the last segment of a path ends with.
pub(crate) const EXTENSION: Text<String> = Text {
    about: "an extension, as in \"css\"",
    parse: |text| {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return Err(format!(
                "\"{}\" is no extension; write it without its dot, as in \"css\"",
                text.escape_debug()
            ));
        }
        Ok(text.to_ascii_lowercase())
    },
    marker: PhantomData,
};
