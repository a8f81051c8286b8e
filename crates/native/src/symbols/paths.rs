//! Source paths as people see them from the current folder.

use std::path::{Component, Path, PathBuf};

/// The path relative to a folder if it is below it; otherwise as it is, without `.` and, where that is sure, without `..`.
pub(super) fn relative(path: &str, folder: &Path) -> String {
    let path = Path::new(path);
    // The file may be reached over links; if it is not there, the text has to do.
    let real = path.canonicalize().ok().filter(|_| path.is_absolute());
    let plain = real.unwrap_or_else(|| normalize(path));
    let below = plain
        .strip_prefix(folder)
        .ok()
        .filter(|rest| !rest.as_os_str().is_empty());
    below.unwrap_or(&plain).to_string_lossy().into_owned()
}

fn normalize(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        let can_leave = matches!(plain.components().next_back(), Some(Component::Normal(_)));
        match component {
            Component::CurDir => {}
            Component::ParentDir if can_leave => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_folder_are_relative() {
        let folder = Path::new("/nowhere/project");
        for (path, expected) in [
            ("/nowhere/project/src/a.c", "src/a.c"),
            ("/nowhere/project/build/../src/./a.c", "src/a.c"),
            ("/nowhere/projects/a.c", "/nowhere/projects/a.c"),
            ("/nowhere/project", "/nowhere/project"),
            ("../a.c", "../a.c"),
            ("./a.c", "a.c"),
            ("", ""),
        ] {
            assert_eq!(relative(path, folder), expected);
        }
    }
}
