//! Bodies that stay in JavaScript's memory until they have been sent.

use napi::sys;
use portico_channel::LentBytes;
use std::rc::Rc;

/// The bytes of a `Uint8Array`, which is kept from being collected.
///
/// A reference keeps the array and its `ArrayBuffer` alive, but not the memory in its place: JavaScript may transfer or
/// resize the buffer, or grow the WebAssembly memory that it is a view of. So neither address nor length is kept. They
/// are asked for each time bytes are needed, on the thread of the environment, and used before JavaScript runs again.
/// What has been transferred shows as length 0, and its connection ends (`LentBytes::bytes` returns `None` or less than
/// there was).
///
/// Everything here happens on that thread: the inline drive sends on it, and the other drives copy on it. The type is
/// not `Send`.
#[derive(Debug)]
pub(crate) struct JsBytes {
    env: sys::napi_env,
    reference: sys::napi_ref,
}

impl JsBytes {
    /// Keeps an array; `None` if Node-API refuses.
    ///
    /// # Safety
    /// On the environment's thread; `array` is a `Uint8Array` of an open handle scope. The environment must not end
    /// before the result is dropped: the engine that gets it ends in the environment's cleanup hook.
    pub(crate) unsafe fn keep(
        env: sys::napi_env,
        array: sys::napi_value,
    ) -> Option<Rc<dyn LentBytes>> {
        let mut reference = std::ptr::null_mut();
        // SAFETY: valid out pointer; the value as the caller promises.
        let status = unsafe { sys::napi_create_reference(env, array, 1, &mut reference) };
        (status == sys::Status::napi_ok)
            .then(|| Rc::new(Self { env, reference }) as Rc<dyn LentBytes>)
    }
}

impl LentBytes for JsBytes {
    fn bytes(&self) -> Option<&[u8]> {
        let mut scope = std::ptr::null_mut();
        let mut array = std::ptr::null_mut();
        // SAFETY: on the environment's thread (the type can't leave it) with valid out pointers; the reference is
        // strong and deleted only in `drop`. The memory outlives the scope, since it is the reference that keeps the
        // array alive and no JavaScript runs before the engine returns, so nothing detaches or resizes the buffer while
        // the slice is used. Sending only reads it, as JavaScript itself may.
        unsafe {
            if sys::napi_open_handle_scope(self.env, &mut scope) != sys::Status::napi_ok {
                return None;
            }
            let status = sys::napi_get_reference_value(self.env, self.reference, &mut array);
            let bytes = if status == sys::Status::napi_ok && !array.is_null() {
                memory_of(self.env, array)
            } else {
                None
            };
            sys::napi_close_handle_scope(self.env, scope);
            bytes
        }
    }
}

impl Drop for JsBytes {
    fn drop(&mut self) {
        // SAFETY: the reference was made by `keep` and is deleted once, on the environment's thread, before the
        // environment ends.
        unsafe { sys::napi_delete_reference(self.env, self.reference) };
    }
}

/// The memory of a `Uint8Array`; `None` if the value is none.
///
/// # Safety
/// On the environment's thread; the value belongs to an open handle scope. Nothing may move or free the memory while it
/// is used: no JavaScript may run.
pub(crate) unsafe fn memory_of<'a>(env: sys::napi_env, array: sys::napi_value) -> Option<&'a [u8]> {
    let mut element = 0;
    let mut length = 0;
    let mut memory = std::ptr::null_mut();
    // SAFETY: as the caller promises; out pointers that are not wanted may be null.
    let status = unsafe {
        sys::napi_get_typedarray_info(
            env,
            array,
            &mut element,
            &mut length,
            &mut memory,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    if status != sys::Status::napi_ok || element != sys::TypedarrayType::uint8_array {
        return None;
    }
    if length == 0 || memory.is_null() {
        return Some(&[]);
    }
    // SAFETY: Node-API gives the address and the length of the array's memory.
    Some(unsafe { std::slice::from_raw_parts(memory.cast::<u8>(), length) })
}
