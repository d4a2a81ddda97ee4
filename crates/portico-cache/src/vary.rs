//! Which requests a response was chosen for (RFC 9111, section 4.1).

use portico_http::semantics::{Fields, FieldsBuffer};

/// The request fields that a stored response's `Vary` names, with the values that it was chosen by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// Names, each once, and values in normal form. A field that the request did not have is not here, but in `absent`.
    selected: FieldsBuffer,
    /// Names that the request did not have.
    absent: FieldsBuffer,
    /// The one language that the response is in, if it was chosen by language.
    language: Option<Box<[u8]>>,
}

impl Variant {
    /// The variant that a response is, for the request that it answered.
    #[must_use]
    pub fn of(request: Fields<'_>, response: Fields<'_>) -> Self {
        let mut variant = Self::default();
        for name in response.list(b"vary") {
            if variant.selected.fields().has(name) || variant.absent.fields().has(name) {
                continue;
            }
            match normal_form(request, name) {
                Some(value) => variant.selected.push(name, &value),
                None => variant.absent.push(name, b""),
            }
            if name.eq_ignore_ascii_case(b"accept-language") {
                let mut languages = response.list(b"content-language");
                let language = languages.next().filter(|_| languages.next().is_none());
                variant.language = language.map(|language| language.to_ascii_lowercase().into());
            }
        }
        variant.selected.shrink();
        variant.absent.shrink();
        variant
    }

    /// Whether a request would have been answered with it.
    #[must_use]
    pub fn matches(&self, request: Fields<'_>) -> bool {
        let is_absent = |name: &[u8]| !request.has(name);
        self.absent.fields().iter().all(|(name, _)| is_absent(name))
            && self.selected.fields().iter().all(|(name, value)| {
                normal_form(request, name).is_some_and(|asked| asked == value)
                    || self.is_preferred_language(name, request)
            })
    }

    /// Whether all requests would have been.
    #[must_use]
    pub fn is_for_all(&self) -> bool {
        self.selected.fields().iter().next().is_none()
            && self.absent.fields().iter().next().is_none()
    }

    /// Memory that it takes beside its own size, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let language = self.language.as_ref().map_or(0, |language| language.len());
        self.selected.memory_bytes() + self.absent.memory_bytes() + language
    }

    /// A request that wants the response's own language more than all others gets it, whatever else it would take.
    fn is_preferred_language(&self, name: &[u8], request: Fields<'_>) -> bool {
        let is_language = name.eq_ignore_ascii_case(b"accept-language");
        let language = self.language.as_deref().filter(|_| is_language);
        language.is_some_and(|language| {
            preferred(request, name).is_some_and(|asked| asked.eq_ignore_ascii_case(language))
        })
    }
}

/// The value of a field as it is compared: its lines joined, without the white space around elements. Where the order
/// and the case of elements have no meaning they don't count. `None`: the field is not there.
fn normal_form(request: Fields<'_>, name: &[u8]) -> Option<Vec<u8>> {
    if !request.has(name) {
        return None;
    }
    let is_set = [&b"accept-language"[..], b"accept-encoding"]
        .iter()
        .any(|set| name.eq_ignore_ascii_case(set));
    if !is_set {
        return Some(request.list(name).collect::<Vec<_>>().join(&b','));
    }
    let mut elements: Vec<Vec<u8>> = request
        .list(name)
        .map(|element| {
            let mut element = element.to_ascii_lowercase();
            element.retain(|byte| !matches!(byte, b' ' | b'\t'));
            element
        })
        .collect();
    elements.sort_unstable();
    elements.dedup();
    Some(elements.join(&b','))
}

/// The element with the highest quality, if no other has the same.
fn preferred<'a>(request: Fields<'a>, name: &[u8]) -> Option<&'a [u8]> {
    let mut best: Option<(u16, &[u8])> = None;
    let mut is_only = true;
    for element in request.list(name) {
        let mut parts = element.split(|&byte| byte == b';');
        let value = parts.next().unwrap_or_default().trim_ascii_end();
        let quality = parts.find_map(|part| quality(part.trim_ascii()));
        let quality = quality.unwrap_or(1000);
        match best {
            Some((known, _)) if known > quality => {}
            Some((known, _)) if known == quality => is_only = false,
            _ => (best, is_only) = (Some((quality, value)), true),
        }
    }
    best.filter(|&(quality, _)| is_only && quality > 0)
        .map(|(_, value)| value)
}

