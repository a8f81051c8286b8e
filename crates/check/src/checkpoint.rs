//! The checkpoint file of a check.
//!
//! One file holds one envelope with the explorer's checkpoint and what this crate adds to it: the
//! settings that change what the program does, the executable, and the table of ids. The file is
//! replaced as a whole, so that there is always a complete one. It may be damaged or written by
//! anyone: everything in it is validated.

use std::any::TypeId;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use fencepost_checkpoint::{Kind, open, prepare, read, seal, write_atomically};
use fencepost_explore::{Checkpoint, CheckpointError, Settings, UnvalidatedCheckpoint};
use fencepost_report::check::Note;
use fencepost_report::check::checkpoint::{
    CheckpointLine, CheckpointRefusal, Damage, NoCheckpoints, NotResumable,
};
use fencepost_runtime::names::{RegistryError, SavedRegistry};
use fencepost_runtime::{
    ComparedHeap, ComparedStates, LocationRef, Registry, Setup, ThreadIdSpace,
};
use serde::{Deserialize, Serialize};

use super::checker::{Checker, Strategy};

/// Increase this whenever [`Contents`] changes. Formats up to 4 were text.
const FORMAT_VERSION: u32 = 9;

/// Distinguishes a check from others.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    pub(super) location: LocationRef,
    /// The type of the program. Its name does not suffice: all closures of a function have the
    /// same.
    pub(super) program: TypeId,
    /// Whether the program captures values, which may differ the next time.
    pub(super) captures: bool,
}

impl Identity {
    pub(super) fn of<F: 'static>(_program: &F, location: LocationRef) -> Self {
        Identity {
            location,
            program: TypeId::of::<F>(),
            captures: size_of::<F>() > 0,
        }
    }
}

/// The contents of a file. `C` is the explorer's checkpoint: a [`Checkpoint`] that is written, an
/// [`UnvalidatedCheckpoint`] that was read.
#[derive(Serialize, Deserialize)]
struct Contents<C> {
    /// See [`CheckpointFile::facts`].
    facts: Vec<(String, String)>,
    visibility: Visibility,
    /// The width of the [`ThreadIdSpace`]; 0 without store buffers.
    thread_id_space: u32,
    has_excess_drain: bool,
    has_bounded_wait: bool,
    compared_heap: ComparedHeap,
    registry: SavedRegistry,
    exploration: C,
}

/// What the check has learned that every execution depends on.
#[derive(Serialize, Deserialize)]
struct Visibility {
    ends: bool,
    statics: bool,
    writers: bool,
    states: bool,
    returns: bool,
    tokens: bool,
}

/// The checkpoint file of a check.
pub(super) struct CheckpointFile {
    path: PathBuf,
    check: Identity,
    name: Option<String>,
    pub(super) every: Duration,
    is_quiet: bool,
    /// The error of the last write, if it failed.
    last_error: Mutex<Option<String>>,
}

/// What a check resumes with.
pub(super) struct Loaded {
    pub(super) checkpoint: Checkpoint,
    pub(super) registry: Registry,
    pub(super) setup: Setup,
}

impl CheckpointFile {
    /// The file of this check, if it has one.
    pub(super) fn of(
        checker: &Checker,
        check: Identity,
    ) -> Result<Option<Self>, CheckpointRefusal> {
        let Some(path) = &checker.checkpoint else {
            return Ok(None);
        };
        if checker.replayed.is_some() {
            return Ok(None);
        }
        if let Some(why) = no_checkpoints(checker, check) {
            let path = path.clone();
            return Err(CheckpointRefusal::Unsupported { path, why });
        }
        let name = checker.name.clone();
        let path = match path.is_dir() {
            true => path.join(file_name(check, name.as_deref())),
            false => path.clone(),
        };
        let file = CheckpointFile {
            path,
            check,
            name,
            every: checker.checkpoint_every,
            is_quiet: checker.progress == Some(false),
            last_error: Mutex::default(),
        };
        // An error now is better than one after an hour.
        match prepare(&file.path) {
            Ok(()) => Ok(Some(file)),
            Err(error) => Err(CheckpointRefusal::NotWritable {
                path: file.path,
                error: error.into(),
            }),
        }
    }

    fn say(&self, line: &CheckpointLine) {
        if !self.is_quiet {
            eprintln!("{line}");
        }
    }

    fn refusal(&self, why: NotResumable) -> CheckpointRefusal {
        let path = self.path.clone();
        CheckpointRefusal::NotResumable { path, why }
    }

