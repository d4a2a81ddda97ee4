//! Verdicts on client certificates. Each row was put to Node 20 as well, with the result given here
//! (`socket.authorizationError` of a server with `requestCert`).
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{
    BOTH, Issued, Pair, TLS12, TLS13, ca_params, client_config, client_params, connect, ec_key,
    issue, names, options, params, self_signed, server,
};
use portico_tls::{ContextOptions, Identity, TlsError, VerifyError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, date_time_ymd};
use rustls::client::ResolvesClientCert;

/// A root, an issuer under it, and a stranger.
struct World {
    server: Issued,
    root: Issued,
    inter: Issued,
    stranger: Issued,
}

fn world() -> World {
    let root = self_signed(ca_params("root"), ec_key());
    let inter = issue(ca_params("inter"), ec_key(), &root);
    World {
        server: server(),
        inter,
        root,
        stranger: self_signed(ca_params("stranger"), ec_key()),
    }
}

impl World {
    fn options(&self, ca: &[&Issued], crl: &[Vec<u8>]) -> ContextOptions {
        ContextOptions {
            ca: ca.iter().map(|issued| issued.der.clone()).collect(),
            crl: crl.to_vec(),
            request_cert: true,
            reject_unauthorized: false,
            ..options(&self.server)
        }
    }

    /// The verdict, in both versions of TLS, first and after resumption.
    fn verdict(&self, ca: &[&Issued], identity: Option<&Identity>) -> VerifyError {
        self.verdict_with(&self.options(ca, &[]), identity)
    }

    fn verdict_with(&self, options: &ContextOptions, identity: Option<&Identity>) -> VerifyError {
        let names = names(options);
        let verdicts = BOTH.map(|versions| {
            let config = Arc::new(client_config(versions, identity.cloned()));
            [false, true].map(|resumed| {
                let mut pair = connect(&config, &names).unwrap();
                pair.answer(b"tickets");
                let facts = pair.server.session_info().unwrap();
                assert_eq!(facts.resumed, resumed);
                assert!(facts.certificate_requested);
                let sent = identity.map_or(&[][..], |identity| &identity.chain);
                assert_eq!(facts.peer_certificates, sent);
                facts.verify_error
            })
        });
        assert!(
            verdicts
                .iter()
                .flatten()
                .all(|verdict| *verdict == verdicts[0][0])
        );
        verdicts[0][0]
    }
}

fn dated(mut params: CertificateParams, from: i32, to: i32) -> CertificateParams {
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(to, 1, 1);
    params
}

fn limited(mut params: CertificateParams, most: u8) -> CertificateParams {
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(most));
    params
}

#[test]
fn the_path_decides_as_with_node() {
    use VerifyError as E;
    let w = world();
    let good = issue(client_params("good"), ec_key(), &w.root);
    let via = issue(client_params("via"), ec_key(), &w.inter);
    let unknown = issue(client_params("unknown"), ec_key(), &w.stranger);
    let other_inter = issue(ca_params("other inter"), ec_key(), &w.stranger);
    let via_other = issue(client_params("via other"), ec_key(), &other_inter);
    let own = self_signed(params("own"), ec_key());
    let fake = issue(client_params("fake"), ec_key(), &good);
    let root = &[&w.root][..];
    let rows: [(&str, &[&Issued], Option<Identity>, E); 16] = [
        ("no certificate", root, None, E::NoCertificate),
        ("known issuer", root, Some(good.identity()), E::Ok),
        (
            "own, unknown",
            root,
            Some(own.identity()),
            E::DepthZeroSelfSignedCert,
        ),
        ("own, trusted", &[&own], Some(own.identity()), E::Ok),
        (
            "unknown issuer",
            root,
            Some(unknown.identity()),
            E::UnableToVerifyLeafSignature,
        ),
        (
            "unknown issuer sent",
            root,
            Some(unknown.identity_with(&[&w.stranger])),
            E::SelfSignedCertInChain,
        ),
        (
            "issuer missing",
            root,
            Some(via.identity()),
            E::UnableToVerifyLeafSignature,
        ),
        (
            "issuer sent",
            root,
            Some(via.identity_with(&[&w.inter])),
            E::Ok,
        ),
        (
            "issuer and root sent",
            root,
            Some(via.identity_with(&[&w.inter, &w.root])),
            E::Ok,
        ),
        (
            "issuer sent with others",
            root,
            Some(via.identity_with(&[&good, &w.inter])),
            E::Ok,
        ),
        (
            "issuer trusted, too",
            &[&w.root, &w.inter],
            Some(via.identity()),
            E::Ok,
        ),
        (
            "issuer without root",
            &[&w.inter],
            Some(via.identity()),
            E::UnableToGetIssuerCert,
        ),
        (
            "unknown root",
            root,
            Some(via_other.identity_with(&[&other_inter])),
            E::UnableToGetIssuerCertLocally,
        ),
        (
            "unknown root sent",
            root,
            Some(via_other.identity_with(&[&other_inter, &w.stranger])),
            E::SelfSignedCertInChain,
        ),
        (
            "issuer is none",
            root,
            Some(fake.identity_with(&[&good])),
            E::InvalidPurpose,
        ),
        (
            "no anchors",
            &[],
            Some(good.identity()),
            E::UnableToVerifyLeafSignature,
        ),
    ];
    for (what, ca, identity, wanted) in rows {
        assert_eq!(w.verdict(ca, identity.as_ref()), wanted, "{what}");
    }
}

