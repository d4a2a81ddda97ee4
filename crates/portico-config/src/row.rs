//! A row of the table of options, as the reference page shows it.

use std::fmt;

use crate::kinds::Kind;
use crate::section::Section;
use crate::sections::{
    ApplicationOptions, CacheOptions, CertificateOptions, HostOptions, Limits, ListenerOptions,
    QueueOptions, ReservationOptions, SiteCacheRule, SiteOptions,
};

/// When a changed option takes effect in a running host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// As soon as the new configuration is loaded.
    AtOnce,
    /// For connections made from then on.
    NewConnections,
    /// As soon as the new configuration is loaded; the application's workers are replaced, one after the other.
    Workers,
    /// When the host is started or upgraded.
    Restart,
}

impl fmt::Display for Applies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::AtOnce => "at once",
            Self::NewConnections => "new connections",
            Self::Workers => "new workers",
            Self::Restart => "restart",
        })
    }
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Name of its section, without brackets.
    pub section: &'static str,
    /// Name of the key.
    pub name: &'static str,
    /// Type and unit.
    pub kind: String,
    /// What is allowed; empty if everything of the type is.
    pub range: String,
    /// The default as it would be written; `required` if there is none.
    pub default: String,
    /// Where the default comes from.
    pub origin: &'static str,
    /// When a change takes effect.
    pub applies: Applies,
    /// What it does.
    pub meaning: &'static str,
}

impl Row {
    pub(crate) fn new<K: Kind>(
        (section, name): (&'static str, &'static str),
        kind: &K,
        default: Option<&K::Value>,
        (origin, applies, meaning): (&'static str, Applies, &'static str),
    ) -> Self {
        Self {
            section,
            name,
            kind: kind.describe(),
            range: kind.range(),
            default: default.map_or_else(|| kind.when_missing(), |value| kind.show(value)),
            origin,
            applies,
            meaning,
        }
    }
}

/// Every option, by section, in the order of the reference page.
#[must_use]
pub fn rows() -> Vec<Row> {
    [
        HostOptions::rows(),
        ListenerOptions::rows(),
        CertificateOptions::rows(),
        Limits::rows(),
        CacheOptions::rows(),
        QueueOptions::rows(),
        SiteOptions::rows(),
        SiteCacheRule::rows(),
        ReservationOptions::rows(),
        ApplicationOptions::rows(),
    ]
    .concat()
}
