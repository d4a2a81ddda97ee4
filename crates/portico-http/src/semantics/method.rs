//! Request methods (RFC 9110, section 9), with the numbers that engine and application exchange.

/// A request method.
///
/// The set is that of `http.METHODS` in Node.js 20 to 26, and the number of a method is its place in that
/// (alphabetical) list, counted from 1. Methods are case-sensitive; others are refused by the request parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Method {
    /// `ACL`
    Acl = 1,
    /// `BIND`
    Bind = 2,
    /// `CHECKOUT`
    Checkout = 3,
    /// `CONNECT`
    Connect = 4,
    /// `COPY`
    Copy = 5,
    /// `DELETE`
    Delete = 6,
    /// `GET`
    Get = 7,
    /// `HEAD`
    Head = 8,
    /// `LINK`
    Link = 9,
    /// `LOCK`
    Lock = 10,
    /// `M-SEARCH`
    MSearch = 11,
    /// `MERGE`
    Merge = 12,
    /// `MKACTIVITY`
    MkActivity = 13,
    /// `MKCALENDAR`
    MkCalendar = 14,
    /// `MKCOL`
    MkCol = 15,
    /// `MOVE`
    Move = 16,
    /// `NOTIFY`
    Notify = 17,
    /// `OPTIONS`
    Options = 18,
    /// `PATCH`
    Patch = 19,
    /// `POST`
    Post = 20,
    /// `PROPFIND`
    PropFind = 21,
    /// `PROPPATCH`
    PropPatch = 22,
    /// `PURGE`
    Purge = 23,
    /// `PUT`
    Put = 24,
    /// `QUERY`
    Query = 25,
    /// `REBIND`
    Rebind = 26,
    /// `REPORT`
    Report = 27,
    /// `SEARCH`
    Search = 28,
    /// `SOURCE`
    Source = 29,
    /// `SUBSCRIBE`
    Subscribe = 30,
    /// `TRACE`
    Trace = 31,
    /// `UNBIND`
    Unbind = 32,
    /// `UNLINK`
    Unlink = 33,
    /// `UNLOCK`
    Unlock = 34,
    /// `UNSUBSCRIBE`
    Unsubscribe = 35,
}

impl Method {
    /// All methods in order of their numbers: `ALL[0]` has number 1.
    pub const ALL: [Method; 35] = [
        Method::Acl,
        Method::Bind,
        Method::Checkout,
        Method::Connect,
        Method::Copy,
        Method::Delete,
        Method::Get,
        Method::Head,
        Method::Link,
        Method::Lock,
        Method::MSearch,
        Method::Merge,
        Method::MkActivity,
        Method::MkCalendar,
        Method::MkCol,
        Method::Move,
        Method::Notify,
        Method::Options,
        Method::Patch,
        Method::Post,
        Method::PropFind,
        Method::PropPatch,
        Method::Purge,
        Method::Put,
        Method::Query,
        Method::Rebind,
        Method::Report,
        Method::Search,
        Method::Source,
        Method::Subscribe,
        Method::Trace,
        Method::Unbind,
        Method::Unlink,
        Method::Unlock,
        Method::Unsubscribe,
    ];

    /// The method's name as it stands in a request line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Acl => "ACL",
            Method::Bind => "BIND",
            Method::Checkout => "CHECKOUT",
            Method::Connect => "CONNECT",
            Method::Copy => "COPY",
            Method::Delete => "DELETE",
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Link => "LINK",
            Method::Lock => "LOCK",
            Method::MSearch => "M-SEARCH",
            Method::Merge => "MERGE",
            Method::MkActivity => "MKACTIVITY",
            Method::MkCalendar => "MKCALENDAR",
            Method::MkCol => "MKCOL",
            Method::Move => "MOVE",
            Method::Notify => "NOTIFY",
            Method::Options => "OPTIONS",
            Method::Patch => "PATCH",
            Method::Post => "POST",
            Method::PropFind => "PROPFIND",
            Method::PropPatch => "PROPPATCH",
            Method::Purge => "PURGE",
            Method::Put => "PUT",
            Method::Query => "QUERY",
            Method::Rebind => "REBIND",
            Method::Report => "REPORT",
            Method::Search => "SEARCH",
            Method::Source => "SOURCE",
            Method::Subscribe => "SUBSCRIBE",
            Method::Trace => "TRACE",
            Method::Unbind => "UNBIND",
            Method::Unlink => "UNLINK",
            Method::Unlock => "UNLOCK",
            Method::Unsubscribe => "UNSUBSCRIBE",
        }
    }

    /// The method with exactly these bytes as its name.
    #[must_use]
    pub fn from_bytes(name: &[u8]) -> Option<Method> {
        Some(match name {
            b"ACL" => Method::Acl,
            b"BIND" => Method::Bind,
            b"CHECKOUT" => Method::Checkout,
            b"CONNECT" => Method::Connect,
            b"COPY" => Method::Copy,
            b"DELETE" => Method::Delete,
            b"GET" => Method::Get,
            b"HEAD" => Method::Head,
            b"LINK" => Method::Link,
            b"LOCK" => Method::Lock,
            b"M-SEARCH" => Method::MSearch,
            b"MERGE" => Method::Merge,
            b"MKACTIVITY" => Method::MkActivity,
            b"MKCALENDAR" => Method::MkCalendar,
            b"MKCOL" => Method::MkCol,
            b"MOVE" => Method::Move,
            b"NOTIFY" => Method::Notify,
            b"OPTIONS" => Method::Options,
            b"PATCH" => Method::Patch,
            b"POST" => Method::Post,
            b"PROPFIND" => Method::PropFind,
            b"PROPPATCH" => Method::PropPatch,
            b"PURGE" => Method::Purge,
            b"PUT" => Method::Put,
            b"QUERY" => Method::Query,
            b"REBIND" => Method::Rebind,
            b"REPORT" => Method::Report,
            b"SEARCH" => Method::Search,
            b"SOURCE" => Method::Source,
            b"SUBSCRIBE" => Method::Subscribe,
            b"TRACE" => Method::Trace,
            b"UNBIND" => Method::Unbind,
            b"UNLINK" => Method::Unlink,
            b"UNLOCK" => Method::Unlock,
            b"UNSUBSCRIBE" => Method::Unsubscribe,
            _ => return None,
        })
    }

    /// The method with this number, as [`Method::number`] gives it.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Method> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The number that engine and application exchange: 1 to 35.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::Method;

    #[test]
    fn every_method_is_found_by_its_name_and_by_its_number() {
        for (index, method) in Method::ALL.into_iter().enumerate() {
            assert_eq!(usize::from(method.number()), index + 1);
            assert_eq!(Method::from_number(method.number()), Some(method));
            assert_eq!(Method::from_bytes(method.as_str().as_bytes()), Some(method));
        }
        assert_eq!(Method::from_number(0), None);
        assert_eq!(Method::from_number(36), None);
    }

    #[test]
    fn methods_are_case_sensitive() {
        assert_eq!(Method::from_bytes(b"get"), None);
        assert_eq!(Method::from_bytes(b""), None);
    }
}
