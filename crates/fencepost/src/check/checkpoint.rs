//! The file from which an interrupted check goes on.
//!
//! It holds the explorer's checkpoint with what is said here: the settings that change what the program
//! does, the executable, and the names. It is replaced as a whole, so that there is always a good one.

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
use crate::rt::names::RegistryError;
use crate::rt::{Registry, Setup};

/// Where a check keeps how far it is.
pub(super) struct CheckpointFile {
    path: PathBuf,
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
    pub(super) fn of(
        checker: &Checker,
        check: &'static Location<'static>,
    ) -> Result<Option<Self>, String> {
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
        let path = match path.is_dir() {
            true => path.join(file_name(check)),
            false => path.clone(),
        };
        static FILES: AtomicU64 = AtomicU64::new(1);
        let mut temporary = path.clone().into_os_string();
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let file = CheckpointFile {
            path,
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
    pub(super) fn load(
        &self,
        settings: &Settings,
        setup: Setup,
        check: &'static Location<'static>,
    ) -> Result<Option<Loaded>, String> {
        let mut bytes = Vec::new();
        match File::open(&self.path).and_then(|mut file| file.read_to_end(&mut bytes)) {
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.refusal(error)),
        }
        let text = String::from_utf8(bytes).map_err(|_| self.refusal("it is no checkpoint"))?;
        let checkpoint = Checkpoint::read(&text, settings).map_err(|error| self.refusal(error))?;
        let (setup, registry) =
            read_front_end(&checkpoint.front_end, setup, check).map_err(|why| self.refusal(why))?;
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
        checkpoint.front_end = front_end(registry, setup);
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
    pub(super) fn end(&self, can_go_on: bool) {
        if can_go_on {
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

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// A name for the file of the check that is called here.
fn file_name(check: &Location<'_>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let source: String = check
        .file()
        .chars()
        .map(|c| if is_plain(c) { c } else { '-' })
        .collect();
    format!("{source}-{}-{}.checkpoint", check.line(), check.column())
}

fn on_or_off(is_on: bool) -> &'static str {
    if is_on { "on" } else { "off" }
}

/// What makes the program do what it does, besides the explorer's settings.
fn facts(setup: Setup) -> [(&'static str, String); 5] {
    // All fields, so that a new one is not forgotten.
    let Setup {
        target,
        stack_size,
        spurious_wakeups,
        leak_check,
        are_ends_visible: _,
        are_statics_visible: _,
        are_writers_announced: _,
        keeps_first_values: _,
    } = setup;
    let switch = |is_on| on_or_off(is_on).to_owned();
    [
        ("target", format!("{target:?}")),
        ("stack_size", stack_size.to_string()),
        ("spurious_wakeups", switch(spurious_wakeups)),
        ("leak_check", switch(leak_check)),
        ("executable", executable().to_owned()),
    ]
}

fn front_end(registry: &Registry, setup: Setup) -> String {
    let mut text = String::new();
    for (name, value) in facts(setup) {
        text.push_str(&format!("{name} {value}\n"));
    }
    for (name, is_on) in [
        ("visible_ends", setup.are_ends_visible),
        ("visible_statics", setup.are_statics_visible),
        ("announced_writers", setup.are_writers_announced),
    ] {
        text.push_str(&format!("{name} {}\n", on_or_off(is_on)));
    }
    text.push_str(&registry.to_text());
    text
}

fn read_front_end(
    text: &str,
    mut setup: Setup,
    check: &'static Location<'static>,
) -> Result<(Setup, Registry), String> {
    let mut rest = text;
    let mut next = |name: &str| {
        let (line, others) = rest.split_once('\n')?;
        rest = others;
        line.strip_prefix(name)?.strip_prefix(' ')
    };
    let damaged = |name: &str| format!("it is damaged: `{name}` is missing");
    for (name, now) in facts(setup) {
        let made = next(name).ok_or_else(|| damaged(name))?;
        if made == now {
            continue;
        }
        return Err(match name {
            "executable" => "it was made by another build of the program".to_owned(),
            _ => {
                let made: String = made.chars().take(60).collect();
                format!("it was made with another setting: {name} was {made}, and is {now}")
            }
        });
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
    let registry = Registry::from_text(check, rest).map_err(|error| match error {
        RegistryError::OtherCheck { made, own } => {
            format!("it is of another check, the one at {made}, and this is the one at {own}")
        }
        RegistryError::Damaged { line } => {
            format!("it is damaged: its names are wrong in line {line}")
        }
    })?;
    Ok((setup, registry))
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
