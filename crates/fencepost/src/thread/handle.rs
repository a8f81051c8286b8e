//! Spawning, joining and naming threads.
#![allow(unsafe_code)] // Spawning on a borrowed stack is unsafe.

use std::cell::UnsafeCell;
use std::ffi::CString;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory as memory;
use fencepost_memory::Operation;

use super::park::unpark;
use fencepost_runtime::LocationRef;
use fencepost_runtime::names::RETURNED;
use fencepost_runtime::{Current, Outcomes, Restart, SpawnOptions, Step, free};

/// A unique identifier of a thread, as [`std::thread::ThreadId`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId(Identity);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Identity {
    Std(std::thread::ThreadId),
    Checked(memory::ThreadId),
}

impl fmt::Debug for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Identity::Std(id) => id.fmt(f),
            Identity::Checked(id) => write!(f, "ThreadId({})", id.0),
        }
    }
}

/// A handle to a thread, as [`std::thread::Thread`].
#[derive(Clone)]
pub struct Thread {
    inner: ThreadInner,
}

#[derive(Clone)]
enum ThreadInner {
    Std(std::thread::Thread),
    Checked {
        id: memory::ThreadId,
        name: Option<Arc<str>>,
        token: fencepost_runtime::Object,
    },
}

impl Thread {
    pub(super) fn outside(thread: std::thread::Thread) -> Self {
        Thread {
            inner: ThreadInner::Std(thread),
        }
    }

    #[inline]
    pub(super) fn of(current: Current, id: memory::ThreadId) -> Self {
        let (name, token) = current.handle_of(id);
        Thread {
            inner: ThreadInner::Checked { id, name, token },
        }
    }

    /// The execution of the thread, if it is the current one. Reports a misuse and does not return
    /// if another execution is the current one.
    #[inline]
    pub(super) fn current(&self, location: LocationRef) -> Option<Current> {
        match &self.inner {
            ThreadInner::Std(_) => None,
            ThreadInner::Checked { token, .. } => token.current(location),
        }
    }

    /// Returns the thread's unique identifier.
    pub fn id(&self) -> ThreadId {
        match &self.inner {
            ThreadInner::Std(thread) => ThreadId(Identity::Std(thread.id())),
            ThreadInner::Checked { id, .. } => ThreadId(Identity::Checked(*id)),
        }
    }

