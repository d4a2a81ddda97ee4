//! What every call into the library needs.

use std::ffi::c_void;

/// Empties the thread's queue of errors: they are told by return values here, and would otherwise stay in memory.
pub(crate) fn clear_errors() {
    // SAFETY: touches thread-local state of the library only.
    unsafe { aws_lc_sys::ERR_clear_error() }
}

/// Bytes that the library allocated.
pub(crate) struct Allocated {
    bytes: *mut u8,
    length: usize,
}

impl Allocated {
    /// Calls a function of the `i2d_` family, which allocates where its out-pointer points to null.
    pub(crate) fn by(write: impl FnOnce(*mut *mut u8) -> i32) -> Option<Self> {
        let mut bytes = std::ptr::null_mut();
        let length = write(&raw mut bytes);
        let length = usize::try_from(length).ok();
        match length {
            Some(length) if !bytes.is_null() => Some(Self { bytes, length }),
            _ => {
                clear_errors();
                None
            }
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u8> {
        // SAFETY: the library has written `length` bytes there, and they are ours until dropped.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }.to_vec()
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        // SAFETY: allocated by the library, freed once.
        unsafe { aws_lc_sys::OPENSSL_free(self.bytes.cast::<c_void>()) }
    }
}