#[test]
fn times_and_purposes_decide_as_with_node() {
    use VerifyError as E;
    let w = world();
    let leaf = |params| issue(params, ec_key(), &w.root);
    let mut for_servers = params("for servers");
    for_servers.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ServerAuth];
    let mut any = params("any");
    any.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::Any];
    let mut enciphers = params("enciphers");
    enciphers.key_usages = vec![rcgen::KeyUsagePurpose::KeyEncipherment];
    let mut odd = client_params("odd");
    let mut extension = rcgen::CustomExtension::from_oid_content(&[1, 2, 3, 4, 5], vec![5, 0]);
    extension.set_criticality(true);
    odd.custom_extensions = vec![extension];
    let old_inter = issue(dated(ca_params("old inter"), 2020, 2021), ec_key(), &w.root);
    let via_old = issue(client_params("via old"), ec_key(), &old_inter);
    let short = issue(limited(ca_params("short"), 0), ec_key(), &w.root);
    let below = issue(ca_params("below"), ec_key(), &short);
    let too_deep = issue(client_params("too deep"), ec_key(), &below);
    let unknown_old = issue(dated(client_params("a"), 2020, 2021), ec_key(), &w.stranger);
    let rows: [(Identity, E); 11] = [
        (
            leaf(dated(client_params("a"), 2020, 2021)).identity(),
            E::CertHasExpired,
        ),
        (
            leaf(dated(client_params("a"), 2090, 2091)).identity(),
            E::CertNotYetValid,
        ),
        (unknown_old.identity(), E::CertHasExpired),
        (
            self_signed(dated(params("a"), 2020, 2021), ec_key()).identity(),
            E::CertHasExpired,
        ),
        (via_old.identity_with(&[&old_inter]), E::CertHasExpired),
        (leaf(for_servers).identity(), E::InvalidPurpose),
        (leaf(any).identity(), E::InvalidPurpose),
        (leaf(enciphers).identity(), E::InvalidPurpose),
        (leaf(params("no purpose told")).identity(), E::Ok),
        (leaf(odd).identity(), E::UnhandledCriticalExtension),
        (
            too_deep.identity_with(&[&below, &short]),
            E::PathLengthExceeded,
        ),
    ];
    for (row, (identity, wanted)) in rows.into_iter().enumerate() {
        assert_eq!(w.verdict(&[&w.root], Some(&identity)), wanted, "row {row}");
    }
}

