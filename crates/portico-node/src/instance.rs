//! One engine in one JavaScript environment: the memory shared with JavaScript, and the batches.
//!
//! A batch: the engine writes events into the slab; one `napi_make_callback` hands them to JavaScript; the commands
//! that JavaScript wrote meanwhile are applied. The engine is never borrowed while JavaScript runs, since JavaScript
//! may call back (`submit`, `listen`, ...).

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::os::fd::RawFd;
use std::rc::Rc;

use napi::bindgen_prelude::{Int32Array, Uint8Array};
use napi::{Env, Result, sys};
use portico_channel::EventWriter;
use portico_engine::{Shard, ThreadedEngine, TurnOutcome};

use crate::errors::{failure, raw};
use crate::uv::{Handles, Loop, LoopEvents};

/// Turns per wake-up before the event loop gets its turn; work that is left goes on right after.
const TURNS_PER_WAKE: usize = 8;

/// Words of the shared state (`EngineOptions.state` in binding.ts).
const STATE_COMMANDS: usize = 0;
const STATE_CURSOR: usize = 1;
const STATE_END: usize = 2;

/// Who turns the engine.
pub(crate) enum Drive {
    /// This environment's event loop.
    Inline(Box<Shard>),
    /// Threads of its own; events come through rings.
    Threads(Box<ThreadedEngine>),
}

/// Calls the same method on either drive.
macro_rules! on {
    ($drive:ident . $method:ident ( $($argument:expr),* )) => {
        match $drive {
            $crate::instance::Drive::Inline(shard) => shard.$method($($argument),*),
            $crate::instance::Drive::Threads(engine) => engine.$method($($argument),*),
        }
    };
}
pub(crate) use on;

impl Drive {
    fn poll_fd(&self) -> RawFd {
        on!(self.poll_fd())
    }

    fn turn(&mut self, events: &mut EventWriter<'_>) -> TurnOutcome {
        match self {
            Self::Inline(shard) => shard.turn(None, events),
            Self::Threads(engine) => engine.take(events),
        }
    }

    fn apply(
        &mut self,
        commands: &[u8],
        external: Option<&[u8]>,
    ) -> std::result::Result<(), String> {
        match self {
            Self::Inline(shard) => shard
                .apply(commands, external)
                .map_err(|error| format!("{error:?}")),
            Self::Threads(engine) => engine
                .submit(commands, external)
                .map_err(|error| format!("{error:?}")),
        }
    }

    fn has_pending_events(&self) -> bool {
        on!(self.has_pending_events())
    }

    fn referenced_connections(&self) -> usize {
        on!(self.referenced_connections())
    }
}

/// Where events are written: JavaScript's memory, kept alive by the array.
struct Slab {
    array: Uint8Array,
    used: usize,
}

/// References to JavaScript that live as long as the engine.
struct Script {
    on_events: sys::napi_ref,
    on_slab_needed: sys::napi_ref,
    context: sys::napi_async_context,
    receiver: sys::napi_ref,
}

/// An engine and its place in the environment. Everything is called on the environment's thread.
pub(crate) struct Instance {
    env: Env,
    drive: RefCell<Option<Drive>>,
    slab: RefCell<Option<Slab>>,
    state: RefCell<Int32Array>,
    commands: RefCell<Uint8Array>,
    script: Script,
    handles: RefCell<Option<Handles<Instance>>>,
    /// Listeners that keep the loop alive.
    referenced_listeners: RefCell<HashSet<u32>>,
    referenced: Cell<bool>,
    /// A batch is in JavaScript's hands.
    dispatching: Cell<bool>,
    cleanup: Cell<sys::napi_async_cleanup_hook_handle>,
    /// The instance's own reference, given up when libuv has closed the handles.
    itself: RefCell<Option<Rc<Instance>>>,
}

