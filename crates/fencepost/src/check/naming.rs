//! What a check's threads, variables and places are called, and where source text is.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fencepost_memory::{Access, Address, LocationId, Operation, ThreadId};
use fencepost_report::names::action_verb;
use fencepost_report::{Naming, SourcePosition, Sources};

use crate::rt::Names;

/// The names of a check.
pub(super) struct CheckNames(pub(super) Names);

impl Naming for CheckNames {
    fn thread(&self, thread: ThreadId) -> String {
        self.0.thread(thread).to_owned()
    }

    fn address(&self, address: Address) -> String {
        self.0.object(address).to_owned()
    }

    fn location(&self, location: LocationId) -> Option<String> {
        let location = self.0.location(location)?;
        Some(format!("{}:{}", location.file(), location.line()))
    }

    fn position(&self, location: LocationId) -> Option<SourcePosition> {
        self.0.location(location).map(SourcePosition::from)
    }

    fn value(&self, address: Address, value: u64) -> String {
        match self.0.kind(address) {
            Some("AtomicBool") => (value != 0).to_string(),
            Some("AtomicPtr") if value == 0 => "null".to_owned(),
            Some("AtomicPtr") => format!("{value:#x}"),
            Some("AtomicI8" | "AtomicI16" | "AtomicI32" | "AtomicI64" | "AtomicIsize") => {
                (value as i64).to_string()
            }
            _ => value.to_string(),
        }
    }

    fn action(&self, access: &Access) -> String {
        let Some(address) = access.operation.address() else {
            return action_verb(access.operation.kind()).to_owned();
        };
        let name = self.0.object(address);
        let verb = match (self.0.kind(address), access.operation, access.value) {
            (Some("Mutex"), Operation::Interlocked(_), Some(0)) => "unlock",
            (Some("Mutex"), Operation::Interlocked(_), _) => "lock",
            (Some("Mutex"), ..) => "fail to lock",
            _ => action_verb(access.operation.kind()),
        };
        format!("{verb} {name}")
    }
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
pub(super) struct SourceFiles(RefCell<BTreeMap<String, Option<String>>>);

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
        let mut files = self.0.borrow_mut();
        let text = files
            .entry(file.to_owned())
            .or_insert_with(|| Self::read(file));
        text.clone().map(Cow::Owned)
    }
}
