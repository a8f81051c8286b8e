//! Files that commands read and write, and where `--output` sends results.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use anstream::{AutoStream, StripStream};

use crate::exit::Failure;
use crate::interrupt;

/// Whether a path stands for standard input or standard output.
fn is_standard_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a file or standard input, up to one byte more than the limit. Ctrl-C ends the wait for a
/// terminal or a pipe.
pub fn read_up_to(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let is_stream = is_standard_stream(path);
    let may_wait = is_stream || is_special(path);
    let path = path.to_owned();
    let read = move || {
        let mut bytes = Vec::new();
        if is_stream {
            io::stdin().take(limit + 1).read_to_end(&mut bytes)?;
        } else {
            File::open(&path)?.take(limit + 1).read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    };
    match may_wait {
        true => while_not_interrupted(read),
        false => read(),
    }
}

/// Whether a path is there and is a pipe or a device: its reader may wait for ever.
pub fn is_special(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Waits for a result in another thread, because a signal does not end the call that waits.
fn while_not_interrupted(
    read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static,
) -> io::Result<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // Nobody waits any more after an interrupt.
        let _ = sender.send(read());
    });
    loop {
        match receiver.recv_timeout(Duration::from_millis(50)) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Timeout) if !interrupt::was_requested() => {}
            Err(_) => return Err(io::Error::other("interrupted while it was read")),
        }
    }
}

/// Where a command writes its result: standard output, or the file of `--output` without colours.
pub enum ResultStream {
    Standard(AutoStream<io::Stdout>),
    File(BufWriter<StripStream<File>>),
}

impl ResultStream {
    /// Opens the stream. Fails if the file cannot be created or is one of the inputs.
    pub fn open<'p>(
        output: Option<&Path>,
        inputs: impl IntoIterator<Item = &'p Path>,
    ) -> Result<Self, Failure> {
        match output.filter(|path| !is_standard_stream(path)) {
            None => Ok(ResultStream::Standard(AutoStream::auto(io::stdout()))),
            Some(path) => {
                for input in inputs {
                    refuse_overwriting(input, path)?;
                }
                let file = File::create(path).map_err(|error| cannot_create(path, &error))?;
                Ok(ResultStream::File(BufWriter::new(StripStream::new(file))))
            }
        }
    }
}

impl Write for ResultStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ResultStream::Standard(stream) => stream.write(bytes),
            ResultStream::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            ResultStream::Standard(stream) => stream.flush(),
            ResultStream::File(file) => file.flush(),
        }
    }
}

/// A file that has another name until it is complete, and is removed if it never is.
pub struct PartialFile<'a> {
    path: &'a Path,
    partial: Option<PathBuf>,
}

impl<'a> PartialFile<'a> {
    pub fn new(path: &'a Path) -> Self {
        // A pipe or a device is written directly.
        let is_special =
            is_standard_stream(path) || path.metadata().is_ok_and(|metadata| !metadata.is_file());
        let partial = (!is_special).then(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".partial");
            PathBuf::from(name)
        });
        PartialFile { path, partial }
    }

    /// The path that the file has when it is complete.
    pub fn path(&self) -> &'a Path {
        self.path
    }

    /// Creates the file under its temporary name. Returns nothing for a path that is written
    /// directly.
    pub fn create(&self) -> Result<Option<File>, Failure> {
        let created = self.partial.as_ref().map(File::create).transpose();
        created.map_err(|error| cannot_create(self.path, &error))
    }

    /// Gives the complete file its name.
    pub fn keep(mut self) -> Result<(), Failure> {
        match self.partial.take() {
            Some(partial) => std::fs::rename(&partial, self.path)
                .map_err(|error| cannot_create(self.path, &error)),
            None => Ok(()),
        }
    }
}

impl Drop for PartialFile<'_> {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = std::fs::remove_file(partial);
        }
    }
}

/// Fails if writing `output` would overwrite `input` while it is read.
pub fn refuse_overwriting(input: &Path, output: &Path) -> Result<(), Failure> {
    if !is_standard_stream(input)
        && !is_standard_stream(output)
        && let (Ok(from), Ok(to)) = (input.canonicalize(), output.canonicalize())
        && from == to
    {
        return Err(Failure::BadInput(format!(
            "error: {} would be overwritten while it is read; choose another output",
            input.display()
        )));
    }
    Ok(())
}

/// Checks that a file can be written to this path, before a search that may take hours.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    if path.is_dir() || !folder.is_dir() {
        return Err(Failure::BadInput(format!(
            "error: cannot write {}: expected a file name in an existing directory",
            path.display()
        )));
    }
    try_writing(path).map_err(|error| cannot_write(path, &error))
}

/// Opens the file for writing, without changing it; a new one is removed again.
fn try_writing(path: &Path) -> io::Result<()> {
    match path.metadata() {
        // To open a pipe may wait for its reader.
        Ok(metadata) if !metadata.is_file() => Ok(()),
        Ok(_) => OpenOptions::new().write(true).open(path).map(drop),
        Err(_) => match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(_) => std::fs::remove_file(path),
            // A link to a file that does not exist yet.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        },
    }
}

/// Writes a whole file.
pub fn write(path: &Path, contents: &str) -> Result<(), Failure> {
    std::fs::write(path, contents).map_err(|error| cannot_write(path, &error))
}

/// A path as one word of a shell command.
pub fn shell_word(path: &Path) -> String {
    match path.display().to_string() {
        // It would be taken for an option.
        text if text.starts_with('-') && text != "-" => shell_quoted(&format!("./{text}")),
        text => shell_quoted(&text),
    }
}

/// Text as one word of a shell command.
pub fn shell_quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+,:@%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::BadInput(format!("error: cannot write {}: {error}", path.display()))
}

fn cannot_create(path: &Path, error: &io::Error) -> Failure {
    Failure::BadInput(format!("error: cannot create {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        let word = |path: &str| shell_word(Path::new(path));
        assert_eq!(word("models/german.m"), "models/german.m");
        assert_eq!(word("my model.m"), "'my model.m'");
        assert_eq!(word("it's.m"), r"'it'\''s.m'");
        assert_eq!(word(""), "''");
        assert_eq!(word("-v.m"), "./-v.m");
        assert_eq!(word("-"), "-");
    }
}
