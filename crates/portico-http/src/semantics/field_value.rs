//! What a field value is made of (RFC 9110, section 5.5), and how one that is a list is taken apart (section 5.6).
//!
//! Every version of HTTP and every field uses these; nothing here knows a field by its name.

use crate::scan;

/// Whether bytes may be a field value, or a reason phrase: no control character but the tab. Line breaks would end the
/// field, and what follows them would be taken for another.
#[must_use]
#[inline]
pub fn is_field_value(bytes: &[u8]) -> bool {
    scan::value_end(bytes, 0) == bytes.len()
}

/// Without the optional white space around it (RFC 9110, section 5.6.3): spaces and tabs.
#[must_use]
#[inline]
pub fn trim(bytes: &[u8]) -> &[u8] {
    trim_end(trim_start(bytes))
}

#[inline]
pub(crate) fn trim_start(bytes: &[u8]) -> &[u8] {
    let blank = bytes
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    bytes.get(blank..).unwrap_or_default()
}

#[inline]
pub(crate) fn trim_end(bytes: &[u8]) -> &[u8] {
    let blank = bytes
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    bytes.get(..bytes.len() - blank).unwrap_or_default()
}

/// The elements of a list, without the white space around them and without empty ones (RFC 9110, section 5.6.1.2).
/// A comma in a quoted string parts nothing.
pub fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    Parts {
        rest: Some(value),
        at: b',',
    }
    .map(trim)
    .filter(|element| !element.is_empty())
}

/// A directive of a list such as Cache-Control, or a parameter: a name that may have an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'a> {
    /// The name, to be compared without regard to case.
    pub name: &'a [u8],
    /// What stands behind the `=`; of a quoted string, what stands between the quotes, escapes included.
    pub argument: Option<&'a [u8]>,
}

impl<'a> Directive<'a> {
    /// Reads an element of [`list`].
    #[must_use]
    pub fn of(element: &'a [u8]) -> Self {
        let Some(equals) = element.iter().position(|byte| *byte == b'=') else {
            return Self {
                name: element,
                argument: None,
            };
        };
        let (name, argument) = element.split_at(equals);
        let argument = trim(argument.get(1..).unwrap_or_default());
        let quoted = argument
            .strip_prefix(b"\"")
            .and_then(|rest| rest.strip_suffix(b"\""));
        Self {
            name: trim_end(name),
            argument: Some(quoted.unwrap_or(argument)),
        }
    }

    /// Whether it has this name.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }

    /// Its argument as a number of seconds ([`seconds`]).
    #[must_use]
    pub fn seconds(&self) -> Option<u32> {
        self.argument.and_then(seconds)
    }
}

/// A number of seconds; what is larger than fits counts as the largest (RFC 9111, section 1.2.2). `None`: it is none.
#[must_use]
pub fn seconds(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u32, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u32::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Parts between separators outside of quoted strings.
struct Parts<'a> {
    rest: Option<&'a [u8]>,
    at: u8,
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest.take()?;
        let (mut is_quoted, mut is_escaped) = (false, false);
        for (index, &byte) in rest.iter().enumerate() {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_quoted => is_escaped = true,
                b'"' => is_quoted = !is_quoted,
                _ if byte == self.at && !is_quoted => {
                    self.rest = rest.get(index + 1..);
                    return rest.get(..index);
                }
                _ => {}
            }
        }
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_parted_at_commas_outside_of_quotes() {
        let elements = |value: &'static str| -> Vec<String> {
            let text = |element: &[u8]| String::from_utf8_lossy(element).into_owned();
            list(value.as_bytes()).map(text).collect()
        };
        assert_eq!(elements("a, b ,\tc"), ["a", "b", "c"]);
        assert_eq!(elements(",, a,, ,"), ["a"]);
        assert_eq!(elements(""), [""; 0]);
        assert_eq!(elements(r#"a="x,y", b"#), [r#"a="x,y""#, "b"]);
        assert_eq!(elements(r#"a="x\",y", b"#), [r#"a="x\",y""#, "b"]);
        assert_eq!(elements(r#"a="x, b"#), [r#"a="x, b"#]);
    }

    #[test]
    fn directives_have_names_and_arguments() {
        let read = |text: &'static str| Directive::of(text.as_bytes());
        assert!(read("No-Store").is("no-store"));
        assert_eq!(read("no-store").argument, None);
        assert_eq!(read("max-age=60").seconds(), Some(60));
        assert_eq!(read(r#"max-age="60""#).seconds(), Some(60));
        assert_eq!(read("max-age=99999999999").seconds(), Some(u32::MAX));
        for none in ["max-age", "max-age=", "max-age=-1", "max-age=1s"] {
            assert_eq!(read(none).seconds(), None, "{none}");
        }
        assert_eq!(read(r#"private="a, b""#).argument, Some(&b"a, b"[..]));
    }

    #[test]
    fn a_value_has_no_control_characters_but_tabs() {
        for byte in 0..=255u8 {
            let is_allowed = byte == b'\t' || byte >= b' ' && byte != 0x7f;
            for at in [0, 1, 20] {
                let mut value = vec![b'a'; 40];
                value[at] = byte;
                assert_eq!(is_field_value(&value), is_allowed, "{byte} at {at}");
            }
        }
        assert!(is_field_value(b""));
    }
}
