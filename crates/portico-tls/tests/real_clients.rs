//! OpenSSL and curl as clients over loopback, and files that OpenSSL made.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used
)]

mod common;
#[path = "real/server.rs"]
mod server;
#[path = "real/tools.rs"]
mod tools;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use common::{names, options};
use portico_tls::{Context, ContextOptions, Identity, Pfx, VerifyError};
use server::Server;
use tools::{Files, curl, has, s_client};

#[test]
fn openssl_speaks_both_versions() {
    if !has("openssl") {
        return;
    }
    let server = Server::start(names(&options(&common::server())), false);
    for (argument, version) in [("-tls1_2", 0x0303), ("-tls1_3", 0x0304)] {
        let text = s_client(server.address, &format!("{argument} -servername a.test"));
        assert!(text.contains("HTTP/1.1 200 OK"), "{text}");
        let report = server.report();
        let session_info = report.session_info.unwrap();
        assert_eq!(session_info.version, version);
        assert_eq!(session_info.server_name.as_deref(), Some("a.test"));
        let suite = portico_tls::names::cipher_suite(session_info.cipher_suite).unwrap();
        assert!(text.contains(suite.openssl_name), "{text}");
        assert!(report.error.is_none());
    }
}

#[test]
fn every_suite_and_group_has_openssls_name() {
    if !has("openssl") {
        return;
    }
    let rsa = common::self_signed(common::params("localhost"), common::rsa_key());
    let both = ContextOptions {
        identities: vec![common::server().identity(), rsa.identity()],
        ..ContextOptions::default()
    };
    let server = Server::start(names(&both), false);
    for suite in portico_tls::names::CIPHER_SUITES {
        let name = suite.openssl_name;
        let arguments = if suite.version == "TLSv1.3" {
            format!("-tls1_3 -ciphersuites {name}")
        } else {
            format!("-tls1_2 -cipher {name}")
        };
        let text = s_client(server.address, &arguments);
        let report = server.report();
        assert_eq!(
            report.session_info.unwrap().cipher_suite,
            suite.number,
            "{text}"
        );
    }
    for group in portico_tls::names::NAMED_GROUPS {
        let text = s_client(
            server.address,
            &format!("-tls1_3 -groups {}", group.openssl_name),
        );
        // OpenSSL before 3.5 does not know the hybrid group, and does not connect then.
        if group.number == 0x11ec && !text.contains("CONNECTED") {
            continue;
        }
        assert_eq!(
            server.report().session_info.unwrap().named_group,
            group.number,
            "{text}"
        );
    }
}

#[test]
fn openssl_resumes_by_ticket_and_by_id() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("resume");
    let session = files.path("session");
    for (version, more, tickets) in [
        ("-tls1_3", "", true),
        ("-tls1_2", "", true),
        ("-tls1_2", "-no_ticket", true),
        ("-tls1_2", "", false),
        ("-tls1_3", "", false),
    ] {
        let options = ContextOptions {
            tickets,
            ..options(&common::server())
        };
        let server = Server::start(names(&options), false);
        let text = s_client(
            server.address,
            &format!("{version} {more} -sess_out {session}"),
        );
        assert!(!server.report().session_info.expect(&text).resumed);
        let text = s_client(
            server.address,
            &format!("{version} {more} -sess_in {session}"),
        );
        assert!(
            text.contains("Reused, "),
            "{version} {more} {tickets}: {text}"
        );
        assert!(server.report().session_info.unwrap().resumed);
    }
}

#[test]
fn lifetimes_are_told_to_openssl() {
    if !has("openssl") {
        return;
    }
    let options = ContextOptions {
        session_timeout: 300,
        ..options(&common::server())
    };
    let server = Server::start(names(&options), false);
    for version in ["-tls1_2", "-tls1_3"] {
        let text = s_client(server.address, version);
        assert!(
            text.contains("ticket lifetime hint: 300 (seconds)"),
            "{text}"
        );
    }
}

/// A certificate authority made by openssl, with version 1 certificates as many tutorials make them.
fn authority(files: &Files) {
    for name in ["ca", "other"] {
        files.openssl(&format!(
            "ecparam -name prime256v1 -genkey -noout -out {name}.key"
        ));
        files.openssl(&format!(
            "req -x509 -new -key {name}.key -subj /CN={name} -days 30 -out {name}.pem"
        ));
    }
    for (name, by) in [("good", "ca"), ("unknown", "other")] {
        files.openssl(&format!(
            "req -new -newkey rsa:2048 -nodes -keyout {name}.key -subj /CN={name} -out {name}.csr"
        ));
        files.openssl(&format!(
            "x509 -req -in {name}.csr -CA {by}.pem -CAkey {by}.key -set_serial 7 -days 30 -out {name}.pem"
        ));
    }
    let expired =
        "x509 -req -in good.csr -CA ca.pem -CAkey ca.key -set_serial 8 -days -1 -out expired.pem";
    files.openssl(expired);
    files.openssl("req -x509 -new -key good.key -subj /CN=own -days 30 -out own.pem");
}

