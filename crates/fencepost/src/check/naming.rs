//! What a check's threads, variables and places are called, and where source text is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_report::names::action_verb;
use fencepost_report::{Naming, SourcePosition, Sources};
use rustc_hash::FxHashMap;

use crate::sync::is_release;
use fencepost_runtime::Names;
use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF, SourceLocation};

/// What takes a lock.
const TAKERS: [&str; 6] = ["lock", "try_lock", "read", "try_read", "write", "try_write"];

/// A source location as reports have it.
pub(super) fn source_position(location: SourceLocation) -> SourcePosition {
    SourcePosition::new(location.file(), location.line(), location.column())
}

/// The names of a check, and what belongs to the execution of the finding that is being shown.
pub(super) struct CheckNames<'a> {
    names: &'a Names,
    sources: &'a SourceFiles,
    target: fencepost_runtime::Target,
    first_values: &'a FxHashMap<Address, u64>,
}

impl<'a> CheckNames<'a> {
    pub(super) fn new(
        names: &'a Names,
        sources: &'a SourceFiles,
        target: fencepost_runtime::Target,
        first_values: &'a FxHashMap<Address, u64>,
    ) -> Self {
        CheckNames {
            names,
            sources,
            target,
            first_values,
        }
    }

    /// What is called where an access is: `fence`, `Arc::clone`, `notify_one`.
    fn called(&self, access: &Access) -> Option<String> {
        let location = self.names.location(access.location?)?;
        let line = self.sources.line(location.file(), location.line())?;
        let column = usize::try_from(location.column()).ok()?.checked_sub(1)?;
        let rest = line.chars().skip(column);
        let path: String = rest
            .take_while(|&c| c.is_alphanumeric() || c == '_' || c == ':')
            .collect();
        (!path.is_empty()).then_some(path)
    }

    /// A fence or a barrier, and what it comes from if the program does not call it such.
    fn barrier(&self, access: &Access) -> String {
        let verb = action_verb(access.operation.kind());
        let mut arcs = (0..self.names.object_count() as u32)
            .map(Address)
            .filter(|&object| self.names.kind(object) == Some("Arc"));
        let location = access.location.and_then(|l| self.names.location(l));
        let is_drop = location.is_some() && arcs.any(|arc| self.names.created_at(arc) == location);
        let called = self.called(access);
        let function = called.as_deref().and_then(|path| path.rsplit(':').next());
        match called.as_deref() {
            _ if is_drop => format!("{verb} (drop of an Arc)"),
            // On x86 other waits are no fences, but locked operations.
            Some(path)
                if self.target == fencepost_runtime::Target::X86
                    && matches!(function, Some("park" | "wait" | "wait_while")) =>
            {
                format!("{path} returns for no reason")
            }
            // A lock that is taken has no such barrier: this is the end of what the call begins.
            Some(_)
                if access.operation == Operation::StoreBarrier
                    && function.is_some_and(|function| TAKERS.contains(&function)) =>
            {
                format!("{verb} (in unlock)")
            }
            Some(path) if !path.contains("fence") => format!("{verb} (in {path})"),
            _ => verb.to_owned(),
        }
    }

    /// An operation on what every thread has: `spawn T1`, `park`.
    fn of_thread(&self, access: &Access, kind: &str, name: &str) -> Option<String> {
        use fencepost_runtime::names::{END_TOKEN, PARK_TOKEN, START_TOKEN, WAIT_TOKEN};
        let owner = name.strip_prefix(kind)?.strip_prefix(" of ")?;
        let is_write = access.operation.writes();
        let is_given = access.value != Some(0);
        Some(match (kind, is_write) {
            (START_TOKEN, true) => format!("spawn {owner}"),
            (START_TOKEN, false) => "begin".to_owned(),
            (END_TOKEN, true) => "end".to_owned(),
            (END_TOKEN, false) => format!("join {owner}"),
            (PARK_TOKEN, true) if is_given => format!("unpark {owner}"),
            (PARK_TOKEN, true) => "park".to_owned(),
            (PARK_TOKEN, false) => "park, timed out".to_owned(),
            (WAIT_TOKEN, true) if is_given => format!("wake {owner}"),
            (WAIT_TOKEN, _) => "wake up".to_owned(),
            _ => return None,
        })
    }
}

