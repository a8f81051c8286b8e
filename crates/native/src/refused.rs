//! What a checked program must not do: what reaches out of the process, and what interrupts a thread.

use std::ffi::c_int;

use crate::failures;
use crate::hooks::{look_alike, refused};
use crate::operations::begin;
use crate::world::inside;

/// The program calls a function that it must not call.
pub(crate) fn refuse(name: &str, why: &str, returns_to: usize) -> ! {
    inside(|| {
        begin(returns_to);
        failures::refuse(format!("`{name}` cannot be checked: {why}"), returns_to)
    })
}

refused! {
    fork "a check runs in one process";
    vfork "a check runs in one process";
    _Fork "a check runs in one process";
    posix_spawn "a check runs in one process";
    posix_spawnp "a check runs in one process";
    system "a check runs in one process";
    popen "a check runs in one process";
    clone "a check runs in one process";
    execl "the program would be replaced";
    execlp "the program would be replaced";
    execle "the program would be replaced";
    execv "the program would be replaced";
    execve "the program would be replaced";
    execvp "the program would be replaced";
    execvpe "the program would be replaced";
    fexecve "the program would be replaced";
    dlopen "the memory of a library that is loaded later is not known";
    dlmopen "the memory of a library that is loaded later is not known";
    socket "what others do on a network differs from execution to execution";
    socketpair "what others do on a network differs from execution to execution";
    ptrace "another process would have to run";
    pthread_cancel "threads are not interrupted";
    pthread_kill "signals are not delivered to threads";
    pthread_sigqueue "signals are not delivered to threads";
    raise "signals are not delivered to threads";
    kill "signals are not delivered to threads";
    tgkill "signals are not delivered to threads";
    alarm "signals are not delivered to threads";
    setitimer "signals are not delivered to threads";
    timer_create "signals are not delivered to threads";
    sigwait "signals are not delivered to threads";
    sigwaitinfo "signals are not delivered to threads";
    sigtimedwait "signals are not delivered to threads";
    sigsuspend "signals are not delivered to threads";
    pause "signals are not delivered to threads";
    pthread_tryjoin_np "the end of a thread is seen by a join only";
    pthread_timedjoin_np "the end of a thread is seen by a join only";
    pthread_clockjoin_np "the end of a thread is seen by a join only";
    pthread_mutex_consistent "robust mutexes are not known";
    sem_open "a semaphore with a name may be shared with other processes";
    sem_close "a semaphore with a name may be shared with other processes";
    sem_unlink "a semaphore with a name may be shared with other processes";
    swapcontext "the stacks of a thread's own coroutines are not known";
    makecontext "the stacks of a thread's own coroutines are not known";
    setcontext "the stacks of a thread's own coroutines are not known";
}

look_alike! {
    fn signal(signal: c_int, handler: usize) -> usize = set_handler;
    fn sigaction(signal: c_int, action: *const libc::sigaction, before: *mut libc::sigaction) -> c_int = set_action;
}

/// A signal that is ignored, or ends the program, is never seen by it.
fn check_handler(name: &str, handler: usize, returns_to: usize) {
    if !matches!(handler, libc::SIG_IGN | libc::SIG_DFL) {
        refuse(name, "signals are not delivered to threads", returns_to);
    }
}

unsafe extern "C-unwind" fn set_handler(
    _signal: c_int,
    handler: usize,
    returns_to: usize,
) -> usize {
    check_handler("signal", handler, returns_to);
    libc::SIG_DFL
}

unsafe extern "C-unwind" fn set_action(
    _signal: c_int,
    action: *const libc::sigaction,
    before: *mut libc::sigaction,
    returns_to: usize,
) -> c_int {
    // SAFETY: the program has passed an action, or none.
    if let Some(action) = unsafe { action.as_ref() } {
        check_handler("sigaction", action.sa_sigaction, returns_to);
    }
    if !before.is_null() {
        // SAFETY: the program has passed the place. All zeros are the action of the system.
        unsafe { before.write_bytes(0, 1) };
    }
    0
}
