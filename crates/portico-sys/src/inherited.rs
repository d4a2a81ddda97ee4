//! Descriptors that this program was started with: those that a service manager hands over begin at number 3
//! (sd_listen_fds(3)).

use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};

const FIRST: RawFd = 3;
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes so many inherited descriptors, from number 3 on, and makes them close-on-exec. To be called first thing in
/// `main`, before this process opens anything; every call but the first gets nothing, and so do numbers that are not
/// open.
#[must_use]
pub fn take(count: usize) -> Vec<OwnedFd> {
    if TAKEN.swap(true, Ordering::SeqCst) {
        return Vec::new();
    }
    (FIRST..).take(count).map_while(take_one).collect()
}

#[expect(unsafe_code, reason = "descriptors come from outside as numbers")]
fn take_one(number: RawFd) -> Option<OwnedFd> {
    // SAFETY: not -1; the borrow ends with the call, which says whether the number is open at all.
    let open = unsafe { fcntl_getfd(std::os::fd::BorrowedFd::borrow_raw(number)) };
    open.ok()?;
    // SAFETY: the number is open, and by the contract of this module's caller (first thing in `main`) nothing in this
    // process owns it; `TAKEN` makes sure that it is taken once.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    fcntl_setfd(&descriptor, FdFlags::CLOEXEC).ok()?;
    Some(descriptor)
}
