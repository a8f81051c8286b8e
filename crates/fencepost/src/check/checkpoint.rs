//! The file from which an interrupted check goes on.
//!
//! It holds the explorer's checkpoint with what is said here: the settings that change what the program
//! does, the executable, and the names. It is replaced as a whole, so that there is always a good one.

use std::any::TypeId;
use std::fs::File;
use std::io::{Read, Write};
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use fencepost_explore::{Checkpoint, CheckpointError, Settings};
use fencepost_report::text::grouped;

use super::checker::{Checker, Strategy};
use fencepost_runtime::names::RegistryError;
use fencepost_runtime::{Registry, Setup, Stride, Target};

/// What tells a check from others.
#[derive(Clone, Copy)]
pub(super) struct Identity {
    pub(super) location: &'static Location<'static>,
    /// The type of the program. Its name would not do: all closures of a function have the same.
    pub(super) program: TypeId,
    /// Whether the program has values in it, which may be others the next time.
    pub(super) captures: bool,
}

impl Identity {
    pub(super) fn of<F: 'static>(_program: &F, location: &'static Location<'static>) -> Self {
        Identity {
            location,
            program: TypeId::of::<F>(),
            captures: size_of::<F>() > 0,
        }
    }
}

/// Where a check keeps how far it is.
pub(super) struct CheckpointFile {
    path: PathBuf,
    check: Identity,
    name: Option<String>,
    /// What is written before it takes the place of the file. In the same folder: only there it can.
    temporary: PathBuf,
    pub(super) every: Duration,
    is_quiet: bool,
}

/// What a check goes on with.
pub(super) struct Loaded {
    pub(super) checkpoint: Checkpoint,
    pub(super) registry: Registry,
    pub(super) setup: Setup,
}

impl CheckpointFile {
    /// The file of this check, if it is to have one.
    pub(super) fn of(checker: &Checker, check: Identity) -> Result<Option<Self>, String> {
        let Some(path) = &checker.checkpoint else {
            return Ok(None);
        };
        if checker.replayed.is_some() {
            return Ok(None);
        }
        if checker.strategy == Strategy::Bounded {
            return Err(format!(
                "a search with a preemption bound has no checkpoints, but this check is to keep them in \
                 {}: choose another strategy, or no file for checkpoints",
                path.display()
            ));
        }
        if !checker.inserted_fences.is_empty() {
            return Err(format!(
                "a check with fences that the program does not have (`insert_fence`) has no checkpoints, but this \
                 one is to keep them in {}: insert no fences, or have no file for checkpoints",
                path.display()
            ));
        }
        if check.captures && checker.name.is_none() {
            return Err(format!(
                "the program of this check captures values, and what was explored with others must not be \
                 taken for what is explored with these: say what they are by `Checker::name`, or have no \
                 checkpoints (in {})",
                path.display()
            ));
        }
        let name = checker.name.clone();
        let path = match path.is_dir() {
            true => path.join(file_name(check, name.as_deref())),
            false => path.clone(),
        };
        static FILES: AtomicU64 = AtomicU64::new(1);
        let mut temporary = path.clone().into_os_string();
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let file = CheckpointFile {
            path,
            check,
            name,
            temporary: temporary.into(),
            every: checker.checkpoint_every,
            is_quiet: checker.progress == Some(false),
        };
        // Not after an hour.
        file.try_to_write().map_err(|error| {
            format!(
                "the checkpoint file {} cannot be written: {error}",
                file.path.display()
            )
        })?;
        Ok(Some(file))
    }

    fn try_to_write(&self) -> std::io::Result<()> {
        File::create(&self.temporary)?;
        std::fs::remove_file(&self.temporary)
    }

    fn say(&self, what: std::fmt::Arguments<'_>) {
        if !self.is_quiet {
            eprintln!("fencepost: {what}");
        }
    }

    fn refusal(&self, why: impl std::fmt::Display) -> String {
        format!(
            "the checkpoint file {} cannot be used: {why}; delete it to check from the beginning",
            self.path.display()
        )
    }

    /// The message for a checkpoint that turned out not to fit.
    pub(super) fn refuse(&self, error: &CheckpointError) -> String {
        self.refusal(error)
    }

    /// What the check goes on with, if the file is there.
    pub(super) fn load(&self, settings: &Settings, setup: Setup) -> Result<Option<Loaded>, String> {
        let mut bytes = Vec::new();
        match File::open(&self.path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refusal(error)),
        }
        let text = String::from_utf8(bytes).map_err(|_| self.refusal("it is no checkpoint"))?;
        let checkpoint = Checkpoint::read(&text, settings).map_err(|error| self.refusal(error))?;
        let (setup, registry) = self
            .read_front_end(&checkpoint.front_end, setup)
            .map_err(|why| self.refusal(why))?;
        self.say(format_args!(
            "going on from {} ({} executions have been run)",
            self.path.display(),
            grouped(checkpoint.executions()),
        ));
        Ok(Some(Loaded {
            checkpoint,
            registry,
            setup,
        }))
    }

    /// Replaces the file.
    pub(super) fn save(&self, mut checkpoint: Checkpoint, registry: &Registry, setup: Setup) {
        checkpoint.front_end = self.front_end(registry, setup);
        let written = write(&self.temporary, &checkpoint.to_text())
            .and_then(|()| std::fs::rename(&self.temporary, &self.path));
        if let Err(error) = written {
            let _ = std::fs::remove_file(&self.temporary);
            // No reason to stop a check that goes well.
            self.say(format_args!(
                "the checkpoint file {} could not be written: {error}",
                self.path.display()
            ));
        }
    }

    /// The check has ended: what is left of it if it can go on, nothing if not.
    pub(super) fn end(&self, is_resumable: bool) {
        if is_resumable {
            return self.say(format_args!(
                "the same check goes on from {} when it is run again",
                self.path.display()
            ));
        }
        match std::fs::remove_file(&self.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => self.say(format_args!(
                "the checkpoint file {} could not be removed: {error}",
                self.path.display()
            )),
            _ => {}
        }
    }
}