impl Naming for CheckNames<'_> {
    fn thread(&self, thread: ThreadId) -> String {
        self.names.thread(thread).to_owned()
    }

    fn address(&self, address: Address) -> String {
        self.names.object(address).to_owned()
    }

    fn location(&self, location: LocationId) -> Option<String> {
        let location = self.names.location(location)?;
        Some(format!("{}:{}", location.file(), location.line()))
    }

    fn position(&self, location: LocationId) -> Option<SourcePosition> {
        self.names.location(location).map(source_position)
    }

    fn value(&self, address: Address, value: u64) -> String {
        match self.names.kind(address) {
            Some("AtomicBool") => (value != 0).to_string(),
            Some("AtomicPtr") if value == 0 => "null".to_owned(),
            Some("AtomicPtr") => format!("{value:#x}"),
            Some("AtomicI8" | "AtomicI16" | "AtomicI32" | "AtomicI64" | "AtomicIsize") => {
                (value as i64).to_string()
            }
            _ => value.to_string(),
        }
    }

    fn has_values(&self, address: Address) -> bool {
        self.has_ordering(address) || self.names.kind(address) == Some("Arc")
    }

    fn has_ordering(&self, address: Address) -> bool {
        let kind = self.names.kind(address).unwrap_or_default();
        kind.starts_with("Atomic")
    }

    fn first_value(&self, address: Address) -> Option<u64> {
        self.first_values.get(&address).copied()
    }

    fn action(&self, access: &Access) -> String {
        let Some(address) = access.operation.address() else {
            return self.barrier(access);
        };
        let name = self.names.object(address);
        let kind = self.names.kind(address).unwrap_or_default();
        if let Some(action) = self.of_thread(access, kind, name) {
            return action;
        }
        let plain = || action_verb(access.operation.kind()).to_owned();
        let called = || self.called(access).unwrap_or_else(plain);
        let verb = match (kind, access.operation, access.value) {
            ("Mutex", Operation::Interlocked(_), Some(0)) => "unlock".to_owned(),
            ("Mutex", Operation::Interlocked(_), _) => "lock".to_owned(),
            ("Mutex", ..) => "fail to lock".to_owned(),
            ("RwLock", Operation::Interlocked(_), Some(value)) if is_release(value) => {
                "unlock".to_owned()
            }
            (BARRIER_OPENING, Operation::Interlocked(_), _) => "open".to_owned(),
            (BARRIER_OPENING, ..) => "leave".to_owned(),
            (kind, Operation::Interlocked(_), Some(0)) if kind.ends_with("reference to an Arc") => {
                "drop".to_owned()
            }
            (kind, ..) if kind.ends_with("reference to an Arc") => {
                // The name says of what type.
                let path = called();
                path.rsplit(':').next().unwrap_or(&path).to_owned()
            }
            _ if self.has_values(address) => plain(),
            _ => called(),
        };
        let name = match kind {
            BARRIER_OPENING => opened(name),
            _ => name,
        };
        format!("{verb} {name}")
    }
}

/// The barrier of an opening, by their names.
pub(super) fn opened(opening: &str) -> &str {
    let barrier = opening.strip_prefix(OPENING_OF);
    barrier.map_or(opening, str::trim_start)
}

/// Texts of source files that need not be read.
static PROVIDED: Mutex<BTreeMap<&str, &str>> = Mutex::new(BTreeMap::new());

/// Hands over the text of a source file, for programs that run where their sources are not. `file` is
/// what `file!()` says in it.
#[doc(hidden)]
pub fn provide_source(file: &'static str, text: &'static str) {
    let mut provided = PROVIDED.lock().unwrap_or_else(PoisonError::into_inner);
    provided.insert(file, text);
}

/// Source files, read when they are asked for. The compiler names files relative to the root of their
/// workspace, and tests run in the root of their package: so they are looked for from here upwards.
#[derive(Default)]
pub(super) struct SourceFiles(Mutex<BTreeMap<String, Option<String>>>);

/// A file larger than this is no source code.
const MOST_BYTES: u64 = 16 << 20;

impl SourceFiles {
    fn read(file: &str) -> Option<String> {
        let provided = PROVIDED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&text) = provided.get(file) {
            return Some(text.to_owned());
        }
        let current = std::env::current_dir().ok()?;
        current.ancestors().find_map(|folder| {
            let path = folder.join(file);
            let metadata = std::fs::metadata(&path).ok()?;
            if !metadata.is_file() || metadata.len() > MOST_BYTES {
                return None;
            }
            std::fs::read_to_string(path).ok()
        })
    }

    pub(super) fn line(&self, file: &str, line: u32) -> Option<String> {
        let text = self.text(file)?;
        let index = (line as usize).checked_sub(1)?;
        text.lines().nth(index).map(str::to_owned)
    }
}

impl Sources for SourceFiles {
    fn text(&self, file: &str) -> Option<Cow<'_, str>> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = files
            .entry(file.to_owned())
            .or_insert_with(|| Self::read(file));
        text.clone().map(Cow::Owned)
    }
}
