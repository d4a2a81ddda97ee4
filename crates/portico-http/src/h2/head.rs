//! Request heads and trailers: which field sections are a message (RFC 9113, sections 8.1 to 8.3 and 8.5; RFC 8441).
//!
//! What HTTP/1 forbids in a field, a target or a host is forbidden here too: a request that goes on in HTTP/1 can't
//! become another one. A section that is no message is *malformed*, which costs its stream (RFC 9113, section 8.1.1).

use super::field_section::FieldSection;
use super::malformed::Malformed;
use super::priority::Priority;
use super::pseudo_field as pseudo;
use crate::scan;
use crate::semantics::expect::expects_continue;
use crate::semantics::field_name as name;
use crate::semantics::framing_fields::{content_length, is_connection_specific, is_token};
use crate::semantics::{
    Authority, Expect, Field, Method, RequestHead, Scheme, Span, Version, host,
};

/// A request head. Places are in the bytes of the [`FieldSection`] that it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The method; `None` for one that Portico has no number for.
    pub method: Option<Method>,
    /// The method's name.
    pub method_name: Span,
    /// `:scheme`; empty with CONNECT.
    pub scheme: Span,
    /// `:authority`, or else the value of `Host`. Never empty if there is one.
    pub authority: Option<Span>,
    /// `:path`; empty with CONNECT.
    pub path: Span,
    /// `:protocol` of an extended CONNECT (RFC 8441).
    pub protocol: Option<Span>,
    /// `Content-Length`.
    pub content_length: Option<u64>,
    /// `Expect`.
    pub expect: Expect,
    /// `Priority` (RFC 9218, section 5), if there is one.
    pub priority: Option<Priority>,
    /// No body follows.
    pub is_complete: bool,
    /// Number of pseudo-header fields; the others follow them in the section.
    pub pseudo_fields: u16,
}

/// What a request may be, where servers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadRules {
    /// Extended CONNECT (RFC 8441).
    pub extended_connect: bool,
    /// An authority must be a host (RFC 9113, section 8.3.1). Else it may be any visible characters, for an application that
    /// has the listener to itself: Node's own client leaves out the brackets of IPv6 addresses.
    pub strict_host: bool,
}

impl Default for HeadRules {
    /// Strict, and without extended CONNECT.
    fn default() -> Self {
        Self {
            extended_connect: false,
            strict_host: true,
        }
    }
}

impl HeadRules {
    fn allow_host(self, host: &[u8]) -> bool {
        match self.strict_host {
            true => host::check(host).is_ok(),
            false => scan::visible_end(host, 0) == host.len(),
        }
    }
}

impl Head {
    /// Reads and checks the head of a request, and joins its cookies (RFC 9113, section 8.2.3). `is_complete`: no body
    /// follows.
    ///
    /// # Errors
    /// The request is malformed.
    pub fn read(
        section: &mut FieldSection,
        is_complete: bool,
        rules: HeadRules,
    ) -> Result<Self, Malformed> {
        if section.is_malformed {
            return Err(Malformed::ForbiddenByte);
        }
        let pseudo = PseudoFields::read(section)?;
        let mut head = pseudo.head(&section.bytes, rules)?;
        head.is_complete = is_complete;
        let fields = section.fields.get(usize::from(pseudo.count)..);
        let cookies = head.read_fields(&section.bytes, fields.unwrap_or_default(), rules)?;
        if head.authority.is_none() {
            return Err(Malformed::MissingPseudoField);
        }
        if is_complete && head.content_length.is_some_and(|length| length != 0) {
            return Err(Malformed::ContentLength);
        }
        if cookies > 1 {
            join_cookies(section);
        }
        Ok(head)
    }

