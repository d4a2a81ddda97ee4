//! No number stands for a word's place in a record: TypeScript reads and writes words by the names in
//! `generated/layout.ts`. In Rust the compiler sees to it, since `portico-channel` gives words out by name only.

use std::path::{Path, PathBuf};

/// Fails where a record's words are indexed by a number.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut errors = Vec::new();
    let mut folders = vec![root.join("packages/portico/src")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ts") {
                look_at(&path, &mut errors)?;
            }
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.join("\n"))
    }
}

fn look_at(path: &PathBuf, errors: &mut Vec<String>) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    for (index, line) in text.lines().enumerate() {
        if has_number(line) {
            errors.push(format!(
                "{}:{}: a word of a record by number; use its name in generated/layout.ts",
                path.display(),
                index + 1
            ));
        }
    }
    Ok(())
}

/// Whether a line has a number in the index of something called `words`.
fn has_number(line: &str) -> bool {
    line.match_indices("words[").any(|(at, found)| {
        let index = line.get(at + found.len()..).unwrap_or_default();
        let index = index.split(']').next().unwrap_or_default();
        // From bytes to words.
        index
            .replace(">> 2", "")
            .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
            .any(|word| word.starts_with(|letter: char| letter.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::has_number;

    #[test]
    fn a_place_by_number_is_found_and_one_by_name_is_not() {
        for line in [
            "const sequence = words[at + 3];",
            "words[0]",
            "this.#words[(at >> 2) + 1] = kind;",
            "f(words[at + Request.TARGET], words[at+12])",
        ] {
            assert!(has_number(line), "{line}");
        }
        for line in [
            "words[at + EventRequest.SEQUENCE]",
            "kept[start + index] = words[at + index];",
            "bytes[3]",
            "words[word + layout.RecordHead.KIND] = kind | flags << 8;",
            "this.#words[(at >> 2) + layout.RecordHead.SIZE] = next - at;",
        ] {
            assert!(!has_number(line), "{line}");
        }
    }
}
