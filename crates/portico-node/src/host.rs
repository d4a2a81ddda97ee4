//! Registering at a host, and what must be there before one is started: `connectHost` and `openHostLog` of binding.ts.

use std::os::fd::IntoRawFd;
use std::path::Path;
use std::sync::Mutex;

use napi::bindgen_prelude::{AsyncTask, ClassInstance};
use napi::{Env, Result, Task};
use napi_derive::napi;
use portico_application::{AttachedEngine, RegisterError, Registration, find_and_register};
use portico_locate::{ConnectError, Location, folder};
use portico_sys::files::{self, Access};

use crate::attached::Attached;
use crate::drive::Drive;
use crate::engine::{Engine, start};
use crate::errors::failure;
use crate::options::EngineOptions;

/// A registration on its way, on a thread of libuv's pool.
pub struct Connecting {
    request: String,
}

#[napi]
impl Task for Connecting {
    type Output = (Location, std::result::Result<Registration, RegisterError>);
    type JsValue = HostConnection;

    fn compute(&mut self) -> Result<Self::Output> {
        Ok(find_and_register(&self.request))
    }

    fn resolve(&mut self, _env: Env, (location, output): Self::Output) -> Result<HostConnection> {
        let mut connection = HostConnection {
            socket: location.path.display().to_string(),
            may_be_started: false,
            answer: String::new(),
            failure: String::new(),
            failure_code: String::new(),
            registration: Mutex::new(None),
        };
        match output {
            Ok(registration) => {
                connection.answer.clone_from(&registration.answer);
                connection.registration = Mutex::new(Some(registration));
            }
            Err(error) => {
                connection.failure = error.to_string();
                connection.failure_code = error.code().to_owned();
                let absent = matches!(error, RegisterError::Connect(ConnectError::Absent { .. }));
                connection.may_be_started = absent && location.is_own();
            }
        }
        Ok(connection)
    }
}

/// What came of asking a host.
#[napi]
pub struct HostConnection {
    /// The control socket that this is about.
    #[napi(readonly)]
    pub socket: String,
    /// No host is running, and an application may start one there.
    #[napi(readonly)]
    pub may_be_started: bool,
    /// The host's answer: a line of JSON. Empty if there was none.
    #[napi(readonly)]
    pub answer: String,
    /// Why there is no answer.
    #[napi(readonly)]
    pub failure: String,
    /// The code of that failure.
    #[napi(readonly)]
    pub failure_code: String,
    registration: Mutex<Option<Registration>>,
}

/// Finds the host, sends it a line, and waits for its answer, in the background.
#[napi]
pub fn connect_host(request: String) -> AsyncTask<Connecting> {
    AsyncTask::new(Connecting { request })
}

/// Bytes of a log beyond which it begins anew.
const MAX_LOG_BYTES: u64 = 1 << 20;

/// Makes the folder of a control socket, and opens the log of the host that is to be started there. The caller closes
/// the descriptor.
///
/// # Errors
/// Others could have put something into the folder.
#[napi]
pub fn open_host_log(socket: String, log: String) -> Result<i32> {
    let folder = folder::of(Path::new(&socket));
    folder::make(folder, 0o700).map_err(|error| failure(error.to_string()))?;
    let unusable = |error: std::io::Error| failure(format!("{log} can't be used: {error}"));
    let file = files::open_own(Path::new(&log), Access::Append).map_err(unusable)?;
    if file.metadata().map_err(unusable)?.len() > MAX_LOG_BYTES {
        file.set_len(0).map_err(unusable)?;
    }
    Ok(std::os::fd::OwnedFd::from(file).into_raw_fd())
}

#[napi]
impl HostConnection {
    /// Whether the answer came with channels.
    #[napi(getter)]
    pub fn has_engine(&self) -> bool {
        self.registration.lock().is_ok_and(|registration| {
            registration
                .as_ref()
                .is_some_and(|it| it.channels.is_some())
        })
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
        let channels = self
            .lock()?
            .take()
            .and_then(|registration| registration.channels)
            .ok_or_else(gone)?;
        let engine = AttachedEngine::from(channels);
        start(env, Drive::Attached(Box::new(Attached(engine))), options)
    }

    fn lock(&self) -> Result<std::sync::MutexGuard<'_, Option<Registration>>> {
        self.registration.lock().map_err(|_| gone())
    }
}

fn gone() -> napi::Error {
    failure("this registration has been taken already")
}
