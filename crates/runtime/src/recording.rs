//! Where the operations of a step are recorded.
#![allow(unsafe_code)] // The explorer's record is borrowed for one call of the runtime.

use std::panic::Location;
use std::ptr::NonNull;

use fencepost_explore::Performed;
use fencepost_memory::ThreadId;

/// A join that the monitor has not been told of.
#[derive(Clone, Copy)]
pub(crate) struct PendingJoin {
    pub(crate) by: ThreadId,
    pub(crate) thread: ThreadId,
    pub(crate) location: &'static Location<'static>,
}

/// What the steps of an execution record, and where.
pub(crate) struct Recording {
    /// The explorer's record, while [`Attached`] lives.
    performed: Option<NonNull<Performed>>,
    /// Whether what is recorded is discarded all the same.
    is_paused: bool,
    /// Receives what is recorded otherwise. Nobody reads it.
    discarded: Box<Performed>,
    /// Whether the monitor receives fences that the program does not have.
    pub(crate) has_insertions: bool,
    pub(crate) pending_joins: Vec<PendingJoin>,
    /// How many steps the execution has taken.
    pub(crate) steps: u64,
    /// Whether threads remember which objects they touch.
    pub(crate) are_touches_noted: bool,
}

impl Recording {
    pub(crate) fn new(has_insertions: bool) -> Self {
        Recording {
            performed: None,
            is_paused: false,
            discarded: Box::default(),
            has_insertions,
            pending_joins: Vec::new(),
            steps: 0,
            are_touches_noted: false,
        }
    }

    /// Forgets what the previous execution recorded.
    pub(crate) fn reset(&mut self) {
        self.pending_joins.clear();
        self.steps = 0;
        self.are_touches_noted = false;
    }

    /// The record of the current step.
    #[inline]
    pub(crate) fn performed_mut(&mut self) -> &mut Performed {
        match self.performed {
            // SAFETY: `Attached::new` was given an exclusive reference, and takes the pointer back
            // before that ends. Only this function dereferences it, and the result borrows `self`.
            Some(mut performed) if !self.is_paused => unsafe { performed.as_mut() },
            _ => &mut self.discarded,
        }
    }

    /// Discards what is recorded until [`unpause`](Self::unpause). Returns whether it was paused
    /// already.
    pub(crate) fn pause(&mut self) -> bool {
        self.discarded.clear();
        std::mem::replace(&mut self.is_paused, true)
    }

    /// Discards what is recorded from now on.
    pub(crate) fn discard(&mut self) {
        self.discarded.clear();
        self.performed = None;
    }

    /// Ends a pause, unless it was within another one.
    pub(crate) fn unpause(&mut self, was_paused: bool) {
        self.is_paused = was_paused;
    }
}

/// While it lives, the steps of an execution are recorded in a record of the explorer.
pub(crate) struct Attached<'record> {
    recording: NonNull<Recording>,
    record: std::marker::PhantomData<&'record mut Performed>,
}

impl<'record> Attached<'record> {
    /// # Safety
    /// The recording must be valid while the guard lives. When the guard is created and when it is
    /// dropped, there must be no other reference to the recording.
    #[inline]
    pub(crate) unsafe fn new(
        mut recording: NonNull<Recording>,
        performed: &'record mut Performed,
    ) -> Self {
        // SAFETY: the caller's promise.
        let attached = unsafe { recording.as_mut() };
        attached.performed = Some(NonNull::from(performed));
        attached.is_paused = false;
        Attached {
            recording,
            record: std::marker::PhantomData,
        }
    }
}

impl Drop for Attached<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the promise to `new`.
        unsafe { self.recording.as_mut() }.performed = None;
    }
}