#[test]
fn a_signature_by_another_key_of_the_same_name_is_found() {
    let w = world();
    // Without key ids, so that only the name leads to the root.
    let mut plain = ca_params("root");
    plain.use_authority_key_identifier_extension = false;
    let impostor = self_signed(plain, ec_key());
    let mut params = client_params("forged");
    params.use_authority_key_identifier_extension = false;
    let forged = issue(params, ec_key(), &impostor);
    let verdict = w.verdict(&[&w.root], Some(&forged.identity()));
    assert_eq!(verdict, VerifyError::CertSignatureFailure);
    // With both roots trusted and nothing to tell them apart by, the first one counts.
    for (ca, wanted) in [
        ([&w.root, &impostor], VerifyError::CertSignatureFailure),
        ([&impostor, &w.root], VerifyError::Ok),
    ] {
        assert_eq!(w.verdict(&ca, Some(&forged.identity())), wanted);
    }
}

#[test]
fn name_constraints_are_kept() {
    let w = world();
    let mut constrained = ca_params("constrained");
    constrained.name_constraints = Some(rcgen::NameConstraints {
        permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("inside.test".into())],
        excluded_subtrees: vec![],
    });
    let ca = issue(constrained, ec_key(), &w.root);
    let inside = issue(client_params("a.inside.test"), ec_key(), &ca);
    let outside = issue(client_params("outside.test"), ec_key(), &ca);
    let verdict = |leaf: &Issued| w.verdict(&[&w.root], Some(&leaf.identity_with(&[&ca])));
    assert_eq!(verdict(&inside), VerifyError::Ok);
    assert_eq!(verdict(&outside), VerifyError::PermittedSubtreeViolation);
}

#[test]
fn name_constraints_bind_the_common_name_where_there_are_no_dns_names() {
    let w = world();
    let mut constrained = ca_params("constrained");
    constrained.name_constraints = Some(rcgen::NameConstraints {
        permitted_subtrees: vec![rcgen::GeneralSubtree::DnsName("inside.test".into())],
        excluded_subtrees: vec![],
    });
    let ca = issue(constrained, ec_key(), &w.root);
    for (name, wanted) in [
        ("a.inside.test", VerifyError::Ok),
        ("Some Body", VerifyError::Ok),
        ("outside.test", VerifyError::PermittedSubtreeViolation),
    ] {
        let mut params = client_params(name);
        params.subject_alt_names.clear();
        let leaf = issue(params, ec_key(), &ca);
        let verdict = w.verdict(&[&w.root], Some(&leaf.identity_with(&[&ca])));
        assert_eq!(verdict, wanted, "{name}");
    }
}

#[test]
fn a_partial_chain_is_enough_where_that_is_allowed() {
    use VerifyError as E;
    let w = world();
    let via = issue(client_params("via"), ec_key(), &w.inter);
    let below = issue(ca_params("below"), ec_key(), &w.inter);
    let deep = issue(client_params("deep"), ec_key(), &below);
    let old = issue(dated(client_params("old"), 2020, 2021), ec_key(), &w.inter);
    let other = issue(client_params("other"), ec_key(), &w.root);
    let old_inter = issue(dated(ca_params("old inter"), 2020, 2021), ec_key(), &w.root);
    let via_old = issue(client_params("via old"), ec_key(), &old_inter);
    let forged = {
        let impostor = issue(ca_params("inter"), ec_key(), &w.stranger);
        let mut params = client_params("forged");
        params.use_authority_key_identifier_extension = false;
        issue(params, ec_key(), &impostor)
    };
    let inter = &[&w.inter][..];
    let rows: [(&[&Issued], Identity, E, E); 8] = [
        (inter, via.identity(), E::UnableToGetIssuerCert, E::Ok),
        (
            inter,
            deep.identity_with(&[&below]),
            E::UnableToGetIssuerCert,
            E::Ok,
        ),
        (inter, old.identity(), E::CertHasExpired, E::CertHasExpired),
        (
            &[&via],
            via.identity(),
            E::UnableToVerifyLeafSignature,
            E::Ok,
        ),
        (&[&w.root], via.identity_with(&[&w.inter]), E::Ok, E::Ok),
        (
            inter,
            other.identity(),
            E::UnableToVerifyLeafSignature,
            E::UnableToGetIssuerCertLocally,
        ),
        (
            &[&old_inter],
            via_old.identity(),
            E::UnableToGetIssuerCert,
            E::CertHasExpired,
        ),
        (
            inter,
            forged.identity(),
            E::CertSignatureFailure,
            E::CertSignatureFailure,
        ),
    ];
    for (row, (ca, identity, whole, partial)) in rows.into_iter().enumerate() {
        for (allow, wanted) in [(false, whole), (true, partial)] {
            let options = ContextOptions {
                allow_partial_trust_chain: allow,
                ..w.options(ca, &[])
            };
            let verdict = w.verdict_with(&options, Some(&identity));
            assert_eq!(verdict, wanted, "row {row}, allowed: {allow}");
        }
    }
}

