//! Folders for files that are needed for a while.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::DriverError;

/// A folder that nobody else may read, removed with all that is in it when this is dropped.
#[derive(Debug)]
pub struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    /// Makes a new one. All have names of the same length: it moves the stack of a program that is run from there.
    ///
    /// # Errors
    ///
    /// There is no folder for temporary files, or nothing can be written to it.
    pub fn new() -> Result<Self, DriverError> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut number = time.map_or(0, |time| time.subsec_nanos()) ^ std::process::id() << 8;
        loop {
            let path = std::env::temp_dir().join(format!("fencepost-{number:08x}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(TemporaryFolder(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    number = number.wrapping_add(1);
                }
                Err(why) => return Err(DriverError::CannotWrite { path, why }),
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // What is left behind does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
