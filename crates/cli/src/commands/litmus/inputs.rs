//! The tests to run: files, directories, and lists of files (`@all`), as for herd7.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::exit::Failure;
use crate::files;

/// The deepest nesting of lists.
const DEEPEST: usize = 64;
/// The most bytes of a list.
const LARGEST_LIST: u64 = 64 << 20;

/// The tests to run, and errors about directories and lists.
#[derive(Default)]
pub struct Files {
    /// In order, those of a directory by name.
    pub paths: Vec<PathBuf>,
    /// A message for each directory, list or pipe in a directory that could not be read.
    pub errors: Vec<String>,
    /// Directories that were entered, so that symbolic links cause no cycle.
    entered: HashSet<PathBuf>,
}

/// Collects the tests that the arguments name.
pub fn collect(arguments: &[PathBuf]) -> Result<Files, Failure> {
    let mut files = Files::default();
    for path in arguments {
        files.add(path, 0);
    }
    if files.paths.is_empty() {
        files.errors.push(
            "error: there are no litmus tests\n  = help: the tests of a directory are its files whose names end in `.litmus`"
                .into(),
        );
        return Err(Failure::BadInput(files.errors.join("\n")));
    }
    Ok(files)
}

fn is_list(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.is_some_and(|name| name.starts_with('@'))
}

impl Files {
    fn add(&mut self, path: &Path, depth: usize) {
        let added = if path.is_dir() {
            self.add_directory(path, depth)
        } else if is_list(path) {
            self.add_list(path, depth)
        } else {
            self.paths.push(path.to_path_buf());
            Ok(())
        };
        if let Err(error) = added {
            self.errors
                .push(format!("error: {}: {error}", path.display()));
        }
    }

    fn add_directory(&mut self, path: &Path, depth: usize) -> std::io::Result<()> {
        if !self.entered.insert(path.canonicalize()?) {
            return Ok(());
        }
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(path)? {
            entries.push(entry?.path());
        }
        entries.sort();
        for entry in entries {
            // A list in a directory names files that are there anyway.
            let is_test = entry.extension() == Some(OsStr::new("litmus"));
            if is_test && files::is_special(&entry) {
                self.errors.push(format!(
                    "error: {}: neither a file nor a directory",
                    entry.display()
                ));
            } else if entry.is_dir() || is_test {
                self.add(&entry, depth);
            }
        }
        Ok(())
    }

    fn add_list(&mut self, path: &Path, depth: usize) -> std::io::Result<()> {
        if depth > DEEPEST {
            return Err(std::io::Error::other("lists are nested too deeply"));
        }
        let bytes = files::read_up_to(path, LARGEST_LIST)?;
        if bytes.len() as u64 > LARGEST_LIST {
            return Err(std::io::Error::other("the list is larger than 64 MiB"));
        }
        let text = String::from_utf8(bytes).map_err(std::io::Error::other)?;
        let directory = path.parent().unwrap_or(Path::new(""));
        for line in text.lines() {
            let name = line.trim();
            if !name.is_empty() && !name.starts_with('#') {
                self.add(&directory.join(name), depth + 1);
            }
        }
        Ok(())
    }
}
