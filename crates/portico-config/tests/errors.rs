//! Every row of `tests/rows/errors.txt`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use portico_config::Config;

/// Name, configuration, and the expected errors.
fn cases() -> Vec<(&'static str, &'static str, &'static str)> {
    let text = include_str!("rows/errors.txt");
    text.split("\n=== ")
        .skip(1)
        .map(|case| {
            let (name, rest) = case.split_once('\n').unwrap();
            let (config, expected) = rest.split_once("---\n").unwrap();
            (name, config, expected.trim())
        })
        .collect()
}

#[test]
fn every_mistake_is_reported_with_its_place_and_remedy() {
    let mut wrong = String::new();
    for (name, config, expected) in cases() {
        let errors = Config::parse(config, "portico.toml").unwrap_err();
        let lines: Vec<String> = errors
            .iter()
            .map(|error| format!("{}:{}: {}", error.line(), error.column(), error.message()))
            .collect();
        if lines.join("\n") != expected {
            wrong.push_str(&format!(
                "=== {name}\n{config}---\n{}\n\n",
                lines.join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "these differ; now:\n\n{wrong}");
}

#[test]
fn an_error_begins_with_file_line_and_column() {
    let errors = Config::parse("\n  oops = 1", "dir/portico.toml").unwrap_err();
    assert_eq!(errors[0].file(), "dir/portico.toml");
    assert!(
        errors[0]
            .to_string()
            .starts_with("dir/portico.toml:2:3: unknown section \"oops\"")
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_without_a_line() {
    let errors = Config::load(std::path::Path::new("/nonexistent/portico.toml")).unwrap_err();
    assert_eq!((errors.len(), errors[0].line()), (1, 0));
    assert!(
        errors[0]
            .to_string()
            .starts_with("/nonexistent/portico.toml: can't be read: ")
    );
}