impl Instance {
    /// Makes an instance and hangs it into the event loop.
    pub(crate) fn start(
        env: Env,
        drive: Drive,
        state: Int32Array,
        commands: Uint8Array,
        on_events: sys::napi_value,
        on_slab_needed: sys::napi_value,
    ) -> Result<Rc<Self>> {
        let script = Script::new(env, on_events, on_slab_needed)?;
        let poll_fd = drive.poll_fd();
        let instance = Rc::new(Self {
            env,
            drive: RefCell::new(Some(drive)),
            slab: RefCell::new(None),
            state: RefCell::new(state),
            commands: RefCell::new(commands),
            script,
            handles: RefCell::new(None),
            referenced_listeners: RefCell::new(HashSet::new()),
            referenced: Cell::new(false),
            dispatching: Cell::new(false),
            cleanup: Cell::new(std::ptr::null_mut()),
            itself: RefCell::new(None),
        });
        let mut event_loop = std::ptr::null_mut();
        let mut cleanup = std::ptr::null_mut();
        // SAFETY: valid out pointers; the hook's argument is the instance, which lives until the hook has run and the
        // handles are closed (`itself`).
        unsafe {
            raw(sys::napi_get_uv_event_loop(env.raw(), &mut event_loop))?;
            let handles = Handles::start(event_loop.cast::<Loop>(), poll_fd, Rc::as_ptr(&instance))
                .map_err(failure)?;
            *instance.handles.borrow_mut() = Some(handles);
            *instance.itself.borrow_mut() = Some(Rc::clone(&instance));
            raw(sys::napi_add_async_cleanup_hook(
                env.raw(),
                Some(on_environment_end),
                Rc::as_ptr(&instance).cast_mut().cast(),
                &mut cleanup,
            ))?;
        }
        instance.cleanup.set(cleanup);
        Ok(instance)
    }

    /// Runs `action` on the engine; an error if it was destroyed.
    pub(crate) fn with<R>(&self, action: impl FnOnce(&mut Drive) -> Result<R>) -> Result<R> {
        let result = {
            let mut drive = self.drive.borrow_mut();
            let drive = drive
                .as_mut()
                .ok_or_else(|| failure("the engine was destroyed"))?;
            action(drive)
        };
        self.settle();
        result
    }

    pub(crate) fn set_slab(&self, array: Uint8Array) {
        *self.slab.borrow_mut() = Some(Slab { array, used: 0 });
    }

    /// Applies the first `length` bytes of the command buffer.
    pub(crate) fn submit(&self, length: usize, external: Option<&[u8]>) -> Result<()> {
        let result = self.apply(length, external);
        self.settle();
        result
    }

    pub(crate) fn set_listener_reference(&self, listener: u32, referenced: bool) {
        {
            let mut listeners = self.referenced_listeners.borrow_mut();
            if referenced {
                listeners.insert(listener);
            } else {
                listeners.remove(&listener);
            }
        }
        self.update_reference();
    }

    /// Ends the engine and its handles. Called by JavaScript, or when the environment ends.
    pub(crate) fn destroy(&self) {
        drop(self.drive.borrow_mut().take());
        if let Some(handles) = self.handles.borrow_mut().take() {
            handles.close();
        }
    }

    fn apply(&self, length: usize, external: Option<&[u8]>) -> Result<()> {
        let mut drive = self.drive.borrow_mut();
        let Some(drive) = drive.as_mut() else {
            return Ok(());
        };
        let commands = self.commands.borrow();
        let bytes = commands
            .get(..length)
            .ok_or_else(|| failure("submit: more bytes than the command buffer holds"))?;
        drive.apply(bytes, external).map_err(failure)
    }

    /// Applies what JavaScript wrote and did not submit.
    fn apply_pending(&self) {
        let length = {
            let mut state = self.state.borrow_mut();
            // SAFETY: JavaScript does not run while native code does, so nobody else looks at the words.
            let words = unsafe { state.as_mut() };
            words
                .get_mut(STATE_COMMANDS)
                .map_or(0, |word| usize::try_from(std::mem::take(word)).unwrap_or(0))
        };
        if length > 0
            && let Err(error) = self.apply(length, None)
        {
            self.report(error);
        }
    }

    /// After anything that may have left events, or changed what keeps the loop alive.
    fn settle(&self) {
        let pending = self
            .drive
            .borrow()
            .as_ref()
            .is_some_and(Drive::has_pending_events);
        if let Some(handles) = self.handles.borrow().as_ref()
            && pending
        {
            handles.set_busy(true);
        }
        self.update_reference();
    }

    fn update_reference(&self) {
        // Events that wait, such as a connection's end, hold the loop until JavaScript has heard of them.
        let wanted = !self.referenced_listeners.borrow().is_empty()
            || self.drive.borrow().as_ref().is_some_and(|drive| {
                drive.referenced_connections() > 0 || drive.has_pending_events()
            });
        if wanted != self.referenced.get()
            && let Some(handles) = self.handles.borrow().as_ref()
        {
            handles.set_referenced(wanted);
            self.referenced.set(wanted);
        }
    }

