//! Operations on an atomic variable: loads, stores and read-modify-writes, with or without store buffers.
//!
//! A front end has the memory of the variable ([`Variable`]), and an object of the execution. In a check the memory
//! holds the value (a pointer of Rust needs more than the bits of its address), and the state of the object is the value
//! as a number, for the explorer to compare. The state is updated before every operation, since the program may have
//! changed the value without one: through an exclusive reference, or by plain accesses that cannot race.

use std::sync::atomic::Ordering;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::{Address, Operation, ThreadId};

use super::error::ProgramError;
use super::location::LocationRef;
use super::mapping::{Drains, releases};
use super::operation::Current;
use super::plain::{AccessKind, MemoryAccess, MemoryFinding};
use super::races::Races;
use super::step::Step;
use super::threads::Outcomes;

/// The memory of an atomic variable.
pub trait Variable {
    /// The type of its value.
    type Value: Copy;

    /// Loads the value. There is only one OS thread, so the ordering does not matter.
    fn get(&self) -> Self::Value;
    /// Stores a value.
    fn set(&self, value: Self::Value);
    /// The value as a number. Signed values are extended by their sign.
    fn state(&self, value: Self::Value) -> u64;
    /// The value with this number.
    fn value_of(&self, state: u64) -> Self::Value;

    /// An access of an operation, for variables whose memory is accessed by plain accesses, too.
    fn access(&self, _kind: AccessKind) -> Option<MemoryAccess> {
        None
    }

    /// The error if the memory must not be accessed.
    fn forbidden(&self, _access: &MemoryAccess, _thread: ThreadId) -> Option<ProgramError> {
        None
    }

    /// The error if such an access ends the execution.
    fn error(&self, finding: MemoryFinding) -> ProgramError {
        finding.into_error(|_| None, |_| None)
    }
}

macro_rules! integers_of_std {
    ($($name:ident $value:ident;)*) => {
        $(
            impl Variable for std::sync::atomic::$name {
                type Value = $value;

                #[inline]
                fn get(&self) -> $value {
                    self.load(Ordering::Relaxed)
                }

                #[inline]
                fn set(&self, value: $value) {
                    self.store(value, Ordering::Relaxed);
                }

                #[inline]
                fn state(&self, value: $value) -> u64 {
                    value as u64
                }

                #[inline]
                fn value_of(&self, state: u64) -> $value {
                    state as $value
                }
            }
        )*
    };
}

integers_of_std! {
    AtomicI8 i8;
    AtomicU8 u8;
    AtomicI16 i16;
    AtomicU16 u16;
    AtomicI32 i32;
    AtomicU32 u32;
    AtomicI64 i64;
    AtomicU64 u64;
    AtomicIsize isize;
    AtomicUsize usize;
}

impl Variable for std::sync::atomic::AtomicBool {
    type Value = bool;

    #[inline]
    fn get(&self) -> bool {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, value: bool) {
        self.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn state(&self, value: bool) -> u64 {
        u64::from(value)
    }

    #[inline]
    fn value_of(&self, state: u64) -> bool {
        state != 0
    }
}

impl<T> Variable for std::sync::atomic::AtomicPtr<T> {
    type Value = *mut T;

    #[inline]
    fn get(&self) -> *mut T {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, value: *mut T) {
        self.store(value, Ordering::Relaxed);
    }

    #[inline]
    fn state(&self, value: *mut T) -> u64 {
        // Exposed, since a buffered store has the address as a number.
        value.expose_provenance() as u64
    }

    #[inline]
    fn value_of(&self, state: u64) -> *mut T {
        std::ptr::with_exposed_provenance_mut(state as usize)
    }
}

/// A variable and its object: what an operation is performed on.
pub struct Operand<'variable, V> {
    /// The memory.
    pub variable: &'variable V,
    /// The object.
    pub object: Address,
}

impl<V> Clone for Operand<'_, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V> Copy for Operand<'_, V> {}

