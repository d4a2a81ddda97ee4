//! The object that TypeScript sees: `Engine` of binding.ts.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;

use napi::bindgen_prelude::{ClassInstance, JavaScriptClassExt, JsValue, Uint8Array};
use napi::{Env, Result, sys};
use napi_derive::napi;
use portico_engine::{ListenerId, Shard, ThreadedEngine};

use crate::cache;
use crate::drive::{Drive, on};
use crate::errors::{failure, raw, throw_system_error};
use crate::instance::Instance;
use crate::options::{EngineCounters, EngineOptions, ListenerOptions, TlsContextOptions};
use crate::submission;

/// An engine of this environment.
#[napi]
pub struct Engine {
    instance: Rc<Instance>,
}

/// Makes an engine and hangs it into the event loop of the calling environment.
#[napi]
pub fn create_engine(env: &Env, options: EngineOptions) -> Result<ClassInstance<'_, Engine>> {
    let drive = match usize::try_from(options.threads).unwrap_or(0) {
        0 => {
            let mut shard =
                Shard::new().map_err(|error| failure(format!("creating the engine: {error}")))?;
            shard.expect_answers_after_turns();
            Drive::Inline(Box::new(shard))
        }
        threads => {
            Drive::Threads(Box::new(ThreadedEngine::new(threads).map_err(|error| {
                failure(format!("starting {threads} threads: {error}"))
            })?))
        }
    };
    start(env, drive, options)
}

/// Hangs a drive into the event loop.
pub(crate) fn start(
    env: &Env,
    drive: Drive,
    options: EngineOptions,
) -> Result<ClassInstance<'_, Engine>> {
    let EngineOptions {
        threads: _,
        state,
        commands,
        on_events,
        on_slab_needed,
    } = options;
    let on_events = on_events.borrow_back(env)?.raw();
    let on_slab_needed = on_slab_needed.borrow_back(env)?.raw();
    let instance = Instance::start(*env, drive, state, commands, on_events, on_slab_needed)?;
    let submit = submission::function(*env, &instance)?;
    let engine = Engine { instance }.into_instance(env)?;
    // SAFETY: both values belong to the open handle scope; the name ends with NUL.
    unsafe {
        raw(sys::napi_set_named_property(
            env.raw(),
            engine.raw(),
            c"submit".as_ptr(),
            submit,
        ))?;
    }
    Ok(engine)
}

#[napi]
impl Engine {
    /// Events are written here from now on.
    #[napi]
    pub fn set_slab(&self, slab: Uint8Array) {
        self.instance.set_slab(slab);
    }

    /// Listens on a copy of a bound socket.
    #[napi]
    pub fn listen(&self, env: Env, fd: i32, backlog: i32, options: ListenerOptions) -> Result<u32> {
        let listened = self.instance.with(|drive| {
            let options = options.convert();
            Ok(duplicate(fd).and_then(|fd| on!(drive.listen(fd, backlog, options))))
        })?;
        match listened {
            Ok(id) => {
                self.instance.set_listener_reference(id.0, true);
                Ok(id.0)
            }
            Err(error) => Err(throw_system_error(env, "listen", &error)),
        }
    }

    /// A listener that gets its connections by `adopt`.
    #[napi]
    pub fn create_listener(&self, options: ListenerOptions) -> Result<u32> {
        let id = self
            .instance
            .with(|drive| Ok(on!(drive.create_listener(options.convert()))))?;
        self.instance.set_listener_reference(id.0, true);
        Ok(id.0)
    }

    /// Takes a copy of a connected socket.
    #[napi]
    pub fn adopt(&self, env: Env, listener: u32, fd: i32) -> Result<()> {
        let adopted = self.instance.with(|drive| {
            let listener = ListenerId(listener);
            Ok(duplicate(fd).and_then(|fd| on!(drive.adopt(listener, fd))))
        })?;
        adopted.map_err(|error| throw_system_error(env, "accept", &error))
    }

    /// New settings for a listener and its connections.
    #[napi]
    pub fn update_listener(&self, listener: u32, options: ListenerOptions) -> Result<()> {
        self.instance.with(|drive| {
            let (listener, options) = (ListenerId(listener), options.convert());
            on!(drive.update_listener(listener, options));
            Ok(())
        })
    }