#[test]
fn certificates_made_by_openssl_are_judged() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("clients");
    authority(&files);
    let options = ContextOptions {
        ca: vec![files.der("ca.pem")],
        request_cert: true,
        reject_unauthorized: false,
        ..options(&common::server())
    };
    let server = Server::start(names(&options), false);
    for version in ["-tls1_2", "-tls1_3"] {
        for (cert, key, wanted) in [
            ("good.pem", "good.key", VerifyError::Ok),
            ("expired.pem", "good.key", VerifyError::CertHasExpired),
            ("own.pem", "good.key", VerifyError::DepthZeroSelfSignedCert),
            (
                "unknown.pem",
                "unknown.key",
                VerifyError::UnableToVerifyLeafSignature,
            ),
        ] {
            let (path, key) = (files.path(cert), files.path(key));
            let text = s_client(
                server.address,
                &format!("{version} -cert {path} -key {key}"),
            );
            let session_info = server.report().session_info.expect(&text);
            assert_eq!(session_info.verify_error, wanted, "{version} {cert}");
            assert_eq!(session_info.peer_certificates, [files.der(cert)]);
        }
        let text = s_client(server.address, version);
        assert!(
            text.contains("CN = ca"),
            "the anchors' names are sent: {text}"
        );
        assert_eq!(
            server.report().session_info.unwrap().verify_error,
            VerifyError::NoCertificate
        );
    }
}

#[test]
fn a_refused_client_is_told_why() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("refused");
    authority(&files);
    let options = ContextOptions {
        ca: vec![files.der("ca.pem")],
        request_cert: true,
        reject_unauthorized: true,
        ..options(&common::server())
    };
    let server = Server::start(names(&options), false);
    let (cert, key) = (files.path("own.pem"), files.path("good.key"));
    for version in ["-tls1_2", "-tls1_3"] {
        let text = s_client(
            server.address,
            &format!("{version} -cert {cert} -key {key}"),
        );
        assert!(text.contains("alert unknown ca"), "{text}");
        assert_eq!(server.report().error.unwrap().code(), "ECONNRESET");
        s_client(server.address, version);
        let code = "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE";
        assert_eq!(server.report().error.unwrap().code(), code);
    }
}

#[test]
fn a_version_1_certificate_serves() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("version1");
    authority(&files);
    let identity = Identity {
        chain: vec![files.der("good.pem")],
        key: files.key("good.key"),
    };
    let options = ContextOptions {
        identities: vec![identity],
        ..ContextOptions::default()
    };
    let server = Server::start(names(&options), false);
    for version in ["-tls1_2", "-tls1_3"] {
        let text = s_client(server.address, version);
        assert!(text.contains("HTTP/1.1 200 OK"), "{text}");
        server.report();
    }
}

#[test]
fn keys_in_all_of_openssls_forms_are_read() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("keys");
    for (make, der) in [
        (
            "genrsa -out key 2048",
            "rsa -in key -traditional -outform DER",
        ),
        (
            "ecparam -name prime256v1 -genkey -noout -out key",
            "ec -in key -outform DER",
        ),
        (
            "ecparam -name secp384r1 -genkey -noout -out key",
            "ec -in key -outform DER",
        ),
        (
            "ecparam -name secp521r1 -genkey -noout -out key",
            "ec -in key -outform DER",
        ),
        (
            "genpkey -algorithm ed25519 -out key",
            "pkey -in key -outform DER",
        ),
    ] {
        files.openssl(make);
        files.openssl("req -x509 -new -key key -subj /CN=k -days 30 -out cert");
        for key in [files.openssl(der).stdout, files.key("key")] {
            let identities = vec![Identity {
                chain: vec![files.der("cert")],
                key,
            }];
            let options = ContextOptions {
                identities,
                ..ContextOptions::default()
            };
            let made = Context::new(&options);
            assert!(made.is_ok(), "{make}: {}", made.err().unwrap());
        }
    }
}

