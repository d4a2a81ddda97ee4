//! Entity tags (RFC 9110, section 8.8.3).

/// An entity tag: a validator that is compared and not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntityTag<'a> {
    /// Whether it is a weak one (`W/`).
    pub is_weak: bool,
    /// The opaque part with its quotes.
    pub opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Of the value of an `ETag` field, or of an element of a list of tags. Programs send tags without quotes, too; such
    /// a tag is equal to the same bytes and to nothing else.
    #[must_use]
    pub fn of(value: &'a [u8]) -> Self {
        match value.strip_prefix(b"W/") {
            Some(opaque) => Self {
                is_weak: true,
                opaque,
            },
            None => Self {
                is_weak: false,
                opaque: value,
            },
        }
    }

    /// Strong comparison: equal, and neither is weak (section 8.8.3.2).
    #[must_use]
    pub fn strongly_equals(self, other: EntityTag<'_>) -> bool {
        !self.is_weak && !other.is_weak && self.opaque == other.opaque
    }

    /// Weak comparison: equal, weak or not (section 8.8.3.2).
    #[must_use]
    pub fn weakly_equals(self, other: EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_compare_as_the_table_of_the_rfc_has_it() {
        let cases = [
            ("W/\"1\"", "W/\"1\"", false, true),
            ("W/\"1\"", "W/\"2\"", false, false),
            ("W/\"1\"", "\"1\"", false, true),
            ("\"1\"", "\"1\"", true, true),
            ("\"1\"", "1", false, false),
            ("w/\"1\"", "\"1\"", false, false),
        ];
        for (a, b, strong, weak) in cases {
            let (a, b) = (EntityTag::of(a.as_bytes()), EntityTag::of(b.as_bytes()));
            assert_eq!((a.strongly_equals(b), a.weakly_equals(b)), (strong, weak));
        }
    }
}
