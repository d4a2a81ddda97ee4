//! Files of the engine import downward only: no two of them, and no ring of them, need each other to be understood.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A file by the path of its module: `h1::parsing`, and nothing for `lib.rs`.
type Module = Vec<String>;

/// Every source file. What a file's inner modules of tests import is indented, and not looked at.
fn sources(folder: &Path, module: &Module, all: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut inner = module.clone();
        if name != "lib" {
            inner.push(name);
        }
        if path.is_dir() {
            sources(&path, &inner, all);
        } else {
            all.insert(inner, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Paths that `use` declarations of these visibilities name, with `{a, b::c}` written out.
fn used(code: &str, is_reexport: bool) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut statement = String::new();
    for line in code.lines() {
        let starts = line.starts_with("use ") || line.starts_with("pub") && line.contains(" use ");
        if statement.is_empty() && !starts {
            continue;
        }
        statement.push_str(line.trim());
        if !line.ends_with(';') {
            continue;
        }
        let (before, path) = statement.split_once("use ").unwrap();
        if before.is_empty() != is_reexport {
            expand("", &path.replace([' ', ';'], ""), &mut paths);
        }
        statement.clear();
    }
    paths
}

fn expand(before: &str, path: &str, paths: &mut Vec<Vec<String>>) {
    let Some((start, rest)) = path.split_once('{') else {
        let whole = format!("{before}{path}");
        paths.push(whole.split("::").map(str::to_owned).collect());
        return;
    };
    let mut depth = 0;
    let inside = rest.strip_suffix('}').unwrap_or(rest);
    let parts = inside.split(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == ',' && depth == 0
    });
    for part in parts.filter(|part| !part.is_empty()) {
        expand(&format!("{before}{start}"), part, paths);
    }
}

/// The file that a path leads to, through what tables of contents hand on; `None` outside of the crate.
fn resolve(from: &Module, path: &[String], all: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut module, rest) = match path.first()?.as_str() {
        "crate" => (Module::new(), &path[1..]),
        "super" => (from[..from.len().checked_sub(1)?].to_vec(), &path[1..]),
        name => {
            let mut inner = from.clone();
            inner.push(name.to_owned());
            all.contains_key(&inner).then_some((from.clone(), path))?
        }
    };
    let mut names = rest.iter();
    for name in names.by_ref() {
        let mut inner = module.clone();
        inner.push(name.clone());
        if all.contains_key(&inner) {
            module = inner;
            continue;
        }
        let handed_on = used(&all[&module], true)
            .into_iter()
            .find(|path| path.last() == Some(name));
        return match handed_on {
            Some(path) => resolve(&module, &path, all),
            None => Some(module),
        };
    }
    Some(module)
}

#[test]
fn no_ring_of_files_imports_itself() {
    let mut all = BTreeMap::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&folder, &Module::new(), &mut all);
    let mut imports: BTreeMap<Module, BTreeSet<Module>> = BTreeMap::new();
    for (module, code) in &all {
        let found = used(code, false)
            .iter()
            .filter_map(|path| resolve(module, path, &all))
            .filter(|other| other != module)
            .collect();
        imports.insert(module.clone(), found);
    }
    assert!(
        imports.values().flatten().count() > 100,
        "imports are found"
    );
    // Takes away what imports nothing that is left, until nothing or a ring is left.
    loop {
        let before = imports.len();
        let left: BTreeSet<Module> = imports.keys().cloned().collect();
        imports.retain(|_, needs| needs.iter().any(|need| left.contains(need)));
        if imports.len() == before {
            break;
        }
    }
    // And what nothing that is left imports: it only stands on a ring.
    loop {
        let before = imports.len();
        let needed: BTreeSet<Module> = imports.values().flatten().cloned().collect();
        imports.retain(|module, _| needed.contains(module));
        if imports.len() == before {
            break;
        }
    }
    let ring: Vec<String> = imports.keys().map(|module| module.join("::")).collect();
    assert!(ring.is_empty(), "these import each other: {ring:?}");
}
