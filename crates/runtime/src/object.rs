//! What a shared thing is to the explorer: a number, and the execution that it belongs to.

use std::panic::Location;
use std::sync::Arc;

use fencepost_memory::{Address, ThreadId};

use super::error::{OwnedLocation, ProgramError};
use super::execution::{Execution, Phase};
use super::foreign;
use super::operation::Current;

/// What a shared thing is to the explorer.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// That of the execution that it was made in; 0 outside of a check.
    execution: u64,
    address: Address,
    created_at: &'static Location<'static>,
}

impl Object {
    /// A new object of the running thread (or of the static that is being initialized), of a
    /// type called `kind`. Outside of a check it is known to nobody.
    #[inline]
    pub fn new(kind: &'static str, state: u64, location: &'static Location<'static>) -> Self {
        match Current::get() {
            None => Object {
                execution: 0,
                address: Address(u32::MAX),
                created_at: location,
            },
            Some(current) => current.with(|execution| {
                let address = execution.create_object(kind, state, location);
                Object::of(execution, address, location)
            }),
        }
    }

    #[inline]
    fn of(execution: &Execution, address: Address, created_at: &'static Location<'static>) -> Self {
        Object {
            execution: execution.serial,
            address,
            created_at,
        }
    }

    /// The object's number. Means nothing outside of a check.
    #[inline]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Where it was made.
    pub fn created_at(&self) -> &'static Location<'static> {
        self.created_at
    }

    /// Whether the object is known to the execution that is running here. Unlike `current` it
    /// never complains: for destructors and `Debug`.
    pub fn is_of_current(&self) -> bool {
        Current::get().is_some_and(|current| current.is_of(self.execution))
    }

    /// The execution in which an operation on the object is to be performed; outside of a check,
    /// none.
    ///
    /// If the object and the caller belong to different worlds, this does not return: it is bad
    /// use, and reported as such.
    #[inline]
    pub fn current(&self, location: &'static Location<'static>) -> Option<Current> {
        match Current::get() {
            Some(current) if current.is_of(self.execution) => Some(current),
            None if self.execution == 0 => None,
            current => {
                self.complain(current, location);
                None
            }
        }
    }

    /// A reference to the object is dropped. As [`current`](Self::current), but a thread outside of any
    /// check only leaves a note, and what is unwound or was made outside of checks may be dropped anywhere.
    pub fn current_in_drop(&self) -> Option<Current> {
        match Current::get() {
            Some(current) if current.is_of(self.execution) => Some(current),
            None if self.execution != 0 => {
                foreign::report_foreign_drop(self.execution, self.created_at);
                None
            }
            Some(current) if self.execution != 0 && !current.is_direct() => {
                self.complain(Some(current), self.created_at);
                None
            }
            _ => None,
        }
    }

    #[cold]
    fn complain(&self, current: Option<Current>, location: &'static Location<'static>) {
        let Some(current) = current else {
            return foreign::report_foreign_use(self.execution, self.created_at, location);
        };
        if current.phase() == Phase::Teardown {
            return;
        }
        let created_at = OwnedLocation::from(self.created_at);
        let message = if self.execution == 0 {
            format!(
                "the object made at {created_at}, outside of the check, is used inside of it: make \
                 it in the closure that is checked, or with fencepost::lazy_static!"
            )
        } else {
            format!(
                "the object made at {created_at}, in an earlier execution, is used in this one: \
                 nothing may outlive the closure that is checked; use fencepost::lazy_static! for \
                 statics"
            )
        };
        current.fail(ProgramError::Misuse {
            message,
            location: Some(location.into()),
        })
    }

    /// Gives the object a name for reports.
    pub fn set_name(&self, name: &str) {
        if let Some(current) = Current::get() {
            if current.is_of(self.execution) && current.phase() != Phase::Teardown {
                current.with(|execution| execution.names.name_object(self.address, name));
            }
        }
    }
}

impl Current {
    /// A thread's name and its park token, for handles that may outlive the execution.
    #[inline]
    pub fn handle_of(self, thread: ThreadId) -> (Option<Arc<str>>, Object) {
        self.with(|execution| {
            let slot = &execution.threads.slots[thread.index()];
            let token = Object::of(
                execution,
                slot.identity.tokens.park,
                slot.identity.spawned_at,
            );
            (slot.identity.name.clone(), token)
        })
    }
}
