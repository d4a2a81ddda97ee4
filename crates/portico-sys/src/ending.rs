//! The end of this process.

/// Ends the process at once: nothing is closed, flushed or run any more, and nothing is waited for. For when some of its
/// threads are stuck, which would hold up an orderly end.
#[expect(unsafe_code, reason = "a call that neither std nor rustix has")]
pub fn end_process(code: i32) -> ! {
    // SAFETY: no memory is touched, and control does not come back.
    unsafe { libc::_exit(code) }
}
