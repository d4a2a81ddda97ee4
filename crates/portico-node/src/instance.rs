//! One engine in one JavaScript environment: its memory, its place in the event loop, its life time.
//!
//! A batch: the engine writes events into the slab; `script` hands them to JavaScript; the commands that JavaScript
//! wrote meanwhile are applied. The engine is never borrowed while JavaScript runs, since JavaScript may call back
//! (`submit`, `listen`, ...).

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use napi::bindgen_prelude::{Int32Array, Uint8Array};
use napi::{Env, Result, sys};
use portico_channel::{EventWriter, External};
use portico_engine::TurnOutcome;

use crate::drive::Drive;
use crate::errors::{failure, raw};
use crate::script::Script;
use crate::uv::{Handles, Loop, LoopEvents};

/// Turns per wake-up before the event loop gets its turn; work that is left goes on right after.
const TURNS_PER_WAKE: usize = 8;
/// So many where slabs are too small for what was read at once: the longest read in the shortest events fills fewer.
const LONGEST_WAKE_TURNS: usize = 2 * TURNS_PER_WAKE;

/// Where events are written: JavaScript's memory, kept alive by the array.
struct Slab {
    array: Uint8Array,
    used: usize,
}

/// An engine and its place in the environment. Everything is called on the environment's thread.
pub(crate) struct Instance {
    drive: RefCell<Option<Drive>>,
    slab: RefCell<Option<Slab>>,
    commands: RefCell<Uint8Array>,
    script: Script,
    handles: RefCell<Option<Handles<Instance>>>,
    /// What the poll handle watches: a descriptor of our own for what the drive watches. libuv knows it by its number,
    /// which must be no other's until libuv has let go of it, and the drive may end before.
    watched: RefCell<Option<OwnedFd>>,
    /// Listeners that keep the loop alive.
    referenced_listeners: RefCell<HashSet<u32>>,
    referenced: Cell<bool>,
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
        let script = Script::new(env, state, on_events, on_slab_needed)?;
        // SAFETY: the drive owns the descriptor and lives.
        let watched = unsafe { BorrowedFd::borrow_raw(drive.poll_fd()) }
            .try_clone_to_owned()
            .map_err(|error| failure(error.to_string()))?;
        let poll_fd = watched.as_raw_fd();
        let instance = Rc::new(Self {
            drive: RefCell::new(Some(drive)),
            slab: RefCell::new(None),
            commands: RefCell::new(commands),
            script,
            handles: RefCell::new(None),
            watched: RefCell::new(Some(watched)),
            referenced_listeners: RefCell::new(HashSet::new()),
            referenced: Cell::new(false),
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
    pub(crate) fn submit(&self, length: usize, external: Option<External<'_>>) -> Result<()> {
        let result = self.apply(length, external);
        self.settle();
        result
    }

    /// Applies commands from outside the command buffer.
    pub(crate) fn submit_from(
        &self,
        commands: &[u8],
        external: Option<External<'_>>,
    ) -> Result<()> {
        let result = match self.drive.borrow_mut().as_mut() {
            Some(drive) => drive.apply(commands, external).map_err(failure),
            None => Ok(()),
        };
        self.settle();
        result
    }

    /// Whether the kernel has all output of a connection. `false` also where that is not known at once.
    pub(crate) fn has_sent(&self, connection: u32) -> bool {
        let mut drive = self.drive.borrow_mut();
        drive
            .as_mut()
            .is_some_and(|drive| drive.has_sent(connection))
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

    fn apply(&self, length: usize, external: Option<External<'_>>) -> Result<()> {
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
        let length = self.script.take_commands();
        if length > 0
            && let Err(error) = self.apply(length, None)
        {
            self.script.report(error);
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
        if self.script.is_dispatching() {
            return;
        }
        self.script.count_wake();
        let mut busy = true;
        // Of a read whose events fall into two slabs: JavaScript knows between which of them ticks run.
        let mut scope = None;
        for turn in 1..=LONGEST_WAKE_TURNS {
            let Some((start, end, outcome)) = self.turn() else {
                return;
            };
            let goes_on = matches!(outcome, TurnOutcome::NeedSpace(_)) && turn < LONGEST_WAKE_TURNS;
            if goes_on && scope.is_none() && end > start {
                scope = self.script.open_scope();
            }
            if end > start {
                self.script.dispatch(start, end);
                self.apply_pending();
            }
            match outcome {
                TurnOutcome::NeedSpace(bytes) => self.script.request_slab(bytes),
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
            if !goes_on {
                drop(scope.take());
                if turn >= TURNS_PER_WAKE {
                    break;
                }
            }
        }
        drop(scope);
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
}

impl LoopEvents for Instance {
    fn on_readable(&self) {
        self.run();
    }

    fn on_prepare(&self) {
        if self.script.has_commands() {
            self.apply_pending();
            self.settle();
        }
    }

    fn on_idle(&self) {
        self.run();
    }

    fn on_closed(&self) {
        drop(self.watched.borrow_mut().take());
        let hook = self.cleanup.replace(std::ptr::null_mut());
        if !hook.is_null() {
            // SAFETY: the hook was added in `start` and is removed once.
            unsafe { sys::napi_remove_async_cleanup_hook(hook) };
        }
        drop(self.itself.borrow_mut().take());
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
