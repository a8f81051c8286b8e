//! Where the runtime library is.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::DriverError;

/// The file name of the runtime library.
pub const RUNTIME_FILE: &str = "libfencepost_native.so";

/// The variable with its path.
pub(crate) const RUNTIME_VARIABLE: &str = "FENCEPOST_RUNTIME";

/// The path of the runtime library: what the variable `FENCEPOST_RUNTIME` says, or else beside the command, where
/// `cargo build` puts it, or where an installation does.
///
/// # Errors
///
/// It is nowhere.
pub fn find_runtime() -> Result<PathBuf, DriverError> {
    if let Some(path) = std::env::var_os(RUNTIME_VARIABLE) {
        return named(Path::new(&path));
    }
    let command = std::env::current_exe().and_then(|path| path.canonicalize());
    let folder = command
        .ok()
        .and_then(|path| path.parent().map(Path::to_owned));
    find_near(&folder.unwrap_or_default())
}

/// The library that the variable names, or the one in the folder that it names.
fn named(path: &Path) -> Result<PathBuf, DriverError> {
    let file = match path.is_dir() {
        true => path.join(RUNTIME_FILE),
        false => path.to_owned(),
    };
    if file.file_name().is_none_or(|name| name != RUNTIME_FILE) {
        return Err(DriverError::RuntimeName { path: file });
    }
    match file.canonicalize() {
        // A link may lead to a file with another name; the dynamic linker needs this one.
        Ok(target) if target.is_file() => Ok(std::path::absolute(&file).unwrap_or(file)),
        _ => Err(DriverError::RuntimeNotThere { path: file }),
    }
}

fn find_near(folder: &Path) -> Result<PathBuf, DriverError> {
    let beside = [
        folder.join(RUNTIME_FILE),
        folder.join("deps").join(RUNTIME_FILE),
    ];
    // Cargo copies the library beside the command only if it is asked to build the library itself, so that such a copy may
    // be older than the command.
    let modified = |path: &PathBuf| -> Option<SystemTime> { path.metadata().ok()?.modified().ok() };
    let newest = beside
        .iter()
        .filter(|path| path.is_file())
        .max_by_key(|path| modified(path));
    let mut looked_for = beside.to_vec();
    let installed = folder
        .parent()
        .map(|root| root.join("lib/fencepost").join(RUNTIME_FILE));
    looked_for.extend(installed.clone());
    match newest.cloned().or(installed.filter(|path| path.is_file())) {
        Some(path) => Ok(path),
        None => Err(DriverError::NoRuntime { looked_for }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::TemporaryFolder;

    #[test]
    fn it_is_found_beside_the_command_or_where_it_is_installed() {
        let folder = TemporaryFolder::new().unwrap();
        let bin = folder.path().join("bin");
        for place in ["bin/deps", "lib/fencepost"] {
            std::fs::create_dir_all(folder.path().join(place)).unwrap();
        }
        let message = find_near(&bin).unwrap_err().to_string();
        assert!(
            message.contains("bin/deps/libfencepost_native.so"),
            "{message}"
        );
        assert!(
            message.contains("cargo build --release -p fencepost-native"),
            "{message}"
        );
        let set_modified = |file: &Path, seconds| {
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            std::fs::File::open(file)
                .unwrap()
                .set_modified(time)
                .unwrap();
        };
        for (place, seconds) in [("lib/fencepost", 10), ("bin/deps", 10), ("bin", 20)] {
            let file = folder.path().join(place).join(RUNTIME_FILE);
            std::fs::write(&file, "").unwrap();
            set_modified(&file, seconds);
            assert_eq!(find_near(&bin).unwrap(), file);
        }
        set_modified(&bin.join(RUNTIME_FILE), 5);
        assert_eq!(
            find_near(&bin).unwrap(),
            bin.join("deps").join(RUNTIME_FILE)
        );
    }

    #[test]
    fn what_is_named_must_be_there() {
        let folder = TemporaryFolder::new().unwrap();
        let file = folder.path().join(RUNTIME_FILE);
        assert!(matches!(
            named(folder.path()),
            Err(DriverError::RuntimeNotThere { .. })
        ));
        std::fs::write(&file, "").unwrap();
        assert_eq!(named(folder.path()).unwrap(), file);
        assert_eq!(named(&file).unwrap(), file);
        let other = folder.path().join("other.so");
        assert!(matches!(
            named(&other),
            Err(DriverError::RuntimeName { .. })
        ));
    }
}
