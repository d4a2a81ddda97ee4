//! The rows of `tests/wire/`, given to the parser.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::collections::HashSet;

use portico_http::h1::InvalidHosts;
use support::{Case, Outcome, cases, verdict, verdict_on_host};

/// Longer heads are cut at some places only.
const MAX_CUT_EVERYWHERE: usize = 150;

fn expected(case: &Case, outcome: &Outcome) -> Outcome {
    // Most rows are not about the fields.
    let fields = case
        .fields
        .clone()
        .unwrap_or_else(|| outcome.fields.clone());
    Outcome {
        verdict: case.portico.clone(),
        fields,
    }
}

#[test]
fn every_row_has_its_verdict() {
    let mut wrong = Vec::new();
    for case in cases() {
        let outcome = verdict(&case.bytes, &[]);
        let expected = expected(&case, &outcome);
        if outcome != expected {
            wrong.push(format!(
                "{} {}: {outcome:?}, not {expected:?}",
                case.place, case.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_row_has_its_verdict_when_it_comes_byte_by_byte() {
    for case in cases() {
        let cuts: Vec<usize> = (1..case.bytes.len()).collect();
        let outcome = verdict(&case.bytes, &cuts);
        assert_eq!(
            outcome.verdict,
            with_offset_of(&case, &outcome),
            "{} {}",
            case.place,
            case.name
        );
    }
}

#[test]
fn every_row_has_its_verdict_when_it_is_cut_in_two_anywhere() {
    for case in cases() {
        let step = case.bytes.len().div_ceil(MAX_CUT_EVERYWHERE).max(1);
        for cut in (1..case.bytes.len()).step_by(step) {
            let outcome = verdict(&case.bytes, &[cut]);
            let expected = with_offset_of(&case, &outcome);
            assert_eq!(
                outcome.verdict, expected,
                "{} {} cut at {cut}",
                case.place, case.name
            );
        }
    }
}

#[test]
fn a_listener_that_is_strict_about_hosts_refuses_what_the_row_says_and_nothing_else() {
    let mut strict = 0;
    for case in cases() {
        let expected = case.strict_host.as_ref().unwrap_or(&case.portico);
        strict += usize::from(case.strict_host.is_some());
        for cuts in [vec![], (1..case.bytes.len()).collect()] {
            let outcome = verdict_on_host(&case.bytes, &cuts, InvalidHosts::Refuse);
            if !expected.starts_with("HPE_HEADER_OVERFLOW") {
                assert_eq!(&outcome.verdict, expected, "{} {}", case.place, case.name);
            }
        }
    }
    assert!(strict >= 7, "{strict} rows about strict hosts");
}

/// Where a head grows too large depends on what was there when it was looked at, as in Node.
fn with_offset_of(case: &Case, outcome: &Outcome) -> String {
    if case.portico.starts_with("HPE_HEADER_OVERFLOW") {
        let offset = outcome
            .verdict
            .rsplit_once('@')
            .map_or("", |(_, offset)| offset);
        let text = case.portico.rsplit_once('@').map_or("", |(text, _)| text);
        return format!("{text}@{offset}");
    }
    case.portico.clone()
}

#[test]
fn rows_are_told_apart_and_say_why_they_differ_from_node() {
    let cases = cases();
    assert!(cases.len() >= 280, "{} rows", cases.len());
    let mut names = HashSet::new();
    for case in cases {
        assert!(
            names.insert(case.name.clone()),
            "{} {}: twice",
            case.place,
            case.name
        );
        assert!(
            !case.bytes.is_empty() && !case.portico.is_empty(),
            "{}",
            case.place
        );
        assert_eq!(case.node.is_some(), case.why.is_some(), "{}", case.place);
    }
}
