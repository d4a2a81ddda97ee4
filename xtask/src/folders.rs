//! The table of layers in ARCHITECTURE.md against the folders of the TypeScript package: a file imports from its own
//! folder and from those of lower layers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// An import from one folder to another, `.` for the package's own.
type Edge = (String, String);

/// Fails where a folder imports one of its own layer or above, or where document and folders disagree.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let document = root.join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&document)
        .map_err(|error| format!("{}: {error}", document.display()))?;
    let layers = crate::layers::folders(&text);
    let source = resolve(&root.join("packages/portico/src"));
    let named: BTreeSet<String> = layers.keys().cloned().collect();
    let present = folders(&source)?;
    if named != present {
        let differ: Vec<_> = named.symmetric_difference(&present).collect();
        return Err(format!(
            "ARCHITECTURE.md, table of folders: {differ:?} stand either there or in packages/portico/src, not in both"
        ));
    }
    let upward = upward(&edges(&source)?, &layers);
    if upward.is_empty() {
        Ok(())
    } else {
        Err(upward.join("\n"))
    }
}

/// What is wrong with imports of folders that are not below the one that imports.
fn upward(edges: &BTreeMap<Edge, String>, layers: &BTreeMap<String, usize>) -> Vec<String> {
    edges
        .iter()
        .filter(|((from, to), _)| layers.get(to) >= layers.get(from))
        .map(|((from, to), file)| {
            format!(
                "{file}: {from}/ imports {to}/, which is not below it (ARCHITECTURE.md, layers)"
            )
        })
        .collect()
}

/// The folders of a package's sources, and `.` for the sources' own.
fn folders(source: &Path) -> Result<BTreeSet<String>, String> {
    let entries = std::fs::read_dir(source).map_err(|error| error.to_string())?;
    let inner = entries
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(inner.chain([".".to_owned()]).collect())
}

/// Each import between folders, with a file that has it. Imports of types count too.
fn edges(source: &Path) -> Result<BTreeMap<Edge, String>, String> {
    let mut edges = BTreeMap::new();
    let mut folders = vec![source.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ts") {
                let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
                let from = top_folder(source, &folder);
                for target in imports(&text) {
                    let target = folder_of(&folder.join(target));
                    let to = top_folder(source, &target);
                    // The package's `package.json` lies outside.
                    if target.starts_with(source) && from != to {
                        edges
                            .entry((from.clone(), to))
                            .or_insert_with(|| path.display().to_string());
                    }
                }
            }
        }
    }
    Ok(edges)
}

/// Relative paths that a file imports, exports from or requires.
fn imports(text: &str) -> impl Iterator<Item = String> {
    ["from '.", "import('.", "require('.", "import '."]
        .into_iter()
        .flat_map(move |start| text.split(start).skip(1))
        .filter_map(|rest| rest.split('\'').next())
        .map(|rest| format!(".{rest}"))
}

/// The folder of the module that a path means: a file, or a folder with an index.
fn folder_of(path: &Path) -> PathBuf {
    let path = resolve(path);
    if !path.with_extension("ts").is_file() && path.is_dir() {
        return path;
    }
    path.parent().unwrap_or(&path).to_path_buf()
}

/// A path without `.` and `..`.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                resolved.pop();
            }
            part => resolved.push(part),
        }
    }
    resolved
}

fn top_folder(source: &Path, folder: &Path) -> String {
    let inside = folder.strip_prefix(source).unwrap_or(Path::new(""));
    match inside.components().next() {
        Some(first) => first.as_os_str().to_string_lossy().into_owned(),
        None => ".".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_every_form_are_found() {
        let text = "import { a } from '../a/b';\nexport * from './c';\nimport type { D } from '../d';\nconst e = require('./e');\nawait import('../f/g');\nimport fs from 'node:fs';\n";
        let mut found: Vec<_> = imports(text).collect();
        found.sort();
        assert_eq!(found, ["../a/b", "../d", "../f/g", "./c", "./e"]);
    }

    #[test]
    fn imports_run_down_only() {
        let edge = |from: &str, to: &str| ((from.to_owned(), to.to_owned()), format!("{from}.ts"));
        let layers = [("a", 1), ("b", 2), ("c", 2)].map(|(name, layer)| (name.to_owned(), layer));
        let edges = BTreeMap::from([edge("b", "a"), edge("a", "b"), edge("b", "c")]);
        let found = upward(&edges, &BTreeMap::from(layers));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("a.ts: a/ imports b/"));
        assert!(found[1].starts_with("b.ts: b/ imports c/"));
    }

    #[test]
    fn a_module_lies_in_a_folder() {
        let source = Path::new("/p/src");
        assert_eq!(
            folder_of(Path::new("/p/src/lane/../http/x")),
            Path::new("/p/src/http")
        );
        assert_eq!(top_folder(source, Path::new("/p/src/http")), "http");
        assert_eq!(top_folder(source, source), ".");
    }
}
