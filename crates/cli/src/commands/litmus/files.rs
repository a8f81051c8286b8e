//! Which files are meant: files, whole directories, and lists of files (`@all`), as herd7 takes them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// How deep directories may be nested; deeper ones are most likely a cycle of links.
const DEEPEST: usize = 64;

/// The tests meant by the arguments, in order, those of a directory by name.
pub fn collect(arguments: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in arguments {
        add(path, 0, &mut files)?;
    }
    if files.is_empty() {
        return Err(Failure::BadInput(
            "error: there are no litmus tests\n  = help: the tests of a directory are its files whose names end in `.litmus`".into(),
        ));
    }
    Ok(files)
}

fn add(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if depth > DEEPEST {
        let message = format!("error: {}: nested too deeply", path.display());
        return Err(Failure::BadInput(message));
    }
    if path.is_dir() {
        add_directory(path, depth, files)
    } else if is_list(path) {
        add_list(path, depth, files)
    } else {
        files.push(path.to_path_buf());
        Ok(())
    }
}

fn is_list(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with('@'))
}

fn add_directory(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure::BadInput(format!("error: {}: {error}", path.display()));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        entries.push(entry.map_err(failed)?.path());
    }
    entries.sort();
    for entry in entries {
        // A list in a directory names files that are there anyway.
        let is_test = entry.extension() == Some(OsStr::new("litmus"));
        if entry.is_dir() || is_test {
            add(&entry, depth + 1, files)?;
        }
    }
    Ok(())
}

fn add_list(path: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error| Failure::BadInput(format!("error: {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(failed)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    for line in text.lines() {
        let name = line.trim();
        if !name.is_empty() && !name.starts_with('#') {
            add(&directory.join(name), depth + 1, files)?;
        }
    }
    Ok(())
}
