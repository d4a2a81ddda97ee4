//! The rows of `tests/rows/`, and a slow, obvious router to compare with.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(missing_docs, clippy::unwrap_used, reason = "test support")]

pub(crate) mod model;

/// The lines of a file without comments, with their numbers, split at ` => `.
pub(crate) fn rows(text: &str) -> Vec<(usize, &str, Option<&str>)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(index, line)| match line.split_once(" => ") {
            Some((left, right)) => (index + 1, left, Some(right)),
            None => (index + 1, line, None),
        })
        .collect()
}

/// `\xNN`, `\\` and `\(text*N)`.
pub(crate) fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        rest = &rest[at + 1..];
        if let Some(hexadecimal) = rest.strip_prefix('x') {
            out.push(u8::from_str_radix(&hexadecimal[..2], 16).unwrap());
            rest = &hexadecimal[2..];
        } else if let Some(repetition) = rest.strip_prefix('(') {
            let (inside, after) = repetition.split_once(')').unwrap();
            let (what, count) = inside.rsplit_once('*').unwrap();
            out.extend_from_slice(what.repeat(count.parse().unwrap()).as_bytes());
            rest = after;
        } else {
            out.push(b'\\');
            rest = rest.strip_prefix('\\').unwrap();
        }
    }
    out.extend_from_slice(rest.as_bytes());
    out
}

pub(crate) fn unescape_text(text: &str) -> String {
    String::from_utf8(unescape(text)).unwrap()
}
