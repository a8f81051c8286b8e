//! How an execution of the program fails, and what the program calls to fail.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use fencepost_memory::ThreadId;
use fencepost_runtime::plain::{AccessKind, MemoryAccess, MemoryFinding};
use fencepost_runtime::{
    BadMemory, BadMemoryKind, BlockPosition, Current, FailureKind, OwnedLocation, ProgramError,
    ProgramFailure, ThreadPlace,
};

use crate::heap::{BadAccess, BadFree, BlockInfo, HeapPosition};
use crate::hooks::hook;
use crate::names::name_of;
use crate::state::state;
use crate::world::{home, outside};
use crate::{accesses, operations, real};

/// Where a hook returns to, in the source.
pub(crate) fn place(returns_to: usize) -> Option<OwnedLocation> {
    Some(state().location(returns_to).into())
}

/// The program cannot be checked, because of what it does where a hook returns to.
pub(crate) fn refuse(message: String, returns_to: usize) -> ! {
    let current = Current::get().expect("a thread of the program runs in an execution");
    current.fail(ProgramError::Misuse {
        message,
        location: place(returns_to),
    })
}

/// Ends the execution: the calling thread has failed in this way.
pub(crate) fn fail(kind: FailureKind, message: String, location: Option<OwnedLocation>) -> ! {
    let current = Current::get().expect("a thread of the program runs in an execution");
    current.fail(ProgramError::Failed(Box::new(ProgramFailure {
        kind,
        thread: current.thread(),
        message,
        location,
    })))
}

/// The error for a data race on memory.
pub(crate) fn race(finding: MemoryFinding) -> ProgramError {
    let name = |address| Some(name_of(address, 0));
    finding.into_error(|returns_to| place(returns_to as usize), name)
}

/// The thread with this owner's number in the heap.
fn thread_of(owner: u32) -> ThreadId {
    ThreadId(owner.saturating_sub(1))
}

/// What is known about a block.
fn of_block(kind: BadMemoryKind, thread: ThreadId, block: Option<&BlockInfo>) -> BadMemory {
    BadMemory {
        kind,
        thread,
        location: None,
        size: 0,
        is_write: false,
        block: block.map(|block| BlockPosition {
            size: block.size as u64,
            offset: match block.place {
                HeapPosition::Inside(offset) => offset as i64,
                HeapPosition::Before(distance) => -(distance as i64),
                HeapPosition::Behind(distance) => (block.size + distance) as i64,
            },
        }),
        allocated: block.and_then(|block| place(block.pc)),
        freed: block
            .and_then(|block| block.freed)
            .map(|freed| ThreadPlace {
                thread: thread_of(freed.owner),
                location: place(freed.pc),
            }),
        name: None,
    }
}

/// The name of memory in or near a block.
fn name_of_block(block: &BlockInfo, address: usize) -> String {
    let name = name_of(block.start, 0);
    match address.wrapping_sub(block.start) as isize {
        0 => name,
        offset => format!("{name}{offset:+}"),
    }
}

/// The error for an access to the heap, but to no block that is allocated.
pub(crate) fn bad_access(
    thread: ThreadId,
    access: &MemoryAccess,
    wrong: &BadAccess,
) -> ProgramError {
    let kind = match wrong.is_use_after_free() {
        true => BadMemoryKind::UseAfterFree,
        false => BadMemoryKind::OutOfBounds,
    };
    let name = wrong
        .block
        .map(|block| name_of_block(&block, access.address));
    ProgramError::BadMemory(Box::new(BadMemory {
        name,
        location: place(access.place as usize),
        size: access.size.into(),
        is_write: matches!(access.kind, AccessKind::Write | AccessKind::AtomicWrite),
        ..of_block(kind, thread, wrong.block.as_ref())
    }))
}

/// Ends the execution if a function is given memory of the heap that is no block.
pub(crate) fn check_access(current: Current, address: usize, size: usize, returns_to: usize) {
    let result = crate::memory::heap().check(address, size);
    if let Err(wrong) = result {
        let access = MemoryAccess {
            address,
            place: returns_to as u64,
            size: size as u32,
            kind: AccessKind::Read,
        };
        current.fail(bad_access(current.thread(), &access, &wrong));
    }
}

