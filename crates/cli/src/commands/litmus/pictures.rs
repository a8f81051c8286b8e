//! Where pictures go: one to a file, or many to a directory.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fencepost_memory::MemoryModel;

use crate::args::LitmusArguments;
use crate::exit::Failure;

/// Whether a path names a directory: one that is there, or one with a `/` at its end.
pub(super) fn is_directory(path: &Path) -> bool {
    let text = path.as_os_str().as_encoded_bytes();
    path.is_dir()
        || text.ends_with(b"/")
        || text.ends_with(std::path::MAIN_SEPARATOR_STR.as_bytes())
}

/// Makes the directories, and gives each test the name of its pictures: that of its file. A name
/// that another test has already gets a number.
pub(super) fn prepare(
    arguments: &LitmusArguments,
    files: &[PathBuf],
) -> Result<Vec<String>, Failure> {
    for path in [&arguments.svg, &arguments.dot].into_iter().flatten() {
        if is_directory(path) {
            std::fs::create_dir_all(path).map_err(|error| {
                Failure::BadInput(format!("error: cannot create {}: {error}", path.display()))
            })?;
        }
    }
    let mut taken = HashSet::new();
    let mut names = Vec::with_capacity(files.len());
    for file in files {
        let stem = file
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned());
        let stem = stem
            .filter(|stem| stem != "-")
            .unwrap_or_else(|| "stdin".to_owned());
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone())
            .chain(numbered)
            .find(|name| !taken.contains(name))
            .unwrap_or(stem);
        taken.insert(name.clone());
        names.push(name);
    }
    Ok(names)
}

/// The file of a picture of a test under a model.
pub(super) fn file(path: &Path, name: &str, model: &MemoryModel, extension: &str) -> PathBuf {
    match is_directory(path) {
        true => path.join(format!("{name}.{}.{extension}", model.name())),
        false => path.to_path_buf(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_told_from_files() {
        assert!(is_directory(Path::new("/")));
        assert!(is_directory(Path::new("no/such/place/")));
        assert!(!is_directory(Path::new("no/such/place")));
        let file = |path| file(Path::new(path), "SB", &MemoryModel::TSO, "svg");
        assert_eq!(file("p/"), Path::new("p/SB.tso.svg"));
        assert_eq!(file("p.svg"), Path::new("p.svg"));
    }
}
