//! Reservations: commands about them, and how one is written.

use serde::{Deserialize, Serialize};

/// Reservations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Reserve {
    /// Reserve a prefix and all below it.
    Add(ReservationRecord),
    /// Take a reservation back.
    Remove {
        /// Its prefix.
        prefix: String,
    },
    /// [`super::Answer::reservations`].
    List,
}

/// A reservation in words and numbers. Also what the state file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservationRecord {
    /// The URL prefix.
    pub prefix: String,
    /// Names or ids of users that may register it.
    pub users: Vec<String>,
    /// Names or ids of groups that may register it.
    pub groups: Vec<String>,
    /// Whether every user may.
    pub everyone: bool,
    /// Whether those that may register it may also reserve prefixes below it for others.
    pub delegate: bool,
    /// Whether it stands in the configuration file (and is changed there). Only in lists.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub configured: bool,
    /// Id of the user who made it at run time. The host writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by: Option<u32>,
    /// What is wrong with it now. Only in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
