//! Cache-Control for caches of one kind (RFC 9213): `CDN-Cache-Control`, and `Portico-Cache-Control` for this one alone.
//! Unlike Cache-Control they are Structured Fields: a Dictionary (RFC 8941, section 3.2), and one that is broken is as if
//! it were not there.

use portico_http::semantics::field_value::{Directive, trim};

use crate::cache_control::ResponseDirectives;
use portico_http::semantics::Fields;

/// The fields that are meant for this cache, the one that counts first (RFC 9213, section 2.2).
pub const TARGET_LIST: [&[u8]; 2] = [b"portico-cache-control", b"cdn-cache-control"];

/// The directives that count, and the field they are of; `None`, if they are of Cache-Control.
#[must_use]
pub fn response_directives(
    response: Fields<'_>,
) -> (ResponseDirectives<'_>, Option<&'static [u8]>) {
    let targeted = TARGET_LIST.iter().find_map(|name| {
        read_dictionary(response, name).map(|directives| (directives, Some(*name)))
    });
    targeted.unwrap_or_else(|| (ResponseDirectives::read(response), None))
}

/// The directives of a targeted field. `None`: it is not there, is empty, or is no Dictionary of directives.
fn read_dictionary<'a>(response: Fields<'a>, name: &[u8]) -> Option<ResponseDirectives<'a>> {
    let mut directives = ResponseDirectives::default();
    let mut is_empty = true;
    for value in response.values(name) {
        let mut rest = value.trim_ascii();
        while !rest.is_empty() {
            let (member, after) = DictionaryMember::read(rest)?;
            is_empty = false;
            member.learn_into(&mut directives)?;
            rest = match after {
                [] => after,
                [b',', after @ ..] => {
                    let next = trim(after);
                    (!next.is_empty()).then_some(next)? // no comma at the end
                }
                _ => return None,
            };
        }
    }
    (!is_empty).then_some(directives)
}

/// The values that directives may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value<'a> {
    True,
    False,
    /// The digits of an Integer that is not negative.
    Integer(&'a [u8]),
    /// What stands between the quotes of a String.
    Text(&'a [u8]),
    /// Any other bare item.
    Other,
}

struct DictionaryMember<'a> {
    key: &'a [u8],
    value: Value<'a>,
}

impl<'a> DictionaryMember<'a> {
    fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (key, rest) = read_key(bytes)?;
        let (value, rest) = match rest.strip_prefix(b"=") {
            Some(rest) => read_item(rest)?,
            None => (Value::True, rest),
        };
        let rest = skip_parameters(rest)?;
        Some((Self { key, value }, trim(rest)))
    }

    /// `None`: a directive that is known has a value of another type (RFC 9213, section 2.1: the field is then ignored).
    fn learn_into(&self, directives: &mut ResponseDirectives<'a>) -> Option<()> {
        const OF_SECONDS: [&[u8]; 4] = [
            b"max-age",
            b"s-maxage",
            b"stale-while-revalidate",
            b"stale-if-error",
        ];
        const OF_FIELDS: [&[u8]; 2] = [b"no-cache", b"private"];
        const FLAGS: [&[u8]; 6] = [
            b"no-store",
            b"public",
            b"must-revalidate",
            b"proxy-revalidate",
            b"must-understand",
            b"no-transform",
        ];
        let argument = match self.value {
            Value::Integer(digits) if OF_SECONDS.contains(&self.key) => Some(digits),
            Value::Text(names) if OF_FIELDS.contains(&self.key) => Some(names),
            Value::True if OF_FIELDS.contains(&self.key) || FLAGS.contains(&self.key) => None,
            Value::False if OF_FIELDS.contains(&self.key) || FLAGS.contains(&self.key) => {
                return Some(());
            }
            _ if OF_SECONDS.contains(&self.key)
                || OF_FIELDS.contains(&self.key)
                || FLAGS.contains(&self.key) =>
            {
                return None;
            }
            _ => return Some(()),
        };
        directives.learn(Directive {
            name: self.key,
            argument,
        });
        Some(())
    }
}

