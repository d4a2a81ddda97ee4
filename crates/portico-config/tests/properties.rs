//! Whatever the text is, there is a configuration or a mistake with a place.

use portico_config::Config;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const PIECES: [&str; 34] = [
    "[host]\n",
    "[[site]]\n",
    "[[listener]]\n",
    "[[certificate]]\n",
    "[[reservation]]\n",
    "[[application]]\n",
    "name = \"a\"\ncommand = ",
    "instances = ",
    "environment = { A = 1 }\n",
    "[queue]\n",
    "[limits]\n",
    "[site]\n",
    "prefix = ",
    "\"https://*:443/a/\"\n",
    "\"http://*:80/\"\n",
    "address = ",
    "\"*:443\"\n",
    "port = ",
    "443\n",
    "tls = true\n",
    "queue = { length = 1 }\n",
    "names = [\"a\", \"*.b\"]\n",
    "users = [1, \"a\"]\n",
    "affinity = { segment = 1 }\n",
    "certificate = \"a\"\n",
    "key = \"a\"\n",
    "shards = ",
    "timeout = ",
    "\"1s\"\n",
    "\u{e9}\u{1F600} = 1\n",
    "\"",
    "\n",
    "#",
    "}",
];

fn check(text: &str) {
    if let Err(errors) = Config::parse(text, "portico.toml") {
        assert!(!errors.is_empty());
        let lines = text.split('\n').count();
        for error in errors {
            assert!((1..=lines).contains(&error.line()), "{error}");
            assert!(
                error.column() >= 1 && !error.message().is_empty(),
                "{error}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn pieces_of_configurations_parse_or_have_mistakes_with_places(pieces in vec(select(&PIECES[..]), 0..25)) {
        check(&pieces.concat());
    }

    #[test]
    fn any_text_parses_or_has_mistakes_with_places(text in ".{0,60}") {
        check(&text);
    }
}
