//! Sessions: by ticket and by id, across contexts, processes and key changes.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::sync::Arc;

use common::{BOTH, Pair, TLS12, TLS13, client_config, connect, context, names, options, server};
use portico_tls::{AlpnChoice, Connection, ContextOptions, ServerNames};
use rustls::client::{Resumption, Tls12Resumption};

/// Connects, lets the client take its tickets, and says whether the session was resumed.
fn resumes(config: &Arc<rustls::ClientConfig>, names: &Arc<ServerNames>) -> bool {
    let mut pair = connect(config, names).unwrap();
    pair.send(b"x");
    pair.pump().unwrap();
    pair.answer(b"y");
    pair.server.session_info().unwrap().resumed
}

#[test]
fn tickets_resume() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        assert!(!resumes(&config, &names));
        for _ in 0..5 {
            assert!(resumes(&config, &names));
        }
    }
}

#[test]
fn a_client_with_long_certificates_gets_no_ticket_and_goes_on() {
    let options = ContextOptions {
        request_cert: true,
        reject_unauthorized: false,
        ..options(&server())
    };
    let mut identity = common::server().identity();
    identity.chain.resize(60, identity.chain[0].clone());
    assert!(identity.chain.concat().len() > 16_000);
    for tickets in [true, false] {
        let names = names(&ContextOptions {
            tickets,
            ..options.clone()
        });
        for versions in BOTH {
            let config = Arc::new(client_config(versions, Some(identity.clone())));
            for _ in 0..3 {
                assert!(!resumes(&config, &names));
            }
        }
    }
}

#[test]
fn session_ids_resume_with_clients_without_tickets() {
    let names = names(&options(&server()));
    let mut config = client_config(TLS12, None);
    config.resumption =
        Resumption::in_memory_sessions(8).tls12_resumption(Tls12Resumption::SessionIdOnly);
    let config = Arc::new(config);
    assert!(!resumes(&config, &names));
    assert!(resumes(&config, &names));
    assert!(resumes(&config, &names));
}

#[test]
fn without_tickets_both_versions_resume_from_memory() {
    let names = names(&ContextOptions {
        tickets: false,
        ..options(&server())
    });
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        assert!(!resumes(&config, &names));
        assert!(resumes(&config, &names));
        assert!(resumes(&config, &names));
    }
}

#[test]
fn contexts_that_share_ticket_keys_share_sessions() {
    let server = server();
    let keys = |first: u8| (first..first + 48).collect::<Vec<u8>>();
    let with = |first| {
        names(&ContextOptions {
            ticket_keys: keys(first),
            ..options(&server)
        })
    };
    let (one, two, stranger) = (with(1), with(1), with(2));
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        assert!(!resumes(&config, &one));
        assert!(resumes(&config, &two));
        assert!(!resumes(&config, &stranger));
    }
}

#[test]
fn a_context_made_anew_for_each_hello_still_resumes() {
    let issued = server();
    let names = names(&options(&server()));
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        for round in 0..3 {
            let fresh = context(&options(&issued));
            let mut pair = Pair::with(
                &config,
                "localhost",
                Connection::new(Arc::clone(&names), true),
            );
            pair.pump().unwrap();
            pair.provide(Some(&fresh), AlpnChoice::Context).unwrap();
            assert_eq!(pair.server.session_info().unwrap().resumed, round > 0);
            pair.answer(b"y");
        }
    }
}

#[test]
fn a_session_is_not_resumed_under_another_name() {
    let names = names(&options(&server()));
    for versions in BOTH {
        let config = Arc::new(client_config(versions, None));
        let connect = |name: &str| {
            let mut pair = Pair::with(&config, name, Connection::new(Arc::clone(&names), false));
            pair.pump().unwrap();
            pair.answer(b"y");
            pair.server.session_info().unwrap().resumed
        };
        assert!(!connect("a.test"));
        assert!(!connect("b.test"));
        assert!(connect("a.test"));
    }
}

#[test]
fn an_old_session_is_not_resumed() {
    for tickets in [true, false] {
        let options = ContextOptions {
            session_timeout: 1,
            tickets,
            ..options(&server())
        };
        let names = names(&options);
        let config = Arc::new(client_config(TLS12, None));
        assert!(!resumes(&config, &names));
        // The wall clock decides, and rustls' client has no other to offer: so this waits for it.
        std::thread::sleep(std::time::Duration::from_millis(2_500));
        assert!(!resumes(&config, &names));
    }
}

#[test]
fn two_tickets_come_after_a_full_tls13_handshake_and_one_after_a_resumed_one() {
    let names = names(&options(&server()));
    let config = Arc::new(client_config(TLS13, None));
    for wanted in [2, 1, 1] {
        let mut pair = connect(&config, &names).unwrap();
        pair.answer(b"y");
        assert_eq!(pair.client.tls13_tickets_received(), wanted);
    }
}