    /// Why the check cannot resume from a checkpoint that turned out not to fit.
    pub(super) fn refuse(&self, error: CheckpointError) -> CheckpointRefusal {
        self.refusal(NotResumable::Error(error.into()))
    }

    /// Reads the file, if it exists.
    pub(super) fn load(
        &self,
        settings: &Settings,
        setup: Setup,
    ) -> Result<Option<Loaded>, CheckpointRefusal> {
        let bytes = match read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(self.refusal(NotResumable::Error(error.into()))),
        };
        let contents: Contents<UnvalidatedCheckpoint> =
            open(Kind::Check, FORMAT_VERSION, &bytes)
                .map_err(|error| self.refusal(NotResumable::Error(error.into())))?;
        let loaded = self.validate(contents, settings, setup);
        let loaded = loaded.map_err(|why| self.refusal(why))?;
        self.say(&CheckpointLine::Resuming {
            path: self.path.clone(),
            executions: loaded.checkpoint.executions(),
        });
        Ok(Some(loaded))
    }

    /// Replaces the file.
    pub(super) fn save(&self, checkpoint: Checkpoint, registry: &Registry, setup: Setup) {
        let facts = self.facts(setup).into_iter();
        let contents = Contents {
            facts: facts
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            visibility: Visibility {
                ends: setup.are_ends_visible,
                statics: setup.are_statics_visible,
                writers: setup.are_writers_announced,
                states: setup.compared_states == ComparedStates::Always,
                returns: setup.are_destructors_late,
                tokens: setup.do_waits_take_tokens,
            },
            thread_id_space: setup.store_buffers.map_or(0, ThreadIdSpace::width),
            has_excess_drain: registry.has_excess_drain(),
            has_bounded_wait: registry.has_bounded_wait(),
            compared_heap: registry.compared_heap(),
            registry: registry.save(),
            exploration: checkpoint,
        };
        let bytes = seal(Kind::Check, FORMAT_VERSION, &contents);
        let written = write_atomically(&self.path, |file| file.write_all(&bytes));
        let error = match written {
            Ok(()) => {
                *self.last_error() = None;
                return;
            }
            Err(error) => error,
        };
        // The check itself can continue. The same error is printed once, even if progress is off.
        let text = error.to_string();
        if self.last_error().replace(text.clone()).as_ref() != Some(&text) {
            let path = self.path.clone();
            eprintln!("{}", CheckpointLine::NotWritten { path, error });
        }
    }

    fn last_error(&self) -> MutexGuard<'_, Option<String>> {
        let locked = self.last_error.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }

    /// What the result says about the file: that the last write failed.
    pub(super) fn note(&self) -> Option<Note> {
        let error = self.last_error().clone()?;
        let path = self.path.clone();
        Some(Note::CheckpointNotWritten { path, error })
    }

    /// Ends the check: the file stays if it can be resumed.
    pub(super) fn end(&self, is_resumable: bool) {
        let path = self.path.clone();
        if is_resumable {
            if self.last_error().is_none() {
                self.say(&CheckpointLine::Resumable { path });
            }
            return;
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                self.say(&CheckpointLine::NotRemoved { path, error });
            }
            _ => {}
        }
    }
}

