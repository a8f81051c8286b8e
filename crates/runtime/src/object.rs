//! Objects: what operations are performed on. An object has an address, and belongs to one
//! execution.
#![allow(unsafe_code)] // Objects can be at addresses of the program's memory.

use std::sync::Arc;

use fencepost_memory::{Address, ThreadId};

use super::error::ProgramError;
use super::execution::{Execution, Phase};
use super::foreign;
use super::location::{LocationRef, OwnedLocation};
use super::operation::Current;

/// A shared object, as the explorer knows it.
#[derive(Clone, Copy, Debug)]
pub struct Object {
    /// The serial number of the execution in which it was created; 0 outside of a check.
    execution: u64,
    address: Address,
    created_at: LocationRef,
}

impl Object {
    /// Creates an object of the running thread, or of the static that it initializes. `kind` is the
    /// name of its type. Outside of a check the object belongs to no execution.
    #[inline]
    pub fn new(kind: &'static str, state: u64, location: LocationRef) -> Self {
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
    fn of(execution: &Execution, address: Address, created_at: LocationRef) -> Self {
        Object {
            execution: execution.serial,
            address,
            created_at,
        }
    }

    /// The object's address. It has no meaning outside of a check.
    #[inline]
    pub fn address(&self) -> Address {
        self.address
    }

    /// Where it was created.
    pub fn created_at(&self) -> LocationRef {
        self.created_at
    }

    /// Whether the object belongs to the current execution. Unlike [`current`](Self::current) this
    /// never fails: for destructors and `Debug`.
    pub fn is_of_current(&self) -> bool {
        Current::get().is_some_and(|current| current.is_of(self.execution))
    }

    /// The execution in which an operation on the object is performed; none outside of a check.
    ///
    /// If the object does not belong to the caller's execution, this reports a misuse and does not
    /// return.
    #[inline]
    pub fn current(&self, location: LocationRef) -> Option<Current> {
        match Current::get() {
            Some(current) if current.is_of(self.execution) => Some(current),
            None if self.execution == 0 => None,
            current => {
                self.report_misuse(current, location);
                None
            }
        }
    }

    /// As [`current`](Self::current), for a reference to the object that is dropped. An OS thread
    /// outside of any check only leaves a note. Unwound threads may drop any object, and objects
    /// from outside of checks may be dropped anywhere.
    pub fn current_in_drop(&self) -> Option<Current> {
        match Current::get() {
            Some(current) if current.is_of(self.execution) => Some(current),
            None if self.execution != 0 => {
                foreign::report_foreign_drop(self.execution, self.created_at);
                None
            }
            Some(current) if self.execution != 0 && !current.is_direct() => {
                self.report_misuse(Some(current), self.created_at);
                None
            }
            _ => None,
        }
    }

    #[cold]
    fn report_misuse(&self, current: Option<Current>, location: LocationRef) {
        let Some(current) = current else {
            return foreign::report_foreign_use(self.execution, self.created_at, location);
        };
        if current.phase() == Phase::Teardown {
            return;
        }
        let created_at = OwnedLocation::from(self.created_at);
        let message = if self.execution == 0 {
            format!(
                "the object created at {created_at}, outside of the check, is used inside of it: create \
                 it in the closure that is checked, or with fencepost::lazy_static!"
            )
        } else {
            format!(
                "the object created at {created_at}, in an earlier execution, is used in this one: \
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
    /// The object at an address of the program's memory, for programs whose memory is the same in each
    /// execution. Such objects have no [`Object`]: whoever calls this remembers it for the execution.
    ///
    /// `size` is that of an atomic variable in bytes, and 0 for other objects. `state` is its state now. `name` is called
    /// once, and leaked.
    ///
    /// # Safety
    /// If `size` is not 0, so many bytes must be mapped there until the end of the execution: if stores are buffered, they
    /// are written when a store is committed.
    pub unsafe fn object_in_memory(
        self,
        (address, size): (usize, u8),
        kind: &'static str,
        state: u64,
        name: impl FnOnce() -> String,
        location: LocationRef,
    ) -> Address {
        self.with(|execution| {
            let object = execution.object_in_memory((address, size), kind, name, location);
            execution.set_state(object, state);
            if execution.setup.keeps_first_values {
                let registry = execution.names.registry();
                registry.note_first_value(object, state);
            }
            object
        })
    }

    /// An object of this execution that has no [`Object`] yet.
    pub fn object_of(self, address: Address, created_at: LocationRef) -> Object {
        self.with(|execution| Object::of(execution, address, created_at))
    }

    /// Gives a thread a name for reports.
    pub fn name_thread(self, thread: ThreadId, name: &str) {
        self.with(|execution| execution.names.name_thread(thread, name));
    }

    /// A thread's name and its park token, for handles that may outlive the execution.
    #[inline]
    pub fn handle_of(self, thread: ThreadId) -> (Option<Arc<str>>, Object) {
        self.with(|execution| execution.handle_of(thread))
    }
}

impl Execution {
    #[inline]
    pub(crate) fn handle_of(&self, thread: ThreadId) -> (Option<Arc<str>>, Object) {
        let identity = &self.threads.slots[thread.index()].identity;
        let token = Object::of(self, identity.tokens.park, identity.spawned_at);
        (identity.name.clone(), token)
    }
}
