//! The search tree: port, host category, host, then one level for each segment. Leaves are numbers of the table's
//! entries; the tree knows nothing of what is in them.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::children::Children;
use crate::hash::Seeded;
use crate::lookup::{Key, LookupError};
use crate::prefix::{Host, Scheme, UrlPrefix};

/// Place of an entry in the table.
pub(crate) type EntryNumber = usize;

#[derive(Clone, Debug)]
pub(crate) struct Index {
    ports: HashMap<u16, Port, Seeded>,
    seed: Seeded,
}

/// Everything registered or reserved on one port. All of it has one scheme.
#[derive(Clone, Debug)]
struct Port {
    scheme: Scheme,
    strong_wildcard: Node,
    names: Children<Node>,
    addresses: HashMap<IpAddr, Node, Seeded>,
    weak_wildcard: Node,
}

/// A path's node. Its depth is bounded by `MAX_SEGMENTS`, so recursion is too.
#[derive(Clone, Debug)]
struct Node {
    entry: Option<EntryNumber>,
    children: Children<Node>,
}

impl Index {
    pub(crate) fn new() -> Self {
        let seed = Seeded::random();
        Self {
            ports: HashMap::with_hasher(seed),
            seed,
        }
    }

    /// The scheme of a port in use.
    pub(crate) fn scheme(&self, port: u16) -> Option<Scheme> {
        self.ports.get(&port).map(|port| port.scheme)
    }

    /// Adds a prefix whose scheme is the port's.
    pub(crate) fn insert(&mut self, prefix: &UrlPrefix, entry: EntryNumber) {
        let seed = self.seed;
        let port = self
            .ports
            .entry(prefix.port())
            .or_insert_with(|| Port::new(prefix.scheme(), seed));
        let root = match prefix.host() {
            Host::StrongWildcard => &mut port.strong_wildcard,
            Host::Name(name) => port.names.child(name.as_bytes(), seed, Node::new),
            Host::Ip(address) => port.addresses.entry(*address).or_insert_with(Node::new),
            Host::WeakWildcard => &mut port.weak_wildcard,
        };
        let node = segments(prefix.path()).fold(root, |node, segment| {
            node.children.child(segment.as_bytes(), seed, Node::new)
        });
        node.entry = Some(entry);
    }

    /// Takes a prefix away, and every node that is of no use without it.
    pub(crate) fn remove(&mut self, prefix: &UrlPrefix) {
        let Some(port) = self.ports.get_mut(&prefix.port()) else {
            return;
        };
        let path = prefix.path();
        match prefix.host() {
            Host::StrongWildcard => port.strong_wildcard.remove(segments(path)),
            Host::WeakWildcard => port.weak_wildcard.remove(segments(path)),
            Host::Name(name) => {
                if let Some(root) = port.names.get_mut(name.as_bytes()) {
                    root.remove(segments(path));
                    if root.is_empty() {
                        port.names.remove(name.as_bytes());
                    }
                }
            }
            Host::Ip(address) => {
                if let Some(root) = port.addresses.get_mut(address) {
                    root.remove(segments(path));
                    if root.is_empty() {
                        port.addresses.remove(address);
                    }
                }
            }
        }
        if port.is_empty() {
            self.ports.remove(&prefix.port());
        }
    }

    /// The best match: the first category that has one, and in it the longest path. A path without a normal form is an
    /// error only where it matters: a prefix that gets all paths of its host gets this one too.
    pub(crate) fn find(
        &self,
        scheme: Scheme,
        port: u16,
        local_address: IpAddr,
        key: &Key<'_>,
    ) -> Result<Option<EntryNumber>, LookupError> {
        let Some(port) = self.ports.get(&port).filter(|port| port.scheme == scheme) else {
            return key.path.map(|_| None);
        };
        let name = key.name.and_then(|name| port.name(name));
        let search = |node: Option<&Node>| node.map_or(Ok(None), |node| node.longest(key.path));
        // An earlier category that could have it hides the later ones, also where that can't be said.
        if let Some(found) = search(Some(&port.strong_wildcard))? {
            return Ok(Some(found));
        }
        if let Some(found) = search(name)? {
            return Ok(Some(found));
        }
        if let Some(found) = search(port.address(local_address))? {
            return Ok(Some(found));
        }
        if let Some(found) = search(Some(&port.weak_wildcard))? {
            return Ok(Some(found));
        }
        key.path.map(|_| None)
    }
}

impl Port {
    fn new(scheme: Scheme, seed: Seeded) -> Self {
        Self {
            scheme,
            strong_wildcard: Node::new(),
            names: Children::new(),
            addresses: HashMap::with_hasher(seed),
            weak_wildcard: Node::new(),
        }
    }

    fn name(&self, name: &[u8]) -> Option<&Node> {
        self.names.get(name)
    }

    fn address(&self, local: IpAddr) -> Option<&Node> {
        if self.addresses.is_empty() {
            return None;
        }
        self.addresses.get(&local.to_canonical())
    }

    fn is_empty(&self) -> bool {
        self.strong_wildcard.is_empty()
            && self.weak_wildcard.is_empty()
            && self.names.is_empty()
            && self.addresses.is_empty()
    }
}

impl Node {
    fn new() -> Self {
        Self {
            entry: None,
            children: Children::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.entry.is_none() && self.children.is_empty()
    }

    /// The longest prefix of a path in normal form. A last segment without its slash counts as one: `/foo/` serves
    /// `/foo` too.
    fn longest(
        &self,
        path: Result<&[u8], LookupError>,
    ) -> Result<Option<EntryNumber>, LookupError> {
        if self.children.is_empty() {
            return Ok(self.entry);
        }
        let path = path?;
        let mut best = self.entry;
        let mut node = self;
        let mut rest = path.get(1..).unwrap_or_default();
        while !node.children.is_empty() && !rest.is_empty() {
            let length = rest
                .iter()
                .position(|&byte| byte == b'/')
                .unwrap_or(rest.len());
            let Some(child) = node.children.get(rest.get(..length).unwrap_or_default()) else {
                break;
            };
            node = child;
            best = node.entry.or(best);
            rest = rest.get(length + 1..).unwrap_or_default();
        }
        Ok(best)
    }

    fn remove<'a>(&mut self, mut path: impl Iterator<Item = &'a str>) {
        let Some(segment) = path.next() else {
            self.entry = None;
            return;
        };
        if let Some(child) = self.children.get_mut(segment.as_bytes()) {
            // As a trait object: the type would grow with the recursion otherwise.
            child.remove(&mut path as &mut dyn Iterator<Item = &'a str>);
            if child.is_empty() {
                self.children.remove(segment.as_bytes());
            }
        }
    }
}

/// The segments of a prefix's path.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}
