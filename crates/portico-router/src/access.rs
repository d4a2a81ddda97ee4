//! Who may register a prefix: reservations, HTTP.SYS's URL ACLs.
//!
//! A reservation gives a prefix, and everything below it, to users. Without one, who comes first has it: as with ports
//! themselves, no user may take requests away from another user.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use crate::prefix::UrlPrefix;

/// The first port that a user may open without a privilege, as in Linux.
const FIRST_UNPRIVILEGED_PORT: u16 = 1024;

/// The user whom everything is allowed.
const ROOT: u32 = 0;

/// A prefix and who may register it and what is below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// What is reserved.
    pub prefix: UrlPrefix,
    /// User ids.
    pub users: Vec<u32>,
    /// Group ids.
    pub groups: Vec<u32>,
    /// Everybody may register.
    pub everyone: bool,
    /// Those who may register may also reserve what is below, for themselves or others.
    pub delegate: bool,
}

impl Reservation {
    /// Whether `who` may register under this reservation. Root may.
    #[must_use]
    pub fn allows(&self, who: Requester<'_>) -> bool {
        who.uid == ROOT
            || self.everyone
            || self.users.contains(&who.uid)
            || who.gids.iter().any(|gid| self.groups.contains(gid))
    }

    fn same_owner(&self, other: &Self) -> bool {
        let sorted = |ids: &[u32]| {
            let mut ids = ids.to_vec();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        self.everyone == other.everyone
            && sorted(&self.users) == sorted(&other.users)
            && sorted(&self.groups) == sorted(&other.groups)
    }
}

/// Who asks: the credentials of the process at the other end of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requester<'a> {
    /// User id.
    pub uid: u32,
    /// Group ids, the supplementary ones too.
    pub gids: &'a [u32],
}

/// What holds where nothing is reserved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unreserved {
    /// Every user may register on ports from 1,024 on. The default.
    #[default]
    Allow,
    /// Only root may register; everybody else needs a reservation, as with HTTP.SYS.
    Deny,
}

/// All reservations. To take part in the search, each must be in the table too ([`crate::Table::reserve`]).
#[derive(Clone, Debug, Default)]
pub struct Reservations {
    by_prefix: BTreeMap<UrlPrefix, Reservation>,
    unreserved: Unreserved,
}

/// A registration or reservation that is not allowed. `Display` says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// The prefix is reserved for others, or registering it would take requests away from a reservation.
    Reserved {
        /// The reservation that stands in the way.
        by: UrlPrefix,
    },
    /// Another user has registered the prefix, or registering it would take requests away from theirs.
    Taken {
        /// The registration that stands in the way.
        by: UrlPrefix,
        /// Its user id.
        uid: u32,
    },
    /// A port below 1,024 without a reservation.
    PrivilegedPort {
        /// The port.
        port: u16,
    },
    /// No reservation, and the configuration asks for one (`unreserved = "deny"`).
    NotReserved,
    /// A reservation by a user who has none above it that may be delegated.
    NotDelegated,
}

impl Denied {
    /// The stable code that reaches applications.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Reserved { .. } => "ERR_PORTICO_PREFIX_RESERVED",
            Self::Taken { .. } => "ERR_PORTICO_PREFIX_TAKEN",
            Self::PrivilegedPort { .. } | Self::NotReserved | Self::NotDelegated => "EACCES",
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Reserved { by } => write!(
                out,
                "{by} is reserved for others; choose another prefix or have a reservation made for you"
            ),
            Self::Taken { by, uid } => write!(
                out,
                "{by} is registered by another user (id {uid}); choose another prefix or have a reservation made for both"
            ),
            Self::PrivilegedPort { port } => write!(
                out,
                "port {port} is below 1024, which needs a reservation or root; have one made, or use a higher port"
            ),
            Self::NotReserved => out.write_str(
                "no reservation covers this prefix, and the host is configured to ask for one; have one made",
            ),
            Self::NotDelegated => out.write_str(
                "only root, or who has a reservation above that may be delegated, may reserve a prefix",
            ),
        }
    }
}

impl Error for Denied {}

/// Two reservations that can't both be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReservationConflict {
    /// There is one for the same prefix.
    Exists {
        /// The prefix.
        prefix: UrlPrefix,
    },
    /// One lies below the other, the two are for different people, and the upper one may not be delegated.
    Nested {
        /// The upper one.
        outer: UrlPrefix,
        /// The lower one.
        inner: UrlPrefix,
    },
}

impl ReservationConflict {
    /// The upper one of two that lie one below the other.
    #[must_use]
    pub fn outer(&self) -> Option<&UrlPrefix> {
        match self {
            Self::Nested { outer, .. } => Some(outer),
            Self::Exists { .. } => None,
        }
    }

    /// The stable code: `ERR_PORTICO_PREFIX_RESERVED`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "ERR_PORTICO_PREFIX_RESERVED"
    }
}

impl fmt::Display for ReservationConflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exists { prefix } => {
                write!(
                    out,
                    "{prefix} is reserved already; remove that reservation first"
                )
            }
            Self::Nested { outer, inner } => write!(
                out,
                "{inner} lies below {outer}, which is reserved for others; allow it there with delegate = true, or reserve both for the same users and groups"
            ),
        }
    }
}

impl Error for ReservationConflict {}