impl CheckpointFile {
    /// What makes the program do what it does, besides the explorer's settings.
    fn facts(&self, setup: Setup) -> [(&'static str, String); 8] {
        // All fields, so that a new one is not forgotten.
        let Setup {
            target,
            stack_size,
            spurious_wakeups,
            leak_check,
            store_buffers,
            are_ends_visible: _,
            are_statics_visible: _,
            are_writers_announced: _,
            keeps_first_values: _,
            max_steps: _,
        } = setup;
        let switch = |is_on| on_or_off(is_on).to_owned();
        let target_name = match target {
            Target::X86 => "x86",
            Target::Pso => "pso",
        };
        [
            ("target", target_name.to_owned()),
            ("stack_size", stack_size.to_string()),
            ("spurious_wakeups", switch(spurious_wakeups)),
            ("leak_check", switch(leak_check)),
            ("store_buffers", switch(store_buffers.is_some())),
            ("executable", executable().to_owned()),
            ("program", format!("{:?}", self.check.program)),
            (
                "name",
                format!("{:?}", self.name.as_deref().unwrap_or_default()),
            ),
        ]
    }

    fn front_end(&self, registry: &Registry, setup: Setup) -> String {
        let mut text = String::new();
        for (name, value) in self.facts(setup) {
            text.push_str(&format!("{name} {value}\n"));
        }
        for (name, is_on) in [
            ("visible_ends", setup.are_ends_visible),
            ("visible_statics", setup.are_statics_visible),
            ("announced_writers", setup.are_writers_announced),
        ] {
            text.push_str(&format!("{name} {}\n", on_or_off(is_on)));
        }
        let stride = setup.store_buffers.map_or(0, Stride::width);
        text.push_str(&format!("stride {stride}\n"));
        let drained = on_or_off(registry.has_drained_too_much());
        text.push_str(&format!("drained_too_much {drained}\n"));
        text.push_str(&registry.to_text());
        text
    }

    fn read_front_end(&self, text: &str, mut setup: Setup) -> Result<(Setup, Registry), String> {
        let mut rest = text;
        let mut next = |name: &str| {
            let (line, others) = rest.split_once('\n')?;
            rest = others;
            line.strip_prefix(name)?.strip_prefix(' ')
        };
        let damaged = |name: &str| format!("it is damaged: `{name}` is missing");
        let mut other = None;
        for (name, now) in self.facts(setup) {
            let made = next(name).ok_or_else(|| damaged(name))?;
            if made == now {
                continue;
            }
            match name {
                "program" => other = Some("at the same place".to_owned()),
                "name" => other = Some(format!("with the name {}", shortened(made))),
                "executable" => {
                    return Err("it was made by another build of the program".to_owned());
                }
                _ => {
                    let made = shortened(made);
                    return Err(format!(
                        "it was made with another setting: {name} was {made}, and is {now}"
                    ));
                }
            }
        }
        for (name, is_on) in [
            ("visible_ends", &mut setup.are_ends_visible),
            ("visible_statics", &mut setup.are_statics_visible),
            ("announced_writers", &mut setup.are_writers_announced),
        ] {
            *is_on = match next(name) {
                Some("on") => true,
                Some("off") => false,
                _ => return Err(damaged(name)),
            };
        }
        let stride = next("stride").and_then(|width| width.parse().ok());
        let stride = stride.map(Stride::of_width);
        let is_right = |stride: &Option<Stride>| stride.is_some() == setup.store_buffers.is_some();
        let stride = stride.filter(is_right).ok_or_else(|| damaged("stride"))?;
        setup.store_buffers = stride;
        let drained_too_much = match next("drained_too_much") {
            Some("on") => true,
            Some("off") => false,
            _ => return Err(damaged("drained_too_much")),
        };
        let registry =
            Registry::from_text(self.check.location, rest).map_err(|error| match error {
                RegistryError::OtherCheck { made, own } => {
                    format!(
                        "it is of another check, the one at {made}, and this is the one at {own}"
                    )
                }
                RegistryError::Damaged { line } => {
                    format!("it is damaged: its names are wrong in line {line}")
                }
            })?;
        if drained_too_much {
            registry.note_drained_too_much();
        }
        match other {
            Some(which) => Err(format!("it is of another check {which}")),
            None => Ok((setup, registry)),
        }
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(60).collect()
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A name for the file of a check.
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

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// The size and a checksum of the executable. A program that was built anew may be another one, and what was
/// explored of the old one says nothing about it.
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
