//! `portico.toml`: every option, limit and default of the host, with unit, range and origin.
//!
//! The table of options is `sections.rs`, and there is no other: the structs, parsing, validation and the reference
//! page `docs/configuration.md` all come from it. [`Config::parse`] reports every mistake at once, each with line and
//! column, and with the nearest right name where a name is wrong. Nothing here applies a configuration, looks up
//! users, or reads certificates; [`Config::load`] reads the one file.
#![forbid(unsafe_code)]

mod address;
mod affinity;
mod config;
mod cross_check;
mod error;
mod fields;
mod kinds;
mod nearest;
mod reader;
mod reference;
mod row;
mod section;
mod sections;
mod units;

pub use address::ListenAddress;
pub use affinity::Affinity;
pub use config::Config;
pub use error::ConfigError;
pub use kinds::{Id, Instances, QueryKey};
pub use reference::reference;
pub use row::{Applies, Row, rows};
pub use sections::{
    ApplicationOptions, CacheLocation, CacheOptions, CertificateOptions, HostOptions, HttpVersion,
    Limits, ListenerOptions, QueueOptions, ReservationOptions, SiteCacheRule, SiteOptions,
};