/// Ends the execution because of a block that cannot be freed.
pub(crate) fn bad_free(error: &BadFree, returns_to: usize) -> ! {
    let current = Current::get().expect("a thread of the program runs in an execution");
    let (kind, block) = match error {
        BadFree::Twice(block) => (BadMemoryKind::DoubleFree, Some(block)),
        BadFree::NotStart(block) => (BadMemoryKind::InvalidFree, block.as_ref()),
        BadFree::NotOurs => (BadMemoryKind::InvalidFree, None),
    };
    current.fail(ProgramError::BadMemory(Box::new(BadMemory {
        location: place(returns_to),
        ..of_block(kind, current.thread(), block)
    })))
}

hook! {
    fn abort() = aborted;
    fn __assert_fail(
        assertion: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
    ) = failed_assertion;
    fn __assert(assertion: *const c_char, file: *const c_char, line: c_int) = failed_assertion_of_posix;
}

/// A text of the program.
///
/// # Safety
/// It must be null, or end with a zero.
unsafe fn text(text: *const c_char) -> String {
    match text.is_null() {
        true => String::new(),
        // SAFETY: the promise of the caller.
        false => unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned(),
    }
}

/// A table and a name, as `std::type_info` is.
type TypeInfo = [*const c_char; 2];

/// The function of the C++ ABI that says which exception the calling thread handles. Null in a program without C++.
static CURRENT_EXCEPTION: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());

/// Finds functions that are called by threads of the program, which cannot look for one: the loader's lock takes them for others.
pub(crate) fn prepare() {
    // SAFETY: the name is a text.
    let function =
        unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__cxa_current_exception_type".as_ptr()) };
    CURRENT_EXCEPTION.store(function, Ordering::Relaxed);
}

/// The type of the exception that the calling thread of the program handles, if there is one. It is called as the program.
fn current_exception() -> Option<String> {
    let function = CURRENT_EXCEPTION.load(Ordering::Relaxed);
    if function.is_null() {
        return None;
    }
    // SAFETY: the C++ ABI has this function.
    unsafe {
        let function: extern "C" fn() -> *const TypeInfo = std::mem::transmute(function);
        let kind = function();
        (!kind.is_null()).then(|| text((*kind)[1]))
    }
}

unsafe extern "C" fn aborted(returns_to: usize) {
    // `std::terminate` ends here. Without a check nobody wants to know.
    let exception = match home() {
        0 => None,
        _ => current_exception(),
    };
    let checked = move || {
        operations::begin(returns_to);
        match exception {
            Some(mangled) => {
                let name = crate::symbols::type_name(&mangled);
                fail(FailureKind::UncaughtException, name, place(returns_to))
            }
            None => fail(FailureKind::Abort, String::new(), place(returns_to)),
        }
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe { real::abort() });
}

unsafe extern "C" fn failed_assertion(
    assertion: *const c_char,
    file: *const c_char,
    line: u32,
    function: *const c_char,
    _returns_to: usize,
) {
    let checked = || {
        let current = Current::get().expect("a thread of the program runs in an execution");
        accesses::hand_over(current);
        // SAFETY: the program has passed texts.
        let (assertion, file) = unsafe { (text(assertion), text(file)) };
        let location = OwnedLocation {
            file,
            line,
            column: 0,
        };
        fail(FailureKind::Assertion, assertion, Some(location))
    };
    // SAFETY: the arguments are passed on.
    outside(checked, || unsafe {
        real::__assert_fail(assertion, file, line, function)
    });
}

pub(crate) unsafe extern "C" fn failed_assertion_of_posix(
    assertion: *const c_char,
    file: *const c_char,
    line: c_int,
    returns_to: usize,
) {
    // SAFETY: the arguments are passed on.
    unsafe {
        failed_assertion(assertion, file, line as u32, std::ptr::null(), returns_to);
    }
}
