//! From addresses to what people wrote: program counters to functions and lines, addresses of data to variables.
//!
//! Everything is read when it is first asked for, from the files of the loaded objects. What the files do not say, or say
//! wrongly, makes answers shorter: a symbol and an offset, or the object and an offset.

mod demangle;
mod file;
mod paths;
mod types;
mod variables;

use std::cell::OnceCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use types::{Scalar, ScalarKind};

use crate::objects::{LoadedObject, loaded_objects};
use demangle::demangle;
use file::{Reader, Tables, read_tables, symbol_at};
use variables::{Variables, variable_at};

/// A line of source code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The file, relative to the current folder if it is below it.
    pub file: String,
    /// The line, from 1 on.
    pub line: u32,
    /// The column, from 1 on. 0 if it is not known.
    pub column: u32,
}

/// What is known of the place of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// The debug information has it.
    Known(String),
    /// The nearest symbol, and how many bytes after it.
    Symbol(String, usize),
    /// The file of the object, and how many bytes after its start.
    Object(String, usize),
    /// The address is in no object.
    Address(usize),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Name::Known(name) | Name::Symbol(name, 0) => f.write_str(name),
            Name::Symbol(name, offset) | Name::Object(name, offset) => {
                write!(f, "{name}+{offset:#x}")
            }
            Name::Address(address) => write!(f, "{address:#x}"),
        }
    }
}

/// A function that was running, possibly a part of the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function.
    pub function: Name,
    /// Where in it.
    pub source: Option<Source>,
}

/// A variable, or a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The variable with its members and indices.
    pub name: Name,
    /// The variable alone.
    pub whole: String,
    /// How many bytes after the start of the variable.
    pub offset: usize,
    /// What is there, if it is known, and all of it is meant.
    pub scalar: Option<Scalar>,
}

/// The symbols of the loaded objects.
pub struct Symbols {
    objects: Vec<Loaded>,
    folder: PathBuf,
    frames: FxHashMap<usize, Arc<[Frame]>>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new(loaded_objects())
    }
}

impl Symbols {
    /// Of these objects; nothing is read yet.
    pub fn new(objects: Vec<LoadedObject>) -> Self {
        let folder = std::env::current_dir().unwrap_or_default();
        let objects = objects.into_iter().map(Loaded::new).collect();
        Symbols {
            objects,
            folder,
            frames: FxHashMap::default(),
        }
    }

    /// Paths are made relative to this folder, and not to the current one.
    pub fn relative_to(mut self, folder: PathBuf) -> Self {
        self.folder = folder;
        self.frames.clear();
        self
    }

    /// The functions that run at an address of code, the innermost first: it is a part of those after it. Never empty.
    ///
    /// The address of an instruction is asked for; a return address is one behind the call: see [`call`](Self::call).
    pub fn frames(&mut self, pc: usize) -> Arc<[Frame]> {
        if let Some(known) = self.frames.get(&pc) {
            return known.clone();
        }
        let found = self
            .object_at(pc)
            .and_then(|object| guarded(|| object.frames(pc, &self.folder)));
        let found = found
            .filter(|frames| !frames.is_empty())
            .unwrap_or_else(|| {
                let function = self
                    .object_at(pc)
                    .map_or(Name::Address(pc), |object| object.offset_of(pc));
                vec![Frame {
                    function,
                    source: None,
                }]
            });
        let found: Arc<[Frame]> = found.into();
        self.frames.insert(pc, found.clone());
        found
    }

    /// The functions at the call that returns to an address.
    pub fn call(&mut self, return_address: usize) -> Arc<[Frame]> {
        self.frames(return_address.wrapping_sub(1))
    }

    /// The global or static variable that an access of `size` bytes is to; 0 if the size is not known. None if the address
    /// is in no object.
    pub fn variable(&self, address: usize, size: usize) -> Option<Variable> {
        let object = self.object_at(address)?;
        let inside = address.wrapping_sub(object.loaded.bias) as u64;
        let found = guarded(|| object.variable(inside, size as u64, false)).flatten();
        Some(found.unwrap_or_else(|| {
            let name = object.offset_of(address);
            Variable {
                whole: object.file_name(),
                offset: address - object.start(),
                name,
                scalar: None,
            }
        }))
    }

    /// The thread-local variable of an object at an offset into the object's block of a thread.
    pub fn thread_local(
        &self,
        object: &std::path::Path,
        offset: usize,
        size: usize,
    ) -> Option<Variable> {
        let object = self
            .objects
            .iter()
            .find(|loaded| loaded.loaded.path == object)?;
        guarded(|| object.variable(offset as u64, size as u64, true)).flatten()
    }

    fn object_at(&self, address: usize) -> Option<&Loaded> {
        self.objects
            .iter()
            .find(|object| object.loaded.contains(address))
    }
}

