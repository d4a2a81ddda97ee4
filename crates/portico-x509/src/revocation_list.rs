//! One revocation list, as the library reads it.

use std::ffi::c_long;
use std::ptr::{self, NonNull};

use aws_lc_sys as lib;

use crate::library::clear_errors;

/// A parsed list.
pub(crate) struct RevocationList {
    crl: NonNull<lib::X509_CRL>,
}

impl RevocationList {
    /// Reads a list, DER; `None` if it is none, or if anything follows it.
    pub(crate) fn read(der: &[u8]) -> Option<Self> {
        let length = c_long::try_from(der.len()).ok()?;
        let mut at = der.as_ptr();
        // SAFETY: `at` points to `length` readable bytes, of which the library keeps copies; without an object to
        // fill it makes a new one, which is ours.
        let crl = unsafe { lib::d2i_X509_CRL(ptr::null_mut(), &raw mut at, length) };
        clear_errors();
        let list = Self {
            crl: NonNull::new(crl)?,
        };
        (at == der.as_ptr_range().end).then_some(list)
    }

    /// Whether it lists changes only (RFC 5280, section 5.2.4).
    pub(crate) fn is_delta(&self) -> bool {
        // SAFETY: the object is alive.
        unsafe { lib::X509_CRL_get_ext_by_NID(self.as_ptr(), lib::NID_delta_crl, -1) >= 0 }
    }

    /// The object, which stays ours.
    pub(crate) fn as_ptr(&self) -> *mut lib::X509_CRL {
        self.crl.as_ptr()
    }
}

impl Drop for RevocationList {
    fn drop(&mut self) {
        // SAFETY: one reference is ours.
        unsafe { lib::X509_CRL_free(self.as_ptr()) }
    }
}