/// Thousandths of a `q=` parameter (RFC 9110, section 12.4.2).
fn quality(parameter: &[u8]) -> Option<u16> {
    let value = parameter
        .strip_prefix(b"q=")
        .or_else(|| parameter.strip_prefix(b"Q="))?;
    let (whole, fraction) = match value {
        [whole] => (whole, &[][..]),
        [whole, b'.', fraction @ ..] if fraction.len() <= 3 => (whole, fraction),
        _ => return Some(0),
    };
    let mut thousandths = 0;
    for place in 0..4 {
        let digit = if place == 0 {
            Some(whole)
        } else {
            fraction.get(place - 1)
        };
        let digit = digit.copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return Some(0);
        }
        thousandths = thousandths * 10 + u16::from(digit - b'0');
    }
    Some(thousandths.min(1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(first: &str, response: &str, second: &str) -> bool {
        let (first, response) = (FieldsBuffer::from(first), FieldsBuffer::from(response));
        let variant = Variant::of(first.fields(), response.fields());
        variant.matches(FieldsBuffer::from(second).fields())
    }

    #[test]
    fn a_request_matches_where_the_named_fields_are_equal() {
        let cases = [
            ("Foo: 1", "Vary: Foo", "foo: 1", true),
            ("Foo: 1", "Vary: Foo", "Foo: 2", false),
            ("Foo: 1", "Vary: Foo", "", false),
            ("", "Vary: Foo", "Foo: 1", false),
            ("", "Vary: Foo", "Foo:", false),
            ("", "Vary: Foo", "", true),
            ("Foo: 1\nBar: 2", "Vary: Foo", "Foo: 1\nBar: 3", true),
            ("Foo: 1\nBar: 2", "Vary: Foo, Bar", "Bar: 2\nFoo: 1", true),
            (
                "Foo: 1\nBar: 2",
                "Vary: Foo\nVary: bar",
                "Bar: 3\nFoo: 1",
                false,
            ),
            ("Foo: 1, 2", "Vary: Foo", "Foo: 1\nFoo: 2", true),
            ("Foo: 1,2", "Vary: Foo", "Foo:  1, 2 ", true),
            ("Foo: 1,2", "Vary: Foo", "Foo: 2, 1", false),
            ("Foo: a", "Vary: Foo, foo", "Foo: A", false),
        ];
        for (first, response, second, expected) in cases {
            assert_eq!(
                matches(first, response, second),
                expected,
                "{first} {response} {second}"
            );
        }
    }

    #[test]
    fn languages_and_codings_are_sets_without_case() {
        let language =
            |second: &str| matches("Accept-Language: en, de", "Vary: Accept-Language", second);
        assert!(language("Accept-Language: de, en"));
        assert!(language("Accept-Language: eN,   De"));
        assert!(!language("Accept-Language: de"));
        assert!(!language("Accept-Language: en, de;q=0.5"));
        assert!(matches(
            "Accept-Encoding: gzip, br",
            "Vary: Accept-Encoding",
            "accept-encoding: br,gzip"
        ));
    }

    #[test]
    fn a_request_that_prefers_the_language_of_the_response_matches() {
        let german = |second: &str| {
            matches(
                "Accept-Language: en, de",
                "Vary: Accept-Language\nContent-Language: de",
                second,
            )
        };
        assert!(german("Accept-Language: fr;q=0.5, DE;q=1.0"));
        assert!(german("Accept-Language: de"));
        for other in ["fr, de", "fr, de;q=0.9", "de;q=0", "de;q=x, en;q=0", "*"] {
            assert!(!german(&format!("Accept-Language: {other}")), "{other}");
        }
    }
}
