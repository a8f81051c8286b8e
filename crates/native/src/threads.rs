//! The threads of the program.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use fencepost_explore::Intent;
use fencepost_memory::ThreadId;
use fencepost_runtime::{
    Current, FailureKind, LocationRef, Outcomes, ProgramError, SpawnOptions, Step,
};

use crate::blocks::Block;
use crate::hooks::hook;
use crate::real::{self, Start};
use crate::state::state;
use crate::world::{Call, outside};
use crate::{accesses, failures, operations};

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
fn begin(thread: ThreadId, call: *mut Call) {
    let mut state = state();
    let (execution, handle) = (state.execution, state.blocks[thread.index()].handle);
    while state.threads.len() <= thread.index() {
        state.threads.push(Thread {
            execution: 0,
            handle: 0,
            call: std::ptr::null_mut(),
            stack: 0..0,
            result: 0,
            is_gone: false,
        });
    }
    let end = call.addr();
    state.threads[thread.index()] = Thread {
        execution,
        handle,
        call,
        stack: end.saturating_sub(STACK_SIZE)..end,
        result: 0,
        is_gone: false,
    };
}

/// Runs a function of the program as the calling coroutine. Returns what it returns.
fn run(current: Current, function: *const (), arguments: [usize; 3]) -> usize {
    let thread = current.thread();
    let block = state().blocks[thread.index()].base;
    let mut call = Call::new(function, arguments, block);
    {
        let call = &raw mut call;
        match state().threads.get_mut(thread.index()) {
            Some(known) if known.call.is_null() && known.execution != 0 => {
                known.call = call;
                let end = call.addr();
                known.stack = end.saturating_sub(STACK_SIZE)..end;
            }
            _ => {}
        }
    }
    // SAFETY: whoever created the thread has the function from the program, with such parameters. The block is that of
    // this thread only, and was prepared. The call does not move. What is given up is the program's.
    let result = unsafe { call.run() };
    accesses::hand_over(current);
    let mut state = state();
    state.threads[thread.index()].result = result;
    state.threads[thread.index()].call = std::ptr::null_mut();
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
    begin(ThreadId(0), std::ptr::null_mut());
    let arguments = [
        program.argc as usize,
        program.argv.expose_provenance(),
        program.envp.expose_provenance(),
    ];
    {
        let mut state = state();
        state.has_exited = false;
        state.has_first_left = false;
    }
    let result = run(current, program.main as *const (), arguments);
    if !std::mem::take(&mut state().has_first_left) {
        let location = state().main_location;
        end_program(current, result as c_int, location);
    }
}

/// The program ends with this status. Only the first end counts.
fn end_program(current: Current, status: c_int, location: LocationRef) {
    let has_ended = current.end_program();
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

/// Ends the calling thread with this result.
pub(crate) fn end(current: Current, result: usize) -> ! {
    accesses::hand_over(current);
    let call = state().threads[current.thread().index()].call;
    // SAFETY: the call is that of this thread, which runs it.
    unsafe { Call::leave(call, result) }
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
    fn pthread_exit(result: *mut c_void) = exit_thread;
    fn sched_yield() -> c_int = yield_now;
    fn pthread_yield() -> c_int = yield_now;
    fn thrd_yield() = yield_now_c11;
    fn exit(status: c_int) = exit_program;
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
        begin(thread, std::ptr::null_mut());
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

unsafe extern "C" fn exit_thread(result: *mut c_void, _returns_to: usize) {
    let checked = || {
        let current = Current::get().expect("a thread of the program runs in an execution");
        // Without its first thread, the program runs until its other threads have ended.
        state().has_first_left |= current.thread() == ThreadId(0);
        end(current, result.expose_provenance())
    };
    // SAFETY: the argument is passed on.
    outside(checked, || unsafe { real::pthread_exit(result) });
}

unsafe extern "C" fn yield_now(returns_to: usize) -> c_int {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        current.operation(Intent::SpinHint, Outcomes::One, location, |_| ());
        0
    };
    // SAFETY: it has no preconditions.
    outside(checked, || unsafe { real::sched_yield() })
}

unsafe extern "C" fn yield_now_c11(returns_to: usize) {
    // SAFETY: it has no preconditions.
    unsafe { yield_now(returns_to) };
}

unsafe extern "C" fn exit_program(status: c_int, returns_to: usize) {
    let checked = || {
        let (current, location) = operations::begin(returns_to);
        end_program(current, status, location);
        state().has_exited = true;
        // The call does not return, and the thread does not end either: a join of it does not return.
        wait_for(current, current.thread(), location);
        end(current, 0)
    };
    // SAFETY: the argument is passed on.
    outside(checked, || unsafe { real::exit(status) });
}