/// A type of C++ by the name that its `std::type_info` has.
pub fn type_name(mangled: &str) -> String {
    let described = demangle(format!("_ZTS{mangled}").as_bytes());
    let name = described.strip_prefix("typeinfo name for ");
    name.map_or_else(|| mangled.to_owned(), str::to_owned)
}

/// A part of a block of the heap: which block is said by the function that allocated it and the number of the block.
pub fn heap_name(function: &str, ordinal: usize, offset: usize) -> String {
    match offset {
        0 => format!("{function}#{ordinal}"),
        _ => format!("{function}#{ordinal}+{offset}"),
    }
}

/// The libraries that read debug information are careful, but a report is more useful without names than not at all.
fn guarded<T>(f: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(f)).ok()
}

/// An object and what was read of it so far.
struct Loaded {
    loaded: LoadedObject,
    tables: OnceCell<Tables>,
    lines: OnceCell<Option<addr2line::Context<Reader>>>,
    variables: OnceCell<Option<Variables>>,
}

impl Loaded {
    fn new(loaded: LoadedObject) -> Self {
        Loaded {
            loaded,
            tables: OnceCell::new(),
            lines: OnceCell::new(),
            variables: OnceCell::new(),
        }
    }

    fn tables(&self) -> &Tables {
        self.tables
            .get_or_init(|| guarded(|| read_tables(&self.loaded.path)).unwrap_or_default())
    }

    fn lines(&self) -> Option<&addr2line::Context<Reader>> {
        let read = || {
            guarded(|| addr2line::Context::from_arc_dwarf(self.tables().dwarf.clone()?).ok())
                .flatten()
        };
        self.lines.get_or_init(read).as_ref()
    }

    fn variables(&self) -> Option<&Variables> {
        let read = || {
            Some(Variables::read(
                self.tables().dwarf.clone()?,
                &self.tables().data,
            ))
        };
        let read = || guarded(read).flatten();
        self.variables.get_or_init(read).as_ref()
    }

    fn file_name(&self) -> String {
        let path = &self.loaded.path;
        path.file_name()
            .unwrap_or(path.as_os_str())
            .to_string_lossy()
            .into_owned()
    }

    fn start(&self) -> usize {
        self.loaded
            .loaded
            .iter()
            .map(|range| range.start)
            .min()
            .unwrap_or(0)
    }

    fn offset_of(&self, address: usize) -> Name {
        Name::Object(self.file_name(), address.wrapping_sub(self.start()))
    }

    fn frames(&self, pc: usize, folder: &std::path::Path) -> Vec<Frame> {
        /// Functions in assembly have symbols without a size.
        const ASSEMBLY: u64 = 4096;
        let inside = pc.wrapping_sub(self.loaded.bias) as u64;
        let symbol = || {
            symbol_at(&self.tables().functions, inside, ASSEMBLY).map_or_else(
                || self.offset_of(pc),
                |(symbol, offset)| Name::Symbol(demangle(symbol.name), offset as usize),
            )
        };
        let mut frames = Vec::new();
        if let Some(context) = self.lines()
            && let Ok(mut found) = context.find_frames(inside).skip_all_loads()
        {
            /// More functions within one another than compilers make.
            const DEEPEST: usize = 1000;
            while let Ok(Some(frame)) = found.next() {
                let source = frame.location.and_then(|location| {
                    let file = paths::relative(location.file?, folder);
                    Some(Source {
                        file,
                        line: location.line.filter(|&line| line > 0)?,
                        column: location.column.unwrap_or(0),
                    })
                });
                let function = frame.function.map_or_else(symbol, |function| {
                    Name::Known(demangle(function.name.slice()))
                });
                frames.push(Frame { function, source });
                if frames.len() == DEEPEST {
                    break;
                }
            }
        }
        if frames.is_empty() {
            frames.push(Frame {
                function: symbol(),
                source: None,
            });
        }
        frames
    }

    fn variable(&self, address: u64, size: u64, is_thread_local: bool) -> Option<Variable> {
        if let Some(variables) = self.variables() {
            let list = if is_thread_local {
                &variables.thread_local
            } else {
                &variables.statics
            };
            if let Some((declared, offset)) = variable_at(list, address) {
                let offset = offset.saturating_add(declared.skipped);
                let mut name = declared.name.clone();
                let scalar = variables.describe(declared.kind, offset, size, &mut name);
                return Some(Variable {
                    name: Name::Known(name),
                    whole: declared.name.clone(),
                    offset: offset as usize,
                    scalar,
                });
            }
        }
        let tables = self.tables();
        let list = if is_thread_local {
            &tables.thread_local
        } else {
            &tables.data
        };
        let (symbol, offset) = symbol_at(list, address, 1)?;
        let whole = demangle(symbol.name);
        Some(Variable {
            name: Name::Symbol(whole.clone(), offset as usize),
            whole,
            offset: offset as usize,
            scalar: None,
        })
    }
}

#[cfg(test)]
mod tests;
