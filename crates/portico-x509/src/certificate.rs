//! One certificate, as the library reads it.

use std::ffi::c_long;
use std::ptr::{self, NonNull};

use aws_lc_sys as lib;

use crate::library::{Allocated, clear_errors};

/// A parsed certificate. Cheap to clone: the library counts references.
#[derive(Debug)]
pub struct Certificate {
    x509: NonNull<lib::X509>,
}

// SAFETY: the library documents X509 objects as safe to share between threads as long as none changes them: its
// reference count is atomic and its cache of extensions is filled under a lock. Nothing here changes one.
unsafe impl Send for Certificate {}
// SAFETY: as above.
unsafe impl Sync for Certificate {}

/// A public key's kind, as far as rules ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Rsa { bits: u32 },
    EllipticCurve { bits: u32 },
    Ed25519,
    Other,
}

impl Certificate {
    /// Reads a certificate, DER; `None` if it is none, or if anything follows it.
    #[must_use]
    pub fn read(der: &[u8]) -> Option<Self> {
        let length = c_long::try_from(der.len()).ok()?;
        let mut at = der.as_ptr();
        // SAFETY: `at` points to `length` readable bytes, of which the library keeps copies; without an object to
        // fill it makes a new one, which is ours.
        let x509 = unsafe { lib::d2i_X509(ptr::null_mut(), &raw mut at, length) };
        clear_errors();
        let certificate = Self {
            x509: NonNull::new(x509)?,
        };
        (at == der.as_ptr_range().end).then_some(certificate)
    }

    /// Takes one more reference to a certificate that the library holds.
    ///
    /// # Safety
    /// `x509` must be null or a certificate that is alive.
    pub(crate) unsafe fn shared(x509: *mut lib::X509) -> Option<Self> {
        let x509 = NonNull::new(x509)?;
        // SAFETY: alive, as the caller promises; the reference taken is given back in `drop`.
        unsafe { lib::X509_up_ref(x509.as_ptr()) };
        Some(Self { x509 })
    }

    /// The object, which stays ours.
    pub(crate) fn as_ptr(&self) -> *mut lib::X509 {
        self.x509.as_ptr()
    }

    /// The certificate's bytes.
    #[must_use]
    pub fn der(&self) -> Vec<u8> {
        // SAFETY: the object is alive; `i2d_` with an out-pointer to null allocates what it writes.
        let der = Allocated::by(|out| unsafe { lib::i2d_X509(self.as_ptr(), out) });
        der.map_or_else(Vec::new, |der| der.to_vec())
    }

    /// The subject's bytes (a `Name`, RFC 5280, section 4.1.2.6).
    #[must_use]
    pub fn subject(&self) -> Vec<u8> {
        // SAFETY: the object is alive, and its subject lives as long. `i2d_` allocates, as above.
        let der = Allocated::by(|out| unsafe {
            lib::i2d_X509_NAME(lib::X509_get_subject_name(self.as_ptr()), out)
        });
        der.map_or_else(Vec::new, |der| der.to_vec())
    }

    /// The public key's bytes (a `SubjectPublicKeyInfo`, RFC 5280, section 4.1.2.7).
    #[must_use]
    pub fn public_key(&self) -> Vec<u8> {
        // SAFETY: the object is alive, and its key lives as long. `i2d_` allocates, as above.
        let der = Allocated::by(|out| unsafe {
            lib::i2d_X509_PUBKEY(lib::X509_get_X509_PUBKEY(self.as_ptr()), out)
        });
        der.map_or_else(Vec::new, |der| der.to_vec())
    }

    /// Whether names, key identifiers and key usage allow that this certificate issued the other one. No signature is
    /// checked.
    #[must_use]
    pub fn may_have_issued(&self, other: &Self) -> bool {
        self.issued(other) == lib::X509_V_OK
    }

    /// Whether both are the same bytes.
    pub(crate) fn same(&self, other: &Self) -> bool {
        // SAFETY: both objects are alive.
        unsafe { lib::X509_cmp(self.as_ptr(), other.as_ptr()) == 0 }
    }

    /// The library's number for what speaks against it: [`Self::may_have_issued`].
    pub(crate) fn issued(&self, other: &Self) -> i32 {
        // SAFETY: both objects are alive.
        let found = unsafe { lib::X509_check_issued(self.as_ptr(), other.as_ptr()) };
        clear_errors();
        found
    }

    /// Whether its own key made its signature.
    pub(crate) fn signed_itself(&self) -> bool {
        // SAFETY: the object is alive, and its key, if the library can read it, lives as long.
        let signed = unsafe {
            let key = lib::X509_get0_pubkey(self.as_ptr());
            !key.is_null() && lib::X509_verify(self.as_ptr(), key) == 1
        };
        clear_errors();
        signed
    }

