//! `Engine.submit`, made by Node-API itself.
//!
//! It is the one method on the way of a request: each large body is a call. What napi-rs does around a method (class
//! checks, a registry of borrows behind locks) took 5 % of the CPU of a 64 KB answer.

use std::ffi::c_void;
use std::rc::Rc;

use napi::{Env, Result, sys};

use portico_channel::External;

use crate::errors::{failure, raw};
use crate::instance::Instance;
use crate::lent::{JsBytes, memory_of};

/// The function `submit(length, external, commands, connection)` of an instance. It keeps the instance alive.
pub(crate) fn function(env: Env, instance: &Rc<Instance>) -> Result<sys::napi_value> {
    let data = Rc::into_raw(Rc::clone(instance))
        .cast_mut()
        .cast::<c_void>();
    let mut function = std::ptr::null_mut();
    // SAFETY: valid out pointer; `data` is a counted reference, given up by `release` when the function is collected,
    // or below if it never comes to be.
    unsafe {
        let made = raw(sys::napi_create_function(
            env.raw(),
            c"submit".as_ptr(),
            6,
            Some(submit),
            data,
            &mut function,
        ))
        .and_then(|()| {
            raw(sys::napi_add_finalizer(
                env.raw(),
                function,
                data,
                Some(release),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            ))
        });
        if let Err(error) = made {
            drop(Rc::from_raw(data.cast::<Instance>()));
            return Err(error);
        }
    }
    Ok(function)
}

unsafe extern "C" fn release(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the reference that `function` counted; finalizers run once, on the environment's thread.
    drop(unsafe { Rc::from_raw(data.cast::<Instance>()) });
}

unsafe extern "C" fn submit(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: called by Node-API with a function of `function`, whose data lives as long as it does.
    let result = unsafe { submit_arguments(env, info) };
    let mut answer = std::ptr::null_mut();
    match result {
        // SAFETY: valid out pointer, on the environment's thread.
        Ok(Some(has_sent)) => unsafe {
            sys::napi_get_boolean(env, has_sent, &mut answer);
        },
        Ok(None) => {}
        // SAFETY: on the environment's thread, with no exception pending.
        Err(error) => unsafe { napi::JsError::from(error).throw_into(env) },
    }
    answer
}

/// Submits. Returns whether the kernel has taken all output of the connection that the caller names, if it names one.
///
/// # Safety
/// Within a call of the function that `function` made.
unsafe fn submit_arguments(
    env: sys::napi_env,
    info: sys::napi_callback_info,
) -> Result<Option<bool>> {
    let mut count = 4;
    let mut arguments = [std::ptr::null_mut(); 4];
    let mut data = std::ptr::null_mut();
    let mut length = 0;
    // SAFETY: valid out pointers; four places for four arguments, undefined where there are fewer.
    unsafe {
        raw(sys::napi_get_cb_info(
            env,
            info,
            &mut count,
            arguments.as_mut_ptr(),
            std::ptr::null_mut(),
            &mut data,
        ))?;
        raw(sys::napi_get_value_uint32(env, arguments[0], &mut length))
            .map_err(|_| failure("submit: the length is no number"))?;
    }
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    // SAFETY: the data of the function, see `function`.
    let instance = unsafe { &*data.cast::<Instance>() };
    // SAFETY: the bytes belong to JavaScript, which does not run before this returns, and `submit` runs none of it.
    let (external, commands) =
        unsafe { (bytes_of(env, arguments[1])?, bytes_of(env, arguments[2])?) };
    // SAFETY: `arguments[1]` is a `Uint8Array`, or there are no bytes to keep.
    let keep = || unsafe { JsBytes::keep(env, arguments[1]) };
    let external = external.map(|bytes| External::lent(bytes, &keep));
    match commands {
        None => instance.submit(length, external)?,
        Some(commands) => {
            let commands = commands
                .get(..length)
                .ok_or_else(|| failure("submit: more bytes than there are commands"))?;
            instance.submit_from(commands, external)?;
        }
    }
    let mut connection = 0;
    // SAFETY: valid out pointer, value of the open scope. Undefined is no number.
    let status = unsafe { sys::napi_get_value_uint32(env, arguments[3], &mut connection) };
    Ok((status == sys::Status::napi_ok).then(|| instance.has_sent(connection)))
}

/// The memory of a `Uint8Array`; `None` of undefined.
///
/// # Safety
/// The value must belong to the open handle scope, and nothing may move or free the memory while it is used.
unsafe fn bytes_of<'a>(env: sys::napi_env, value: sys::napi_value) -> Result<Option<&'a [u8]>> {
    let mut kind = 0;
    // SAFETY: valid out pointer, value of the open scope.
    unsafe { raw(sys::napi_typeof(env, value, &mut kind))? };
    if kind == sys::ValueType::napi_undefined {
        return Ok(None);
    }
    // SAFETY: as the caller promises.
    unsafe { memory_of(env, value) }
        .map(Some)
        .ok_or_else(|| failure("submit: the body is no Uint8Array"))
}
