//! How a hook performs an operation.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::ops::Range;

use fencepost_memory::Address;
use fencepost_runtime::{Current, LocationRef};

use crate::accesses;
use crate::names::{atomic_kind, has_sign, name_of};
use crate::state::{Known, State, state};

/// A byte that the assembly of the hooks reads.
pub(crate) struct Flag(UnsafeCell<u8>);

// SAFETY: only the OS thread that runs the program uses it.
unsafe impl Sync for Flag {}

impl Flag {
    pub(crate) const fn new() -> Flag {
        Flag(UnsafeCell::new(0))
    }

    pub(crate) fn set(&self, is_on: bool) {
        // SAFETY: nobody else uses it now.
        unsafe { self.0.get().write(is_on.into()) };
    }
}

/// Whether hooks clear the stack below the frame of the program: what earlier calls have left there would be taken for a part
/// of the state of the thread.
pub(crate) static CLEARS_STACK: Flag = Flag::new();

/// The execution in which the calling thread performs an operation, and the source location of it. What the thread has done
/// since its last operation is handed over.
pub(crate) fn begin(returns_to: usize) -> (Current, LocationRef) {
    let current = Current::get().expect("a thread of the program runs in an execution");
    if current.is_tearing_down() {
        // An operation has ended the execution, and this thread with it.
        current.abandon();
    }
    accesses::hand_over(current);
    let place = place_in_program(returns_to);
    (current, state().location(place))
}

/// Where the program itself is in a call that returns there: a library may have called the function on its behalf.
#[inline]
pub(crate) fn place_in_program(returns_to: usize) -> usize {
    let is_in_program = state().code.contains(&returns_to);
    match is_in_program {
        true => returns_to,
        false => find_program(returns_to),
    }
}

/// How many calls of libraries are looked through.
const DEEPEST: usize = 64;

/// What looks for a call of the program.
struct Search {
    code: Range<usize>,
    found: Option<usize>,
    count: usize,
}

#[cold]
fn find_program(returns_to: usize) -> usize {
    type Context = c_void;
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            visit: extern "C" fn(*mut Context, *mut c_void) -> c_int,
            search: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut Context) -> usize;
    }
    extern "C" fn visit(context: *mut Context, search: *mut c_void) -> c_int {
        const CONTINUE: c_int = 0;
        const END: c_int = 4;
        // SAFETY: the search is the one below, and the context that of the unwinder.
        let (search, address) = unsafe { (&mut *search.cast::<Search>(), _Unwind_GetIP(context)) };
        search.count += 1;
        if search.code.contains(&address) {
            search.found = Some(address);
        }
        match search.found.is_some() || search.count > DEEPEST {
            true => END,
            false => CONTINUE,
        }
    }
    let mut search = Search {
        code: state().code.clone(),
        found: None,
        count: 0,
    };
    // SAFETY: the callback has this type, and the search outlives the call.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
    search.found.unwrap_or(returns_to)
}

/// The object at an address that is no atomic variable.
pub(crate) fn object_at(
    current: Current,
    (address, size): (usize, usize),
    kind: &'static str,
    value: impl FnOnce() -> u64,
) -> Address {
    let name = || name_of(address, size);
    known_at(current, (address, 0), 0, |_| kind, |_| value(), name).object
}

/// Another object of what is at an address. Its state is 0 at first.
pub(crate) fn object_named(
    current: Current,
    (address, size): (usize, usize),
    kind: &'static str,
    relation: &str,
) -> Address {
    let name = || format!("{relation} {}", name_of(address, size));
    // Nothing that has two objects is at an odd address.
    known_at(current, (address + 1, 0), 0, |_| kind, |_| 0, name).object
}

/// An object that a program has once: its name is its kind. Its state is 0 at first.
pub(crate) fn object_global(current: Current, kind: &'static str) -> Address {
    let number = kind.as_ptr().addr();
    known_at(current, (number, 0), 0, |_| kind, |_| 0, || kind.to_owned()).object
}

/// An atomic variable has at most eight bytes.
const MOST: usize = 8;

/// Another atomic variable of this execution that has a byte of this one.
#[cold]
fn overlap(state: &mut State, (address, size): (usize, u8)) -> Option<(usize, u8)> {
    let end = address + usize::from(size);
    let starts = address.saturating_sub(MOST - 1)..end;
    for start in starts {
        let Some(known) = state.objects.get(&start).filter(|known| known.size > 0) else {
            continue;
        };
        let is_other = (start, known.size) != (address, size);
        if is_other && start + usize::from(known.size) > address {
            let found = (known.execution == state.execution).then_some((start, known.size));
            state.has_overlaps = true;
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

#[cold]
fn refuse_overlap((address, size): (usize, u8), other: (usize, u8), returns_to: usize) -> ! {
    let message = format!(
        "the atomic accesses of {size} bytes to `{}` and of {} bytes to `{}` overlap: accesses of different sizes to the \
         same memory are not checked; access it in one way",
        name_of(address, size.into()),
        other.1,
        name_of(other.0, other.1.into()),
    );
    crate::failures::refuse(message, returns_to)
}

/// The atomic variable of `size` bytes at an address. `value` says what its state is, with a sign or without one.
#[inline]
pub(crate) fn variable_at(
    current: Current,
    address: usize,
    size: u8,
    returns_to: usize,
    value: impl FnOnce(bool) -> u64,
) -> Known {
    let kind = |state: &mut State| {
        let variable = state.variable(address, size.into());
        let scalar = variable.and_then(|variable| variable.scalar);
        atomic_kind(size, scalar.map(|scalar| scalar.kind))
    };
    let name = || name_of(address, size.into());
    known_at(current, (address, size), returns_to, kind, value, name)
}

#[inline]
fn known_at(
    current: Current,
    (address, size): (usize, u8),
    returns_to: usize,
    kind: impl FnOnce(&mut State) -> &'static str,
    value: impl FnOnce(bool) -> u64,
    name: impl FnOnce() -> String,
) -> Known {
    let mut state = state();
    let execution = state.execution;
    let known = state.objects.get(&address).copied();
    let known = known.filter(|known| known.size == size);
    if let Some(known) = known.filter(|known| known.execution == execution) {
        return known;
    }
    // Each of two variables that overlap would not notice what is done to the other. Only if this has ever
    // been the case, it is looked for in each execution.
    let is_suspicious = size > 0 && (known.is_none() || state.has_overlaps);
    if is_suspicious && let Some(other) = overlap(&mut state, (address, size)) {
        drop(state);
        refuse_overlap((address, size), other, returns_to);
    }
    // It is called what it was called in the first execution that has used it.
    let kind = match known {
        Some(known) => known.kind,
        None => kind(&mut state),
    };
    let location = state.main_location;
    drop(state);
    let has_sign = has_sign(kind);
    let place = (address, size);
    // SAFETY: the memory of the program stays mapped: its heap gives nothing back while an execution runs, and the
    // program has just shown that the address is mapped.
    let object = unsafe { current.object_in_memory(place, kind, value(has_sign), name, location) };
    let known = Known {
        execution,
        object,
        size,
        kind,
        has_sign,
    };
    self::state().objects.insert(address, known);
    known
}
