//! The `Cache-Status` field (RFC 9211): what the cache did with a request.

use std::fmt::Write;

/// The name of this cache in the field.
const NAME: &str = "portico";

/// Why a request went to the application (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forward {
    /// The cache is not used for it.
    Bypass,
    /// Its method is not answered from a cache.
    Method,
    /// Nothing is stored for its URI.
    UriMiss,
    /// Something is stored for its URI, but not for its other fields.
    VaryMiss,
    /// What is stored is stale.
    Stale,
    /// What is stored is fresh, but the request wants it validated.
    Request,
}

impl Forward {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Bypass => "bypass",
            Self::Method => "method",
            Self::UriMiss => "uri-miss",
            Self::VaryMiss => "vary-miss",
            Self::Stale => "stale",
            Self::Request => "request",
        }
    }
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheStatus {
    /// It was answered with what is stored.
    Hit {
        /// For how many seconds that is still fresh; negative if it is stale (section 2.5).
        ttl: i64,
    },
    /// It went to the application.
    Forwarded {
        /// Why.
        why: Forward,
        /// The status of the application's answer, if it is not the one that the client gets (section 2.3): 304 of a
        /// validation, 5xx where a stale answer stands in.
        status: Option<u16>,
        /// Whether the answer was stored (section 2.4).
        is_stored: bool,
        /// Whether the answer to another request served this one (section 2.6).
        is_collapsed: bool,
        /// Why the answer was not stored, in a word.
        detail: Option<&'static str>,
    },
}

impl CacheStatus {
    /// The value that is added to the field, behind those of caches nearer to the origin.
    #[must_use]
    pub fn value(&self) -> String {
        let mut value = String::from(NAME);
        let mut add = |text: std::fmt::Arguments<'_>| {
            // Writing to a String does not fail.
            let _ = value.write_fmt(text);
        };
        match *self {
            Self::Hit { ttl } => add(format_args!("; hit; ttl={ttl}")),
            Self::Forwarded {
                why,
                status,
                is_stored,
                is_collapsed,
                detail,
            } => {
                add(format_args!("; fwd={}", why.as_str()));
                if let Some(status) = status {
                    add(format_args!("; fwd-status={status}"));
                }
                if is_stored {
                    add(format_args!("; stored"));
                }
                if is_collapsed {
                    add(format_args!("; collapsed"));
                }
                if let Some(detail) = detail {
                    add(format_args!("; detail={detail}"));
                }
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_says_what_was_done() {
        assert_eq!(CacheStatus::Hit { ttl: 30 }.value(), "portico; hit; ttl=30");
        assert_eq!(CacheStatus::Hit { ttl: -2 }.value(), "portico; hit; ttl=-2");
        let forwarded = |why, status, is_stored, is_collapsed, detail| {
            CacheStatus::Forwarded {
                why,
                status,
                is_stored,
                is_collapsed,
                detail,
            }
            .value()
        };
        assert_eq!(
            forwarded(Forward::UriMiss, None, true, true, None),
            "portico; fwd=uri-miss; stored; collapsed"
        );
        assert_eq!(
            forwarded(Forward::Stale, Some(304), false, false, Some("private")),
            "portico; fwd=stale; fwd-status=304; detail=private"
        );
    }
}
