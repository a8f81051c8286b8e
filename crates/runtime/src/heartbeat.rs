//! Lets another OS thread, such as a watchdog, see whether a worker makes progress.
#![allow(unsafe_code)] // A location is handed on as a pointer.

use super::location::LocationRef;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use fencepost_memory::ThreadId;

/// The number of a turn and the id of its thread share a word.
const THREAD_BITS: u32 = 20;

/// The thread that a worker runs, for other OS threads to read.
#[derive(Debug, Default)]
pub struct Heartbeat {
    /// 0 while no thread runs.
    turn: AtomicU64,
    since: AtomicPtr<u8>,
}

/// A thread of the program that is running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunningThread {
    /// Unique among the turns of the worker: a thread that is resumed again has another one.
    pub number: u64,
    /// The thread.
    pub thread: ThreadId,
    /// The source location of its last step.
    pub since: LocationRef,
}

impl Heartbeat {
    /// Starts a turn of a thread. Turns are numbered from 1.
    #[inline]
    pub(crate) fn begin(&self, turn: u64, thread: ThreadId, since: LocationRef) {
        self.since.store(since.as_ptr(), Ordering::Relaxed);
        let turn = turn << THREAD_BITS | u64::from(thread.0);
        self.turn.store(turn, Ordering::Release);
    }

    /// Ends the turn.
    #[inline]
    pub(crate) fn end(&self) {
        self.turn.store(0, Ordering::Relaxed);
    }

    /// The thread that runs. If it has the same number twice, the thread has not taken a step in
    /// between.
    pub fn turn(&self) -> Option<RunningThread> {
        let turn = self.turn.load(Ordering::Acquire);
        // SAFETY: the field is private, and `begin` stores such a pointer.
        let since = unsafe { LocationRef::from_ptr(self.since.load(Ordering::Relaxed)) }?;
        (turn != 0).then_some(RunningThread {
            number: turn >> THREAD_BITS,
            thread: ThreadId((turn & ((1 << THREAD_BITS) - 1)) as u32),
            since,
        })
    }
}