    /// Turns the engine and hands its events over, until there is no more work or others must have their turn.
    fn run(&self) {
        if self.dispatching.get() {
            return;
        }
        let mut busy = true;
        for _ in 0..TURNS_PER_WAKE {
            let Some((start, end, outcome)) = self.turn() else {
                return;
            };
            if end > start {
                self.dispatch(start, end);
                self.apply_pending();
            }
            match outcome {
                TurnOutcome::NeedSpace(bytes) => self.request_slab(bytes),
                TurnOutcome::More => {}
                TurnOutcome::Idle => {
                    if !self
                        .drive
                        .borrow()
                        .as_ref()
                        .is_some_and(Drive::has_pending_events)
                    {
                        busy = false;
                        break;
                    }
                }
            }
        }
        if let Some(handles) = self.handles.borrow().as_ref() {
            handles.set_busy(busy);
        }
        self.update_reference();
    }

    fn turn(&self) -> Option<(usize, usize, TurnOutcome)> {
        let mut drive = self.drive.borrow_mut();
        let drive = drive.as_mut()?;
        let mut slab = self.slab.borrow_mut();
        let Some(slab) = slab.as_mut() else {
            return Some((0, 0, TurnOutcome::NeedSpace(0)));
        };
        let start = slab.used;
        // SAFETY: JavaScript does not run now. It reads older parts of the slab later; those before `used` are not
        // written again.
        let memory = unsafe { slab.array.as_mut() };
        let mut events = EventWriter::new(memory.get_mut(start..).unwrap_or_default());
        let outcome = drive.turn(&mut events);
        slab.used = start + events.len();
        Some((start, slab.used, outcome))
    }

    /// Hands a batch to JavaScript. A handler that throws ends its call, not the batch.
    fn dispatch(&self, start: usize, end: usize) {
        self.dispatching.set(true);
        let mut from = start;
        while from < end {
            self.write_state(STATE_CURSOR, from);
            self.write_state(STATE_END, end);
            if self.call(self.script.on_events, &[from, end]) {
                break;
            }
            // The cursor stands behind the event that threw.
            let cursor = self.read_state(STATE_CURSOR);
            from = if cursor > from { cursor } else { end };
        }
        self.dispatching.set(false);
    }

    fn request_slab(&self, bytes: usize) {
        self.call(self.script.on_slab_needed, &[bytes]);
    }

    fn write_state(&self, word: usize, value: usize) {
        let mut state = self.state.borrow_mut();
        // SAFETY: as in `apply_pending`.
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
        // in `Script::new` and are deleted only with the instance.
        unsafe {
            if sys::napi_open_handle_scope(env, &mut scope) != sys::Status::napi_ok {
                return false;
            }
            let mut callback = std::ptr::null_mut();
            let mut receiver = std::ptr::null_mut();
            sys::napi_get_reference_value(env, function, &mut callback);
            sys::napi_get_reference_value(env, self.script.receiver, &mut receiver);
            let mut arguments = [std::ptr::null_mut(); 2];
            for (slot, number) in arguments.iter_mut().zip(numbers) {
                sys::napi_create_uint32(env, u32::try_from(*number).unwrap_or(u32::MAX), slot);
            }
            let mut result = std::ptr::null_mut();
            let status = sys::napi_make_callback(
                env,
                self.script.context,
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

    /// A malformed command is a defect of the JavaScript side: it must be seen, and must not be lost.
    fn report(&self, error: napi::Error) {
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
}

impl LoopEvents for Instance {
    fn on_readable(&self) {
        self.run();
    }

    fn on_prepare(&self) {
        if self.read_state(STATE_COMMANDS) > 0 {
            self.apply_pending();
            self.settle();
        }
    }

    fn on_idle(&self) {
        self.run();
    }

    fn on_closed(&self) {
        let hook = self.cleanup.replace(std::ptr::null_mut());
        if !hook.is_null() {
            // SAFETY: the hook was added in `start` and is removed once.
            unsafe { sys::napi_remove_async_cleanup_hook(hook) };
        }
        drop(self.itself.borrow_mut().take());
    }
}

impl Script {
    fn new(env: Env, on_events: sys::napi_value, on_slab_needed: sys::napi_value) -> Result<Self> {
        let env = env.raw();
        let mut script = Self {
            on_events: std::ptr::null_mut(),
            on_slab_needed: std::ptr::null_mut(),
            context: std::ptr::null_mut(),
            receiver: std::ptr::null_mut(),
        };
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
}

/// Node runs this when the environment (a worker, or the process) ends; the loop goes on until the hook is removed.
unsafe extern "C" fn on_environment_end(
    _hook: sys::napi_async_cleanup_hook_handle,
    data: *mut c_void,
) {
    // SAFETY: the instance holds itself until `on_closed`, which comes after this.
    let instance = unsafe { &*data.cast::<Instance>() };
    if instance.handles.borrow().is_some() {
        instance.destroy();
    }
}