impl CheckpointFile {
    /// What decides how the program behaves, besides the explorer's settings.
    fn facts(&self, setup: Setup) -> [(&'static str, String); 9] {
        // Lists all fields, so that a new one is not forgotten.
        let Setup {
            target,
            stack_size,
            spurious_wakeups,
            tracks_memory,
            leak_check,
            store_buffers,
            are_ends_visible: _,
            are_statics_visible: _,
            are_writers_announced: _,
            compared_states: _,
            state_mutation: _,
            are_destructors_late: _,
            do_waits_take_tokens: _,
            keeps_first_values: _,
            abandons_threads: _,
            max_steps: _,
        } = setup;
        let switch = |is_on| if is_on { "on" } else { "off" }.to_owned();
        [
            ("target", target.name().to_owned()),
            ("stack_size", stack_size.to_string()),
            ("spurious_wakeups", switch(spurious_wakeups)),
            ("leak_check", switch(leak_check)),
            ("races_on_memory", switch(tracks_memory)),
            ("store_buffers", switch(store_buffers.is_some())),
            ("executable", executable().to_owned()),
            ("program", format!("{:?}", self.check.program)),
            (
                "name",
                format!("{:?}", self.name.as_deref().unwrap_or_default()),
            ),
        ]
    }

    fn validate(
        &self,
        contents: Contents<UnvalidatedCheckpoint>,
        settings: &Settings,
        mut setup: Setup,
    ) -> Result<Loaded, NotResumable> {
        let checkpoint = contents.exploration.validate(settings);
        let checkpoint = checkpoint.map_err(|error| NotResumable::Error(error.into()))?;
        let other_check = self.compare_facts(&contents.facts, setup)?;
        let Visibility {
            ends,
            statics,
            writers,
            states,
            returns,
            tokens,
        } = contents.visibility;
        setup.are_ends_visible = ends;
        setup.are_statics_visible = statics;
        setup.are_writers_announced = writers;
        if states {
            setup.compared_states = ComparedStates::Always;
        }
        setup.are_destructors_late = returns;
        setup.do_waits_take_tokens = tokens;
        let thread_id_space = ThreadIdSpace::with_width(contents.thread_id_space);
        if thread_id_space.is_some() != setup.store_buffers.is_some() {
            return Err(NotResumable::Damaged(Damage::ThreadIdSpace));
        }
        setup.store_buffers = thread_id_space;
        let registry = Registry::restore(self.check.location, contents.registry);
        let registry = registry.map_err(|error| match error {
            RegistryError::OtherCheck { made, own } => NotResumable::OtherLocation { made, own },
            RegistryError::Damaged { table } => NotResumable::Damaged(Damage::Table(table)),
        })?;
        if contents.has_bounded_wait {
            registry.note_bounded_wait();
        }
        registry.note_compared_heap(contents.compared_heap);
        if contents.has_excess_drain {
            registry.note_excess_drain();
        }
        match other_check {
            Some(which) => Err(which),
            None => Ok(Loaded {
                checkpoint,
                registry,
                setup,
            }),
        }
    }

    /// Compares the facts of a checkpoint with those of this check. Returns how the check differs
    /// if only its program or name does: a check at another source location has a better message.
    fn compare_facts(
        &self,
        made: &[(String, String)],
        setup: Setup,
    ) -> Result<Option<NotResumable>, NotResumable> {
        let own = self.facts(setup);
        let names = made.iter().map(|(name, _)| name.as_str());
        if !names.eq(own.iter().map(|(name, _)| *name)) {
            return Err(NotResumable::Damaged(Damage::MissingSetting));
        }
        let mut other_check = None;
        for ((name, now), (_, made)) in own.iter().zip(made) {
            let made = made.clone();
            match *name {
                _ if made == *now => {}
                "program" => other_check = Some(NotResumable::OtherProgram),
                "name" => other_check = Some(NotResumable::OtherName { made }),
                "executable" => return Err(NotResumable::OtherBuild),
                name => {
                    let now = now.clone();
                    return Err(NotResumable::OtherSetting { name, made, now });
                }
            }
        }
        Ok(other_check)
    }
}

/// Why a check with these settings has no checkpoints, if it has none.
fn no_checkpoints(checker: &Checker, check: Identity) -> Option<NoCheckpoints> {
    if checker.strategy == Strategy::Bounded {
        return Some(NoCheckpoints::PreemptionBound);
    }
    if !checker.inserted_fences.is_empty() {
        return Some(NoCheckpoints::InsertedFences);
    }
    (check.captures && checker.name.is_none()).then_some(NoCheckpoints::CapturedValues)
}

/// The name of the file of a check in a folder.
fn file_name(check: Identity, name: Option<&str>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let location = check.location;
    let source: String = location
        .file()
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    let mut which = crc32fast::Hasher::new();
    which.update(format!("{:?}", check.program).as_bytes());
    which.update(name.unwrap_or_default().as_bytes());
    let (line, column, which) = (location.line(), location.column(), which.finalize());
    format!("{source}-{line}-{column}-{which:08x}.checkpoint")
}

/// The size and a checksum of the executable. A program that was built again may be another one,
/// and a checkpoint of the old one says nothing about it.
fn executable() -> &'static str {
    static EXECUTABLE: OnceLock<String> = OnceLock::new();
    EXECUTABLE.get_or_init(|| {
        let read = || -> std::io::Result<String> {
            let mut file = File::open(std::env::current_exe()?)?;
            let mut hasher = crc32fast::Hasher::new();
            let mut buffer = vec![0; 1 << 20];
            let mut size = 0_u64;
            loop {
                match file.read(&mut buffer)? {
                    0 => return Ok(format!("{size} {:08x}", hasher.finalize())),
                    count => {
                        hasher.update(&buffer[..count]);
                        size += count as u64;
                    }
                }
            }
        };
        read().unwrap_or_else(|_| "unknown".to_owned())
    })
}
