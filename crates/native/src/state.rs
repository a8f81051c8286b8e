//! What Fencepost knows about the program while it checks it.
//!
//! One OS thread runs the program, one execution after the other. The hooks that the program calls find the state here.
//! It is borrowed for as long as a hook computes something, and never while a thread is suspended.

use std::cell::{RefCell, RefMut};
use std::ffi::{c_char, c_int};
use std::ops::Range;

use fencepost_memory::{Address, ThreadId};
use fencepost_runtime::{LocationRef, SourceLocation};
use rustc_hash::FxHashMap;

use crate::blocks::{Block, Layout};
use crate::image::Image;
use crate::locals::Keys;
use crate::locks;
use crate::output::Output;
use crate::real::Main;
use crate::symbols::Symbols;
use crate::threads::Thread;

/// The program: what `__libc_start_main` was given.
#[derive(Clone, Copy)]
pub(crate) struct Program {
    pub(crate) main: Main,
    pub(crate) argc: c_int,
    pub(crate) argv: *mut *mut c_char,
    pub(crate) envp: *mut *mut c_char,
}

/// An object at an address of the program.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    /// The execution in which it was used last.
    pub(crate) execution: u64,
    pub(crate) object: Address,
    /// The size of an atomic variable in bytes; 0 for something else.
    pub(crate) size: u8,
    /// Its type, as reports have it.
    pub(crate) kind: &'static str,
    /// Whether it is a variable whose values have a sign.
    pub(crate) has_sign: bool,
}

/// All that is known about the program.
pub(crate) struct State {
    pub(crate) program: Program,
    /// The number of the execution, from 1.
    pub(crate) execution: u64,
    pub(crate) layout: Layout,
    /// By thread id.
    pub(crate) blocks: Vec<Block>,
    /// The threads of this execution, by thread id.
    pub(crate) threads: Vec<Thread>,
    pub(crate) objects: FxHashMap<usize, Known>,
    pub(crate) locks: locks::Known,
    pub(crate) keys: Keys,
    /// By the address to which a call returns.
    pub(crate) locations: FxHashMap<usize, LocationRef>,
    /// The global variables of the program.
    pub(crate) image: Image,
    pub(crate) output: Output,
    /// The thread pointer of the OS thread that was about to call `main`.
    pub(crate) first_base: usize,
    pub(crate) symbols: Symbols,
    /// The addresses of the executable: its code is what the user has written.
    pub(crate) code: Range<usize>,
    /// The addresses of the library that unwinds stacks: what it locks is no business of the program.
    pub(crate) unwinder: Range<usize>,
    /// Where `main` is.
    pub(crate) main_location: LocationRef,
    /// Whether atomic variables of any executions have overlapped.
    pub(crate) has_overlaps: bool,
    /// Whether a thread of this execution has called `exit`.
    pub(crate) has_exited: bool,
}

struct Shared(RefCell<Option<State>>);

// SAFETY: only the OS thread that runs the program borrows it, and the one that has made it and waits for that.
unsafe impl Sync for Shared {}

static STATE: Shared = Shared(RefCell::new(None));

/// Begins a check.
pub(crate) fn install(state: State) {
    *STATE.0.borrow_mut() = Some(state);
}

/// The state.
///
/// # Panics
/// If there is no check.
pub(crate) fn state() -> RefMut<'static, State> {
    RefMut::map(STATE.0.borrow_mut(), |state| {
        state.as_mut().expect("a program is being checked")
    })
}

/// Whether a file belongs to the compiler and its libraries.
fn is_of_system(file: &str) -> bool {
    file.starts_with("/usr/")
}

impl State {
    /// The source location of a call, by the address to which it returns.
    pub(crate) fn location(&mut self, returns_to: usize) -> LocationRef {
        if let Some(&known) = self.locations.get(&returns_to) {
            return known;
        }
        let frames = self.symbols.call(returns_to);
        let sources = frames.iter().filter_map(|frame| frame.source.as_ref());
        // What a header of the system does is said to be done where it is used.
        let mut of_program = sources.clone().filter(|source| !is_of_system(&source.file));
        let location = match of_program.next().or(sources.clone().next()) {
            Some(source) => {
                let file = String::leak(source.file.clone());
                SourceLocation::new(file, source.line, source.column)
            }
            None => {
                let function = frames.first().map(|frame| frame.function.to_string());
                let function = function.unwrap_or_else(|| format!("{returns_to:#x}"));
                SourceLocation::new(String::leak(function), 0, 0)
            }
        };
        let location = LocationRef::leaked(location);
        self.locations.insert(returns_to, location);
        location
    }

    /// Whether a thread of this execution has begun, and has not ended.
    pub(crate) fn has_running_threads(&self) -> bool {
        let mut threads = self.threads.iter();
        threads.any(|thread| thread.execution == self.execution && thread.is_running())
    }

    /// The thread with a handle of `pthread_self`.
    pub(crate) fn thread_of(&self, handle: libc::pthread_t) -> Option<ThreadId> {
        let is_it = |thread: &Thread| thread.execution == self.execution && thread.handle == handle;
        let index = self.threads.iter().position(is_it)?;
        Some(ThreadId(index as u32))
    }
}
