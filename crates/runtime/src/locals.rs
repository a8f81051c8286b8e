//! Thread-local values of the program's threads, which share one OS thread.

use std::any::Any;

use fencepost_memory::ThreadId;

use super::error::Restart;
use super::operation::Current;

/// The thread-local values of one thread.
#[derive(Default)]
pub(crate) struct Locals {
    values: Vec<Local>,
}

impl Locals {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

struct Local {
    key: usize,
    /// None after its destruction.
    value: Option<Box<dyn Any>>,
}

/// The calling thread has destroyed its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Destroyed;

impl Current {
    /// The calling thread's value for `key`, if it has been initialized. The value is alive until
    /// the thread's function has returned or was unwound.
    ///
    /// # Panics
    /// If the value has another type.
    pub fn local_value<T: 'static>(self, key: usize) -> Option<Result<*const T, Destroyed>> {
        self.with(|execution| {
            let locals = &execution.slot().locals;
            let local = locals.values.iter().find(|local| local.key == key)?;
            let Some(value) = &local.value else {
                return Some(Err(Destroyed));
            };
            let value: &T = value.downcast_ref().expect("a key belongs to one value");
            Some(Ok(std::ptr::from_ref(value)))
        })
    }

    /// Sets the calling thread's value for `key`, which it does not have yet.
    pub fn initialize_local_value<T: 'static>(self, key: usize, value: T) -> *const T {
        let value = Box::new(value);
        let address = std::ptr::from_ref(&*value);
        self.with(|execution| {
            let locals = &mut execution.slot_mut().locals;
            locals.values.push(Local {
                key,
                value: Some(value),
            });
        });
        address
    }

    /// Drops the values of the calling thread, the latest first, as `std` does.
    #[inline]
    pub(crate) fn drop_locals(self) {
        let has_some = self.with(|execution| !execution.slot().locals.is_empty());
        // Mostly there is none.
        if has_some {
            self.drop_all_locals();
        }
    }

    /// The calling thread is about to do something that other threads can observe. If it is in the
    /// destructor of a thread-local value, and such destructors are not late, they have to be.
    #[cold]
    pub(crate) fn request_late_destructors(self) -> ! {
        self.fail(Restart::LateDestructors)
    }

    #[cold]
    fn drop_all_locals(self) {
        self.with(|execution| {
            // Nobody waits for the end of the first thread.
            let is_early =
                !execution.setup.are_destructors_late && execution.running.thread != ThreadId(0);
            execution.slot_mut().is_in_early_destructor = is_early;
        });
        let take_last = || {
            self.with(|execution| {
                let locals = &mut execution.slot_mut().locals;
                let last = locals.values.iter_mut().rev();
                let last = last.filter_map(|local| local.value.take()).next();
                if last.is_none() {
                    locals.values.clear();
                }
                last
            })
        };
        // A destructor may run any code, so the execution is not borrowed meanwhile.
        while let Some(value) = take_last() {
            drop(value);
        }
        self.with(|execution| execution.slot_mut().is_in_early_destructor = false);
    }
}
