//! Priorities (RFC 9218): urgency and `incremental`.

use crate::semantics::field_value::{list, trim};

/// The priority of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Priority {
    /// 0 to 7; 0 comes first (RFC 9218, section 4.1).
    pub urgency: u8,
    /// The client can use parts of it: it takes turns with others of its urgency (section 4.2).
    pub incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self {
            urgency: 3,
            incremental: false,
        }
    }
}

impl Priority {
    /// Reads a `Priority` field or the value of PRIORITY_UPDATE: a dictionary (RFC 8941, section 3.2), of which the
    /// last member with a name counts. What has a value that it can't have is as if it were missing (section 4).
    #[must_use]
    pub fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        for member in list(value) {
            // Parameters of a member mean nothing.
            let member = member.split(|&byte| byte == b';').next().unwrap_or(member);
            match trim(member) {
                [b'u', b'=', digit @ b'0'..=b'7'] => priority.urgency = digit - b'0',
                b"i" | b"i=?1" => priority.incremental = true,
                b"i=?0" => priority.incremental = false,
                _ => {}
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::Priority;

    #[test]
    fn a_dictionary_is_read() {
        for (value, urgency, incremental) in [
            ("", 3, false),
            ("u=0", 0, false),
            ("i", 3, true),
            ("u=5, i", 5, true),
            ("i=?1,u=7", 7, true),
            ("i, i=?0", 3, false),
            ("u=1, u=2", 2, false),
            ("u=8", 3, false),
            ("u=-1", 3, false),
            ("u=1.5, i=1", 3, false),
            ("u=2;x=1, i;a", 2, true),
            ("other=\"u=1\", u=4", 4, false),
        ] {
            let expected = Priority {
                urgency,
                incremental,
            };
            assert_eq!(Priority::parse(value.as_bytes()), expected, "{value}");
        }
    }
}
