//! Hints, as in [`std::hint`], and loops that back off.
//!
//! - [`spin_loop`]: the hint of a spin loop,
//! - [`Backoff`]: the `Backoff` of crossbeam, which a check can explore,
//! - [`assume_waits`]: declares that a loop with a back-off of its own only waits.

use std::cell::Cell;
use std::fmt;

pub use std::hint::black_box;

use fencepost_explore::Intent;
use fencepost_runtime::{Current, LocationRef, Outcomes};

/// Signals a spin loop, as [`std::hint::spin_loop`]. In a check, other threads may run first. If the
/// calling thread has come back to the state of an earlier round, it continues when a value that it
/// has read has changed, or no other thread can run.
#[inline(always)] // As the loads of atomics.
#[track_caller]
pub fn spin_loop() {
    match Current::get() {
        None => std::hint::spin_loop(),
        Some(current) => {
            current.clear_stack_below();
            crate::thread::hint(current, LocationRef::caller())
        }
    }
}

/// Declares that the loop around it only waits, although it does not come back to the same state: it
/// counts its rounds to wait longer and longer, or draws random numbers for how long it waits.
///
/// Call it once per round, as the last thing that a round does before it starts over. In a check, the
/// thread then waits until a value that it has read in the last round has changed. Outside of a check,
/// it does nothing.
///
/// The check takes that from you: **a loop that gives up after some rounds is not to be declared.** The
/// report names each declaration that was used as an assumption. If the check sees a thread do
/// something else than in its last round although it has read the same values, the check fails.
///
/// [`Backoff`] needs no declaration.
///
/// ```
/// use fencepost::hint::{assume_waits, spin_loop};
/// use fencepost::sync::atomic::{AtomicBool, Ordering::Acquire};
///
/// fn wait_for(flag: &AtomicBool) {
///     let mut pause = 1;
///     while !flag.load(Acquire) {
///         for _ in 0..pause {
///             std::hint::spin_loop();
///         }
///         pause = (2 * pause).min(1024);
///         assume_waits();
///     }
/// }
/// ```
#[track_caller]
pub fn assume_waits() {
    if let Some(current) = Current::get() {
        current.assume_waits(LocationRef::caller());
    }
}

/// Exponential back-off in spin loops, as crossbeam's `Backoff`.
///
/// Outside of a check it does what crossbeam's does. In a check it does not count: [`spin`](Self::spin) and
/// [`snooze`](Self::snooze) are hints that the thread waits, as [`spin_loop`], and
/// [`is_completed`](Self::is_completed) may return either, at any time. So a loop that
/// backs off comes back to the same state as one that only spins, and is explored as fast.
///
/// ```
/// use fencepost::hint::Backoff;
/// use fencepost::sync::atomic::{AtomicBool, Ordering::Acquire};
///
/// fn wait_for(flag: &AtomicBool) {
///     let backoff = Backoff::new();
///     while !flag.load(Acquire) {
///         backoff.snooze();
///     }
/// }
/// ```
#[derive(Default)]
pub struct Backoff {
    /// How often it has waited. Always 0 in a check.
    step: Cell<u32>,
}

/// Up to this step, a wait spins.
const SPIN_LIMIT: u32 = 6;
/// Up to this step, a wait yields.
const YIELD_LIMIT: u32 = 10;

impl Backoff {
    /// A back-off that has not waited yet.
    #[inline]
    pub fn new() -> Self {
        Backoff::default()
    }

    /// Starts over.
    #[inline]
    pub fn reset(&self) {
        self.step.set(0);
    }

    /// Backs off in a loop that tries again because another thread has made progress.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn spin(&self) {
        match Current::get() {
            None => self.spin_outside(),
            Some(_) => spin_loop(),
        }
    }

    /// Backs off in a loop that waits for another thread.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn snooze(&self) {
        match Current::get() {
            None => self.snooze_outside(),
            Some(_) => spin_loop(),
        }
    }

    /// Whether it has waited for so long that the thread should block instead. In a check it may be or
    /// not; if the thread asks again in the same state, it is.
    #[inline(always)] // The caller's state is compared.
    #[track_caller]
    pub fn is_completed(&self) -> bool {
        match Current::get() {
            None => self.step.get() > YIELD_LIMIT,
            Some(current) => {
                current.clear_stack_below();
                is_completed_in(current, LocationRef::caller())
            }
        }
    }

    fn spin_outside(&self) {
        let step = self.step.get();
        for _ in 0..1_u32 << step.min(SPIN_LIMIT) {
            std::hint::spin_loop();
        }
        if step <= SPIN_LIMIT {
            self.step.set(step + 1);
        }
    }

    fn snooze_outside(&self) {
        let step = self.step.get();
        match step <= SPIN_LIMIT {
            true => (0..1_u32 << step).for_each(|_| std::hint::spin_loop()),
            false => std::thread::yield_now(),
        }
        if step <= YIELD_LIMIT {
            self.step.set(step + 1);
        }
    }
}

impl fmt::Debug for Backoff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Backoff");
        if Current::get().is_none() {
            debug.field("step", &self.step);
            debug.field("is_completed", &self.is_completed());
        }
        debug.finish_non_exhaustive()
    }
}

/// Whether a back-off is completed: the explorer chooses.
#[inline(always)] // The caller's state is compared.
fn is_completed_in(current: Current, location: LocationRef) -> bool {
    current.plain_operation(Intent::Local, Outcomes::FirstTime(2), location, |step| {
        !step.is_recorded() || step.outcome() == 0
    })
}