fn crl(by: &Issued, revoked: &[&[u8]], from: i32, to: i32) -> Vec<u8> {
    let revoked = revoked.iter().map(|serial| rcgen::RevokedCertParams {
        serial_number: rcgen::SerialNumber::from_slice(serial),
        revocation_time: date_time_ymd(2021, 1, 1),
        reason_code: None,
        invalidity_date: None,
    });
    let params = rcgen::CertificateRevocationListParams {
        this_update: date_time_ymd(from, 1, 1),
        next_update: date_time_ymd(to, 1, 1),
        crl_number: rcgen::SerialNumber::from(1),
        issuing_distribution_point: None,
        revoked_certs: revoked.collect(),
        key_identifier_method: rcgen::KeyIdMethod::Sha256,
    };
    params.signed_by(&by.issuer).unwrap().der().to_vec()
}

#[test]
fn revocation_lists_decide_as_with_node() {
    use VerifyError as E;
    let w = world();
    let mut numbered = client_params("good");
    numbered.serial_number = Some(rcgen::SerialNumber::from_slice(&[1, 2, 3]));
    let good = issue(numbered, ec_key(), &w.root);
    let via = issue(client_params("via"), ec_key(), &w.inter).identity_with(&[&w.inter]);
    let good = good.identity();
    let empty = crl(&w.root, &[], 2020, 2090);
    let revoking = crl(&w.root, &[&[1, 2, 3]], 2021, 2090);
    let newer = crl(&w.root, &[], 2022, 2090);
    let rows: [(&[Vec<u8>], &Identity, E); 12] = [
        // Of several lists the newest counts, wherever it stands.
        (&[empty.clone(), revoking.clone()], &good, E::CertRevoked),
        (&[revoking.clone(), empty.clone()], &good, E::CertRevoked),
        (&[revoking.clone(), newer.clone()], &good, E::Ok),
        (&[newer, revoking], &good, E::Ok),
        (
            &[crl(&w.root, &[], 2020, 2021), empty.clone()],
            &good,
            E::Ok,
        ),
        (std::slice::from_ref(&empty), &good, E::Ok),
        (
            &[crl(&w.root, &[&[1, 2, 3]], 2020, 2090)],
            &good,
            E::CertRevoked,
        ),
        (
            &[crl(&w.stranger, &[], 2020, 2090)],
            &good,
            E::UnableToGetCrl,
        ),
        (&[crl(&w.root, &[], 2020, 2021)], &good, E::CrlHasExpired),
        (&[crl(&w.root, &[], 2089, 2090)], &good, E::CrlNotYetValid),
        (std::slice::from_ref(&empty), &via, E::UnableToGetCrl),
        (
            &[empty.clone(), crl(&w.inter, &[], 2020, 2090)],
            &via,
            E::Ok,
        ),
    ];
    for (row, (lists, identity, wanted)) in rows.into_iter().enumerate() {
        let options = w.options(&[&w.root], lists);
        assert_eq!(
            w.verdict_with(&options, Some(identity)),
            wanted,
            "row {row}"
        );
    }
}