impl<V: Variable> Operand<'_, V> {
    /// Updates the state of the object.
    #[inline]
    pub fn bring_up_to_date(self, current: Current) {
        if current.has_store_buffers() {
            self.learn_committed(current);
        }
        let state = self.variable.state(self.variable.get());
        current.set_state(self.object, state);
    }

    /// Stores the committed value in the variable.
    #[cold]
    fn learn_committed(self, current: Current) {
        let object = self.object;
        let committed = current.take_committed(object);
        if let Some(state) = committed {
            self.variable.set(self.variable.value_of(state));
            current.note_up_to_date(self.variable);
        }
    }

    /// The value for the calling thread, without an event.
    pub fn peek(self, current: Current) -> V::Value {
        let seen = match current.has_store_buffers() {
            true => current.buffered_value(self.object),
            false => None,
        };
        seen.map_or_else(
            || self.variable.get(),
            |state| self.variable.value_of(state),
        )
    }

    /// Stores the committed value in the variable, for code that reads the variable without an operation.
    pub fn show_committed(self, current: Current) {
        if current.has_store_buffers() {
            self.learn_committed(current);
        }
    }

    /// Stores the value in the variable, including buffered stores: the caller has an exclusive reference.
    pub fn take_exclusive(self, current: Current) {
        if current.has_store_buffers() {
            if let Some(state) = current.take_exclusive(self.object) {
                self.variable.set(self.variable.value_of(state));
            }
        }
    }

    /// The value in memory, for an operation that is being performed.
    #[inline]
    pub fn in_memory(self, step: &mut Step<'_>) -> V::Value {
        if let Some(state) = step.take_committed(self.object) {
            self.variable.set(self.variable.value_of(state));
        }
        self.variable.get()
    }

    /// Performs an operation that waits for the stores in `drains`.
    #[inline]
    fn operation<R>(
        self,
        current: Current,
        effect: Effect,
        drains: Drained,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let before = move || {
            drains.wait(current, location);
            self.learn_committed(current);
        };
        let state = move || self.variable.state(self.variable.get());
        current.variable_operation(self.object, before, state, effect, location, perform)
    }

    /// Performs a read-modify-write, which may fail.
    #[inline]
    fn exchange<R>(
        self,
        current: Current,
        effect: Effect,
        ordering: Ordering,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let drains = Drained::ByExchange(self.object, ordering);
        self.operation(current, effect, drains, location, perform)
    }

    /// Loads the value.
    #[inline]
    pub fn load(self, current: Current, ordering: Ordering, location: LocationRef) -> V::Value {
        let object = self.object;
        let drains = Drained::Nothing;
        self.operation(current, Effect::Read, drains, location, move |step| {
            let state = step.read(object);
            let forwarded = step.forwarded(object);
            let events = step.target().load(object);
            step.emit(events, forwarded.unwrap_or(state));
            // A stale value is tried only where there are no store buffers.
            if let Some(other) = forwarded.or_else(|| step.take_stale_read()) {
                return self.variable.value_of(other);
            }
            self.order(step, AccessKind::AtomicRead, |races, thread| {
                races.load(thread, object, ordering);
            });
            self.in_memory(step)
        })
    }

    /// Stores a value.
    #[inline]
    pub fn store(
        self,
        current: Current,
        value: V::Value,
        ordering: Ordering,
        location: LocationRef,
    ) {
        let object = self.object;
        let drains = match current.target().buffers_store(ordering) {
            false => Drained::Everything,
            true if !current.buffers_stores() => Drained::Nothing,
            true if current.inserted(location).seq_cst_store => Drained::Everything,
            true => return self.store_later(current, value, ordering, location),
        };
        self.operation(current, Effect::Write, drains, location, move |step| {
            self.in_memory(step);
            self.variable.set(value);
            step.write(object, self.variable.state(value));
            let events = step.target().store(object, ordering);
            step.emit(events, self.variable.state(value));
            self.order(step, AccessKind::AtomicWrite, |races, thread| {
                races.store(thread, object, ordering);
            });
        });
    }

    /// Begins a store that the program itself performs, before its next operation: then, call
    /// [`Current::finish_store`]. Not for executions with store buffers.
    pub fn begin_store(self, current: Current, location: LocationRef) {
        let (object, order) = (self.object, Ordering::Relaxed);
        let drains = Drained::Nothing;
        self.operation(current, Effect::Write, drains, location, move |step| {
            let state = step.state(object);
            step.write(object, state);
            let events = step.target().store(object, order);
            step.emit(events, state);
            self.order(step, AccessKind::AtomicWrite, |races, thread| {
                races.store(thread, object, order);
            });
        });
    }

    /// Issues a store to the thread's buffer. It is a step, though no other thread can observe it,
    /// so that a loop that stores is not assumed to only wait.
    #[cold]
    fn store_later(
        self,
        current: Current,
        value: V::Value,
        ordering: Ordering,
        location: LocationRef,
    ) {
        let object = self.object;
        // There may be an inserted fence before it.
        current.drain(Drains::Nothing, location);
        self.bring_up_to_date(current);
        let buffer = current.tokens(current.thread()).start;
        let intent = Intent::Access {
            object: buffer,
            effect: Effect::Write,
            awaits: None,
        };
        current.plain_operation(intent, Outcomes::One, location, |step| {
            let seen = step.forwarded(object).unwrap_or(step.state(object));
            let is_change = seen != self.variable.state(value);
            step.write(buffer, step.state(buffer) + u64::from(is_change));
            let events = step.target().store(object, ordering);
            step.emit(events, self.variable.state(value));
            if events.barrier.is_some() {
                step.order_stores();
            }
            // The clocks are told when it is committed.
            self.order(step, AccessKind::AtomicWrite, |_, _| ());
        });
        current.buffer_store(
            object,
            self.variable.state(value),
            releases(ordering),
            location,
        );
    }

    /// Performs a read-modify-write that always writes. Returns the previous value.
    #[inline]
    pub fn modify(
        self,
        current: Current,
        ordering: Ordering,
        location: LocationRef,
        change: impl FnOnce(V::Value) -> V::Value,
    ) -> V::Value {
        self.exchange(current, Effect::Write, ordering, location, move |step| {
            let before = self.in_memory(step);
            self.overwrite(step, change(before), ordering);
            before
        })
    }

    /// Stores `new` if the value is the expected one. Returns the previous value, as an error if it is not.
    ///
    /// # Errors
    /// As above.
    #[inline]
    pub fn compare_exchange(
        self,
        current: Current,
        (expected, new): (V::Value, V::Value),
        (success, failure): (Ordering, Ordering),
        location: LocationRef,
    ) -> Result<V::Value, V::Value> {
        let object = self.object;
        let expected = self.variable.state(expected);
        let effect = Effect::WriteIf(Condition::Equals(expected));
        self.exchange(current, effect, success, location, move |step| {
            let before = self.in_memory(step);
            if self.variable.state(before) == expected {
                self.overwrite(step, new, success);
                return Ok(before);
            }
            let state = step.read(object);
            let events = step.target().failed_exchange(object, success);
            step.emit(events, state);
            self.order(step, AccessKind::AtomicRead, |races, thread| {
                races.load(thread, object, failure);
            });
            Err(before)
        })
    }

    #[inline]
    fn overwrite(self, step: &mut Step<'_>, value: V::Value, ordering: Ordering) {
        let object = self.object;
        self.variable.set(value);
        step.write(object, self.variable.state(value));
        let events = step.target().read_modify_write(object, ordering);
        step.emit(events, self.variable.state(value));
        self.order(step, AccessKind::AtomicWrite, |races, thread| {
            races.read_modify_write(thread, object, ordering);
        });
    }

    /// Tells the clocks of happens-before of the operation, and compares it with plain accesses.
    #[inline]
    fn order(
        self,
        step: &mut Step<'_>,
        kind: AccessKind,
        order: impl FnOnce(&mut Races, ThreadId),
    ) {
        let access = self.variable.access(kind);
        let time = match access {
            Some(_) => step.access_time(),
            None => 0,
        };
        let thread = step.thread();
        if let Some(races) = step.races() {
            order(races, thread);
        }
        if let Some(access) = access {
            if let Some(error) = self.variable.forbidden(&access, thread) {
                step.fail(error);
            } else if let Err(finding) = step.note_atomic_access(access, time) {
                step.fail(self.variable.error(finding));
            }
        }
    }
}

