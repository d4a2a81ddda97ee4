//! Calling into JavaScript: batches of events, what a handler throws, and the words that both sides read.
//!
//! Each call opens a callback scope, so that ticks and microtasks run behind it, unless a scope around several batches is
//! open. Nothing of the instance may be
//! borrowed during a call: JavaScript may call back (`submit`, `listen`, ...).

use std::cell::{Cell, RefCell};

use napi::bindgen_prelude::Int32Array;
use napi::{Env, Result, sys};

use crate::errors::raw;

/// Words of the shared state (`EngineOptions.state` in binding.ts).
const STATE_COMMANDS: usize = 0;
const STATE_CURSOR: usize = 1;
const STATE_END: usize = 2;
const STATE_WAKE: usize = 3;

/// The count of wakes begins anew behind it.
const WAKE_MASK: usize = 0x3fff_ffff;

/// The JavaScript side of an engine. Its references live as long as the engine.
pub(crate) struct Script {
    env: Env,
    on_events: sys::napi_ref,
    on_slab_needed: sys::napi_ref,
    context: sys::napi_async_context,
    receiver: sys::napi_ref,
    state: RefCell<Int32Array>,
    /// A batch is in JavaScript's hands.
    dispatching: Cell<bool>,
}

impl Script {
    /// Keeps references to the two functions, which belong to the open handle scope of the caller.
    pub(crate) fn new(
        env: Env,
        state: Int32Array,
        on_events: sys::napi_value,
        on_slab_needed: sys::napi_value,
    ) -> Result<Self> {
        let mut script = Self {
            env,
            on_events: std::ptr::null_mut(),
            on_slab_needed: std::ptr::null_mut(),
            context: std::ptr::null_mut(),
            receiver: std::ptr::null_mut(),
            state: RefCell::new(state),
            dispatching: Cell::new(false),
        };
        let env = env.raw();
        // SAFETY: valid out pointers; the values belong to the open handle scope of the caller.
        unsafe {
            let mut resource = std::ptr::null_mut();
            let mut name = std::ptr::null_mut();
            raw(sys::napi_create_object(env, &mut resource))?;
            raw(sys::napi_create_string_utf8(
                env,
                c"PORTICO".as_ptr(),
                7,
                &mut name,
            ))?;
            raw(sys::napi_create_reference(
                env,
                resource,
                1,
                &mut script.receiver,
            ))?;
            raw(sys::napi_create_reference(
                env,
                on_events,
                1,
                &mut script.on_events,
            ))?;
            raw(sys::napi_create_reference(
                env,
                on_slab_needed,
                1,
                &mut script.on_slab_needed,
            ))?;
            raw(sys::napi_async_init(
                env,
                resource,
                name,
                &mut script.context,
            ))?;
        }
        Ok(script)
    }

    /// The event loop has woken the engine: the batches of one wake come without a turn of the loop between them.
    pub(crate) fn count_wake(&self) {
        let wake = self.read_state(STATE_WAKE).wrapping_add(1);
        self.write_state(STATE_WAKE, wake & WAKE_MASK);
    }

    /// Whether a batch is in JavaScript's hands, so that no other may be started.
    pub(crate) fn is_dispatching(&self) -> bool {
        self.dispatching.get()
    }

