//! Which fields of a response are stored with it (RFC 9111, section 3.1).

use crate::cache_control::ResponseDirectives;
use crate::targeted;
use portico_http::semantics::{Fields, FieldsBuffer};

/// What becomes of a response that sets a cookie. To hand one client's cookie to another is what session theft is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetCookie {
    /// It is not stored.
    #[default]
    Refuse,
    /// It is stored without its `Set-Cookie` fields.
    Strip,
    /// It is stored as it is.
    Keep,
}

/// Fields of one connection or of one hop, which are never stored (RFC 9111, section 3.1; RFC 9110, section 7.6.1), and
/// `Age`, which each use makes anew.
const NOT_STORED: [&[u8]; 12] = [
    b"age",
    b"connection",
    b"keep-alive",
    b"proxy-authenticate",
    b"proxy-authentication-info",
    b"proxy-authorization",
    b"proxy-connection",
    b"te",
    b"trailer",
    b"transfer-encoding",
    b"upgrade",
    b"http2-settings",
];

/// The fields of a response that are stored.
#[must_use]
pub fn stored_fields(response: Fields<'_>, set_cookie: SetCookie) -> FieldsBuffer {
    let (directives, _) = targeted::response_directives(response);
    let mut stored: FieldsBuffer = response
        .iter()
        .filter(|(name, _)| is_stored(name, response, &directives, set_cookie))
        .collect();
    stored.shrink();
    stored
}

pub(crate) fn is_stored(
    name: &[u8],
    response: Fields<'_>,
    directives: &ResponseDirectives<'_>,
    set_cookie: SetCookie,
) -> bool {
    let is = |other: &[u8]| name.eq_ignore_ascii_case(other);
    let is_of_connection =
        NOT_STORED.iter().any(|other| is(other)) || response.list(b"connection").any(is);
    let is_of_others = directives.no_cache.names(name) || directives.private.names(name);
    let is_cookie = set_cookie != SetCookie::Keep && (is(b"set-cookie") || is(b"set-cookie2"));
    !is_of_connection && !is_of_others && !is_cookie
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_connection_and_of_others_are_not_stored() {
        let response = FieldsBuffer::from(
            "Connection: a, b\nA: 1\nB: 2\nC: 3\nKeep-Alive: 1\nAge: 4\nSet-Cookie: s=1\nTE: x\n\
             Cache-Control: max-age=9, no-cache=\"d\", private=\"e\"\nD: 4\nE: 5",
        );
        let names = |set_cookie| -> Vec<String> {
            stored_fields(response.fields(), set_cookie)
                .fields()
                .iter()
                .map(|(name, _)| String::from_utf8_lossy(name).into_owned())
                .collect()
        };
        assert_eq!(names(SetCookie::Strip), ["C", "Cache-Control"]);
        assert_eq!(names(SetCookie::Keep), ["C", "Set-Cookie", "Cache-Control"]);
    }
}