/// The stores that an operation waits for, if there are store buffers.
///
/// Closures that an operation is made of own what they use: a reference would be to the stack, and
/// each operation would write there what it has in registers.
#[derive(Clone, Copy)]
enum Drained {
    Nothing,
    Everything,
    /// Those that a read-modify-write of this variable waits for.
    ByExchange(Address, Ordering),
}

impl Drained {
    #[cold]
    fn wait(self, current: Current, location: LocationRef) {
        match self {
            Drained::Nothing => current.drain(Drains::Nothing, location),
            Drained::Everything => current.drain(Drains::Everything, location),
            Drained::ByExchange(object, ordering) => {
                let objects = [object];
                let drains = current.target().drained_by_exchange(&objects, ordering);
                current.drain(drains, location);
            }
        }
    }
}

/// A fence. It is not a step of its own.
#[inline]
pub fn fence(current: Current, ordering: Ordering, location: LocationRef) {
    // Its effect depends on the calling thread.
    current.note_thread_identity_use();
    let target = current.target();
    current.drain(target.drained_by_fence(ordering), location);
    current.local(location, |step| {
        let events = target.fence(ordering);
        step.emit(events, 0);
        if events.operation == Some(Operation::StoreBarrier) {
            step.order_stores();
        }
        let thread = step.thread();
        if let Some(races) = step.races() {
            races.fence(thread, ordering);
        }
    });
}