fn rejection(
    options: &ContextOptions,
    versions: &[&'static rustls::SupportedProtocolVersion],
    identity: Option<Identity>,
) -> (TlsError, Option<rustls::Error>) {
    let mut pair = Pair::new(
        &Arc::new(client_config(versions, identity)),
        &names(options),
    );
    let error = pair.pump().unwrap_err();
    assert!(!pair.status.handshake_done);
    (error, pair.client_error)
}

#[test]
fn who_must_be_authorized_and_is_not_gets_an_alert() {
    use rustls::AlertDescription as A;
    let w = world();
    let options = ContextOptions {
        reject_unauthorized: true,
        ..w.options(&[&w.root], &[])
    };
    let good = issue(client_params("good"), ec_key(), &w.root);
    let own = self_signed(params("own"), ec_key());
    let old = issue(dated(client_params("old"), 2020, 2021), ec_key(), &w.root);
    for versions in BOTH {
        let config = Arc::new(client_config(versions, Some(good.identity())));
        assert!(connect(&config, &names(&options)).is_ok());
        // TLS 1.2 has no alert of its own for a certificate that was not sent.
        let none = if versions == TLS12 {
            A::HandshakeFailure
        } else {
            A::CertificateRequired
        };
        for (identity, alert, code) in [
            (Some(own.identity()), A::UnknownCA, "ECONNRESET"),
            (Some(old.identity()), A::CertificateExpired, "ECONNRESET"),
            (None, none, "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"),
        ] {
            let (error, client) = rejection(&options, versions, identity);
            assert_eq!(error.code(), code);
            assert_eq!(client, Some(rustls::Error::AlertReceived(alert)), "{error}");
        }
    }
    let (error, _) = rejection(&options, TLS13, Some(own.identity()));
    assert!(
        error.message().contains("DEPTH_ZERO_SELF_SIGNED_CERT"),
        "{error}"
    );
}

#[test]
fn a_session_without_certificate_does_not_get_past_a_context_that_wants_one() {
    let w = world();
    let issued = server();
    let keys = vec![7; 48];
    let open = ContextOptions {
        ticket_keys: keys.clone(),
        ..options(&issued)
    };
    let strict = ContextOptions {
        ticket_keys: keys,
        reject_unauthorized: true,
        ca: vec![w.root.der.clone()],
        request_cert: true,
        ..options(&issued)
    };
    let (open, strict) = (names(&open), names(&strict));
    for versions in [TLS12, TLS13] {
        let config = Arc::new(client_config(versions, None));
        let mut pair = connect(&config, &open).unwrap();
        pair.answer(b"tickets");
        let mut pair = Pair::new(&config, &strict);
        assert_eq!(
            pair.pump().unwrap_err().code(),
            "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE"
        );
    }
}

/// Notes how many names of authorities a server tells, and sends its certificate whatever they are.
#[derive(Debug)]
struct Listener {
    named: AtomicUsize,
    own: Arc<dyn ResolvesClientCert>,
}

impl ResolvesClientCert for Listener {
    fn resolve(
        &self,
        names: &[&[u8]],
        schemes: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        self.named.store(names.len(), Ordering::Relaxed);
        self.own.resolve(names, schemes)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

#[test]
fn with_too_many_anchors_none_is_named_and_all_are_trusted() {
    let w = world();
    let mut anchors: Vec<_> = (0..64)
        .map(|number| self_signed(ca_params(&format!("authority {number}")), ec_key()))
        .collect();
    for named in [64, 0] {
        let last = anchors.last().unwrap();
        let user = issue(client_params("user"), ec_key(), last);
        let ca: Vec<_> = anchors.iter().collect();
        let names = names(&w.options(&ca, &[]));
        for versions in BOTH {
            let mut config = client_config(versions, Some(user.identity()));
            let listener = Arc::new(Listener {
                named: AtomicUsize::new(usize::MAX),
                own: Arc::clone(&config.client_auth_cert_resolver),
            });
            config.client_auth_cert_resolver = Arc::<Listener>::clone(&listener);
            let pair = connect(&Arc::new(config), &names).unwrap();
            assert_eq!(listener.named.load(Ordering::Relaxed), named);
            let facts = pair.server.session_info().unwrap();
            assert_eq!(facts.verify_error, VerifyError::Ok);
        }
        anchors.push(self_signed(ca_params("one more"), ec_key()));
    }
}