    /// `EXFLAG_*`.
    pub(crate) fn flags(&self) -> u32 {
        // SAFETY: the object is alive.
        let flags = unsafe { lib::X509_get_extension_flags(self.as_ptr()) };
        clear_errors();
        flags
    }

    /// Whether all of these flags (`EXFLAG_*`) are set.
    pub(crate) fn has(&self, flag: i32) -> bool {
        self.flags() & flag.unsigned_abs() != 0
    }

    /// Whether its keyUsage, if there is one, allows it to sign certificates.
    pub(crate) fn key_signs_certificates(&self) -> bool {
        // SAFETY: the object is alive.
        let usage = unsafe { lib::X509_get_key_usage(self.as_ptr()) };
        usage & lib::X509v3_KU_KEY_CERT_SIGN.unsigned_abs() != 0
    }

    /// Its extKeyUsage (`XKU_*`); all bits if there is none.
    pub(crate) fn extended_key_usage(&self) -> u32 {
        // SAFETY: the object is alive.
        unsafe { lib::X509_get_extended_key_usage(self.as_ptr()) }
    }

    /// The path length of basicConstraints.
    pub(crate) fn path_length(&self) -> Option<usize> {
        // SAFETY: the object is alive.
        let length = unsafe { lib::X509_get_pathlen(self.as_ptr()) };
        usize::try_from(length).ok()
    }

    pub(crate) fn key(&self) -> Key {
        // SAFETY: the object is alive, and its key, if the library can read it, lives as long.
        let (kind, bits) = unsafe {
            let key = lib::X509_get0_pubkey(self.as_ptr());
            if key.is_null() {
                clear_errors();
                return Key::Other;
            }
            (lib::EVP_PKEY_id(key), lib::EVP_PKEY_bits(key))
        };
        let bits = u32::try_from(bits).unwrap_or_default();
        match kind {
            lib::EVP_PKEY_RSA => Key::Rsa { bits },
            lib::EVP_PKEY_EC => Key::EllipticCurve { bits },
            lib::EVP_PKEY_ED25519 => Key::Ed25519,
            _ => Key::Other,
        }
    }

    /// The number of the signature's algorithm (`NID_*`), and that of its digest with the bits of security that the
    /// library counts for it; `None` for what the library does not know.
    pub(crate) fn signature_digest(&self) -> Option<(i32, i32)> {
        let (mut digest, mut bits) = (0, 0);
        // SAFETY: the object is alive; what is not asked for may be null.
        let known = unsafe {
            lib::X509_get_signature_info(
                self.as_ptr(),
                &raw mut digest,
                ptr::null_mut(),
                &raw mut bits,
                ptr::null_mut(),
            )
        };
        clear_errors();
        (known == 1).then_some((digest, bits))
    }

    /// The number of the signature's algorithm (`NID_*`).
    pub(crate) fn signature_algorithm(&self) -> i32 {
        // SAFETY: the object is alive.
        unsafe { lib::X509_get_signature_nid(self.as_ptr()) }
    }

    /// The signature's `AlgorithmIdentifier`.
    pub(crate) fn signature_algorithm_der(&self) -> Vec<u8> {
        // SAFETY: the object is alive, and the algorithm within it lives as long. `i2d_` allocates, as above.
        let der = Allocated::by(|out| unsafe {
            lib::i2d_X509_ALGOR(lib::X509_get0_tbs_sigalg(self.as_ptr()), out)
        });
        der.map_or_else(Vec::new, |der| der.to_vec())
    }

    /// What speaks against its validity at a time: a number of the library's, or nothing.
    pub(crate) fn untimely(&self, now: i64) -> Option<i32> {
        // SAFETY: the object is alive, and its times live as long.
        let (before, after) = unsafe {
            (
                lib::X509_cmp_time_posix(lib::X509_get0_notBefore(self.as_ptr()), now),
                lib::X509_cmp_time_posix(lib::X509_get0_notAfter(self.as_ptr()), now),
            )
        };
        // 0 says that the field makes no sense.
        match (before, after) {
            (0, _) => Some(lib::X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD),
            (1.., _) => Some(lib::X509_V_ERR_CERT_NOT_YET_VALID),
            (_, 0) => Some(lib::X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD),
            (_, ..0) => Some(lib::X509_V_ERR_CERT_HAS_EXPIRED),
            _ => None,
        }
    }
}

impl Clone for Certificate {
    fn clone(&self) -> Self {
        // SAFETY: alive; the reference taken is given back in `drop`.
        unsafe { lib::X509_up_ref(self.as_ptr()) };
        Self { x509: self.x509 }
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        // SAFETY: one reference is ours.
        unsafe { lib::X509_free(self.as_ptr()) }
    }
}