    /// Stops accepting.
    #[napi]
    pub fn close_listener(&self, listener: u32) -> Result<()> {
        self.instance.set_listener_reference(listener, false);
        self.instance.with(|drive| {
            let listener = ListenerId(listener);
            on!(drive.close_listener(listener));
            Ok(())
        })
    }

    /// Open connections of a listener.
    #[napi]
    pub fn connection_count(&self, listener: u32) -> Result<u32> {
        self.instance.with(|drive| {
            let listener = ListenerId(listener);
            let count = on!(drive.connection_count(listener));
            Ok(u32::try_from(count).unwrap_or(u32::MAX))
        })
    }

    /// Bytes that a connection has read and that the kernel has taken of it; empty if it has gone.
    #[napi]
    pub fn connection_traffic(&self, connection: u32) -> Result<Vec<f64>> {
        self.instance.with(|drive| {
            let traffic = on!(drive.connection_traffic(connection));
            #[expect(
                clippy::cast_precision_loss,
                reason = "no connection carries 2^53 bytes"
            )]
            let numbers = traffic.map_or_else(Vec::new, |(read, written)| {
                vec![read as f64, written as f64]
            });
            Ok(numbers)
        })
    }

    /// Makes a TLS context; its number is used by listeners, `SERVER_NAME` and `add_server_name`.
    #[napi]
    pub fn create_tls_context(&self, options: TlsContextOptions) -> Result<u32> {
        let context = options.build()?;
        self.instance
            .with(|drive| Ok(on!(drive.add_tls_context(context))))
    }

    /// Forgets a TLS context; connections that use it go on.
    #[napi]
    pub fn release_tls_context(&self, context: u32) -> Result<()> {
        self.instance.with(|drive| {
            on!(drive.release_tls_context(context));
            Ok(())
        })
    }

    /// Binds a context to a pattern of SNI names.
    #[napi]
    pub fn add_server_name(&self, listener: u32, pattern: String, context: u32) -> Result<()> {
        self.instance.with(|drive| {
            on!(drive.add_server_name(ListenerId(listener), &pattern, context));
            Ok(())
        })
    }

    /// Counts (or no longer counts) a listener among what keeps the event loop alive.
    #[napi]
    pub fn set_ref(&self, listener: u32, referenced: bool) {
        self.instance.set_listener_reference(listener, referenced);
    }

    /// The same for a connection.
    #[napi]
    pub fn set_connection_ref(&self, connection: u32, referenced: bool) -> Result<()> {
        self.instance.with(|drive| {
            on!(drive.set_connection_ref(connection, referenced));
            Ok(())
        })
    }

    /// Counters since the start.
    #[napi]
    pub fn counters(&self) -> Result<EngineCounters> {
        self.instance.with(|drive| {
            let counters = on!(drive.counters());
            Ok(EngineCounters::from_engine(&counters))
        })
    }

    /// Keeps answers from now on: those that ask for it, and with a lifetime (milliseconds) all others too; with `standard`
    /// all as their Cache-Control says. Once for an engine.
    #[napi]
    pub fn use_cache(&self, lifetime: Option<f64>, standard: Option<bool>) -> Result<()> {
        let site = cache::site(lifetime, standard.unwrap_or(false));
        let used = self
            .instance
            .with(|drive| Ok(drive.use_cache(cache::cache(), site)))?;
        used.map_err(|error| failure(format!("making the cache: {error}")))
    }

    /// Ends everything.
    #[napi]
    pub fn destroy(&self) {
        self.instance.destroy();
    }
}

/// A copy of a descriptor of the application, closed on exec, so that both sides close their own.
fn duplicate(fd: i32) -> std::io::Result<OwnedFd> {
    if fd < 0 {
        return Err(std::io::Error::from_raw_os_error(9));
    }
    // SAFETY: the descriptor belongs to a handle that JavaScript holds during this call; a number that is not open
    // makes the system call fail with EBADF.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.as_fd().try_clone_to_owned()
}
