//! Files of the TypeScript package do not import each other in a circle: whichever were loaded first would find the other
//! half made. Types are no part of what is loaded, so imports of types alone do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::folders::resolve;

type Imports = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// Fails where files import each other in a circle, and names one of each.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let source = resolve(&root.join("packages/portico/src"));
    let mut imports = Imports::new();
    let mut folders = vec![source.clone()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ts") {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                let targets =
                    value_imports(&text).filter_map(|target| file_of(&folder.join(target)));
                imports.insert(path, targets.collect());
            }
        }
    }
    match circle(&imports) {
        None => Ok(()),
        Some(circle) => {
            let names = circle.iter().map(|file| {
                let name = file.strip_prefix(&source).unwrap_or(file);
                name.display().to_string()
            });
            let names: Vec<_> = names.collect();
            Err(format!(
                "packages/portico/src: these files import each other in a circle: {}",
                names.join(" -> ")
            ))
        }
    }
}

/// Relative paths from which a file imports or exports more than types.
fn value_imports(text: &str) -> impl Iterator<Item = String> {
    text.match_indices("from '.").filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let start = before.rfind("import ").max(before.rfind("export "))?;
        let statement = before.get(start..)?;
        let is_type = statement.starts_with("import type") || statement.starts_with("export type");
        let path = text.get(at + "from '".len()..)?.split('\'').next()?;
        (!is_type).then(|| path.to_owned())
    })
}

/// The file of a module: a file, or a folder's index.
fn file_of(path: &Path) -> Option<PathBuf> {
    let path = resolve(path);
    let mut file = path.clone().into_os_string();
    file.push(".ts");
    [PathBuf::from(file), path.join("index.ts")]
        .into_iter()
        .find(|file| file.is_file())
}

/// A circle, its first file again as its last.
fn circle(imports: &Imports) -> Option<Vec<PathBuf>> {
    let mut done = BTreeSet::new();
    imports
        .keys()
        .find_map(|file| walk(file, imports, &mut Vec::new(), &mut done))
}

fn walk(
    file: &PathBuf,
    imports: &Imports,
    path: &mut Vec<PathBuf>,
    done: &mut BTreeSet<PathBuf>,
) -> Option<Vec<PathBuf>> {
    if let Some(start) = path.iter().position(|before| before == file) {
        let circle = path.iter().skip(start).chain([file]);
        return Some(circle.cloned().collect());
    }
    if done.contains(file) {
        return None;
    }
    path.push(file.clone());
    for target in imports.get(file).into_iter().flatten() {
        if let Some(circle) = walk(target, imports, path, done) {
            return Some(circle);
        }
    }
    path.pop();
    done.insert(file.clone());
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_do_not_count() {
        let text = "import { a } from './a';\nimport type { B } from './b';\nimport {\n  c,\n  d,\n} from '../c';\nexport * from './e';\nexport type { F } from './f';\nimport fs from 'node:fs';\n";
        let found: Vec<_> = value_imports(text).collect();
        assert_eq!(found, ["./a", "../c", "./e"]);
    }

    #[test]
    fn a_circle_is_found_wherever_it_begins_and_a_diamond_is_none() {
        let files = |edges: &[(&str, &str)]| {
            let mut imports = Imports::new();
            for (from, to) in edges {
                imports.entry(from.into()).or_default().insert(to.into());
                imports.entry(to.into()).or_default();
            }
            circle(&imports)
        };
        assert_eq!(
            files(&[("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]),
            None
        );
        let found = files(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]);
        let names = ["b", "c", "d", "b"].map(PathBuf::from);
        assert_eq!(found.as_deref(), Some(names.as_slice()));
        assert_eq!(files(&[("a", "a")]).map(|circle| circle.len()), Some(2));
    }
}