    /// The fields that are no pseudo-header fields.
    #[must_use]
    pub fn fields<'a>(&self, section: &'a FieldSection) -> &'a [Field] {
        let fields = section.fields().get(usize::from(self.pseudo_fields)..);
        fields.unwrap_or_default()
    }

    /// The same as HTTP/1 would have it: a CONNECT has its authority as target. `None` if the method has no number.
    #[must_use]
    pub fn request<'a>(
        &self,
        section: &'a FieldSection,
        scheme: Scheme,
    ) -> Option<RequestHead<'a>> {
        Some(RequestHead {
            bytes: section.bytes(),
            fields: self.fields(section),
            method: self.method?,
            version: Version::Http2,
            scheme,
            authority: self.authority.map_or(Authority::None, Authority::At),
            target: match self.path.length {
                0 => self.authority.unwrap_or_default(),
                _ => self.path,
            },
            has_body: !self.is_complete,
        })
    }

    /// Takes in the fields behind the pseudo-header fields; returns how many cookies there are.
    fn read_fields(
        &mut self,
        bytes: &[u8],
        fields: &[Field],
        rules: HeadRules,
    ) -> Result<u32, Malformed> {
        let (mut cookies, mut has_host) = (0, false);
        for field in fields {
            let number = field.name_number;
            if number >= pseudo::FIRST {
                return Err(Malformed::MisplacedPseudoField);
            }
            if number == name::COOKIE {
                cookies += 1;
                continue;
            }
            if number == name::PRIORITY {
                self.priority = Some(Priority::parse(field.value(bytes)));
                continue;
            }
            if number.wrapping_sub(1) >= name::TE {
                continue;
            }
            let value = field.value(bytes);
            if is_connection_specific(number, value) {
                return Err(Malformed::ConnectionSpecificField);
            }
            match number {
                name::HOST if has_host => return Err(Malformed::Host),
                name::HOST => {
                    has_host = true;
                    self.learn_host(bytes, field, rules)?;
                }
                name::CONTENT_LENGTH if self.content_length.is_some() => {
                    return Err(Malformed::ContentLength);
                }
                name::CONTENT_LENGTH => {
                    let length = content_length(value).map_err(|_| Malformed::ContentLength)?;
                    self.content_length = Some(length);
                }
                name::EXPECT if expects_continue(value) => self.expect = Expect::Continue,
                name::EXPECT if self.expect == Expect::None => self.expect = Expect::Other,
                _ => {}
            }
        }
        Ok(cookies)
    }

    /// RFC 9113, section 8.3.1: `Host` must not name another host than `:authority`, and stands in for it.
    fn learn_host(
        &mut self,
        bytes: &[u8],
        field: &Field,
        rules: HeadRules,
    ) -> Result<(), Malformed> {
        let value = field.value(bytes);
        if !rules.allow_host(value) {
            return Err(Malformed::Host);
        }
        match self.authority {
            Some(authority) => {
                let scheme = self.scheme.of(bytes);
                if !is_same_host(authority.of(bytes), value, scheme) {
                    return Err(Malformed::Host);
                }
            }
            None if value.is_empty() => return Err(Malformed::Host),
            None => {
                self.authority = Some(Span {
                    offset: field.value_offset,
                    length: field.value_length,
                });
            }
        }
        Ok(())
    }
}

/// Checks the fields of a trailer section (RFC 9113, section 8.1): none is a pseudo-header field, and none says
/// anything of the message's framing.
///
/// # Errors
/// The message is malformed.
pub fn check_trailers(section: &FieldSection) -> Result<(), Malformed> {
    if section.is_malformed {
        return Err(Malformed::ForbiddenByte);
    }
    for field in &section.fields {
        let number = field.name_number;
        if number >= pseudo::FIRST {
            return Err(Malformed::MisplacedPseudoField);
        }
        if number == name::CONTENT_LENGTH {
            return Err(Malformed::ContentLength);
        }
        if is_connection_specific(number, field.value(&section.bytes)) {
            return Err(Malformed::ConnectionSpecificField);
        }
    }
    Ok(())
}

/// The pseudo-header fields of a request.
#[derive(Default)]
struct PseudoFields {
    method: Option<Span>,
    scheme: Option<Span>,
    authority: Option<Span>,
    path: Option<Span>,
    protocol: Option<Span>,
    count: u16,
}

impl PseudoFields {
    fn read(section: &FieldSection) -> Result<Self, Malformed> {
        let mut pseudo = Self::default();
        for field in &section.fields {
            let slot = match field.name_number {
                pseudo::METHOD => &mut pseudo.method,
                pseudo::SCHEME => &mut pseudo.scheme,
                pseudo::AUTHORITY => &mut pseudo.authority,
                pseudo::PATH => &mut pseudo.path,
                pseudo::PROTOCOL => &mut pseudo.protocol,
                number if number >= pseudo::FIRST => return Err(Malformed::UnknownPseudoField),
                _ => break,
            };
            let value = Span {
                offset: field.value_offset,
                length: field.value_length,
            };
            if slot.replace(value).is_some() {
                return Err(Malformed::DuplicatePseudoField);
            }
            pseudo.count += 1;
        }
        Ok(pseudo)
    }