    /// Opens a scope around several batches: ticks and microtasks run when it is closed, not behind each. `None`: the
    /// environment ends.
    pub(crate) fn open_scope(&self) -> Option<BatchScope> {
        let env = self.env.raw();
        let mut scope = BatchScope {
            env,
            handles: std::ptr::null_mut(),
            callbacks: std::ptr::null_mut(),
        };
        // SAFETY: valid out pointers, on the environment's thread; both scopes are closed by `BatchScope`, in reverse
        // order. The reference and the context live as long as the engine.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut scope.handles) != sys::Status::napi_ok {
                return None;
            }
            let mut receiver = std::ptr::null_mut();
            sys::napi_get_reference_value(env, self.receiver, &mut receiver);
            sys::napi_open_callback_scope(env, receiver, self.context, &mut scope.callbacks);
        }
        Some(scope)
    }

    /// Hands a batch to JavaScript: the bytes of the slab from `start` to `end`. A handler that throws ends its call,
    /// not the batch.
    pub(crate) fn dispatch(&self, start: usize, end: usize) {
        self.dispatching.set(true);
        let mut from = start;
        while from < end {
            self.write_state(STATE_CURSOR, from);
            self.write_state(STATE_END, end);
            if self.call(self.on_events, &[from, end]) {
                break;
            }
            // The cursor stands behind the event that threw.
            let cursor = self.read_state(STATE_CURSOR);
            from = if cursor > from { cursor } else { end };
        }
        self.dispatching.set(false);
    }

    /// Asks JavaScript for a slab that holds at least `bytes`.
    pub(crate) fn request_slab(&self, bytes: usize) {
        self.call(self.on_slab_needed, &[bytes]);
    }

    /// Bytes of commands that JavaScript wrote and did not submit; they count as submitted from now on.
    pub(crate) fn take_commands(&self) -> usize {
        let mut state = self.state.borrow_mut();
        // SAFETY: JavaScript does not run while native code does, so no other code looks at the words.
        let words = unsafe { state.as_mut() };
        words
            .get_mut(STATE_COMMANDS)
            .map_or(0, |word| usize::try_from(std::mem::take(word)).unwrap_or(0))
    }

    /// Whether `take_commands` would find any.
    pub(crate) fn has_commands(&self) -> bool {
        self.read_state(STATE_COMMANDS) > 0
    }

    /// Gives an error to the process as an uncaught exception. A malformed command is a defect of the JavaScript side:
    /// it must be seen, and must not be lost.
    pub(crate) fn report(&self, error: napi::Error) {
        // SAFETY: on the environment's thread, inside a handle scope of our own.
        unsafe {
            let env = self.env.raw();
            let mut scope = std::ptr::null_mut();
            sys::napi_open_handle_scope(env, &mut scope);
            let value = napi::JsError::from(error).into_value(env);
            sys::napi_fatal_exception(env, value);
            sys::napi_close_handle_scope(env, scope);
        }
    }

    fn write_state(&self, word: usize, value: usize) {
        let mut state = self.state.borrow_mut();
        // SAFETY: as in `take_commands`.
        if let Some(slot) = unsafe { state.as_mut() }.get_mut(word) {
            *slot = i32::try_from(value).unwrap_or(i32::MAX);
        }
    }

    fn read_state(&self, word: usize) -> usize {
        self.state
            .borrow()
            .get(word)
            .map_or(0, |value| usize::try_from(*value).unwrap_or(0))
    }

    /// Calls JavaScript in a callback scope, so that ticks and microtasks run behind it. False if it threw; the
    /// exception has then been given to the process ('uncaughtException').
    fn call(&self, function: sys::napi_ref, numbers: &[usize]) -> bool {
        let env = self.env.raw();
        let mut scope = std::ptr::null_mut();
        // SAFETY: plain Node-API calls on the environment's thread with valid out pointers; the references were made
        // in `new` and are deleted only with the environment.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut scope) != sys::Status::napi_ok {
                return false;
            }
            let mut callback = std::ptr::null_mut();
            let mut receiver = std::ptr::null_mut();
            sys::napi_get_reference_value(env, function, &mut callback);
            sys::napi_get_reference_value(env, self.receiver, &mut receiver);
            let mut arguments = [std::ptr::null_mut(); 2];
            for (slot, number) in arguments.iter_mut().zip(numbers) {
                sys::napi_create_uint32(env, u32::try_from(*number).unwrap_or(u32::MAX), slot);
            }
            let mut result = std::ptr::null_mut();
            let status = sys::napi_make_callback(
                env,
                self.context,
                receiver,
                callback,
                numbers.len().min(arguments.len()),
                arguments.as_ptr(),
                &mut result,
            );
            let completed = status == sys::Status::napi_ok;
            if !completed {
                self.report_pending_exception();
            }
            sys::napi_close_handle_scope(env, scope);
            completed
        }
    }

    fn report_pending_exception(&self) {
        let env = self.env.raw();
        // SAFETY: valid out pointers; on the environment's thread.
        unsafe {
            let mut pending = false;
            sys::napi_is_exception_pending(env, &mut pending);
            if pending {
                let mut exception = std::ptr::null_mut();
                sys::napi_get_and_clear_last_exception(env, &mut exception);
                sys::napi_fatal_exception(env, exception);
            }
        }
    }
}

/// A callback scope around several batches, from [`Script::open_scope`]. Dropping it runs ticks and microtasks; what one
/// of them throws is the process's ('uncaughtException').
pub(crate) struct BatchScope {
    env: sys::napi_env,
    handles: sys::napi_handle_scope,
    callbacks: sys::napi_callback_scope,
}

impl Drop for BatchScope {
    fn drop(&mut self) {
        // SAFETY: on the environment's thread; the scopes are those that were opened last, and are closed once.
        unsafe {
            if !self.callbacks.is_null() {
                sys::napi_close_callback_scope(self.env, self.callbacks);
            }
            sys::napi_close_handle_scope(self.env, self.handles);
        }
    }
}
