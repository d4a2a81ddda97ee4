//! What is started for a program as people name it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What Node runs.
const SCRIPTS: [&str; 6] = ["js", "mjs", "cjs", "ts", "mts", "cts"];

/// How scripts are run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The program.
    pub program: OsString,
    /// Its own options, before the script.
    pub arguments: Vec<OsString>,
}

impl Default for Node {
    /// The Node that `PATH` finds.
    fn default() -> Self {
        Self {
            program: "node".into(),
            arguments: Vec::new(),
        }
    }
}

/// Program and arguments, and the folder where they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Where it runs.
    pub directory: PathBuf,
}

/// What to start: a script by Node, a folder's `package.json`, an executable file, else a line for the shell. Paths start
/// at `folder`. Blocks on the disk.
///
/// # Errors
/// A file that is not there or can't be understood; options of Node for what is not started by it. In words.
pub fn resolve(
    program: &str,
    arguments: &[OsString],
    folder: &Path,
    node: &Node,
) -> Result<Resolved, String> {
    let path = folder.join(program);
    let mut directory = folder.to_owned();
    let is_script = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| SCRIPTS.contains(&extension))
    };
    let mut command: Vec<OsString> = if path.is_dir() {
        directory = fs::canonicalize(&path).map_err(|error| unreadable(&path, &error))?;
        of_folder(&path, node)?
    } else if path.is_file() {
        let file = fs::canonicalize(&path).map_err(|error| unreadable(&path, &error))?;
        let mode = fs::metadata(&path).map(|meta| meta.permissions().mode());
        let is_executable = mode.is_ok_and(|mode| mode & 0o111 != 0);
        match is_executable && !is_script(&path) {
            true => vec![file.into()],
            false => node.script(&file),
        }
    } else if is_script(&path) {
        return Err(format!("there is no file {}", path.display()));
    } else {
        let line = format!("{program} \"$@\"");
        vec!["/bin/sh".into(), "-c".into(), line.into(), "sh".into()]
    };
    if !node.arguments.is_empty() && command.first() != Some(&node.program) {
        return Err(format!(
            "{program:?} is not a script that is run by Node: give Node's options in NODE_OPTIONS"
        ));
    }
    command.extend(arguments.iter().cloned());
    Ok(Resolved { command, directory })
}

impl Node {
    fn script(&self, file: &Path) -> Vec<OsString> {
        let mut command = vec![self.program.clone()];
        command.extend(self.arguments.iter().cloned());
        command.push(file.into());
        command
    }
}

fn of_folder(folder: &Path, node: &Node) -> Result<Vec<OsString>, String> {
    let file = folder.join("package.json");
    let text = fs::read(&file).map_err(|error| unreadable(&file, &error))?;
    let package: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| format!("{} can't be understood: {error}", file.display()))?;
    if package["scripts"]["start"].is_string() {
        return Ok(["npm", "start", "--"].map(OsString::from).to_vec());
    }
    let main = package["main"].as_str().unwrap_or("index.js");
    let main = fs::canonicalize(folder.join(main)).map_err(|_| {
        format!(
            "{} has no script \"start\", and there is no {main} in its folder",
            file.display()
        )
    })?;
    Ok(node.script(&main))
}

fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!("{} can't be read: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn a_program_is_a_script_a_folder_an_executable_file_or_a_line_for_the_shell() {
        let folder = tempfile::tempdir().unwrap();
        let at = fs::canonicalize(folder.path()).unwrap();
        let text = |name: &str| at.join(name).display().to_string();
        fs::create_dir(at.join("package")).unwrap();
        fs::write(at.join("package/package.json"), r#"{"main":"main.js"}"#).unwrap();
        for script in ["app.js", "package/main.js", "tool"] {
            fs::write(at.join(script), "").unwrap();
        }
        fs::set_permissions(at.join("tool"), fs::Permissions::from_mode(0o755)).unwrap();
        let node = Node {
            program: "/opt/node".into(),
            arguments: words(&["--expose-gc"]),
        };
        let plain = Node::default();
        for (program, node, expected) in [
            ("app.js", &plain, words(&["node", &text("app.js"), "-v"])),
            (
                "app.js",
                &node,
                words(&["/opt/node", "--expose-gc", &text("app.js"), "-v"]),
            ),
            (
                "package",
                &plain,
                words(&["node", &text("package/main.js"), "-v"]),
            ),
            ("tool", &plain, words(&[&text("tool"), "-v"])),
            (
                "npm start",
                &plain,
                words(&["/bin/sh", "-c", "npm start \"$@\"", "sh", "-v"]),
            ),
        ] {
            let resolved = resolve(program, &words(&["-v"]), &at, node).unwrap();
            assert_eq!(resolved.command, expected);
            let folder = if program == "package" { "package" } else { "" };
            assert_eq!(
                resolved.directory.components(),
                at.join(folder).components()
            );
        }
        for (program, node, what) in [
            ("none.mjs", &plain, "there is no file"),
            ("tool", &node, "NODE_OPTIONS"),
            ("npm start", &node, "NODE_OPTIONS"),
        ] {
            let text = resolve(program, &[], &at, node).unwrap_err();
            assert!(text.contains(what), "{text}");
        }
    }
}
