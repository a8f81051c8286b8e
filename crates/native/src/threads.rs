//! The threads of the program.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ops::Range;

use fencepost_explore::Intent;
use fencepost_memory::ThreadId;
use fencepost_runtime::{
    Current, FailureKind, LocationRef, Outcomes, ProgramError, SpawnOptions, Step,
};

use crate::blocks::Block;
use crate::hooks::{hook, look_alike};
use crate::leaving::Exception;
use crate::locals::{self, Locals};
use crate::locks::c11;
use crate::real::{self, Start};
use crate::state::state;
use crate::world::{Call, inside, outside};
use crate::{accesses, failures, operations};

/// How a thread leaves its function.
#[derive(Clone, Copy, Default)]
pub(crate) enum Left {
    /// It returns.
    #[default]
    Returned,
    /// It ends itself, with this result.
    Thread(usize),
    /// It ends the program, with this status, here.
    Program(c_int, LocationRef),
}

/// A thread of an execution.
pub(crate) struct Thread {
    /// The execution to which it belongs.
    pub(crate) execution: u64,
    /// What `pthread_self` returns in it.
    pub(crate) handle: libc::pthread_t,
    /// The call that it runs, while it does.
    call: *mut Call,
    /// The addresses of its stack, as far as they belong to the program.
    pub(crate) stack: Range<usize>,
    /// What it has returned.
    result: usize,
    /// Whether nobody can join it: it was joined, or is detached.
    is_gone: bool,
    left: Left,
    pub(crate) locals: Locals,
    /// What its stack is unwound with when it ends itself.
    exception: Box<MaybeUninit<Exception>>,
}

impl Default for Thread {
    fn default() -> Self {
        Thread {
            execution: 0,
            handle: 0,
            call: std::ptr::null_mut(),
            stack: 0..0,
            result: 0,
            is_gone: false,
            left: Left::Returned,
            locals: Locals::default(),
            exception: Box::new(MaybeUninit::uninit()),
        }
    }
}

unsafe extern "C" {
    static mut __libc_single_threaded: c_char;
}

impl Thread {
    /// Whether it has begun and not ended.
    pub(crate) fn is_running(&self) -> bool {
        !self.call.is_null()
    }
}

/// The size of the stack of a thread of the program, unless it asks for another one.
pub(crate) const STACK_SIZE: usize = 1 << 20;

/// The addresses of the stack of the calling thread, as far as they belong to the program.
pub(crate) fn own_stack() -> Range<usize> {
    let thread = Current::get().map_or(0, |current| current.thread().index());
    let state = state();
    let thread = state.threads.get(thread);
    thread.map_or(0..0, |thread| thread.stack.clone())
}

/// Makes sure that a thread has a block, and puts it back as it is at the start.
fn prepare_block(thread: ThreadId) -> std::io::Result<()> {
    let mut state = state();
    let state = &mut *state;
    while state.blocks.len() <= thread.index() {
        let mut block = Block::new(&state.layout)?;
        if state.blocks.is_empty() {
            block.take_over(&state.layout, state.first_base);
        }
        state.blocks.push(block);
    }
    state.blocks[thread.index()].reset(&state.layout);
    Ok(())
}

/// Begins a thread in this execution.
fn begin(thread: ThreadId) {
    let mut state = state();
    let (execution, handle) = (state.execution, state.blocks[thread.index()].handle);
    while state.threads.len() <= thread.index() {
        state.threads.push(Thread::default());
    }
    let known = &mut state.threads[thread.index()];
    known.execution = execution;
    known.handle = handle;
    known.call = std::ptr::null_mut();
    known.stack = 0..0;
    known.result = 0;
    known.is_gone = false;
    known.left = Left::Returned;
    known.locals.reset();
}

/// Runs the function of a thread of the program as the calling coroutine, and what has to run when the thread ends.
fn run(current: Current, function: *const (), arguments: [usize; 3]) {
    let thread = current.thread().index();
    let returned = call_with(current, function, arguments, true);
    // A destructor may end the program, but not the thread once more.
    let left = take_left(thread);
    match left {
        Left::Returned if thread != 0 => end_thread(current, returned),
        Left::Returned => {
            let location = state().main_location;
            exit_with(current, returned as c_int, location);
        }
        Left::Thread(result) => end_thread(current, result),
        Left::Program(status, location) => exit_here(current, status, location),
    }
}

fn take_left(thread: usize) -> Left {
    std::mem::take(&mut state().threads[thread].left)
}

