//! Reading a file of bounded size, and replacing a file as a whole.
//!
//! While a checkpoint is written it has a temporary name next to its own, and the writer holds a
//! lock on it. A killed process leaves such a file without a lock: [`prepare`] removes it.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use thiserror::Error;

use self::lock::Locked;
use crate::envelope::{HEADER_BYTES, MAGIC, OpenError, payload_length};

const BUFFER_BYTES: usize = 1 << 20;

/// The largest file that [`read`] reads into memory.
const MAX_FILE_BYTES: u64 = 4 << 30;

/// Why a file is not read as a checkpoint, or not replaced by one.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The path is a directory, a pipe or a device. Reading it may never end, and replacing it
    /// would destroy it.
    #[error("expected a regular file, found {0}")]
    NotRegular(&'static str),
    /// The file is larger than any checkpoint that is read into memory.
    #[error("expected a file of at most {limit} bytes, found {found}")]
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
        /// The size of the file.
        found: u64,
    },
    /// The contents are wrong.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// An error of the file system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FileError {
    /// Whether there is no such file.
    pub fn is_not_found(&self) -> bool {
        matches!(self, FileError::Io(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => error,
            error => io::Error::new(io::ErrorKind::InvalidInput, error),
        }
    }
}

/// Opens a regular file for reading. Other files are refused without being opened: to open a pipe
/// may wait forever.
pub fn open_file(path: &Path) -> Result<File, FileError> {
    refuse_special(&std::fs::metadata(path)?)?;
    let file = File::open(path)?;
    // It may have been replaced in between.
    refuse_special(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole sealed file. Its header is checked before anything else is read, so that a large
/// file which is no checkpoint takes no memory.
pub fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let mut file = open_file(path)?;
    let found = file.metadata()?.len();
    let mut bytes = Vec::new();
    Read::take(&mut file, HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    let announced = payload_length(&bytes)?;
    let present = found.saturating_sub(HEADER_BYTES as u64);
    if present > announced {
        return Err(OpenError::TrailingBytes.into());
    }
    if present < announced {
        return Err(OpenError::Truncated.into());
    }
    if found > MAX_FILE_BYTES {
        let limit = MAX_FILE_BYTES;
        return Err(FileError::TooLarge { limit, found });
    }
    // One byte more, so that a file that grows meanwhile is noticed.
    file.take(announced + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn refuse_special(metadata: &std::fs::Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    match kind.is_file() {
        true => Ok(()),
        false => Err(FileError::NotRegular(describe(kind))),
    }
}

fn describe(kind: std::fs::FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
    }
    match kind.is_dir() {
        true => "a directory",
        false => "a special file",
    }
}

/// Gets ready for checkpoints at `path`, before a search that may take hours: removes temporary
/// files that a killed process left for this path, and checks that a new file can be created.
pub fn prepare(path: &Path) -> Result<(), FileError> {
    refuse_special_target(path)?;
    remove_leftovers(path);
    let probe = TemporaryFile::create(path)?;
    Ok(std::fs::remove_file(&probe.path)?)
}

/// Replaces the file at `path` by what `write` writes.
///
/// The bytes go to a temporary file in the same directory, which takes the place of the file once
/// it is on the disk. On an error the old file stays, and the temporary file is removed. Only a
/// regular file is replaced.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    refuse_special_target(path)?;
    let temporary = TemporaryFile::create(path)?;
    let written = write_and_sync(&temporary.file, write)
        .and_then(|()| std::fs::rename(&temporary.path, path));
    if written.is_err() {
        // The error that counts is the first one.
        let _ = std::fs::remove_file(&temporary.path);
    }
    written
}

fn write_and_sync(
    file: &File,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffered = BufWriter::with_capacity(BUFFER_BYTES, file);
    write(&mut buffered)?;
    buffered.flush()?;
    file.sync_all()
}

fn refuse_special_target(path: &Path) -> Result<(), FileError> {
    match std::fs::metadata(path) {
        Ok(metadata) => refuse_special(&metadata),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A new file next to a checkpoint, locked until it is closed.
struct TemporaryFile {
    path: PathBuf,
    file: File,
}

impl TemporaryFile {
    fn create(target: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let mut path = target.as_os_str().to_owned();
            path.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = PathBuf::from(path);
            let file = match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => file,
                // Of an earlier process with the same id, or of one on another machine.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            };
            // Before it was locked, another process may have taken it for a leftover.
            match lock::try_lock(&file) {
                Locked::Yes if !lock::is_at(&file, &path) => {}
                Locked::No => {}
                Locked::Yes | Locked::Unsupported => return Ok(TemporaryFile { path, file }),
            }
        }
    }
}

/// Removes the temporary files of `path` that nobody writes. Errors are ignored: a leftover does no
/// harm.
fn remove_leftovers(path: &Path) {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (Some(name), Ok(entries)) = (path.file_name(), std::fs::read_dir(folder)) else {
        return;
    };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_temporary_name(&entry.file_name(), name) {
            remove_leftover(&entry.path());
        }
    }
}

/// Whether this is `{target}.{digits}-{digits}.tmp`.
fn is_temporary_name(name: &std::ffi::OsStr, target: &std::ffi::OsStr) -> bool {
    let name = name.as_encoded_bytes();
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let middle = name
        .strip_prefix(target.as_encoded_bytes())
        .and_then(|rest| rest.strip_prefix(b"."))
        .and_then(|rest| rest.strip_suffix(b".tmp"));
    let Some(middle) = middle else { return false };
    match middle.iter().position(|byte| *byte == b'-') {
        Some(dash) => digits(&middle[..dash]) && digits(&middle[dash + 1..]),
        None => false,
    }
}

/// Removes a file that has a temporary name, if it has the beginning of a checkpoint and no writer.
fn remove_leftover(path: &Path) {
    let Ok(file) = open_file(path) else { return };
    let mut start = Vec::new();
    let read = Read::take(&file, MAGIC.len() as u64).read_to_end(&mut start);
    let is_ours = read.is_ok() && MAGIC.starts_with(&start);
    if is_ours && lock::try_lock(&file) == Locked::Yes && lock::is_at(&file, path) {
        let _ = std::fs::remove_file(path);
    }
}

/// Locks that end with the process, even if it is killed.
#[cfg(unix)]
mod lock {
    use std::fs::File;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Locked {
        Yes,
        /// Somebody else has locked the file.
        No,
        /// The file system has no locks, so nobody removes what another may write.
        Unsupported,
    }

    pub(super) fn try_lock(file: &File) -> Locked {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Locked::Yes,
            Err(Errno::WOULDBLOCK) => Locked::No,
            Err(_) => Locked::Unsupported,
        }
    }

    /// Whether the file is still the one at the path.
    pub(super) fn is_at(file: &File, path: &Path) -> bool {
        let (Ok(own), Ok(there)) = (file.metadata(), std::fs::symlink_metadata(path)) else {
            return false;
        };
        (own.dev(), own.ino()) == (there.dev(), there.ino())
    }
}

/// Elsewhere no leftover is removed.
#[cfg(not(unix))]
mod lock {
    use std::fs::File;
    use std::path::Path;

    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(super) enum Locked {
        #[expect(dead_code, reason = "only where files are locked")]
        Yes,
        #[expect(dead_code, reason = "only where files are locked")]
        No,
        Unsupported,
    }

    pub(super) fn try_lock(_: &File) -> Locked {
        Locked::Unsupported
    }

    pub(super) fn is_at(_: &File, _: &Path) -> bool {
        true
    }
}
