// Generated from crates/portico-http by `make generate`. Do not edit.

/// Hash of the tables of numbers that records carry: methods, names of fields, errors of parsing.
pub(super) const TABLES: u32 = 4247602032;
