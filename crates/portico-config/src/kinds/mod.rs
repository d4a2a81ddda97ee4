//! Kinds of values: how each is read, what it allows, and how it is described.

mod application;
mod kind;
mod plain;
mod quantity;
mod rules;
mod site_cache;
mod text;

pub use application::Instances;
pub(crate) use application::{CommandLine, FileMode, InstanceCount, Variables};
pub(crate) use kind::{Given, Kind};
pub(crate) use plain::{Choice, Count, Flag, List, OneOrMany, Optional};
pub(crate) use quantity::{Size, Time};
pub use rules::Id;
pub(crate) use rules::{AffinityRule, SiteQueue, TOKEN, UserOrGroup};
pub use site_cache::QueryKey;
pub(crate) use site_cache::{SiteCache, VaryByQuery};
pub(crate) use text::{
    ADDRESS, APPLICATION_NAME, EXTENSION, PATH, PATH_PATTERN, PREFIX, SERVER_NAME, TEXT,
};
