//! Imports between the folders of the TypeScript package. `packages/portico/folder-imports.txt` lists those that there
//! are; a new one fails, and so does a line whose import has gone: the list only shrinks.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// An import from one folder to another, `.` for the package's own.
type Edge = (String, String);

/// Fails where imports and list differ.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let list = root.join("packages/portico/folder-imports.txt");
    let text =
        std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let allowed: BTreeSet<Edge> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(" -> "))
        .map(|(from, to)| (from.to_owned(), to.to_owned()))
        .collect();
    let found = edges(&resolve(&root.join("packages/portico/src")))?;
    let mut errors = Vec::new();
    for ((from, to), file) in &found {
        if !allowed.contains(&(from.clone(), to.clone())) {
            errors.push(format!(
                "{file}: {from}/ imports {to}/, which packages/portico/folder-imports.txt does not list"
            ));
        }
    }
    for (from, to) in allowed.iter().filter(|edge| !found.contains_key(edge)) {
        errors.push(format!(
            "packages/portico/folder-imports.txt: {from}/ imports {to}/ no longer; remove the line"
        ));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("\n"))
    }
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

fn resolve(path: &Path) -> PathBuf {
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
