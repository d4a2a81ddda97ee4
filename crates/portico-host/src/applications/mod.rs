//! The process host: applications whose processes the host starts, watches, replaces and ends.
//!
//! What is to be done is decided by `portico-supervisor`; `entries` carries it out. A **worker** is one start of an
//! application's command, with all that it starts in turn (its process group); `life` is what the host has of it. What
//! outlives the host is in `record`, and `adopting` takes it over. What workers write goes through `output`, from `pipes` that outlive the host to a `log_file`.

mod adopting;
mod command;
mod commanding;
pub(crate) mod configured;
mod configuring;
mod connecting;
mod ending;
mod entries;
mod environment;
mod hanging;
mod life;
mod log_file;
pub(crate) mod messages;
mod output;
mod package;
mod pipes;
mod record;
mod recycling;
mod registering;
mod speaking;
mod specification;
mod verdict;

pub use command::{Node, Resolved, resolve};
pub use commanding::{ApplicationStatus, MAX_INSTANCES, WorkerStatus};
pub(crate) use entries::Applications;
pub use log_file::timestamp;
pub use package::package_folder;
pub use specification::{Listen, LogLimits, Output, Specification};
pub use verdict::Verdict;
