//! Registering at a host: `connectHost` of binding.ts.

use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::Mutex;

use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi::{Env, Result, Task};
use napi_derive::napi;
use portico_application::{RegisterError, Registration, register};

use crate::attached::Attached;
use crate::drive::Drive;
use crate::engine::{Engine, start};
use crate::errors::failure;
use crate::options::EngineOptions;

/// A registration on its way, on a thread of libuv's pool.
pub struct Connecting {
    socket: PathBuf,
    request: String,
}

#[napi]
impl Task for Connecting {
    type Output = std::result::Result<Registration, RegisterError>;
    type JsValue = HostConnection;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(register(&self.socket, &self.request))
    }

    fn resolve(&mut self, _env: Env, output: Self::Output) -> Result<HostConnection> {
        Ok(match output {
            Ok(registration) => HostConnection {
                answer: registration.answer.clone(),
                failure: String::new(),
                is_absent: false,
                registration: Mutex::new(Some(registration)),
            },
            Err(error) => HostConnection {
                answer: String::new(),
                failure: error.to_string(),
                is_absent: matches!(error, RegisterError::NoHost(_)),
                registration: Mutex::new(None),
            },
        })
    }
}

/// What came of asking a host.
#[napi]
pub struct HostConnection {
    /// The host's answer: a line of JSON. Empty if there was none.
    #[napi(readonly)]
    pub answer: String,
    /// Why there is no answer.
    #[napi(readonly)]
    pub failure: String,
    /// Nobody listens on the socket.
    #[napi(readonly)]
    pub is_absent: bool,
    registration: Mutex<Option<Registration>>,
}

/// Sends a line to the host that listens on a Unix socket, and waits for its answer in the background.
#[napi]
pub fn connect_host(socket: String, request: String) -> AsyncTask<Connecting> {
    AsyncTask::new(Connecting {
        socket: PathBuf::from(socket),
        request,
    })
}

#[napi]
impl HostConnection {
    /// Whether the answer came with channels.
    #[napi(getter)]
    pub fn has_engine(&self) -> bool {
        self.registration
            .lock()
            .is_ok_and(|registration| registration.as_ref().is_some_and(|it| it.engine.is_some()))
    }

    /// A copy of the control connection's descriptor, for the caller to close. Before `create_engine`, which leaves
    /// only this copy: the registration lasts as long as it is open.
    #[napi]
    pub fn take_control(&self) -> Result<i32> {
        let mut registration = self.lock()?;
        let registration = registration.as_mut().ok_or_else(gone)?;
        let control = registration
            .control
            .try_clone()
            .map_err(|error| failure(format!("copying the control connection: {error}")))?;
        Ok(control.into_raw_fd())
    }

    /// Gives the registration up.
    #[napi]
    pub fn discard(&self) -> Result<()> {
        drop(self.lock()?.take());
        Ok(())
    }

    /// Makes an engine of the channels. Once.
    #[napi]
    pub fn create_engine<'env>(
        &self,
        env: &'env Env,
        options: EngineOptions,
    ) -> Result<ClassInstance<'env, Engine>> {
        let engine = self
            .lock()?
            .take()
            .and_then(|registration| registration.engine)
            .ok_or_else(gone)?;
        start(env, Drive::Attached(Box::new(Attached(engine))), options)
    }

    fn lock(&self) -> Result<std::sync::MutexGuard<'_, Option<Registration>>> {
        self.registration.lock().map_err(|_| gone())
    }
}

fn gone() -> napi::Error {
    failure("this registration has been taken already")
}
