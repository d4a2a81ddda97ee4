//! One run of the library's `X509_verify_cert`.

use std::ffi::{c_int, c_ulong, c_void};
use std::ptr::NonNull;

use aws_lc_sys as lib;

use crate::Certificate;
use crate::finding::Finding;
use crate::library::clear_errors;

/// What the library made of a chain.
pub(crate) struct Path {
    /// From the leaf towards an anchor.
    pub(crate) certificates: Vec<Certificate>,
    /// What speaks against it, in the order in which it was found.
    pub(crate) findings: Vec<Finding>,
}

/// Builds and judges a path. `None` where the library has no memory.
///
/// # Safety
/// `store` must be alive.
pub(crate) unsafe fn judge(
    store: NonNull<lib::X509_STORE>,
    sent: &Sent<'_>,
    purpose: c_int,
    now: i64,
    more_flags: c_int,
) -> Option<Path> {
    let mut findings = Vec::<Finding>::new();
    let untrusted = Stack::of(sent.others)?;
    // Declared after all that it refers to, so dropped before them.
    let context = Context::new()?;
    let found: *mut Vec<Finding> = &raw mut findings;
    // SAFETY: the store is alive as the caller promises; leaf, stack and `findings` outlive the context, and nothing
    // else uses `findings` until `X509_verify_cert` has returned.
    let verified = unsafe {
        let context = context.0.as_ptr();
        let leaf = sent.leaf.as_ptr();
        if lib::X509_STORE_CTX_init(context, store.as_ptr(), leaf, untrusted.as_ptr()) != 1
            || lib::X509_STORE_CTX_set_purpose(context, purpose) != 1
            || lib::X509_STORE_CTX_set_ex_data(context, APP_DATA, found.cast::<c_void>()) != 1
        {
            return None;
        }
        lib::X509_STORE_CTX_set_flags(context, c_ulong::from(more_flags.unsigned_abs()));
        lib::X509_STORE_CTX_set_time_posix(context, 0, now);
        lib::X509_STORE_CTX_set_verify_cb(context, Some(note));
        lib::X509_verify_cert(context)
    };
    let certificates = context.chain();
    // A failure that the library does not ask about ends the run.
    if verified != 1 {
        findings.push(context.error());
    }
    clear_errors();
    Some(Path {
        certificates,
        findings,
    })
}

/// A chain as it was sent.
pub(crate) struct Sent<'a> {
    pub(crate) leaf: &'a Certificate,
    pub(crate) others: &'a [Certificate],
}

/// The place of a context for its user's own pointer, which the library reserves (`X509_STORE_CTX_set_app_data`).
const APP_DATA: c_int = 0;

/// Called with 0 for each finding, and with 1 for each certificate that is done. 1 says: go on.
unsafe extern "C" fn note(ok: c_int, context: *mut lib::X509_STORE_CTX) -> c_int {
    if ok == 0 {
        // SAFETY: called within `X509_verify_cert` only, with the context that `judge` prepared.
        unsafe {
            let finding = Finding::of_library(
                lib::X509_STORE_CTX_get_error(context),
                depth(lib::X509_STORE_CTX_get_error_depth(context)),
            );
            let found = lib::X509_STORE_CTX_get_ex_data(context, APP_DATA);
            if let Some(findings) = found.cast::<Vec<Finding>>().as_mut() {
                findings.push(finding);
            }
        }
    }
    1
}

fn depth(depth: c_int) -> usize {
    usize::try_from(depth).unwrap_or_default()
}

/// The state of a run.
struct Context(NonNull<lib::X509_STORE_CTX>);

impl Context {
    fn new() -> Option<Self> {
        // SAFETY: makes a new object, which is ours.
        NonNull::new(unsafe { lib::X509_STORE_CTX_new() }).map(Self)
    }

    /// The path as far as it was built.
    fn chain(&self) -> Vec<Certificate> {
        // SAFETY: the context is alive, and its chain, if there is one, is a stack of certificates that live as long.
        unsafe {
            let chain =
                lib::X509_STORE_CTX_get0_chain(self.0.as_ptr()).cast::<lib::OPENSSL_STACK>();
            (0..lib::OPENSSL_sk_num(chain))
                .filter_map(|at| {
                    Certificate::shared(lib::OPENSSL_sk_value(chain, at).cast::<lib::X509>())
                })
                .collect()
        }
    }

    fn error(&self) -> Finding {
        // SAFETY: the context is alive.
        let (error, at) = unsafe {
            (
                lib::X509_STORE_CTX_get_error(self.0.as_ptr()),
                lib::X509_STORE_CTX_get_error_depth(self.0.as_ptr()),
            )
        };
        Finding::of_library(error, depth(at))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { lib::X509_STORE_CTX_free(self.0.as_ptr()) }
    }
}

/// A stack of certificates that belong to others.
struct Stack(NonNull<lib::OPENSSL_STACK>);

impl Stack {
    fn of(certificates: &[Certificate]) -> Option<Self> {
        // SAFETY: makes a new object, which is ours.
        let stack = Self(NonNull::new(unsafe { lib::OPENSSL_sk_new_null() })?);
        for certificate in certificates {
            // SAFETY: the stack is alive; what it holds is not freed with it.
            let pushed = unsafe {
                lib::OPENSSL_sk_push(stack.0.as_ptr(), certificate.as_ptr().cast::<c_void>())
            };
            if pushed == 0 {
                return None;
            }
        }
        Some(stack)
    }

    fn as_ptr(&self) -> *mut lib::stack_st_X509 {
        self.0.as_ptr().cast::<lib::stack_st_X509>()
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: ours, freed once; frees the stack and not what it holds.
        unsafe { lib::OPENSSL_sk_free(self.0.as_ptr()) }
    }
}
