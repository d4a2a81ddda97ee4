//! What an engine and an application say to each other, and how it travels.
//!
//! [`layout`] is the table of records. Nothing here knows sockets, HTTP or JavaScript. The engine and the Node add-on
//! both stand on this crate.

pub mod layout;