/// The function of the calling thread has returned this.
fn end_thread(current: Current, result: usize) {
    let thread = current.thread().index();
    state().threads[thread].result = result;
    locals::drop_variables(current);
    locals::drop_values(current);
    let left = take_left(thread);
    if let Left::Program(status, location) = left {
        exit_here(current, status, location);
    }
}

/// The calling thread ends the program with this status.
fn exit_with(current: Current, status: c_int, location: LocationRef) {
    locals::drop_variables(current);
    locals::run_at_exit(current);
    end_program(current, status, location);
}

/// The calling thread has called `exit`, which does not return. The thread does not end either: a join of it does not return.
fn exit_here(current: Current, status: c_int, location: LocationRef) {
    exit_with(current, status, location);
    state().has_exited = true;
    wait_for(current, current.thread(), location);
}

/// Calls a function of the program, which gets one value, when the function of the calling thread has ended.
pub(crate) fn call(current: Current, function: usize, value: usize) {
    let function = std::ptr::with_exposed_provenance(function);
    call_with(current, function, [value, 0, 0], false);
}

/// Calls a function of the program. Returns what it returns.
fn call_with(
    current: Current,
    function: *const (),
    arguments: [usize; 3],
    is_first: bool,
) -> usize {
    let thread = current.thread().index();
    let block = state().blocks[thread].base;
    let mut call = Call::new(function, arguments, block);
    {
        let call = &raw mut call;
        let known = &mut state().threads[thread];
        known.call = call;
        if is_first {
            let end = call.addr();
            known.stack = end.saturating_sub(STACK_SIZE)..end;
        }
    }
    // SAFETY: whoever has given Fencepost the function has it from the program, with such parameters. The block is that of
    // this thread only, and was prepared. The call does not move. What is given up is the program's.
    let result = unsafe { call.run() };
    accesses::hand_over(current);
    state().threads[thread].call = std::ptr::null_mut();
    result
}

/// Runs `main`, as the first thread of an execution.
pub(crate) fn run_main() {
    let current = Current::get().expect("this is the function of the first thread");
    let program = state().program;
    operations::CLEARS_STACK.set(current.compares_stacks());
    if let Err(error) = prepare_block(ThreadId(0)) {
        no_thread(current, &error);
    }
    begin(ThreadId(0));
    let arguments = [
        program.argc as usize,
        program.argv.expose_provenance(),
        program.envp.expose_provenance(),
    ];
    {
        let mut state = state();
        state.has_exited = false;
    }
    run(current, program.main as *const (), arguments);
}

/// The program ends with this status. Only the first end counts.
fn end_program(current: Current, status: c_int, location: LocationRef) {
    let has_ended = current.end_program();
    // The parent of a process sees so much of it.
    let status = status & 0xff;
    if status != 0 && !has_ended {
        let kind = FailureKind::ExitStatus(status);
        failures::fail(kind, String::new(), Some(location.into()));
    }
}

/// There is no room for another thread.
fn no_thread(current: Current, error: &std::io::Error) -> ! {
    let location = state().main_location;
    current.fail(ProgramError::Misuse {
        message: format!("cannot make thread-local storage for another thread: {error}\nhelp: let it create fewer threads"),
        location: Some(location.into()),
    })
}

/// Leaves the function of the calling thread.
pub(crate) fn end(current: Current) -> ! {
    accesses::hand_over(current);
    let call = state().threads[current.thread().index()].call;
    // SAFETY: the call is that of this thread, which runs it.
    unsafe { Call::leave(call, 0) }
}

/// Says how the calling thread leaves its function.
pub(crate) fn set_left(left: Left) {
    let current = Current::get().expect("a thread of the program runs in an execution");
    state().threads[current.thread().index()].left = left;
}

/// Puts an exception where it stays while the stack of the calling thread is unwound.
pub(crate) fn room_for_exception(exception: Exception) -> *mut Exception {
    let current = Current::get().expect("a thread of the program runs in an execution");
    let room = &mut state().threads[current.thread().index()].exception;
    std::ptr::from_mut(room.write(exception))
}

