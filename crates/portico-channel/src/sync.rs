//! The atomics of the ring: the standard library's, or loom's where its model checker runs.

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence},
};
