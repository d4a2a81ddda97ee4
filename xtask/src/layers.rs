//! The table of layers in ARCHITECTURE.md against the crates: what each depends on, and whether it may have `unsafe`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A row of the table.
struct Crate {
    layer: usize,
    has_unsafe: bool,
}

/// Fails where a crate depends on one of its own layer or above, or where documents and crates disagree.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let table = table(&read(&root.join("ARCHITECTURE.md"))?);
    let manifests = manifests(root)?;
    let named: BTreeSet<&String> = table.keys().collect();
    let present: BTreeSet<&String> = manifests.keys().collect();
    if named != present {
        let differ: Vec<_> = named.symmetric_difference(&present).collect();
        return Err(format!(
            "ARCHITECTURE.md, table of layers: {differ:?} stand either there or in crates/, not in both"
        ));
    }
    let mut errors = Vec::new();
    for (name, manifest) in &manifests {
        let Some(own) = table.get(name) else { continue };
        for dependency in dependencies(manifest) {
            let theirs = table.get(&dependency).map(|row| row.layer);
            if theirs.is_some_and(|layer| layer >= own.layer) {
                errors.push(format!(
                    "{name} depends on {dependency}, which is not below it (ARCHITECTURE.md, layers)"
                ));
            }
        }
        let source = root.join("crates").join(name).join("src");
        let main = read(&source.join("lib.rs")).or_else(|_| read(&source.join("main.rs")))?;
        if main.contains("#![forbid(unsafe_code)]") == own.has_unsafe {
            errors.push(format!(
                "{name}: `forbid(unsafe_code)` and the table of layers in ARCHITECTURE.md disagree"
            ));
        }
    }
    let allowed: BTreeSet<&str> = table
        .iter()
        .filter(|(_, row)| row.has_unsafe)
        .map(|(name, _)| name.as_str())
        .collect();
    for document in ["CONTRIBUTING.md", "SECURITY.md"] {
        let text = read(&root.join(document))?;
        let said: BTreeSet<&str> = unsafe_crates(&text);
        if said != allowed {
            errors.push(format!(
                "{document} says that {said:?} have `unsafe`; {allowed:?} do"
            ));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("\n"))
    }
}

/// Rows of a number and the crates of that layer, the lowest first; a star says that one may have `unsafe`.
fn table(text: &str) -> BTreeMap<String, Crate> {
    let mut rows = BTreeMap::new();
    for (layer, entry) in entries(text) {
        let name = entry.split('`').nth(1).unwrap_or_default();
        if name.ends_with('/') {
            continue;
        }
        let has_unsafe = entry.ends_with('*');
        rows.insert(name.to_owned(), Crate { layer, has_unsafe });
    }
    rows
}

/// The folders of the TypeScript package with their layers: names that end in a slash, given without it.
pub(crate) fn folders(text: &str) -> BTreeMap<String, usize> {
    entries(text)
        .filter_map(|(layer, entry)| {
            let name = entry.split('`').nth(1)?.strip_suffix('/')?;
            Some((name.to_owned(), layer))
        })
        .collect()
}

/// Each entry of a table's second column, with the number in the first.
fn entries(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().flat_map(|line| {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let layer = cells.next().and_then(|layer| layer.parse().ok());
        let names = cells.next().unwrap_or_default().split(", ");
        layer
            .into_iter()
            .flat_map(move |layer| names.clone().map(move |name| (layer, name)))
    })
}

/// Manifests of the crates by name.
fn manifests(root: &Path) -> Result<BTreeMap<String, String>, String> {
    let folder = root.join("crates");
    let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
    entries
        .flatten()
        .map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            Ok((name, read(&entry.path().join("Cargo.toml"))?))
        })
        .collect()
}

/// Crates of ours that a manifest names, for tests too.
fn dependencies(manifest: &str) -> impl Iterator<Item = String> + '_ {
    manifest.lines().filter_map(|line| {
        let name = line.split(['.', ' ', '=']).next()?;
        (name.starts_with("portico-") && line.contains('=')).then(|| name.to_owned())
    })
}

/// Crates that the paragraph about `unsafe` names.
fn unsafe_crates(text: &str) -> BTreeSet<&str> {
    let Some((_, item)) = text
        .split("\n- ")
        .map(|item| (item.contains("`unsafe`"), item))
        .find(|(is_about, _)| *is_about)
    else {
        return BTreeSet::new();
    };
    let end = item.find("\n\n").unwrap_or(item.len());
    let names = item.get(..end).unwrap_or(item).split('`');
    names.filter(|name| name.starts_with("portico-")).collect()
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_names_layers_with_crates_or_folders() {
        let text = "| layer | crates |\n|---|---|\n| 1 | `a`, `b`* |\n| 2 | `c` |\n\n| 1 | `d/`, `./` | what |\n| 2 | `e/` | |\n";
        let rows = table(text);
        let found: Vec<_> = rows
            .iter()
            .map(|(name, row)| (name.as_str(), row.layer, row.has_unsafe))
            .collect();
        assert_eq!(found, [("a", 1, false), ("b", 1, true), ("c", 2, false)]);
        let found: Vec<_> = folders(text).into_iter().collect();
        let expected = [(".", 1), ("d", 1), ("e", 2)];
        assert_eq!(
            found,
            expected.map(|(name, layer)| (name.to_owned(), layer))
        );
    }

    #[test]
    fn dependencies_are_ours_only() {
        let manifest = "name = \"portico-a\"\n[dependencies]\nportico-b.workspace = true\nserde = \"1\"\nportico-c = { path = \"x\" }\n";
        assert_eq!(
            dependencies(manifest).collect::<Vec<_>>(),
            ["portico-b", "portico-c"]
        );
    }

    #[test]
    fn a_document_names_the_crates_in_one_item() {
        let text = "- One: `portico-x`.\n- `unsafe` is in `portico-a` and\n  `portico-b`.\n- Two: `portico-y`.\n";
        let found: Vec<_> = unsafe_crates(text).into_iter().collect();
        assert_eq!(found, ["portico-a", "portico-b"]);
    }
}