impl Reservations {
    /// No reservation.
    #[must_use]
    pub fn new(unreserved: Unreserved) -> Self {
        Self {
            by_prefix: BTreeMap::new(),
            unreserved,
        }
    }

    /// Adds a reservation. Whether a user may add it is [`Reservations::may_reserve`]'s question.
    ///
    /// # Errors
    /// It contradicts another one; nothing is changed.
    pub fn add(&mut self, reservation: Reservation) -> Result<(), ReservationConflict> {
        let prefix = &reservation.prefix;
        if self.by_prefix.contains_key(prefix) {
            return Err(ReservationConflict::Exists {
                prefix: prefix.clone(),
            });
        }
        for other in self.by_prefix.values() {
            let (outer, inner) = if other.prefix.covers(prefix) {
                (other, &reservation)
            } else if prefix.covers(&other.prefix) {
                (&reservation, other)
            } else {
                continue;
            };
            if !outer.delegate && !outer.same_owner(inner) {
                return Err(ReservationConflict::Nested {
                    outer: outer.prefix.clone(),
                    inner: inner.prefix.clone(),
                });
            }
        }
        self.by_prefix.insert(prefix.clone(), reservation);
        Ok(())
    }

    /// Adds a reservation even where it contradicts others, or in place of one for the same prefix. The lowest one decides
    /// about a prefix, as ever.
    pub fn insert(&mut self, reservation: Reservation) {
        self.by_prefix
            .insert(reservation.prefix.clone(), reservation);
    }

    /// Takes a reservation away.
    pub fn remove(&mut self, prefix: &UrlPrefix) -> Option<Reservation> {
        self.by_prefix.remove(prefix)
    }

    /// The reservation of exactly this prefix.
    #[must_use]
    pub fn get(&self, prefix: &UrlPrefix) -> Option<&Reservation> {
        self.by_prefix.get(prefix)
    }

    /// All reservations, by port, scheme, host and path.
    pub fn iter(&self) -> impl Iterator<Item = &Reservation> {
        self.by_prefix.values()
    }

    /// The reservation that decides about a prefix: the lowest one at or above it, in the same host category.
    #[must_use]
    pub fn covering(&self, prefix: &UrlPrefix) -> Option<&Reservation> {
        self.iter()
            .filter(|reservation| reservation.prefix.covers(prefix))
            .max_by_key(|reservation| reservation.prefix.path().len())
    }

    /// Whether `who` may register a prefix, given what is `registered` by whom.
    ///
    /// * Root may.
    /// * Under a reservation: whom it allows, on any port; not the prefix that a user has registered whom it does not
    ///   allow.
    /// * Without one: on ports from 1,024 on, if [`Unreserved::Allow`], and if it takes no requests away from another
    ///   user's registration or from a reservation for others ([`UrlPrefix::diverts_from`]).
    ///
    /// Looks at every reservation and registration: for the control path.
    ///
    /// # Errors
    /// [`Denied`] says why not.
    pub fn may_register<'a>(
        &self,
        prefix: &UrlPrefix,
        who: Requester<'_>,
        registered: impl IntoIterator<Item = (&'a UrlPrefix, Requester<'a>)>,
    ) -> Result<(), Denied> {
        if who.uid == ROOT {
            return Ok(());
        }
        let covering = self.covering(prefix);
        match covering {
            Some(reservation) if reservation.allows(who) => {}
            Some(reservation) => {
                return Err(Denied::Reserved {
                    by: reservation.prefix.clone(),
                });
            }
            None => self.may_register_unreserved(prefix, who)?,
        }
        for (other, owner) in registered {
            let stands_in_the_way = match covering {
                Some(reservation) => other == prefix && !reservation.allows(owner),
                None => prefix.diverts_from(other),
            };
            if owner.uid != who.uid && stands_in_the_way {
                return Err(Denied::Taken {
                    by: other.clone(),
                    uid: owner.uid,
                });
            }
        }
        Ok(())
    }

    fn may_register_unreserved(
        &self,
        prefix: &UrlPrefix,
        who: Requester<'_>,
    ) -> Result<(), Denied> {
        if self.unreserved == Unreserved::Deny {
            return Err(Denied::NotReserved);
        }
        if prefix.port() < FIRST_UNPRIVILEGED_PORT {
            return Err(Denied::PrivilegedPort {
                port: prefix.port(),
            });
        }
        let others = self.iter().find(|reservation| {
            prefix.diverts_from(&reservation.prefix) && !reservation.allows(who)
        });
        match others {
            Some(reservation) => Err(Denied::Reserved {
                by: reservation.prefix.clone(),
            }),
            None => Ok(()),
        }
    }

    /// Whether `who` may reserve a prefix: root, and whom a reservation above it allows that may be delegated.
    ///
    /// # Errors
    /// [`Denied::NotDelegated`] or [`Denied::Reserved`].
    pub fn may_reserve(&self, prefix: &UrlPrefix, who: Requester<'_>) -> Result<(), Denied> {
        if who.uid == ROOT {
            return Ok(());
        }
        match self.covering(prefix) {
            Some(above) if above.prefix != *prefix && above.allows(who) && above.delegate => Ok(()),
            Some(above) if !above.allows(who) => Err(Denied::Reserved {
                by: above.prefix.clone(),
            }),
            _ => Err(Denied::NotDelegated),
        }
    }
}
