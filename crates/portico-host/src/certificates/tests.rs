use super::*;
use std::fs;

fn issue(folder: &Path, file: &str, names: &[&str]) -> CertificateRecord {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let issued = rcgen::generate_simple_self_signed(names).unwrap();
    let path = |end: &str| folder.join(format!("{file}.{end}")).display().to_string();
    let record = CertificateRecord {
        certificate: path("pem"),
        key: path("key"),
        ..CertificateRecord::default()
    };
    fs::write(&record.certificate, issued.cert.pem()).unwrap();
    fs::write(&record.key, issued.signing_key.serialize_pem()).unwrap();
    record
}

#[test]
fn a_certificate_serves_its_own_names_and_a_bound_one_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let all = issue(folder.path(), "all", &["a.test"]);
    let bound = CertificateRecord {
        port: Some(8443),
        ..issue(folder.path(), "bound", &["b.test", "*.b.test"])
    };
    let certificates = Certificates::load([all, bound]).unwrap();
    let names = |port| -> Vec<_> {
        let loaded = certificates.for_port(port);
        loaded.into_iter().map(|loaded| loaded.names).collect()
    };
    assert_eq!(names(443), [vec!["a.test"]]);
    assert_eq!(names(8443), [vec!["b.test", "*.b.test"], vec!["a.test"]]);
}

#[test]
fn a_file_that_changed_is_read_again_and_a_bad_one_leaves_the_old_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let record = issue(folder.path(), "it", &["old.test"]);
    let mut certificates = Certificates::load([record.clone()]).unwrap();
    assert!(certificates.refresh(false).1.is_empty());
    fs::write(&record.certificate, "nonsense").unwrap();
    let (changed, news) = certificates.refresh(false);
    assert!(!changed && news.len() == 1 && news[0].is_err());
    let listed = &certificates.list()[0];
    assert!(
        listed
            .problem
            .as_ref()
            .unwrap()
            .contains("no certificate in it")
    );
    assert_eq!(certificates.for_port(443)[0].names, ["old.test"]);
    issue(folder.path(), "it", &["new.test"]);
    assert!(certificates.refresh(false).0);
    assert_eq!(certificates.for_port(443)[0].names, ["new.test"]);
    assert_eq!(certificates.list()[0].problem, None);
}

#[test]
fn one_that_was_usable_once_is_kept_and_used_as_soon_as_it_is_again() {
    let folder = tempfile::tempdir().unwrap();
    let record = CertificateRecord {
        certificate: folder.path().join("it.pem").display().to_string(),
        key: folder.path().join("it.key").display().to_string(),
        ..CertificateRecord::default()
    };
    let mut certificates = Certificates::default();
    assert!(certificates.add_known(record).is_err());
    assert!(certificates.for_port(443).is_empty());
    assert!(certificates.list()[0].problem.is_some());
    issue(folder.path(), "it", &["a.test"]);
    assert!(certificates.refresh(false).0);
    assert_eq!(certificates.for_port(443)[0].names, ["a.test"]);
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let good = issue(folder.path(), "good", &["a.test"]);
    let other = issue(folder.path(), "other", &["b.test"]);
    let rows = [
        (
            CertificateRecord {
                certificate: "/no/such.pem".into(),
                ..good.clone()
            },
            "/no/such.pem can't be used: No such file",
        ),
        (
            CertificateRecord {
                certificate: "relative.pem".into(),
                ..good.clone()
            },
            "must be absolute",
        ),
        (
            CertificateRecord {
                key: good.certificate.clone(),
                ..good.clone()
            },
            "no private key in it",
        ),
        (
            CertificateRecord {
                certificate: good.key.clone(),
                ..good.clone()
            },
            "no certificate in it",
        ),
        (
            CertificateRecord {
                key: other.key,
                ..good.clone()
            },
            "good.pem can't be used: with",
        ),
    ];
    for (record, expected) in rows {
        let failure = Certificates::load([record]).unwrap_err();
        assert!(failure.message.contains(expected), "{}", failure.message);
    }
    let twice = Certificates::load([good.clone(), good]).unwrap_err();
    assert!(twice.message.contains("in use already"));
}

#[test]
fn a_host_may_have_so_many_certificates_and_not_one_more() {
    let folder = tempfile::tempdir().unwrap();
    let missing = |number: usize| CertificateRecord {
        certificate: format!("/no/such/{number}.pem"),
        key: format!("/no/such/{number}.key"),
        ..CertificateRecord::default()
    };
    let entries = (1..MAX_CERTIFICATES).map(|number| Entry::read(missing(number)).0);
    let mut certificates = Certificates {
        entries: entries.collect(),
    };
    let last = issue(folder.path(), "last", &["last.test"]);
    certificates.add(last).unwrap();
    let more = issue(folder.path(), "more", &["more.test"]);
    for refused in [
        certificates.add(more.clone()),
        certificates.add_known(more.clone()),
    ] {
        let failure = refused.unwrap_err();
        assert_eq!(failure.code, code::LIMIT);
        assert!(failure.message.contains("10000"), "{failure}");
    }
    assert_eq!(certificates.list().len(), MAX_CERTIFICATES);
    let names = |certificates: &Certificates| -> Vec<_> {
        let loaded = certificates.for_port(443).into_iter();
        loaded.flat_map(|loaded| loaded.names).collect()
    };
    assert_eq!(names(&certificates), ["last.test"]);
    certificates.remove(&missing(1).certificate, None).unwrap();
    certificates.add(more).unwrap();
    assert_eq!(names(&certificates), ["last.test", "more.test"]);
}

#[test]
fn a_file_may_have_its_limit_and_not_a_byte_more() {
    let folder = tempfile::tempdir().unwrap();
    let record = issue(folder.path(), "it", &["a.test"]);
    let ca = issue(folder.path(), "ca", &["ca.test"]).certificate;
    let record = CertificateRecord {
        client_ca: Some(ca.clone()),
        ..record
    };
    for path in [&record.certificate, &record.key, &ca] {
        let whole = fs::read(path).unwrap();
        let mut long = whole.clone();
        long.resize(usize::try_from(MAX_FILE_BYTES).unwrap(), b'\n');
        fs::write(path, &long).unwrap();
        let mut certificates = Certificates::load([record.clone()]).unwrap();
        long.push(b'\n');
        fs::write(path, &long).unwrap();
        let failure = Certificates::load([record.clone()]).unwrap_err();
        assert_eq!(failure.code, code::CERTIFICATE);
        let expected = format!("{path} can't be used: it has more than {MAX_FILE_BYTES} bytes");
        assert_eq!(failure.message, expected);
        // In a host that runs, what the file was stays in use.
        let (changed, news) = certificates.refresh(false);
        assert!(!changed && news.len() == 1 && news[0].is_err());
        assert_eq!(certificates.for_port(443)[0].names, ["a.test"]);
        fs::write(path, &whole).unwrap();
    }
}
