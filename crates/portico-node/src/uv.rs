//! The libuv calls that drive an engine: a poll handle on the engine's descriptor, a prepare handle that runs before
//! the loop sleeps, and an idle handle that keeps the loop from sleeping while work is left.
//!
//! Node exports these symbols from its executable. Handles are allocated with `uv_handle_size`, since their layout
//! belongs to the libuv version of the running Node.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// `uv_loop_t`, opaque.
#[repr(C)]
pub(crate) struct Loop {
    _opaque: [u8; 0],
}

/// Any `uv_handle_t`, opaque.
#[repr(C)]
pub(crate) struct RawHandle {
    _opaque: [u8; 0],
}

const UV_IDLE: c_int = 6;
const UV_POLL: c_int = 8;
const UV_PREPARE: c_int = 9;
const UV_READABLE: c_int = 1;

type PollCallback = unsafe extern "C" fn(handle: *mut RawHandle, status: c_int, events: c_int);
type HandleCallback = unsafe extern "C" fn(handle: *mut RawHandle);

unsafe extern "C" {
    fn uv_handle_size(kind: c_int) -> usize;
    fn uv_handle_set_data(handle: *mut RawHandle, data: *mut c_void);
    fn uv_handle_get_data(handle: *const RawHandle) -> *mut c_void;
    fn uv_poll_init(event_loop: *mut Loop, handle: *mut RawHandle, fd: c_int) -> c_int;
    fn uv_poll_start(handle: *mut RawHandle, events: c_int, callback: PollCallback) -> c_int;
    fn uv_prepare_init(event_loop: *mut Loop, handle: *mut RawHandle) -> c_int;
    fn uv_prepare_start(handle: *mut RawHandle, callback: HandleCallback) -> c_int;
    fn uv_idle_init(event_loop: *mut Loop, handle: *mut RawHandle) -> c_int;
    fn uv_idle_start(handle: *mut RawHandle, callback: HandleCallback) -> c_int;
    fn uv_idle_stop(handle: *mut RawHandle) -> c_int;
    fn uv_close(handle: *mut RawHandle, callback: Option<HandleCallback>);
    fn uv_ref(handle: *mut RawHandle);
    fn uv_unref(handle: *mut RawHandle);
    fn uv_strerror(code: c_int) -> *const std::ffi::c_char;
    fn uv_err_name_r(
        code: c_int,
        buffer: *mut std::ffi::c_char,
        length: usize,
    ) -> *mut std::ffi::c_char;
}

/// What an owner of [`Handles`] does on the loop's events. Called on the loop's thread only.
pub(crate) trait LoopEvents {
    /// The descriptor is readable.
    fn on_readable(&self);
    /// The loop is about to wait for events.
    fn on_prepare(&self);
    /// The loop turns without waiting, because [`Handles::set_busy`] asked for it.
    fn on_idle(&self);
    /// All handles are closed; nothing will be called again.
    fn on_closed(&self);
}

/// The three handles of one engine. They are closed by [`Handles::close`], never by dropping.
pub(crate) struct Handles<T: LoopEvents> {
    poll: NonNull<RawHandle>,
    prepare: NonNull<RawHandle>,
    idle: NonNull<RawHandle>,
    _owner: std::marker::PhantomData<T>,
}

impl<T: LoopEvents> Handles<T> {
    /// Makes and starts the handles. `owner` must stay valid until [`LoopEvents::on_closed`] has been called.
    /// The poll handle starts referenced or not as `referenced` says; the others never keep the loop alive.
    ///
    /// # Safety
    /// `event_loop` is the loop of the calling thread, `owner` points to a live `T` as said above.
    pub(crate) unsafe fn start(
        event_loop: *mut Loop,
        fd: c_int,
        owner: *const T,
    ) -> Result<Self, String> {
        let handles = Self {
            poll: allocate(UV_POLL),
            prepare: allocate(UV_PREPARE),
            idle: allocate(UV_IDLE),
            _owner: std::marker::PhantomData,
        };
        // SAFETY: the handles are freshly allocated with libuv's own sizes and initialised before use.
        unsafe {
            check(uv_poll_init(event_loop, handles.poll.as_ptr(), fd))?;
            uv_handle_set_data(handles.poll.as_ptr(), owner.cast_mut().cast());
            check(uv_poll_start(
                handles.poll.as_ptr(),
                UV_READABLE,
                on_poll::<T>,
            ))?;
            uv_unref(handles.poll.as_ptr());
            check(uv_prepare_init(event_loop, handles.prepare.as_ptr()))?;
            uv_handle_set_data(handles.prepare.as_ptr(), owner.cast_mut().cast());
            check(uv_prepare_start(handles.prepare.as_ptr(), on_prepare::<T>))?;
            uv_unref(handles.prepare.as_ptr());
            check(uv_idle_init(event_loop, handles.idle.as_ptr()))?;
            uv_handle_set_data(handles.idle.as_ptr(), owner.cast_mut().cast());
            uv_unref(handles.idle.as_ptr());
        }
        Ok(handles)
    }

