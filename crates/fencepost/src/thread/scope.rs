//! Scoped threads, which may borrow from the stack of the thread that spawns them.
#![allow(unsafe_code)] // Threads borrow until the end of the scope, which no type expresses.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory as memory;

use super::handle::{Builder, Joinable, Outside, Thread, spawn_checked, wait_for_return};
use super::park::end_parking_wait;
use fencepost_runtime::{Current, LocationRef, Outcomes};

/// A scope to spawn scoped threads in, as [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    inner: ScopeInner<'scope, 'env>,
    // Invariance, as in `std`: otherwise `'scope` could shrink to less than the threads' lives.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

enum ScopeInner<'scope, 'env> {
    /// Outside of a check. Set once `std` has created it.
    Std(OnceLock<&'scope std::thread::Scope<'scope, 'env>>),
    Checked(Threads),
}

/// The threads of a scope in a check.
#[derive(Default)]
struct Threads {
    /// Those that have not been joined yet.
    unjoined: Mutex<Vec<memory::ThreadId>>,
    /// How many handles have not been dropped. The threads of a check are on one OS thread, and whoever
    /// drops a handle on another one is not waited for.
    handles: AtomicUsize,
}

impl Threads {
    fn lock(&self) -> MutexGuard<'_, Vec<memory::ThreadId>> {
        self.unjoined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes a thread that was joined. Returns the first that was not.
    fn set_joined(&self, joined: Option<memory::ThreadId>) -> Option<memory::ThreadId> {
        let mut unjoined = self.lock();
        let known = unjoined.iter().position(|thread| Some(*thread) == joined);
        if let Some(position) = known {
            unjoined.remove(position);
        }
        unjoined.first().copied()
    }
}

/// Creates a scope for spawning scoped threads, and waits for them all, as [`std::thread::scope`].
///
/// As in `std` it waits for the functions of the threads, not for the destructors of their
/// thread-local values, and it may take the park token of the calling thread.
///
/// # Panics
/// As [`std::thread::scope`], outside of a check.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let location = LocationRef::caller();
    match Current::get() {
        None => scope_outside(f),
        Some(current) => scope_checked(current, location, f),
    }
}

fn scope_outside<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        inner: ScopeInner::Std(OnceLock::new()),
        scope: PhantomData,
        env: PhantomData,
    };
    std::thread::scope(|std_scope| {
        // SAFETY: only the lifetime changes, to that of the borrow of `scope`. Both references are
        // used only by `f` and by the scope's threads, and `std` joins these before `std_scope` and
        // `scope` end.
        let std_scope: &std::thread::Scope<'_, 'env> =
            unsafe { std::mem::transmute::<&std::thread::Scope<'_, 'env>, _>(std_scope) };
        if let ScopeInner::Std(cell) = &scope.inner {
            let _ = cell.set(std_scope);
        }
        f(&scope)
    })
}

fn scope_checked<'env, F, T>(current: Current, location: LocationRef, f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope {
        inner: ScopeInner::Checked(Threads::default()),
        scope: PhantomData,
        env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        let value = f(&scope);
        let mut unjoined = scope.set_joined(None);
        // A thread that was not joined may still run, and then `std` parks.
        let may_park = unjoined.is_some();
        while let Some(thread) = unjoined {
            wait_for_return(current, thread, location);
            unjoined = scope.set_joined(unjoined);
        }
        if scope.has_leaked_handle() {
            wait_for_ever(current, location);
        }
        if may_park {
            end_parking_wait(current, location);
        }
        value
    }));
    result.unwrap_or_else(|payload| {
        // The execution is over, but threads still borrow from this stack.
        current.wait_until_finished(&scope.unjoined());
        resume_unwind(payload)
    })
}

