//! The headers that programs find without any option: what a program can ask of a check, and what programs for other checkers
//! include.

use std::fs;
use std::path::Path;

use crate::error::DriverError;

const HEADERS: [(&str, &str); 2] = [
    ("fencepost.h", include_str!("../include/fencepost.h")),
    ("genmc.h", include_str!("../include/genmc.h")),
];

/// Puts them into a folder.
///
/// # Errors
///
/// The folder cannot be written to.
pub(crate) fn write(folder: &Path) -> Result<(), DriverError> {
    let cannot = |path: &Path, why| DriverError::CannotWrite {
        path: path.to_owned(),
        why,
    };
    fs::create_dir_all(folder).map_err(|why| cannot(folder, why))?;
    for (name, text) in HEADERS {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|why| cannot(&path, why))?;
    }
    Ok(())
}
