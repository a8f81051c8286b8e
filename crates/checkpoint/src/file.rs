//! Replacing a file as a whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER_BYTES: usize = 1 << 20;

/// Replaces the file at `path` by what `write` writes.
///
/// The bytes go to a temporary file in the same directory, which takes the place of the file once
/// it is on the disk. On an error the old file stays, and the temporary file is removed.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let temporary = temporary_path(path);
    let written =
        write_and_sync(&temporary, write).and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        // The error that counts is the first one.
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

fn write_and_sync(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
    write(&mut file)?;
    file.flush()?;
    file.get_ref().sync_all()
}

/// A name that no other writer uses, in this process or another.
fn temporary_path(path: &Path) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{number}.tmp", std::process::id()));
    name.into()
}