/// In `std` a thread counts as running as long as its handle exists. So a scope whose handle was
/// leaked never ends: it waits for something that does not happen, the end of its own thread.
fn wait_for_ever(current: Current, location: LocationRef) {
    let object = current.tokens(current.thread()).end;
    let intent = Intent::Access {
        object,
        effect: Effect::Read,
        awaits: Some(Condition::Equals(1)),
    };
    current.operation(intent, Outcomes::One, location, |step| {
        step.read(object);
    });
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Spawns a scoped thread, which may borrow values that outlive the scope.
    ///
    /// # Panics
    /// As [`std::thread::Scope::spawn`], outside of a check.
    #[track_caller]
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .expect("failed to spawn thread")
    }

    /// Removes a thread that was joined. Returns the first that was not.
    fn set_joined(&self, joined: Option<memory::ThreadId>) -> Option<memory::ThreadId> {
        match &self.inner {
            ScopeInner::Std(_) => None,
            ScopeInner::Checked(threads) => threads.set_joined(joined),
        }
    }

    fn unjoined(&self) -> Vec<memory::ThreadId> {
        match &self.inner {
            ScopeInner::Std(_) => Vec::new(),
            ScopeInner::Checked(threads) => threads.lock().clone(),
        }
    }

    fn has_leaked_handle(&self) -> bool {
        match &self.inner {
            ScopeInner::Std(_) => false,
            ScopeInner::Checked(threads) => threads.handles.load(Ordering::Acquire) > 0,
        }
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}

impl Builder {
    /// Spawns a scoped thread with these settings.
    ///
    /// # Errors
    /// As [`std::thread::Builder::spawn_scoped`], outside of a check.
    ///
    /// # Panics
    /// If the name contains a null byte.
    #[track_caller]
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let location = LocationRef::caller();
        let inner = match (&scope.inner, Current::get()) {
            (ScopeInner::Std(std_scope), _) => {
                let std_scope = std_scope.get().expect("`scope` has set it");
                // Boxed for the same reason as in `Builder::spawn_outside`.
                let f: Outside<'scope, T> = Box::new(f);
                let handle = self.for_std().spawn_scoped(std_scope, f)?;
                let thread = Thread::outside(handle.thread().clone());
                ScopedInner::Std(handle, thread)
            }
            (ScopeInner::Checked(threads), Some(current)) => {
                // SAFETY: `scope_checked` does not return before `f` has returned or the thread was
                // torn down: it waits for every thread in `threads`, whether or not it panics. A
                // handle takes its thread out of there only when it has the result, so that nothing
                // is borrowed any more.
                let joinable = unsafe { spawn_checked(current, self.into_options(), location, f) };
                threads.lock().extend(joinable.id());
                threads.handles.fetch_add(1, Ordering::Relaxed);
                ScopedInner::Checked(joinable, CountedHandle(threads))
            }
            (ScopeInner::Checked(_), None) => {
                panic!("the scope of a check is used outside of the check, at {location}")
            }
        };
        Ok(ScopedJoinHandle { inner })
    }
}

/// An owned permission to join on a scoped thread, as [`std::thread::ScopedJoinHandle`].
pub struct ScopedJoinHandle<'scope, T> {
    inner: ScopedInner<'scope, T>,
}

enum ScopedInner<'scope, T> {
    Std(std::thread::ScopedJoinHandle<'scope, T>, Thread),
    Checked(Joinable<T>, CountedHandle<'scope>),
}

/// One of the handles that a scope in a check counts.
struct CountedHandle<'scope>(&'scope Threads);

impl Drop for CountedHandle<'_> {
    fn drop(&mut self) {
        self.0.handles.fetch_sub(1, Ordering::Release);
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the thread to finish, and returns its result.
    ///
    /// # Errors
    /// Returns the thread's panic, outside of a check. In a check a panic ends the execution.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        let location = LocationRef::caller();
        match self.inner {
            ScopedInner::Std(handle, _) => handle.join(),
            ScopedInner::Checked(joinable, handle) => {
                let id = joinable.id();
                let result = joinable.join(location);
                handle.0.set_joined(id);
                result
            }
        }
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        match &self.inner {
            ScopedInner::Std(_, thread) => thread,
            ScopedInner::Checked(joinable, _) => joinable.thread(),
        }
    }

    /// Whether the thread has finished, so that a join would not wait.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        let location = LocationRef::caller();
        match &self.inner {
            ScopedInner::Std(handle, _) => handle.is_finished(),
            ScopedInner::Checked(joinable, _) => joinable.is_finished(location),
        }
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
