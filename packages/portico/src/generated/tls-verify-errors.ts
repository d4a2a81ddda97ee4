// Generated from crates/portico-tls/src/verify_error.rs by `make generate`. Do not edit.

/** OpenSSL's names of the results of client certificate verification, by number. */
export const VERIFY_ERRORS: ReadonlyMap<number, string> = new Map([
  [2, 'UNABLE_TO_GET_ISSUER_CERT'],
  [7, 'CERT_SIGNATURE_FAILURE'],
  [9, 'CERT_NOT_YET_VALID'],
  [10, 'CERT_HAS_EXPIRED'],
  [11, 'CRL_NOT_YET_VALID'],
  [12, 'CRL_HAS_EXPIRED'],
  [18, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  [19, 'SELF_SIGNED_CERT_IN_CHAIN'],
  [20, 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY'],
  [21, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  [22, 'CERT_CHAIN_TOO_LONG'],
  [23, 'CERT_REVOKED'],
  [25, 'PATH_LENGTH_EXCEEDED'],
  [26, 'INVALID_PURPOSE'],
  [3, 'UNABLE_TO_GET_CRL'],
  [8, 'CRL_SIGNATURE_FAILURE'],
  [34, 'UNSPECIFIED'],
  [47, 'UNSPECIFIED'],
  [28, 'CERT_REJECTED'],
  [65536, 'UNABLE_TO_GET_ISSUER_CERT'],
]);
