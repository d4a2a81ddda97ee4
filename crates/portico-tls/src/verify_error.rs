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

            /// The result with OpenSSL's number; [`Self::Unspecified`] for one that is not in the table.
            pub(crate) fn of_openssl(number: u32) -> Self {
                match number {
                    $($number => Self::$variant,)*
                    _ => Self::Unspecified,
                }
            }
        }
    };
}

verify_errors! {
    /// What has no number of its own. (Node has no name for it, as for all that are `UNSPECIFIED` here.)
    Unspecified = 1, "UNSPECIFIED", "unspecified certificate verification error";
    /// The issuer is neither sent nor trusted, and the chain is longer than the leaf.
    UnableToGetIssuerCert = 2, "UNABLE_TO_GET_ISSUER_CERT", "unable to get issuer certificate";
    /// Revocation lists are given, but none of the issuer.
    UnableToGetCrl = 3, "UNABLE_TO_GET_CRL", "unable to get certificate CRL";
    /// An issuer's key can't be read, so that it verifies no signature.
    UnableToDecodeIssuerPublicKey = 6, "UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY", "unable to decode issuer public key";
    /// A signature in the chain is wrong.
    CertSignatureFailure = 7, "CERT_SIGNATURE_FAILURE", "certificate signature failure";
    /// The revocation list's signature is wrong.
    CrlSignatureFailure = 8, "CRL_SIGNATURE_FAILURE", "CRL signature failure";
    /// A certificate's time has not come.
    CertNotYetValid = 9, "CERT_NOT_YET_VALID", "certificate is not yet valid";
    /// A certificate's time is over.
    CertHasExpired = 10, "CERT_HAS_EXPIRED", "certificate has expired";
    /// The revocation list's time has not come.
    CrlNotYetValid = 11, "CRL_NOT_YET_VALID", "CRL is not yet valid";
    /// The revocation list's time is over.
    CrlHasExpired = 12, "CRL_HAS_EXPIRED", "CRL has expired";
    /// A certificate's first time makes no sense.
    ErrorInCertNotBeforeField = 13, "ERROR_IN_CERT_NOT_BEFORE_FIELD", "format error in certificate's notBefore field";
    /// A certificate's last time makes no sense.
    ErrorInCertNotAfterField = 14, "ERROR_IN_CERT_NOT_AFTER_FIELD", "format error in certificate's notAfter field";
    /// A revocation list's first time makes no sense.
    ErrorInCrlLastUpdateField = 15, "ERROR_IN_CRL_LAST_UPDATE_FIELD", "format error in CRL's lastUpdate field";
    /// A revocation list's last time makes no sense.
    ErrorInCrlNextUpdateField = 16, "ERROR_IN_CRL_NEXT_UPDATE_FIELD", "format error in CRL's nextUpdate field";
    /// The library had no memory.
    OutOfMemory = 17, "OUT_OF_MEM", "out of memory";
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
    /// The certificate can't be read, or is beyond a bound of this crate.
    CertRejected = 28, "CERT_REJECTED", "certificate rejected";
    /// A revocation list applies, but its issuer is not in the chain.
    UnableToGetCrlIssuer = 33, "UNSPECIFIED", "unable to get CRL issuer certificate";
    /// A critical extension is not known here.
    UnhandledCriticalExtension = 34, "UNSPECIFIED", "unhandled critical extension";
    /// The issuer may not sign revocation lists.
    KeyusageNoCrlSign = 35, "UNSPECIFIED", "key usage does not include CRL signing";
    /// A critical extension of the revocation list is not known here.
    UnhandledCriticalCrlExtension = 36, "UNSPECIFIED", "unhandled critical CRL extension";
    /// An extension can't be read, or contradicts another one.
    InvalidExtension = 41, "UNSPECIFIED", "invalid or inconsistent certificate extension";
    /// The issuer's revocation list is about other certificates.
    DifferentCrlScope = 44, "UNSPECIFIED", "different CRL scope";
    /// A name is outside of what an issuer may issue for.
    PermittedSubtreeViolation = 47, "UNSPECIFIED", "permitted subtree violation";
    /// A name is within what an issuer may not issue for.
    ExcludedSubtreeViolation = 48, "UNSPECIFIED", "excluded subtree violation";
    /// A name constraint has a minimum or maximum.
    SubtreeMinMax = 49, "UNSPECIFIED", "name constraints minimum and maximum not supported";
    /// A name constraint is of a kind that is not known here.
    UnsupportedConstraintType = 51, "UNSPECIFIED", "unsupported name constraint type";
    /// A name constraint makes no sense.
    UnsupportedConstraintSyntax = 52, "UNSPECIFIED", "unsupported or invalid name constraint syntax";
    /// A name that is subject to constraints makes no sense.
    UnsupportedNameSyntax = 53, "UNSPECIFIED", "unsupported or invalid name syntax";
    /// The leaf's key is too short, or of a kind that is not known here.
    EeKeyTooSmall = 66, "UNSPECIFIED", "EE certificate key too weak";
    /// An issuer's key is too short, or of a kind that is not known here.
    CaKeyTooSmall = 67, "UNSPECIFIED", "CA certificate key too weak";
    /// A signature's digest is too weak (SHA-1).
    CaMdTooWeak = 68, "UNSPECIFIED", "CA signature digest algorithm too weak";
    /// The library was called wrongly.
    InvalidCall = 69, "UNSPECIFIED", "invalid certificate verification context";
    /// The library could not look an issuer up.
    StoreLookup = 70, "UNSPECIFIED", "issuer certificate lookup error";
    /// An issuer is not marked as one.
    InvalidCa = 79, "INVALID_CA", "invalid CA certificate";
    /// A key on a curve that is spelt out instead of named.
    EcKeyExplicitParams = 94, "UNSPECIFIED", "certificate public key has explicit ECC parameters";
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