    /// Whether the engine keeps the loop alive.
    pub(crate) fn set_referenced(&self, referenced: bool) {
        // SAFETY: the handle is initialised and not yet closed (`close` consumes the handles).
        unsafe {
            if referenced {
                uv_ref(self.poll.as_ptr())
            } else {
                uv_unref(self.poll.as_ptr())
            }
        }
    }

    /// Whether the loop must turn without sleeping, because the engine has work left.
    pub(crate) fn set_busy(&self, busy: bool) {
        // SAFETY: as above; starting a started idle handle and stopping a stopped one do nothing.
        unsafe {
            if busy {
                uv_idle_start(self.idle.as_ptr(), on_idle::<T>);
            } else {
                uv_idle_stop(self.idle.as_ptr());
            }
        }
    }

    /// Closes the handles; [`LoopEvents::on_closed`] is called when libuv has let go of the last.
    pub(crate) fn close(self) {
        // SAFETY: each handle is closed once (`self` is consumed). Each is closed from the callback of the one before,
        // the poll handle last, so that the order does not rest on libuv's queue.
        unsafe {
            let chain = Box::new((self.prepare, self.poll));
            uv_idle_stop(self.idle.as_ptr());
            uv_handle_set_data(self.idle.as_ptr(), Box::into_raw(chain).cast());
            uv_close(self.idle.as_ptr(), Some(close_prepare::<T>));
        }
    }
}

unsafe extern "C" fn on_poll<T: LoopEvents>(
    handle: *mut RawHandle,
    _status: c_int,
    _events: c_int,
) {
    // SAFETY: the data was set to a live owner in `start`.
    unsafe { (*uv_handle_get_data(handle).cast::<T>()).on_readable() }
}

unsafe extern "C" fn on_prepare<T: LoopEvents>(handle: *mut RawHandle) {
    // SAFETY: as in `on_poll`.
    unsafe { (*uv_handle_get_data(handle).cast::<T>()).on_prepare() }
}

unsafe extern "C" fn on_idle<T: LoopEvents>(handle: *mut RawHandle) {
    // SAFETY: as in `on_poll`.
    unsafe { (*uv_handle_get_data(handle).cast::<T>()).on_idle() }
}

unsafe extern "C" fn close_prepare<T: LoopEvents>(handle: *mut RawHandle) {
    // SAFETY: `close` stored the box; the handle is closed, so its memory is ours again.
    unsafe {
        let (prepare, poll) = *Box::from_raw(
            uv_handle_get_data(handle).cast::<(NonNull<RawHandle>, NonNull<RawHandle>)>(),
        );
        free(handle, UV_IDLE);
        uv_handle_set_data(prepare.as_ptr(), poll.as_ptr().cast());
        uv_close(prepare.as_ptr(), Some(close_poll::<T>));
    }
}

unsafe extern "C" fn close_poll<T: LoopEvents>(handle: *mut RawHandle) {
    // SAFETY: `close_prepare` stored the poll handle.
    unsafe {
        let poll = uv_handle_get_data(handle).cast::<RawHandle>();
        free(handle, UV_PREPARE);
        uv_close(poll, Some(closed::<T>));
    }
}

unsafe extern "C" fn closed<T: LoopEvents>(handle: *mut RawHandle) {
    // SAFETY: the poll handle's data is still the owner, which lives until `on_closed`.
    unsafe {
        let owner = uv_handle_get_data(handle).cast::<T>();
        free(handle, UV_POLL);
        (*owner).on_closed();
    }
}

fn layout(kind: c_int) -> Layout {
    // SAFETY: `uv_handle_size` only looks its argument up.
    let size = unsafe { uv_handle_size(kind) };
    // Twice the size of a pointer is what malloc gives, and enough for every libuv handle.
    Layout::from_size_align(size.max(8), 16).unwrap_or_else(|_| Layout::new::<[u64; 64]>())
}

fn allocate(kind: c_int) -> NonNull<RawHandle> {
    let layout = layout(kind);
    // SAFETY: the layout's size is at least 8.
    let memory = unsafe { alloc_zeroed(layout) };
    NonNull::new(memory.cast()).unwrap_or_else(|| std::alloc::handle_alloc_error(layout))
}

/// # Safety
/// `handle` came from `allocate(kind)` and is closed.
unsafe fn free(handle: *mut RawHandle, kind: c_int) {
    // SAFETY: same layout as at allocation.
    unsafe { dealloc(handle.cast(), layout(kind)) }
}

fn check(code: c_int) -> Result<(), String> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: `uv_strerror` returns a string that lives (libuv leaks texts of unknown codes).
    let text = unsafe { std::ffi::CStr::from_ptr(uv_strerror(code)) };
    Err(text.to_string_lossy().into_owned())
}

/// libuv's name of an error (negative errno), "EADDRINUSE".
pub(crate) fn error_name(code: c_int) -> String {
    let mut buffer = [0 as std::ffi::c_char; 64];
    // SAFETY: the buffer is writable for its length; libuv ends the name with NUL.
    let name = unsafe {
        uv_err_name_r(code, buffer.as_mut_ptr(), buffer.len());
        std::ffi::CStr::from_ptr(buffer.as_ptr())
    };
    name.to_string_lossy().into_owned()
}
