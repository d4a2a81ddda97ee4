//! The rules of the search, written as they are told: every prefix is looked at, and nothing is fast.

use std::net::IpAddr;

use portico_router::{Host, Lookup, Scheme, UrlPrefix};

/// The prefix that gets a request, or the refusal.
pub(crate) fn find<'a>(
    prefixes: &'a [UrlPrefix],
    lookup: &Lookup<'_>,
) -> Result<Option<&'a UrlPrefix>, ()> {
    let (authority, target) = split_target(lookup)?;
    let name = authority.map(|text| host_name(&text)).transpose()?;
    let path = normal_path(&target);
    let on_port =
        |prefix: &&UrlPrefix| prefix.port() == lookup.port && prefix.scheme() == lookup.scheme;
    for category in 0..4 {
        let own: Vec<_> = prefixes
            .iter()
            .filter(on_port)
            .filter(|prefix| match (category, prefix.host()) {
                (0, Host::StrongWildcard) | (3, Host::WeakWildcard) => true,
                (1, Host::Name(own)) => name.as_deref() == Some(&**own),
                (2, Host::Ip(own)) => same_address(*own, lookup.local_address),
                _ => false,
            })
            .collect();
        // Without a longer path it does not matter what the request's is.
        let is_needed = own.iter().any(|prefix| prefix.path() != "/");
        let segments = match &path {
            Ok(segments) => segments.clone(),
            Err(()) if is_needed => return Err(()),
            Err(()) => Vec::new(),
        };
        let best = own
            .into_iter()
            .filter(|prefix| segments.starts_with(&segments_of(prefix)))
            .max_by_key(|prefix| prefix.path().len());
        if best.is_some() {
            return Ok(best);
        }
    }
    path.map(|_| None)
}

fn same_address(own: IpAddr, local: IpAddr) -> bool {
    match (own, local) {
        (IpAddr::V4(own), IpAddr::V6(local)) => local.to_ipv4_mapped() == Some(own),
        _ => own == local,
    }
}

fn segments_of(prefix: &UrlPrefix) -> Vec<Vec<u8>> {
    normal_path(prefix.path().as_bytes()).unwrap()
}

fn split_target(lookup: &Lookup<'_>) -> Result<(Option<String>, Vec<u8>), ()> {
    let host = lookup
        .host
        .map(|host| String::from_utf8(host.to_vec()).map_err(|_| ()));
    let target = lookup.target;
    if target.starts_with(b"/") {
        return Ok((host.transpose()?, target.to_vec()));
    }
    if target == b"*" {
        return Ok((host.transpose()?, b"/".to_vec()));
    }
    // The path may be any bytes; the rest has to be text.
    let text: String = target.iter().map(|&byte| char::from(byte)).collect();
    let Some((scheme, rest)) = text.split_once("://") else {
        if text.is_empty() || text.starts_with(':') {
            return Err(());
        }
        return Ok((Some(text), b"/".to_vec()));
    };
    let expected = match lookup.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    if scheme.to_lowercase() != expected {
        return Err(());
    }
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if authority.is_empty() || authority.starts_with(':') {
        return Err(());
    }
    if path.starts_with(['#', '\\']) {
        return Err(());
    }
    let path = if path.is_empty() || path.starts_with('?') {
        b"/".to_vec()
    } else {
        target[target.len() - path.chars().count()..].to_vec()
    };
    Ok((Some(authority.to_owned()), path))
}

fn host_name(authority: &str) -> Result<String, ()> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inside, port) = rest.split_once(']').ok_or(())?;
            let fits = |c: char| c.is_ascii_hexdigit() || c == ':' || c == '.';
            if inside.is_empty() || !inside.chars().all(fits) {
                return Err(());
            }
            ("[", port.to_owned())
        }
        None => match authority.split_once(':') {
            Some((host, port)) => (host, format!(":{port}")),
            None => (authority, String::new()),
        },
    };
    let is_port =
        |text: &str| text.starts_with(':') && text[1..].chars().all(|c| c.is_ascii_digit());
    if !(port.is_empty() || is_port(&port)) {
        return Err(());
    }
    if host == "[" {
        return Ok(String::new());
    }
    if !host
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=".contains(c))
    {
        return Err(());
    }
    Ok(host.strip_suffix('.').unwrap_or(host).to_lowercase())
}

/// Segments of a path, each in normal form.
fn normal_path(target: &[u8]) -> Result<Vec<Vec<u8>>, ()> {
    let path = target
        .split(|&byte| byte == b'?')
        .next()
        .unwrap_or_default();
    if path
        .iter()
        .any(|byte| *byte <= b' ' || *byte == 0x7f || b"\\#".contains(byte))
    {
        return Err(());
    }
    let mut raw: Vec<&[u8]> = path.split(|&byte| byte == b'/').skip(1).collect();
    let last_is_empty = raw.last().is_some_and(|segment| segment.is_empty());
    if last_is_empty {
        raw.pop();
    }
    let mut empty = false;
    let mut up = false;
    let mut segments: Vec<Vec<u8>> = Vec::new();
    for segment in raw {
        let segment = normal_segment(segment)?;
        match &segment[..] {
            b"" => empty = true,
            b"." => {}
            b".." => {
                up = true;
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    if empty && up { Err(()) } else { Ok(segments) }
}

fn normal_segment(segment: &[u8]) -> Result<Vec<u8>, ()> {
    let mut out = String::new();
    let mut bytes = segment.iter();
    while let Some(&byte) = bytes.next() {
        let (value, escaped) = if byte == b'%' {
            let digits: String = bytes
                .by_ref()
                .take(2)
                .map(|&digit| char::from(digit))
                .collect();
            if digits.len() != 2 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
                return Err(());
            }
            (u8::from_str_radix(&digits, 16).map_err(|_| ())?, true)
        } else {
            (byte, false)
        };
        if value == 0 {
            return Err(());
        }
        let plain = value.is_ascii_alphanumeric() || b"-._~".contains(&value);
        if plain || (!escaped && b"!$&'()*+,;=:@".contains(&value)) {
            out.push(char::from(value));
        } else {
            out.push_str(&format!("%{value:02X}"));
        }
    }
    Ok(out.into_bytes())
}