#[test]
fn pkcs12_files_of_all_ages_are_opened() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("pfx");
    authority(&files);
    let base = "pkcs12 -export -inkey good.key -in good.pem -certfile ca.pem -out file.p12";
    let old = "-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1";
    for more in ["", "-legacy", old, "-keypbe NONE -certpbe NONE", "-nomac"] {
        for passphrase in ["secret", "", "pässwort"] {
            files.openssl(format!("{base} -passout pass:{passphrase} {more}").trim_end());
            let pfx = |passphrase: &str| {
                let data = files.read("file.p12");
                let pfx = vec![Pfx {
                    data,
                    passphrase: passphrase.to_owned(),
                }];
                Context::new(&ContextOptions {
                    pfx,
                    ..ContextOptions::default()
                })
            };
            let opened = pfx(passphrase);
            assert!(
                opened.is_ok(),
                "{more} {passphrase:?}: {}",
                opened.err().unwrap()
            );
            if more != "-nomac" {
                let error = pfx("wrong").err().unwrap();
                assert_eq!(error.code(), "ERR_OSSL_PKCS12_MAC_VERIFY_FAILURE");
            }
        }
    }
    files.openssl(&format!("{base} -passout pass:s"));
    let pfx = vec![Pfx {
        data: files.read("file.p12"),
        passphrase: "s".to_owned(),
    }];
    let options = ContextOptions {
        pfx,
        ..ContextOptions::default()
    };
    let server = Server::start(names(&options), false);
    let text = s_client(server.address, "-showcerts");
    assert!(
        text.contains("0 s:CN = good") && text.contains("1 s:CN = ca"),
        "{text}"
    );
    server.report();
}

#[test]
fn curl_agrees_on_a_protocol_and_gets_its_answer() {
    if !has("curl") {
        return;
    }
    let alpn = vec![b"http/1.1".to_vec()];
    let options = ContextOptions {
        alpn,
        ..options(&common::server())
    };
    for ask in [false, true] {
        let server = Server::start(names(&options), ask);
        let (text, status) = curl(server.address, "");
        assert_eq!(status, 0);
        assert!(text.contains("server_name: Some(\"localhost\")"), "{text}");
        let report = server.report();
        assert_eq!(
            report.session_info.unwrap().alpn.as_deref(),
            Some(&b"http/1.1"[..])
        );
        assert_eq!(report.asked, ask);
    }
}

#[test]
fn old_versions_and_foreign_protocols_are_refused() {
    if !has("curl") {
        return;
    }
    let server = Server::start(names(&options(&common::server())), false);
    let (_, status) = curl(server.address, "--tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0");
    assert_eq!(status, 35, "curl: SSL connect error");
    assert_eq!(
        server.report().error.unwrap().code(),
        "ERR_SSL_UNSUPPORTED_PROTOCOL"
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
    assert_eq!(
        stream.read(&mut [0; 16]).unwrap_or(0),
        0,
        "closed without an alert"
    );
    assert_eq!(
        server.report().error.unwrap().code(),
        "ERR_SSL_HTTP_REQUEST"
    );
}

#[test]
fn the_key_log_equals_openssls() {
    if !has("openssl") {
        return;
    }
    let files = Files::new("keylog");
    let options = ContextOptions {
        key_log: true,
        ..options(&common::server())
    };
    let server = Server::start(names(&options), false);
    for version in ["-tls1_2", "-tls1_3"] {
        let path = files.path(version);
        s_client(server.address, &format!("{version} -keylogfile {path}"));
        let ours = server.report().key_log;
        let theirs = files.read(version);
        let lines = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).to_lowercase();
            let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
            lines.retain(|line| !line.starts_with('#'));
            lines.sort();
            lines
        };
        assert_eq!(lines(&ours), lines(&theirs));
    }
}

#[test]
fn openssls_key_updates_and_renegotiations_are_survived() {
    if !has("openssl") {
        return;
    }
    let server = Server::start(names(&options(&common::server())), false);
    // `K` asks for our key, too; `R` starts a renegotiation. Both stand alone on a line.
    for (version, letter) in [("-tls1_3", 'K'), ("-tls1_3", 'k'), ("-tls1_2", 'R')] {
        let script = format!(
            "(printf 'ping\\n'; sleep 0.4; printf '{letter}\\n'; sleep 0.4; printf 'ping\\n'; sleep 0.4; printf 'Q\\n') \
             | timeout 15 openssl s_client -connect {} {version} 2>&1",
            server.address
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &script])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let report = server.report();
        if letter != 'R' {
            assert!(report.error.is_none(), "{report:?} {text}");
            assert_eq!(text.matches("HTTP/1.1 200 OK").count(), 2, "{text}");
        }
    }
}

#[test]
fn names_are_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    let names = names(&options(&common::server()));
    shared(&names);
    let connection = portico_tls::Connection::new(Arc::clone(&names), false);
    shared(&connection);
}
