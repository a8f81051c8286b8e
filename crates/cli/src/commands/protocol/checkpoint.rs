//! Searches in files: saved while they run and when they end early, and gone on with.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fencepost_protocol::search::{Progress, Saved, Watch};

use crate::exit::Failure;

/// Watches a search, and saves it if it was asked to.
pub struct Saving<'w> {
    watch: &'w dyn Watch,
    path: Option<&'w Path>,
    outcome: Mutex<Outcome>,
}

/// What came of the last time it was saved.
#[derive(Default)]
pub struct Outcome {
    /// How many states the file has.
    pub states: Option<u64>,
    pub error: Option<String>,
}

impl<'w> Saving<'w> {
    pub fn new(watch: &'w dyn Watch, path: Option<&'w Path>) -> Self {
        Saving {
            watch,
            path,
            outcome: Mutex::default(),
        }
    }

    pub fn outcome(self) -> Outcome {
        match self.outcome.into_inner() {
            Ok(outcome) => outcome,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl Watch for Saving<'_> {
    fn progress(&self, progress: &Progress) {
        self.watch.progress(progress);
    }

    fn is_stopped(&self) -> bool {
        self.watch.is_stopped()
    }

    fn save(&self, saved: &Saved<'_>) {
        let Some(path) = self.path else { return };
        let written = write(path, saved);
        if let Ok(mut outcome) = self.outcome.lock() {
            match written {
                Ok(()) => {
                    outcome.states = Some(saved.states());
                    outcome.error = None;
                }
                Err(error) => outcome.error = Some(error.to_string()),
            }
        }
    }
}

/// Writes beside the file first, so that there is always a whole one.
fn write(path: &Path, saved: &Saved<'_>) -> std::io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&part)?);
    let written = saved
        .write_to(&mut file)
        .and_then(|()| file.flush())
        .and_then(|()| file.get_ref().sync_all());
    let finished = written.and_then(|()| std::fs::rename(&part, path));
    if finished.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    finished
}

/// Opens a search that was saved.
pub fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = File::open(path).map_err(|error| {
        Failure::BadInput(format!("error: cannot read {}: {error}", path.display()))
    })?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

/// Whether a file can be written there, before hours are spent on what goes into it.
pub fn check(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    match path.is_dir() || !folder.is_dir() {
        true => Err(Failure::BadInput(format!(
            "error: cannot write {}: name a file in a directory that exists",
            path.display()
        ))),
        false => Ok(()),
    }
}
