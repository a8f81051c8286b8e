//! Whether a worker is getting on, for those who look from another thread of the operating system.
#![allow(unsafe_code)] // A location is handed on as a pointer.

use std::panic::Location;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use fencepost_memory::ThreadId;

/// The number of a turn and of its thread are in one word.
const THREAD_BITS: u32 = 20;

/// What a worker says of the thread that it runs.
#[derive(Debug, Default)]
pub struct Heartbeat {
    /// 0 while it runs none.
    turn: AtomicU64,
    since: AtomicPtr<Location<'static>>,
}

/// A thread of the program that is running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunningThread {
    /// Unlike that of any other turn of the worker.
    pub number: u64,
    /// Who.
    pub thread: ThreadId,
    /// The step that it has come from.
    pub since: &'static Location<'static>,
}

impl Heartbeat {
    /// A thread is going to run. Turns are numbered from 1.
    #[inline]
    pub(crate) fn begin(&self, turn: u64, thread: ThreadId, since: &'static Location<'static>) {
        let location = std::ptr::from_ref(since).cast_mut();
        self.since.store(location, Ordering::Relaxed);
        let turn = turn << THREAD_BITS | u64::from(thread.0);
        self.turn.store(turn, Ordering::Release);
    }

    /// It has stopped.
    #[inline]
    pub(crate) fn end(&self) {
        self.turn.store(0, Ordering::Relaxed);
    }

    /// The thread that is running. Whoever sees the same turn twice knows where it began.
    pub fn turn(&self) -> Option<RunningThread> {
        let turn = self.turn.load(Ordering::Acquire);
        let since = self.since.load(Ordering::Relaxed);
        if turn == 0 || since.is_null() {
            return None;
        }
        Some(RunningThread {
            number: turn >> THREAD_BITS,
            thread: ThreadId((turn & ((1 << THREAD_BITS) - 1)) as u32),
            // SAFETY: it came from a reference that is valid for ever.
            since: unsafe { &*since },
        })
    }
}