hook! {
    fn pthread_create(
        handle: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int = create;
    fn pthread_join(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int = join;
    fn pthread_detach(handle: libc::pthread_t) -> c_int = detach;
    fn sched_yield() -> c_int = yield_now;
    fn pthread_yield() -> c_int = yield_now;
    fn thrd_yield() = yield_now_c11;
    fn exit(status: c_int) = exit_program;
    fn _exit(status: c_int) = exit_at_once;
    fn _Exit(status: c_int) = exit_at_once;
    fn quick_exit(status: c_int) = exit_at_once;
}

unsafe extern "C" fn create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Start,
    argument: *mut c_void,
    returns_to: usize,
) -> c_int {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        let options = SpawnOptions {
            name: None,
            // SAFETY: the attributes are those of the program.
            stack_size: Some(unsafe { stack_size(attributes) }),
        };
        let Some(thread) = current.create_thread(&options, location) else {
            return libc::EAGAIN;
        };
        if let Err(error) = prepare_block(thread) {
            no_thread(current, &error);
        }
        begin(thread);
        // The C library would say so: programs leave out atomic operations as long as there is one thread.
        // SAFETY: no code of the program runs.
        unsafe { (&raw mut __libc_single_threaded).write(0) };
        // SAFETY: as above.
        state().threads[thread.index()].is_gone = unsafe { is_detached(attributes) };
        let known = state().blocks[thread.index()].handle;
        // SAFETY: the program has passed the place.
        unsafe { handle.write(known) };
        let arguments = [argument.expose_provenance(), 0, 0];
        let body = move || {
            let current = Current::get().expect("this is the function of a thread");
            run(current, start as *const (), arguments);
        };
        // SAFETY: the thread was created above. The body borrows nothing.
        unsafe { current.give_body(thread, body) };
        0
    };
    // SAFETY: the arguments are passed on.
    outside(checked, || unsafe {
        real::pthread_create(handle, attributes, start, argument)
    })
}

/// Whether a thread with these attributes cannot be joined.
///
/// # Safety
/// The attributes must be null or initialized.
unsafe fn is_detached(attributes: *const libc::pthread_attr_t) -> bool {
    let mut detached = libc::PTHREAD_CREATE_JOINABLE;
    if !attributes.is_null() {
        // SAFETY: the promise of the caller.
        unsafe { real::pthread_attr_getdetachstate(attributes, &raw mut detached) };
    }
    detached == libc::PTHREAD_CREATE_DETACHED
}

/// The size of the stack that a program asks for.
///
/// # Safety
/// The attributes must be null or initialized.
unsafe fn stack_size(attributes: *const libc::pthread_attr_t) -> usize {
    let mut size = 0;
    if !attributes.is_null() {
        // SAFETY: the promise of the caller.
        unsafe { libc::pthread_attr_getstacksize(attributes, &raw mut size) };
    }
    match size {
        0 => STACK_SIZE,
        // What the C library gives everybody.
        size => size.min(STACK_SIZE),
    }
}

unsafe extern "C" fn join(
    handle: libc::pthread_t,
    result: *mut *mut c_void,
    returns_to: usize,
) -> c_int {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        let Some(thread) = state().thread_of(handle) else {
            return libc::ESRCH;
        };
        if thread == current.thread() {
            return libc::EDEADLK;
        }
        if std::mem::replace(&mut state().threads[thread.index()].is_gone, true) {
            return libc::EINVAL;
        }
        wait_for(current, thread, location);
        if !result.is_null() {
            let returned = state().threads[thread.index()].result;
            let returned = std::ptr::with_exposed_provenance_mut(returned);
            // SAFETY: the program has passed the place.
            unsafe { result.write(returned) };
        }
        0
    };
    // SAFETY: the arguments are passed on.
    outside(checked, || unsafe { real::pthread_join(handle, result) })
}

/// Waits until a thread has finished.
pub(crate) fn wait_for(current: Current, thread: ThreadId, location: LocationRef) {
    let perform = |step: &mut Step<'_>| {
        step.join(thread);
        step.acquire_end_of(thread);
    };
    if !current.try_inline_join(thread, location, perform) {
        current.operation(Intent::Join(thread), Outcomes::One, location, perform);
    }
}

unsafe extern "C" fn detach(handle: libc::pthread_t, _returns_to: usize) -> c_int {
    let checked = || {
        let Some(thread) = state().thread_of(handle) else {
            return libc::ESRCH;
        };
        match std::mem::replace(&mut state().threads[thread.index()].is_gone, true) {
            true => libc::EINVAL,
            false => 0,
        }
    };
    // SAFETY: the argument is passed on.
    outside(checked, || unsafe { real::pthread_detach(handle) })
}

unsafe extern "C" fn yield_now(returns_to: usize) -> c_int {
    let checked = || {
        yield_here(returns_to);
        0
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe { real::sched_yield() })
}