    /// Returns the thread's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        match &self.inner {
            ThreadInner::Std(thread) => thread.name(),
            ThreadInner::Checked { id, name: None, .. } => (id.0 == 0).then_some("main"),
            ThreadInner::Checked { name, .. } => name.as_deref(),
        }
    }

    /// Sets the thread's park token, so that its next or current [`park`](super::park) returns.
    #[track_caller]
    pub fn unpark(&self) {
        match &self.inner {
            ThreadInner::Std(thread) => thread.unpark(),
            ThreadInner::Checked { token, .. } => unpark(token, LocationRef::caller()),
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// What a thread and its join handle share.
struct Shared<T> {
    /// How many of the thread and its join handle still own it.
    owners: AtomicU8,
    /// None if the execution was over, so that the thread was not spawned.
    id: Option<memory::ThreadId>,
    thread: Thread,
    /// The result of the thread, after it has returned.
    result: UnsafeCell<Option<T>>,
}

/// One of the two owners.
struct Owner<T> {
    shared: NonNull<Shared<T>>,
    /// The last owner drops the result.
    owned: PhantomData<Shared<T>>,
}

// SAFETY: the result is put and taken by threads of one execution only (`Joinable::join` checks
// that), which run on one OS thread, one at a time. Any OS thread may drop an owner, and with it
// the result, since `T` is `Send`: `drop` orders the two drops.
unsafe impl<T: Send> Send for Owner<T> {}
// SAFETY: as above; there is no function that returns a reference to the result.
unsafe impl<T: Send> Sync for Owner<T> {}

impl<T> Owner<T> {
    /// Creates both owners.
    #[inline]
    fn both(current: Current, id: Option<memory::ThreadId>) -> (Self, Self) {
        let of_handle = id.unwrap_or_else(|| current.thread());
        let shared = current.allocate_for(of_handle, |name, token| {
            let inner = ThreadInner::Checked {
                id: of_handle,
                name,
                token,
            };
            Shared {
                owners: AtomicU8::new(2),
                id,
                thread: Thread { inner },
                result: UnsafeCell::new(None),
            }
        });
        let owner = || Owner {
            shared,
            owned: PhantomData,
        };
        (owner(), owner())
    }

    #[inline]
    fn shared(&self) -> &Shared<T> {
        // SAFETY: the last of both owners frees it, and what changes in it is in cells.
        unsafe { self.shared.as_ref() }
    }

    #[inline]
    fn put(&self, result: T) {
        // SAFETY: see `Send`; there is never a reference to the content. The thread puts its result
        // once, so there is none that is dropped here.
        unsafe { *self.shared().result.get() = Some(result) };
    }

    #[inline]
    fn take(&self) -> Option<T> {
        // SAFETY: as in `put`.
        unsafe { (*self.shared().result.get()).take() }
    }
}

impl<T> Drop for Owner<T> {
    #[inline]
    fn drop(&mut self) {
        let owners = &self.shared().owners;
        if owners.load(Ordering::Acquire) == 2 {
            // This is no read-modify-write, which would take longer: usually both are on one OS
            // thread. If the handle was moved to another one, and both are dropped at the same
            // time, the memory is leaked.
            owners.store(1, Ordering::Release);
            return;
        }
        // SAFETY: it came from `allocate_for`. The other owner does not use it any more: its last
        // access stored that one owner is left, and the load above acquired that.
        unsafe { free(self.shared) };
    }
}

/// A thread of a check that can be joined.
pub(super) struct Joinable<T> {
    owner: Owner<T>,
}

impl<T> Joinable<T> {
    /// None if the execution was over, so that it was not spawned.
    #[inline]
    pub(super) fn id(&self) -> Option<memory::ThreadId> {
        self.owner.shared().id
    }

    pub(super) fn thread(&self) -> &Thread {
        &self.owner.shared().thread
    }

    #[inline]
    pub(super) fn join(self, location: LocationRef) -> super::Result<T> {
        let Some(current) = Current::get() else {
            panic!("a thread of a check is joined outside of the check, at {location}");
        };
        // Only the execution of the thread takes the result: another one may be on another OS
        // thread.
        let is_of_current = self.thread().current(location).is_some();
        if let (Some(id), true) = (self.id(), is_of_current) {
            join_thread(current, id, location);
        }
        match is_of_current.then(|| self.owner.take()).flatten() {
            Some(value) => Ok(value),
            None => {
                // The execution is over and the thread was torn down. A destructor that waits
                // for it would not survive an `Err`.
                current.abandon();
                Err(Box::new("the thread was torn down"))
            }
        }
    }

    pub(super) fn is_finished(&self, location: LocationRef) -> bool {
        match (self.thread().current(location), self.id()) {
            (Some(current), Some(id)) => has_ended(current, id, location),
            _ => true,
        }
    }
}

/// Waits until a thread has finished.
#[inline]
pub(super) fn join_thread(current: Current, thread: memory::ThreadId, location: LocationRef) {
    // A thread that joins several others mostly waits only for the first of them.
    if !current.try_inline_join(thread, location, |step| perform_join(step, thread)) {
        wait_for_end(current, thread, location);
    }
}

#[inline(never)] // The fast path is small, and every thread is joined.
fn wait_for_end(current: Current, thread: memory::ThreadId, location: LocationRef) {
    let join = |step: &mut Step<'_>| perform_join(step, thread);
    current.operation(Intent::Join(thread), Outcomes::One, location, join);
}

#[inline]
fn perform_join(step: &mut Step<'_>, thread: memory::ThreadId) {
    step.join(thread);
    step.acquire_end_of(thread);
}

/// Whether a thread has finished. The end of a thread is not a step, so no thread could be observed
/// between its last operation and its end. A program that asks has to run with ends as steps.
fn has_ended(current: Current, thread: memory::ThreadId, location: LocationRef) -> bool {
    let tokens = current.tokens(thread);
    let (object, ended) = match current.are_destructors_late() {
        true => (tokens.start, RETURNED),
        false => (tokens.end, 1),
    };
    let is_step = current.are_destructors_late() || current.are_ends_visible();
    if !is_step && !current.is_tearing_down() {
        current.fail(Restart::VisibleEnds);
    }
    let intent = Intent::Access {
        object,
        effect: Effect::Read,
        awaits: None,
    };
    current.load_operation(intent, location, |step| {
        let state = step.read(object);
        let events = step.target().load(object);
        step.emit(events, state);
        // `std` does not promise happens-before here: only a join does.
        state == ended
    })
}

/// Waits until the function of a thread has returned, as the end of a scope does. Its thread-local
/// values may be dropped later.
///
/// If the program has caught the panic that ended the execution, nothing waits for another thread.
/// Then this waits until the thread was torn down.
pub(super) fn wait_for_return(current: Current, thread: memory::ThreadId, location: LocationRef) {
    if !current.are_destructors_late() {
        join_thread(current, thread, location);
        if current.is_live(thread) {
            current.wait_until_finished(&[thread]);
        }
        return;
    }
    let object = current.tokens(thread).start;
    let intent = Intent::Access {
        object,
        effect: Effect::Read,
        awaits: Some(Condition::Equals(RETURNED)),
    };
    current.operation(intent, Outcomes::One, location, |step| {
        let state = step.read(object);
        step.acquire(object);
        let events = step.target().draining(Operation::LockedLoad(object));
        step.emit(events, state);
    });
    if current.peek(object) != RETURNED {
        current.wait_until_finished(&[thread]);
    }
}

/// Spawns a thread of a check.
///
/// # Safety
/// What `function` borrows must stay valid until it has returned or the thread was torn down.
#[inline(always)] // Otherwise the function, which may be large, is copied once more.
pub(super) unsafe fn spawn_checked<F: FnOnce() -> T, T>(
    current: Current,
    options: SpawnOptions,
    location: LocationRef,
    function: F,
) -> Joinable<T> {
    let id = current.create_thread(&options, location);
    let (of_thread, owner) = Owner::both(current, id);
    if let Some(thread) = id {
        let body = move || of_thread.put(function());
        // SAFETY: `create_thread` has just returned the thread. The caller's promise is about what
        // `function` borrows; `of_thread` is owned.
        unsafe { current.give_body(thread, body) };
    }
    Joinable { owner }
}

/// Spawns a thread.
///
/// # Panics
/// As [`std::thread::spawn`], outside of a check.
#[track_caller]
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Current::get() {
        None => {
            let outside = Builder::new().spawn_outside(Box::new(f));
            outside.expect("failed to spawn thread")
        }
        Some(current) => {
            let options = SpawnOptions::default();
            // SAFETY: `F` borrows nothing.
            let joinable = unsafe { spawn_checked(current, options, LocationRef::caller(), f) };
            let inner = JoinInner::Checked(joinable);
            JoinHandle { inner }
        }
    }
}

/// The function of a thread outside of a check.
pub(super) type Outside<'scope, T> = Box<dyn FnOnce() -> T + Send + 'scope>;

/// A thread factory, which configures a new thread, as [`std::thread::Builder`].
#[derive(Debug, Default)]
#[must_use = "must eventually spawn the thread"]
pub struct Builder {
    pub(super) name: Option<String>,
    pub(super) stack_size: Option<usize>,
}

impl Builder {
    /// Creates a builder with the default settings.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Names the thread. In a check, reports use the name.
    pub fn name(mut self, name: String) -> Self {
        self.name = Some(name);
        self
    }

    /// Sets the size of the thread's stack in bytes. In a check it is at least 16 KiB, and more
    /// than 1 GiB is an error.
    pub fn stack_size(mut self, size: usize) -> Self {
        self.stack_size = Some(size);
        self
    }

    /// Spawns the thread.
    ///
    /// # Errors
    /// As [`std::thread::Builder::spawn`], outside of a check.
    ///
    /// # Panics
    /// If the name contains a null byte.
    #[track_caller]
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let location = LocationRef::caller();
        let Some(current) = Current::get() else {
            return self.spawn_outside(Box::new(f));
        };
        // SAFETY: `F` borrows nothing.
        let joinable = unsafe { spawn_checked(current, self.into_options(), location, f) };
        let inner = JoinInner::Checked(joinable);
        Ok(JoinHandle { inner })
    }

    /// Spawns a thread outside of a check. What `std` does is compiled once for all functions with such a result: of a
    /// program that is checked it would be a large part, and is never run.
    fn spawn_outside<T: Send + 'static>(self, f: Outside<'static, T>) -> io::Result<JoinHandle<T>> {
        let handle = self.for_std().spawn(f)?;
        let thread = Thread::outside(handle.thread().clone());
        let inner = JoinInner::Std(Box::new((handle, thread)));
        Ok(JoinHandle { inner })
    }

    pub(super) fn for_std(self) -> std::thread::Builder {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(size) = self.stack_size {
            builder = builder.stack_size(size);
        }
        builder
    }

    #[track_caller]
    pub(super) fn into_options(self) -> SpawnOptions {
        let name = self.name.map(|name| {
            let checked =
                CString::new(name).expect("thread name may not contain interior null bytes");
            Arc::from(checked.into_string().expect("it comes from a string"))
        });
        SpawnOptions {
            name,
            stack_size: self.stack_size,
        }
    }
}

