//! Results of client certificate verification, under OpenSSL's numbers and names, which Node shows its users.

use std::fmt;

macro_rules! verify_errors {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal, $text:literal;)*) => {
        /// Why a client's certificate was not accepted. The numbers are OpenSSL's (`X509_V_ERR_*`), except for
        /// [`VerifyError::NoCertificate`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(u32)]
        pub enum VerifyError {
            /// Verified, or no certificate was asked for.
            #[default]
            Ok = 0,
            $($(#[$doc])* $variant = $number,)*
        }

        impl VerifyError {
            /// All results, for the generated copies in other languages.
            pub const ALL: &[Self] = &[Self::Ok, $(Self::$variant),*];

            /// The name that Node gives as `authorizationError` and as the error's `code`; `OK` for none.
            #[must_use]
            pub fn openssl_name(self) -> &'static str {
                match self {
                    Self::Ok => "OK",
                    $(Self::$variant => $name,)*
                }
            }

            /// OpenSSL's words, which Node gives as the error's `message`.
            #[must_use]
            pub fn message(self) -> &'static str {
                match self {
                    Self::Ok => "ok",
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

verify_errors! {
    /// The issuer is neither sent nor trusted, and the chain is longer than the leaf.
    UnableToGetIssuerCert = 2, "UNABLE_TO_GET_ISSUER_CERT", "unable to get issuer certificate";
    /// A signature in the chain is wrong.
    CertSignatureFailure = 7, "CERT_SIGNATURE_FAILURE", "certificate signature failure";
    /// A certificate's time has not come.
    CertNotYetValid = 9, "CERT_NOT_YET_VALID", "certificate is not yet valid";
    /// A certificate's time is over.
    CertHasExpired = 10, "CERT_HAS_EXPIRED", "certificate has expired";
    /// The revocation list's time has not come.
    CrlNotYetValid = 11, "CRL_NOT_YET_VALID", "CRL is not yet valid";
    /// The revocation list's time is over.
    CrlHasExpired = 12, "CRL_HAS_EXPIRED", "CRL has expired";
    /// The leaf signed itself and is not trusted.
    DepthZeroSelfSignedCert = 18, "DEPTH_ZERO_SELF_SIGNED_CERT", "self-signed certificate";
    /// The chain ends in a self-signed certificate that is not trusted.
    SelfSignedCertInChain = 19, "SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate in certificate chain";
    /// The issuer is not known here.
    UnableToGetIssuerCertLocally = 20, "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unable to get local issuer certificate";
    /// Only the leaf was sent, and its issuer is not known here.
    UnableToVerifyLeafSignature = 21, "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unable to verify the first certificate";
    /// More certificates than a chain may have.
    CertChainTooLong = 22, "CERT_CHAIN_TOO_LONG", "certificate chain too long";
    /// A certificate is on its issuer's revocation list.
    CertRevoked = 23, "CERT_REVOKED", "certificate revoked";
    /// The chain is longer than one of its certificates allows.
    PathLengthExceeded = 25, "PATH_LENGTH_EXCEEDED", "path length constraint exceeded";
    /// The certificate is not for TLS clients, or an issuer may not issue certificates.
    InvalidPurpose = 26, "INVALID_PURPOSE", "unsuitable certificate purpose";
    /// Revocation lists are given, but none of the issuer.
    UnableToGetCrl = 3, "UNABLE_TO_GET_CRL", "unable to get certificate CRL";
    /// The revocation list's signature is wrong.
    CrlSignatureFailure = 8, "CRL_SIGNATURE_FAILURE", "CRL signature failure";
    /// A critical extension is not known here. (Node has no name for it.)
    UnhandledCriticalExtension = 34, "UNSPECIFIED", "unhandled critical extension";
    /// A name is outside of what an issuer may issue for. (Node has no name for it.)
    PermittedSubtreeViolation = 47, "UNSPECIFIED", "permitted subtree violation";
    /// The certificate can't be read, or fails in a way that has no number of its own.
    CertRejected = 28, "CERT_REJECTED", "certificate rejected";
    /// A certificate was asked for and none came. (Node gives `UNABLE_TO_GET_ISSUER_CERT`, number 2, for it.)
    NoCertificate = 0x1_0000, "UNABLE_TO_GET_ISSUER_CERT", "unable to get issuer certificate";
}

impl VerifyError {
    /// The number, for the record that carries it to the application.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }
}

impl fmt::Display for VerifyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.message())
    }
}
