//! Which stored responses a change makes invalid (RFC 9111, section 4.4).

use portico_http::Method;
use portico_http::semantics::Fields;

/// Whether an answer to a request of this method says that something changed: the method is not known to be safe, and
/// the answer is no error.
#[must_use]
pub const fn is_change(method: Method, status: u16) -> bool {
    let is_safe = matches!(
        method,
        Method::Get
            | Method::Head
            | Method::Options
            | Method::Trace
            | Method::PropFind
            | Method::Report
            | Method::Query
    );
    !is_safe && matches!(status, 200..=399)
}

/// The paths, with their queries, that an answer names beside its own by `Location` and `Content-Location`: those of the
/// same scheme and authority; others are not this application's to change.
///
/// `scheme` is `http` or `https`.
pub fn named_paths(
    scheme: &str,
    authority: &[u8],
    path_and_query: &[u8],
    response: Fields<'_>,
) -> impl Iterator<Item = Vec<u8>> {
    [&b"location"[..], b"content-location"]
        .into_iter()
        .filter_map(move |name| response.first(name))
        .filter_map(move |reference| resolve(scheme, authority, path_and_query, reference))
}

/// A reference, resolved against the request's target (RFC 3986, section 5.2). `None`: it leads to another origin, or is
/// none.
fn resolve(
    scheme: &str,
    authority: &[u8],
    path_and_query: &[u8],
    reference: &[u8],
) -> Option<Vec<u8>> {
    let reference = cut_at(reference, b'#');
    let rest = match split_scheme(reference) {
        Some((other, rest)) if other.eq_ignore_ascii_case(scheme.as_bytes()) => {
            rest.strip_prefix(b"//").map(|_| rest)?
        }
        Some(_) => return None,
        None => reference,
    };
    if let Some(rest) = rest.strip_prefix(b"//") {
        let end = rest
            .iter()
            .position(|byte| matches!(byte, b'/' | b'?'))
            .unwrap_or(rest.len());
        let (other, rest) = rest.split_at(end);
        if !other.eq_ignore_ascii_case(authority) {
            return None;
        }
        let slash: &[u8] = if rest.starts_with(b"/") { b"" } else { b"/" };
        return Some(normalise(&[slash, rest].concat()));
    }
    let base = cut_at(path_and_query, b'?');
    match rest.first() {
        None => Some(path_and_query.to_vec()),
        Some(b'/') => Some(normalise(rest)),
        Some(b'?') => Some([base, rest].concat()),
        Some(_) => {
            let folder = base
                .iter()
                .rposition(|&byte| byte == b'/')
                .map_or(0, |at| at + 1);
            Some(normalise(&[base.get(..folder)?, rest].concat()))
        }
    }
}

fn cut_at(bytes: &[u8], at: u8) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == at);
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

/// The scheme before a colon, if no other delimiter comes first, and what follows the colon.
fn split_scheme(reference: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = reference
        .iter()
        .position(|byte| matches!(byte, b':' | b'/' | b'?'))?;
    let (scheme, rest) = reference.split_at(end);
    rest.strip_prefix(b":").map(|rest| (scheme, rest))
}

/// Without dot segments (RFC 3986, section 5.2.4); the query stays as it is.
fn normalise(path_and_query: &[u8]) -> Vec<u8> {
    let path = cut_at(path_and_query, b'?');
    let query = path_and_query.get(path.len()..).unwrap_or_default();
    let mut segments: Vec<&[u8]> = Vec::new();
    let mut parts = path.split(|&byte| byte == b'/').skip(1).peekable();
    while let Some(segment) = parts.next() {
        let is_last = parts.peek().is_none();
        let is_dot = matches!(segment, b"." | b"..");
        if segment == b".." {
            segments.pop();
        }
        if !is_dot {
            segments.push(segment);
        } else if is_last {
            segments.push(b"");
        }
    }
    let mut normal = Vec::with_capacity(path_and_query.len() + 1);
    for segment in &segments {
        normal.push(b'/');
        normal.extend_from_slice(segment);
    }
    if segments.is_empty() {
        normal.push(b'/');
    }
    normal.extend_from_slice(query);
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use portico_http::semantics::FieldsBuffer;

    #[test]
    fn a_change_is_an_unsafe_method_without_an_error() {
        for method in [Method::Post, Method::Put, Method::Delete, Method::MSearch] {
            assert!(is_change(method, 200) && is_change(method, 302));
            assert!(!is_change(method, 404) && !is_change(method, 500));
        }
        for method in [Method::Get, Method::Head, Method::Options] {
            assert!(!is_change(method, 200));
        }
    }

    #[test]
    fn references_within_the_origin_are_resolved() {
        let cases = [
            ("x", Some("/a/x")),
            ("../x?y", Some("/x?y")),
            ("../../../x", Some("/x")),
            ("./x/", Some("/a/x/")),
            ("x/..", Some("/a/")),
            ("/x#y", Some("/x")),
            ("?q", Some("/a/b?q")),
            ("", Some("/a/b?c")),
            ("#y", Some("/a/b?c")),
            ("//h.test/x", Some("/x")),
            ("//H.TEST", Some("/")),
            ("http://h.test?x", Some("/?x")),
            ("HTTP://h.test/x", Some("/x")),
            ("x:y", None),
            ("https://h.test/x", None),
            ("http:x", None),
            ("//other.test/x", None),
            ("http://h.test:81/x", None),
            ("./x:y", Some("/a/x:y")),
        ];
        for (reference, expected) in cases {
            let resolved = resolve("http", b"h.test", b"/a/b?c", reference.as_bytes());
            let resolved = resolved.map(|path| String::from_utf8(path).unwrap());
            assert_eq!(resolved.as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn both_fields_name_paths() {
        let response = FieldsBuffer::from("Location: x\nContent-Location: /y");
        let paths: Vec<_> = named_paths("http", b"h", b"/a", response.fields()).collect();
        assert_eq!(paths, [b"/x".to_vec(), b"/y".to_vec()]);
    }
}