    /// A head of which the other fields are not known yet.
    fn head(&self, bytes: &[u8], rules: HeadRules) -> Result<Head, Malformed> {
        let method_name = self.method.ok_or(Malformed::MissingPseudoField)?;
        let method = Method::from_bytes(method_name.of(bytes));
        if method.is_none() && !is_token(method_name.of(bytes)) {
            return Err(Malformed::Method);
        }
        if let Some(authority) = self.authority {
            // Userinfo is no part of it (RFC 9113, section 8.3.1), and no host has an @.
            let authority = authority.of(bytes);
            if authority.is_empty() || !rules.allow_host(authority) {
                return Err(Malformed::Host);
            }
        }
        let is_connect = method == Some(Method::Connect);
        if let Some(protocol) = self.protocol {
            // RFC 8441, section 4
            if !is_connect || !rules.extended_connect || !is_token(protocol.of(bytes)) {
                return Err(Malformed::Connect);
            }
        }
        let has_target = self.scheme.is_some() || self.path.is_some();
        if is_connect && self.protocol.is_none() {
            // RFC 9113, section 8.5
            if has_target || self.authority.is_none() {
                return Err(Malformed::Connect);
            }
        } else {
            let (Some(scheme), Some(path)) = (self.scheme, self.path) else {
                return Err(Malformed::MissingPseudoField);
            };
            check_scheme(scheme.of(bytes))?;
            check_path(path.of(bytes), method)?;
        }
        Ok(Head {
            method,
            method_name,
            scheme: self.scheme.unwrap_or_default(),
            authority: self.authority,
            path: self.path.unwrap_or_default(),
            protocol: self.protocol,
            content_length: None,
            expect: Expect::None,
            priority: None,
            is_complete: false,
            pseudo_fields: self.count,
        })
    }
}

/// RFC 3986, section 3.1.
fn check_scheme(scheme: &[u8]) -> Result<(), Malformed> {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let starts_well = scheme.first().is_some_and(u8::is_ascii_alphabetic);
    if starts_well && scheme.iter().all(is_scheme) {
        Ok(())
    } else {
        Err(Malformed::Scheme)
    }
}

/// RFC 9113, section 8.3.1: a path, or `*` with OPTIONS; of visible characters, as in HTTP/1.
fn check_path(path: &[u8], method: Option<Method>) -> Result<(), Malformed> {
    let is_path = match path {
        [b'/', ..] => scan::visible_end(path, 0) == path.len(),
        b"*" => method == Some(Method::Options),
        _ => false,
    };
    if is_path {
        Ok(())
    } else {
        Err(Malformed::Path)
    }
}

/// Whether an authority and a `Host` mean the same: without regard to case, and to the scheme's own port (RFC 3986,
/// section 6.2.3).
fn is_same_host(authority: &[u8], host: &[u8], scheme: &[u8]) -> bool {
    if authority == host {
        return true;
    }
    let default_port: &[u8] = match scheme {
        b"http" => b":80",
        b"https" => b":443",
        _ => b":",
    };
    let without_port = |host: &'_ [u8]| {
        let length = [default_port, b":"]
            .into_iter()
            .find_map(|port| host.strip_suffix(port))
            .map_or(host.len(), <[u8]>::len);
        host.get(..length).unwrap_or_default().to_ascii_lowercase()
    };
    without_port(authority) == without_port(host)
}

/// Makes the first cookie of all of them (RFC 9113, section 8.2.3), and removes the others.
fn join_cookies(section: &mut FieldSection) {
    let start = section.bytes.len();
    let mut first = None;
    for (index, field) in section.fields.iter().enumerate() {
        if field.name_number != name::COOKIE {
            continue;
        }
        if first.is_none() {
            first = Some(index);
        } else {
            section.bytes.extend_from_slice(b"; ");
        }
        let value = field.value_offset as usize..(field.value_offset + field.value_length) as usize;
        section.bytes.extend_from_within(value);
    }
    let Some(first) = first else {
        return;
    };
    if let Some(field) = section.fields.get_mut(first) {
        field.value_offset = start as u32;
        field.value_length = (section.bytes.len() - start) as u32;
    }
    let mut index = 0;
    section.fields.retain(|field| {
        index += 1;
        field.name_number != name::COOKIE || index == first + 1
    });
}
