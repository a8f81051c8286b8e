//! Where the operations of a step are recorded.
#![allow(unsafe_code)] // The explorer's record is borrowed for one call of the runtime.

use super::location::LocationRef;
use std::ptr::NonNull;

use fencepost_explore::Performed;
use fencepost_memory::ThreadId;

/// A join that the monitor has not been told of.
#[derive(Clone, Copy)]
pub(crate) struct PendingJoin {
    pub(crate) by: ThreadId,
    pub(crate) thread: ThreadId,
    pub(crate) location: LocationRef,
}

/// What the steps of an execution record, and where.
pub(crate) struct Recording {
    /// Receives what is recorded: `attached`, unless there is none or it is paused, and otherwise
    /// `discarded`. It is always valid.
    performed: NonNull<Performed>,
    /// The explorer's record, while [`Attached`] lives.
    attached: Option<NonNull<Performed>>,
    /// Whether what is recorded is discarded all the same.
    is_paused: bool,
    /// What is discarded. Nobody reads it. Allocated by `Box`, freed with the recording.
    discarded: NonNull<Performed>,
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
        let discarded = NonNull::from(Box::leak(Box::default()));
        Recording {
            performed: discarded,
            attached: None,
            is_paused: false,
            discarded,
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
        // SAFETY: it is `discarded`, which lives as long as `self`, or `attached`. For that,
        // `Attached::new` was given an exclusive reference, and takes the pointer back before that
        // ends. Only this function and `clear_discarded` dereference them, and the result borrows
        // `self`.
        unsafe { self.performed.as_mut() }
    }

    /// Chooses what receives what is recorded.
    #[inline]
    fn direct(&mut self) {
        self.performed = match self.attached {
            Some(attached) if !self.is_paused => attached,
            _ => self.discarded,
        };
    }

    fn clear_discarded(&mut self) {
        // SAFETY: as in `performed_mut`.
        unsafe { self.discarded.as_mut() }.clear();
    }

    /// Discards what is recorded until [`unpause`](Self::unpause). Returns whether it was paused
    /// already.
    pub(crate) fn pause(&mut self) -> bool {
        self.clear_discarded();
        let was_paused = std::mem::replace(&mut self.is_paused, true);
        self.direct();
        was_paused
    }

    /// Discards what is recorded from now on.
    pub(crate) fn discard(&mut self) {
        self.clear_discarded();
        self.attached = None;
        self.direct();
    }

    /// Ends a pause, unless it was within another one.
    pub(crate) fn unpause(&mut self, was_paused: bool) {
        self.is_paused = was_paused;
        self.direct();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // SAFETY: it came from a box in `new`, and `performed`, which may point to it, is not used
        // any more.
        drop(unsafe { Box::from_raw(self.discarded.as_ptr()) });
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
        attached.attached = Some(NonNull::from(performed));
        attached.is_paused = false;
        attached.direct();
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
        let attached = unsafe { self.recording.as_mut() };
        attached.attached = None;
        attached.direct();
    }
}
