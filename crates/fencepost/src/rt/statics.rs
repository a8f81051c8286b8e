//! Statics that every execution has afresh.
//!
//! The first thread that uses one initialises it, which nobody sees: its objects are made by the
//! static and not by that thread, and operations in the initialiser are no steps. What others do
//! after using it happens after that.
#![allow(unsafe_code)] // Values live until the end of the execution, which no type says.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::ProgramError;
use super::execution::Phase;
use super::operation::Current;

/// The value of a static in this execution.
pub(crate) struct StaticValue {
    identity: usize,
    /// None while it is being initialised.
    value: Option<Box<dyn Any>>,
    /// What its initialisation happened after, if the execution had cells.
    clock: Vec<u32>,
}

impl Current {
    /// The value of the static that is called `name` and has this identity (an address that is
    /// nobody else's), made by `initialise` if this is its first use.
    ///
    /// # Safety
    /// The reference must not be used after the end of the execution.
    pub(crate) unsafe fn static_value<T: 'static>(
        self,
        identity: usize,
        name: &'static str,
        initialise: impl FnOnce() -> T,
    ) -> &'static T {
        let value = match self.find_static(identity) {
            Some(Some(value)) => value,
            Some(None) => self.fail(ProgramError::BadUse {
                message: format!("the initialiser of the static {name} uses the static itself"),
                place: None,
            }),
            None => self.initialise_static(identity, name, initialise),
        };
        // SAFETY: the value is boxed, is never replaced, and lives until the end of the execution.
        unsafe { &*value }
            .downcast_ref()
            .expect("an identity is that of one static")
    }

    fn find_static(self, identity: usize) -> Option<Option<*const dyn Any>> {
        self.with(|execution| {
            let entry = execution
                .statics
                .iter()
                .find(|entry| entry.identity == identity)?;
            if execution.races.are_watched() {
                execution.races.learn(execution.thread, &entry.clock);
            }
            Some(entry.value.as_deref().map(std::ptr::from_ref))
        })
    }

    fn initialise_static<T: 'static>(
        self,
        identity: usize,
        name: &'static str,
        initialise: impl FnOnce() -> T,
    ) -> *const dyn Any {
        let (phase, maker) = self.with(|execution| {
            let maker = execution.names.static_maker(identity, name);
            execution.reset_maker(maker);
            execution.statics.push(StaticValue {
                identity,
                value: None,
                clock: Vec::new(),
            });
            let before = (execution.phase, execution.static_maker);
            if execution.phase == Phase::Running {
                execution.phase = Phase::Silent;
            }
            execution.static_maker = Some(maker);
            before
        });
        // If it panics, the execution is over, and nothing is put back.
        let value: Box<dyn Any> = Box::new(initialise());
        let address = std::ptr::from_ref(&*value);
        self.with(|execution| {
            if execution.phase == Phase::Silent {
                execution.phase = phase;
            }
            execution.static_maker = maker;
            let entry = execution
                .statics
                .iter_mut()
                .find(|entry| entry.identity == identity)
                .expect("it was put there above");
            entry.value = Some(value);
            if execution.races.are_watched() {
                execution.races.publish(execution.thread, &mut entry.clock);
            }
        });
        address
    }

    /// Drops the statics of the execution, the latest first. A panic of a destructor is returned.
    pub(crate) fn drop_statics(self) -> Result<(), Box<dyn Any + Send>> {
        let mut result = Ok(());
        while let Some(entry) = self.with(|execution| execution.statics.pop()) {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(entry)));
            result = result.and(dropped);
        }
        result
    }
}