/// Lets other threads run.
pub(crate) fn yield_here(returns_to: usize) {
    let (current, location) = operations::begin(returns_to);
    current.plain_operation(Intent::SpinHint, Outcomes::One, location, |_| ());
}

unsafe extern "C" fn yield_now_c11(returns_to: usize) {
    // SAFETY: it has no preconditions.
    unsafe { yield_now(returns_to) };
}

unsafe extern "C" fn exit_program(status: c_int, returns_to: usize) {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        set_left(Left::Program(status, location));
        end(current)
    };
    // SAFETY: the argument is passed on.
    outside(checked, || unsafe { real::exit(status) });
}

unsafe extern "C" fn exit_at_once(status: c_int, returns_to: usize) {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        end_program(current, status, location);
        state().has_exited = true;
        wait_for(current, current.thread(), location);
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe {
        libc::syscall(libc::SYS_exit_group, status);
    });
}

look_alike! {
    fn thrd_create(handle: *mut libc::pthread_t, start: Start, argument: *mut c_void) -> c_int = create_of_c11;
    fn thrd_join(handle: libc::pthread_t, result: *mut c_int) -> c_int = join_of_c11;
    fn thrd_detach(handle: libc::pthread_t) -> c_int = detach_of_c11;
    fn pthread_setname_np(handle: libc::pthread_t, name: *const c_char) -> c_int = set_name;
    fn gettid() -> c_int = number;
    fn pthread_getname_np(handle: libc::pthread_t, name: *mut c_char, size: usize) -> c_int = get_name;
}

unsafe extern "C-unwind" fn create_of_c11(
    handle: *mut libc::pthread_t,
    start: Start,
    argument: *mut c_void,
    returns_to: usize,
) -> c_int {
    // SAFETY: the arguments are passed on.
    c11::result(unsafe { create(handle, std::ptr::null(), start, argument, returns_to) })
}

unsafe extern "C-unwind" fn join_of_c11(
    handle: libc::pthread_t,
    result: *mut c_int,
    returns_to: usize,
) -> c_int {
    let mut returned = std::ptr::null_mut();
    // SAFETY: the place is ours.
    let error = unsafe { join(handle, &raw mut returned, returns_to) };
    if error == 0 && !result.is_null() {
        // SAFETY: the program has passed the place.
        unsafe { result.write(returned.addr() as c_int) };
    }
    c11::result(error)
}

unsafe extern "C-unwind" fn detach_of_c11(handle: libc::pthread_t, returns_to: usize) -> c_int {
    // SAFETY: the argument is passed on.
    c11::result(unsafe { detach(handle, returns_to) })
}

/// The C library has as much room for the name of a thread.
const LONGEST_NAME: usize = 15;

unsafe extern "C-unwind" fn set_name(
    handle: libc::pthread_t,
    name: *const c_char,
    _returns_to: usize,
) -> c_int {
    // SAFETY: the program has passed a name.
    let name = unsafe { CStr::from_ptr(name) };
    if name.count_bytes() > LONGEST_NAME {
        return libc::ERANGE;
    }
    inside(|| {
        let current = Current::get().expect("a thread of the program runs in an execution");
        let Some(thread) = state().thread_of(handle) else {
            return libc::ESRCH;
        };
        current.name_thread(thread, &name.to_string_lossy());
        let room = &mut state().threads[thread.index()].locals.name;
        room.fill(0);
        room[..name.count_bytes()].copy_from_slice(name.to_bytes());
        0
    })
}

unsafe extern "C-unwind" fn get_name(
    handle: libc::pthread_t,
    name: *mut c_char,
    size: usize,
    _returns_to: usize,
) -> c_int {
    inside(|| {
        let state = state();
        let Some(thread) = state.thread_of(handle) else {
            return libc::ESRCH;
        };
        let known = &state.threads[thread.index()].locals.name;
        let known = CStr::from_bytes_until_nul(known).unwrap_or_default();
        let known = known.to_bytes_with_nul();
        if size < known.len() {
            return libc::ERANGE;
        }
        // SAFETY: the program has passed a place of this size.
        unsafe { name.copy_from_nonoverlapping(known.as_ptr().cast(), known.len()) };
        0
    })
}

/// The kernel would say that all threads are one.
unsafe extern "C-unwind" fn number(_returns_to: usize) -> c_int {
    inside(|| Current::get().map_or(0, |current| current.thread().0 as c_int + 1))
}
