//! Which application gets a request: URL prefixes, the table that finds one for a request, and who may register which.
//!
//! The rules are HTTP.SYS's ("UrlPrefix Strings", "Namespace Reservations, Registrations, and Routing"), with the
//! differences that `README.md` of this crate lists. No I/O and no dependency; the engine calls [`Table::find`] for
//! each request, the host everything else.
//!
//! * [`UrlPrefix`]: `scheme://host:port/path/`, parsed and canonical.
//! * [`Table`]: registrations and reservations, and the search among them.
//! * [`Reservations`]: who may register a prefix.
#![forbid(unsafe_code)]

mod access;
mod children;
mod hash;
mod index;
mod lookup;
mod path;
mod prefix;
mod table;

pub use access::{Denied, Requester, Reservation, ReservationConflict, Reservations, Unreserved};
pub use lookup::{Lookup, LookupError};
pub use prefix::{
    Host, MAX_PATH_BYTES, MAX_SEGMENTS, PrefixError, PrefixErrorKind, Scheme, UrlPrefix,
};
pub use table::{Match, SchemeConflict, Table};
