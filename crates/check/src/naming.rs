//! The names of threads, variables and operations of a check, and its source files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_report::check::{Action, BarrierOrigin};
use fencepost_report::{Naming, ProgramLanguage, SourcePosition, Sources};
use rustc_hash::FxHashMap;

use fencepost_runtime::Names;
use fencepost_runtime::SourceLocation;
use fencepost_runtime::names::is_release;
use fencepost_runtime::names::{BARRIER_OPENING, OPENING_OF};

/// Functions that acquire a lock.
const ACQUIRING: [&str; 6] = ["lock", "try_lock", "read", "try_read", "write", "try_write"];

/// A source location as reports have it.
pub(super) fn source_position(location: SourceLocation) -> SourcePosition {
    SourcePosition::new(location.file(), location.line(), location.column())
}

/// The names of a check, and the initial values of the execution that is rendered.
pub(super) struct CheckNames<'a> {
    names: &'a Names,
    sources: &'a SourceFiles,
    target: fencepost_runtime::Target,
    first_values: &'a FxHashMap<Address, u64>,
    language: ProgramLanguage,
}

impl<'a> CheckNames<'a> {
    pub(super) fn new(
        names: &'a Names,
        sources: &'a SourceFiles,
        target: fencepost_runtime::Target,
        first_values: &'a FxHashMap<Address, u64>,
        language: ProgramLanguage,
    ) -> Self {
        CheckNames {
            names,
            sources,
            target,
            first_values,
            language,
        }
    }

    /// The function that is called at the location of an access: `fence`, `Arc::clone`, `notify_one`.
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

    /// A fence or a barrier, and the operation that contains it.
    fn barrier(&self, access: &Access) -> Action {
        let kind = access.operation.kind();
        let mut arcs = (0..self.names.object_count() as u32)
            .map(Address)
            .filter(|&object| self.names.kind(object) == Some("Arc"));
        let location = access.location.and_then(|l| self.names.location(l));
        let is_drop = location.is_some() && arcs.any(|arc| self.names.created_at(arc) == location);
        let called = self.called(access);
        let function = called.as_deref().and_then(|path| path.rsplit(':').next());
        let origin = match called.as_deref() {
            _ if is_drop => BarrierOrigin::ArcDrop,
            // On x86 other waits are no fences, but locked operations.
            Some(path)
                if self.target == fencepost_runtime::Target::X86
                    && matches!(function, Some("park" | "wait" | "wait_while")) =>
            {
                return Action::SpuriousReturn(path.to_owned());
            }
            // An acquired lock has no such barrier: this is the release of the guard that the call returns.
            Some(_)
                if access.operation == Operation::StoreBarrier
                    && function.is_some_and(|function| ACQUIRING.contains(&function)) =>
            {
                BarrierOrigin::Unlock
            }
            Some(path) if !path.contains("fence") => BarrierOrigin::Call(path.to_owned()),
            _ => BarrierOrigin::Source,
        };
        Action::Barrier { kind, origin }
    }

    /// An operation on an object that every thread has: `spawn T1`, `park`.
    fn of_thread(&self, access: &Access, kind: &str, name: &str) -> Option<Action> {
        use fencepost_runtime::names::{END_TOKEN, PARK_TOKEN, RETURNED, START_TOKEN, WAIT_TOKEN};
        let owner = name.strip_prefix(kind)?.strip_prefix(" of ")?.to_owned();
        let is_write = access.operation.writes();
        let is_given = access.value != Some(0);
        let has_returned = access.value == Some(RETURNED);
        Some(match (kind, is_write) {
            (START_TOKEN, true) if has_returned => Action::Return,
            (START_TOKEN, false) if has_returned => Action::Join(owner),
            (START_TOKEN, true) => Action::Spawn(owner),
            (START_TOKEN, false) => Action::Begin,
            (END_TOKEN, true) => Action::End,
            (END_TOKEN, false) => Action::Join(owner),
            (PARK_TOKEN, true) if is_given => Action::Unpark(owner),
            (PARK_TOKEN, true) => Action::Park,
            (PARK_TOKEN, false) => Action::ParkTimeout,
            (WAIT_TOKEN, true) if is_given => Action::Wake(owner),
            (WAIT_TOKEN, _) => Action::WakeUp,
            _ => return None,
        })
    }

    /// An operation of the program.
    fn operation_of(&self, access: &Access) -> Action {
        let Some(address) = access.operation.address() else {
            return self.barrier(access);
        };
        let object = self.names.object(address).to_owned();
        let kind = self.names.kind(address).unwrap_or_default();
        if let Some(action) = self.of_thread(access, kind, &object) {
            return action;
        }
        let plain = |object| Action::Access {
            kind: access.operation.kind(),
            object,
        };
        match (kind, access.operation, access.value) {
            ("Mutex", Operation::Interlocked(_), Some(0)) => Action::Unlock(object),
            ("SpinLock", Operation::Store(_), _) => Action::Unlock(object),
            ("Mutex" | "SpinLock", Operation::Interlocked(_), _) => Action::Lock(object),
            ("Mutex" | "SpinLock", ..) => Action::FailedLock(object),
            ("RwLock", Operation::Interlocked(_), Some(value)) if is_release(value) => {
                Action::Unlock(object)
            }
            (BARRIER_OPENING, Operation::Interlocked(_), _) => {
                Action::OpenBarrier(opened(&object).to_owned())
            }
            (BARRIER_OPENING, ..) => Action::LeaveBarrier(opened(&object).to_owned()),
            (kind, Operation::Interlocked(_), Some(0)) if kind.ends_with("reference to an Arc") => {
                Action::Drop(object)
            }
            _ if self.has_values(address) => plain(object),
            (kind, ..) => match self.called(access) {
                // The name of a reference has its type.
                Some(path) if kind.ends_with("reference to an Arc") => Action::Call {
                    function: path.rsplit(':').next().unwrap_or(&path).to_owned(),
                    object,
                },
                Some(function) => Action::Call { function, object },
                None => plain(object),
            },
        }
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
        Some(source_position(location).file_and_line())
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

    fn language(&self) -> ProgramLanguage {
        self.language
    }

    fn action(&self, access: &Access) -> String {
        self.operation_of(access).describe(self.language)
    }
}

/// The name of the barrier, from the name of its opening.
pub(super) fn opened(opening: &str) -> &str {
    let barrier = opening.strip_prefix(OPENING_OF);
    barrier.map_or(opening, str::trim_start)
}

/// Source files, read on demand. The compiler names files relative to the root of their workspace, and tests
/// run in the root of their package: so the search starts in the current folder and goes upwards.
pub(super) struct SourceFiles {
    /// Texts that are not read from files.
    provided: Arc<BTreeMap<String, String>>,
    read: Mutex<BTreeMap<String, Option<String>>>,
}

/// A file larger than this is no source code.
const MOST_BYTES: u64 = 16 << 20;

impl SourceFiles {
    /// Source files, with the texts that a checker was given.
    pub(super) fn new(provided: &Arc<BTreeMap<String, String>>) -> Self {
        SourceFiles {
            provided: Arc::clone(provided),
            read: Mutex::default(),
        }
    }

    fn read(&self, file: &str) -> Option<String> {
        if let Some(text) = self.provided.get(file) {
            return Some(text.clone());
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
        let mut files = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let text = files
            .entry(file.to_owned())
            .or_insert_with(|| self.read(file));
        text.clone().map(Cow::Owned)
    }
}
