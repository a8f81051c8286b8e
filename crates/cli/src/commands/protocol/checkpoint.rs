//! Checkpoint files of searches: written while a search runs and when it stops early, and resumed.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::Mutex;

use fencepost_checkpoint::{open_file, prepare, write_atomically};
use fencepost_protocol::search::{SearchCallbacks, SearchCheckpoint, SearchProgress};

use crate::exit::Failure;
use crate::files;

/// Forwards to the progress display, and writes checkpoints if there is a file for them.
pub struct CheckpointWriter<'w> {
    callbacks: &'w dyn SearchCallbacks,
    path: Option<&'w Path>,
    last_write: Mutex<LastWrite>,
}

/// How the last write went.
#[derive(Default)]
pub struct LastWrite {
    /// The states in the file.
    pub states: Option<u64>,
    pub error: Option<String>,
}

impl<'w> CheckpointWriter<'w> {
    pub fn new(callbacks: &'w dyn SearchCallbacks, path: Option<&'w Path>) -> Self {
        CheckpointWriter {
            callbacks,
            path,
            last_write: Mutex::default(),
        }
    }

    pub fn last_write(self) -> LastWrite {
        match self.last_write.into_inner() {
            Ok(last_write) => last_write,
            Err(poisoned) => poisoned.into_inner(),
        }
    }
}

impl SearchCallbacks for CheckpointWriter<'_> {
    fn progress(&self, progress: &SearchProgress) {
        self.callbacks.progress(progress);
    }

    fn should_stop(&self) -> bool {
        self.callbacks.should_stop()
    }

    fn checkpoint(&self, saved: &SearchCheckpoint<'_>) {
        let Some(path) = self.path else { return };
        let written = write_atomically(path, |to| saved.write_to(to));
        if let Ok(mut last_write) = self.last_write.lock() {
            match written {
                Ok(()) => {
                    last_write.states = Some(saved.states());
                    last_write.error = None;
                }
                Err(error) => {
                    let error = error.to_string();
                    // A search may take hours: its user learns of it now, and once.
                    if last_write.error.as_ref() != Some(&error) {
                        warn_not_written(path, &error);
                    }
                    last_write.error = Some(error);
                }
            }
        }
    }
}

fn warn_not_written(path: &Path, error: &str) {
    let path = path.display();
    // If standard error is closed, the result still tells.
    let _ = writeln!(
        anstream::stderr(),
        "warning: cannot write the checkpoint {path}: {error}"
    );
}

/// Opens the checkpoint to resume.
pub fn open(path: &Path) -> Result<BufReader<File>, Failure> {
    let file = open_file(path).map_err(|error| {
        Failure::BadInput(format!("error: cannot read {}: {error}", path.display()))
    })?;
    Ok(BufReader::with_capacity(1 << 20, file))
}

/// Checks that checkpoints can be written, and removes what a killed search left.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    files::check_writable(path)?;
    prepare(path).map_err(|error| {
        Failure::BadInput(format!("error: cannot write {}: {error}", path.display()))
    })
}
