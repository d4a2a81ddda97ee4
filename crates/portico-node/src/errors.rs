//! Errors that cross into JavaScript.

use napi::{Env, Error, JsValue, Result, Status, sys};

/// An error with a text and no further data.
pub(crate) fn failure(text: impl Into<String>) -> Error {
    Error::new(Status::GenericFailure, text.into())
}

/// Turns a Node-API status into a result.
pub(crate) fn raw(status: sys::napi_status) -> Result<()> {
    if status == sys::Status::napi_ok {
        Ok(())
    } else {
        Err(Error::new(Status::from(status), String::new()))
    }
}

/// Throws the error that Node's users expect of a failed system call: `code`, `errno` (negative) and `syscall`.
/// What it returns tells napi that an exception is pending.
pub(crate) fn throw_system_error(env: Env, call: &str, error: &std::io::Error) -> Error {
    let errno = error.raw_os_error().unwrap_or(0);
    let code = uv_name(errno);
    let thrown = (|| -> Result<()> {
        let text = env.create_string(format!("{call} {code}"))?;
        let mut value = std::ptr::null_mut();
        // SAFETY: valid out pointer and values of the open handle scope.
        unsafe {
            raw(sys::napi_create_error(
                env.raw(),
                std::ptr::null_mut(),
                text.raw(),
                &mut value,
            ))?;
        }
        set(env, value, c"code", env.create_string(&code)?.raw())?;
        set(env, value, c"syscall", env.create_string(call)?.raw())?;
        let mut number = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            raw(sys::napi_create_int32(env.raw(), -errno, &mut number))?;
        }
        set(env, value, c"errno", number)?;
        // SAFETY: `value` is an error object of the open handle scope.
        unsafe { raw(sys::napi_throw(env.raw(), value)) }
    })();
    match thrown {
        Ok(()) => Error::new(Status::PendingException, code),
        Err(error) => error,
    }
}

fn set(
    env: Env,
    object: sys::napi_value,
    name: &std::ffi::CStr,
    value: sys::napi_value,
) -> Result<()> {
    // SAFETY: all values belong to the open handle scope; the name ends with NUL.
    unsafe {
        raw(sys::napi_set_named_property(
            env.raw(),
            object,
            name.as_ptr(),
            value,
        ))
    }
}

/// libuv's name of an errno ("EADDRINUSE").
fn uv_name(errno: i32) -> String {
    crate::uv::error_name(-errno)
}