/// A key (RFC 8941, section 3.1.2): small letters, digits, `_`, `-`, `.`, `*`.
fn read_key(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_start = matches!(bytes.first(), Some(b'a'..=b'z' | b'*'));
    let length = bytes
        .iter()
        .take_while(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*'))
        .count();
    is_start.then(|| bytes.split_at_checked(length))?
}

fn read_item(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    match bytes {
        [b'?', b'1', rest @ ..] => Some((Value::True, rest)),
        [b'?', b'0', rest @ ..] => Some((Value::False, rest)),
        [b'"', rest @ ..] => {
            let mut is_escaped = false;
            for (index, &byte) in rest.iter().enumerate() {
                match byte {
                    b'"' | b'\\' if is_escaped => is_escaped = false,
                    _ if is_escaped => return None,
                    b'\\' => is_escaped = true,
                    b'"' => return Some((Value::Text(rest.get(..index)?), rest.get(index + 1..)?)),
                    b' '..=b'~' => {}
                    _ => return None,
                }
            }
            None
        }
        [b'-' | b'0'..=b'9', ..] => read_number(bytes),
        [b'A'..=b'Z' | b'a'..=b'z' | b'*', ..] => {
            let length = bytes
                .iter()
                .take_while(|byte| {
                    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(byte)
                })
                .count();
            let rest = bytes.get(length..)?;
            Some((Value::Other, rest))
        }
        [b':', rest @ ..] => {
            let length = rest
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
                .count();
            let rest = rest.get(length..)?.strip_prefix(b":")?;
            Some((Value::Other, rest))
        }
        _ => None,
    }
}

/// An Integer of at most 15 digits or a Decimal (RFC 8941, sections 3.3.1 and 3.3.2).
fn read_number(bytes: &[u8]) -> Option<(Value<'_>, &[u8])> {
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let count = |bytes: &[u8]| {
        bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let whole = count(unsigned);
    let (digits, rest) = unsigned.split_at_checked(whole)?;
    if let Some(fraction) = rest.strip_prefix(b".") {
        let length = count(fraction);
        let is_decimal = (1..=12).contains(&whole) && (1..=3).contains(&length);
        return is_decimal.then(|| Some((Value::Other, fraction.get(length..)?)))?;
    }
    let value = if unsigned.len() == bytes.len() {
        Value::Integer(digits)
    } else {
        Value::Other
    };
    (1..=15).contains(&whole).then_some((value, rest))
}

fn skip_parameters(mut bytes: &[u8]) -> Option<&[u8]> {
    while let Some(rest) = bytes.strip_prefix(b";") {
        let (_, rest) = read_key(rest.trim_ascii_start())?;
        bytes = match rest.strip_prefix(b"=") {
            Some(rest) => read_item(rest)?.1,
            None => rest,
        };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_control::Scope;
    use portico_http::semantics::FieldsBuffer;

    #[test]
    fn the_most_particular_field_counts_alone() {
        let text = "Cache-Control: no-store\nCDN-Cache-Control: max-age=5\nPortico-Cache-Control: max-age=7";
        let buffer = FieldsBuffer::from(text);
        let (directives, field) = response_directives(buffer.fields());
        assert_eq!((directives.max_age, directives.no_store), (Some(7), false));
        assert_eq!(field, Some(&b"portico-cache-control"[..]));
    }

    #[test]
    fn a_broken_field_is_as_if_it_were_not_there() {
        for value in [
            "max-age=10000, &&&&&",
            "max-age=\"10000\"",
            "max-age=10.5",
            "max-age=-1",
            "max-age = 5",
            "max-age= 5",
            "MaX-aGe=5",
            "max-age=5,",
            "max-age",
            "max-age=1234567890123456",
            "no-store=1",
            "private=(\"a\")",
            "no-cache=\"a",
            "",
        ] {
            let text = format!("CDN-Cache-Control: {value}\nCache-Control: no-store");
            let buffer = FieldsBuffer::from(text.as_str());
            let (directives, field) = response_directives(buffer.fields());
            assert!(directives.no_store && field.is_none(), "{value}");
        }
    }

    #[test]
    fn extensions_parameters_and_several_lines_are_read() {
        let text = "CDN-Cache-Control: foobar, max-age=3600;a=1;b=\"x;y\", ext=tok/en, bytes=:aGk=:, d=-1.5\n\
                    CDN-Cache-Control: no-cache=\"a, b\", private=?0, public";
        let buffer = FieldsBuffer::from(text);
        let (directives, _) = response_directives(buffer.fields());
        assert_eq!(directives.max_age, Some(3600));
        assert_eq!(directives.no_cache, Scope::Fields(b"a, b"));
        assert_eq!(directives.private, Scope::Nothing);
        assert!(directives.public);
    }
}