/// An owned permission to join on a thread, as [`std::thread::JoinHandle`].
pub struct JoinHandle<T> {
    inner: JoinInner<T>,
}

enum JoinInner<T> {
    /// Boxed, so that the handles of a check are small.
    Std(Box<(std::thread::JoinHandle<T>, Thread)>),
    Checked(Joinable<T>),
}

/// The handle does not contain the result.
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// Waits for the thread to finish, and returns its result.
    ///
    /// # Errors
    /// Returns the thread's panic, outside of a check. In a check a panic ends the execution.
    #[track_caller]
    pub fn join(self) -> super::Result<T> {
        let location = LocationRef::caller();
        match self.inner {
            JoinInner::Std(outside) => outside.0.join(),
            JoinInner::Checked(joinable) => joinable.join(location),
        }
    }

    /// Returns the handle of the thread.
    pub fn thread(&self) -> &Thread {
        match &self.inner {
            JoinInner::Std(outside) => &outside.1,
            JoinInner::Checked(joinable) => joinable.thread(),
        }
    }

    /// Whether the thread has finished, so that a join would not wait. What the thread has done
    /// need not be visible before the join.
    #[track_caller]
    pub fn is_finished(&self) -> bool {
        let location = LocationRef::caller();
        match &self.inner {
            JoinInner::Std(outside) => outside.0.is_finished(),
            JoinInner::Checked(joinable) => joinable.is_finished(location),
        }
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}
