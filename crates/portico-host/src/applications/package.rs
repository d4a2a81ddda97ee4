//! Where the npm package `portico` is, which workers load before the program.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The folder of the package, if `PORTICO_PACKAGE` does not name it.
const VARIABLE: &str = "PORTICO_PACKAGE";
/// What is loaded first, in the package's folder.
const REGISTER: &str = "dist/register.js";

/// The folder of the package that belongs to this program: named by `PORTICO_PACKAGE`, else found by where the program
/// lies, else the application's own copy. `None`: not found.
#[must_use]
pub fn package_folder(application: &Path) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        return std::path::absolute(named).ok();
    }
    let program = std::env::current_exe().ok();
    let of_program = program.iter().flat_map(|program| {
        let above = |levels: usize| program.ancestors().nth(levels).map(Path::to_owned);
        // <package>/native/portico; <tree>/target/<profile>/portico; <prefix>/bin/portico;
        // node_modules/@portico/<platform>/portico.
        let near = [above(2), above(3).map(|tree| tree.join("packages/portico"))];
        let installed = above(2).into_iter().flat_map(|prefix| {
            ["lib/portico", "lib/node_modules/portico"].map(|folder| Some(prefix.join(folder)))
        });
        let beside = above(3).map(|modules| modules.join("portico"));
        near.into_iter().chain(installed).chain([beside]).flatten()
    });
    let own = application
        .ancestors()
        .map(|folder| folder.join("node_modules/portico"));
    of_program
        .chain(own)
        .find(|folder| folder.join(REGISTER).is_file())
}

/// What loads the package in every Node that inherits it, behind the options that are there. (`--import` would start Node's
/// loader of modules for every program: 100 ms and more.)
pub(crate) fn node_options(package: &Path, before: Option<OsString>) -> OsString {
    let mut options = before.unwrap_or_default().into_vec();
    if !options.is_empty() {
        options.push(b' ');
    }
    options.extend_from_slice(b"--require=\"");
    for byte in package.join(REGISTER).as_os_str().as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            options.push(b'\\');
        }
        options.push(*byte);
    }
    options.push(b'"');
    OsString::from_vec(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_before_stay_and_a_path_is_quoted() {
        let options = node_options(Path::new("/a b/\"\\"), Some("--inspect".into()));
        let expected = "--inspect --require=\"/a b/\\\"\\\\/dist/register.js\"";
        assert_eq!(options, expected);
    }
}
