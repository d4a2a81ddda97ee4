//! Generates what exists twice: `cargo run -p xtask -- generate` writes the TypeScript copies of the tables that Rust
//! owns and the reference pages of the configuration and of the records, `-- check` fails if a copy is out of date, or an
//! import runs against the layers of the crates or the folders of the package, files of the package import each other in a
//! circle, or a word of a record is named by a number.

mod circles;
mod folders;
mod layers;
mod layout;
mod records;
mod tables;
mod tls;
mod word_indexes;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        Some("generate") => false,
        Some("check") => true,
        _ => {
            eprintln!("usage: cargo run -p xtask -- generate|check");
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let result = run(&root, check).and_then(|()| match check {
        true => layers::check(&root)
            .and_then(|()| folders::check(&root))
            .and_then(|()| circles::check(&root))
            .and_then(|()| word_indexes::check(&root)),
        false => Ok(()),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, check: bool) -> Result<(), String> {
    let folder = root.join("packages/portico/src/generated");
    let verify_errors = root.join("crates/portico-tls/src/verify_error.rs");
    let verify_errors = std::fs::read_to_string(&verify_errors)
        .map_err(|error| format!("{}: {error}", verify_errors.display()))?;
    let files: [(PathBuf, String); 6] = [
        (folder.join("layout.ts"), layout::generate()?),
        (folder.join("tables.ts"), tables::generate()),
        (
            root.join("crates/portico-channel/src/layout/tables.rs"),
            tables::generate_fingerprint(),
        ),
        (
            folder.join("tls-verify-errors.ts"),
            tls::generate(&verify_errors)?,
        ),
        (
            root.join("docs/configuration.md"),
            portico_config::reference(),
        ),
        (root.join("docs/records.md"), records::generate()),
    ];
    for (path, content) in files {
        if check {
            let present = std::fs::read_to_string(&path).unwrap_or_default();
            if present != content {
                return Err(format!(
                    "{} is out of date: run `make generate`",
                    path.display()
                ));
            }
        } else {
            std::fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
            std::fs::write(&path, content)
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}
