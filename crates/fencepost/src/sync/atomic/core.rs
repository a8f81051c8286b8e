//! The common core of all atomic types: a variable of `std`, and an object of the execution.
//!
//! Outside of a check the variable is used with the given ordering. In a check it holds the value
//! (a pointer needs more than the bits of its address), and the object's state is the value as a
//! number, for the explorer to compare. The state is updated before every operation, since
//! `get_mut` may have changed the value.

use std::sync::atomic::Ordering;

use fencepost_explore::{Condition, Effect, Intent};
use fencepost_memory::Address;

use fencepost_runtime::{Current, Drains, LocationRef, Object, Outcomes, Step, releases};

/// An atomic variable of `std`.
pub(super) trait Variable {
    /// The type of its value.
    type Value: Copy;
    /// The name of its type.
    const KIND: &'static str;

    /// Creates a variable with this value.
    fn new(value: Self::Value) -> Self;
    /// Loads the value. There is only one OS thread, so the ordering does not matter.
    fn get(&self) -> Self::Value;
    /// Stores a value.
    fn set(&self, value: Self::Value);
    /// The value as a number. Signed values are extended by their sign.
    fn state(value: Self::Value) -> u64;
    /// The value with this number.
    fn from_state(state: u64) -> Self::Value;
}

/// An atomic variable and its object.
pub(super) struct Atomic<V> {
    pub(super) variable: V,
    object: Object,
}

impl<V: Variable> Atomic<V> {
    #[inline]
    pub(super) fn new(value: V::Value, location: LocationRef) -> Self {
        Atomic {
            variable: V::new(value),
            object: Object::new(V::KIND, V::state(value), location),
        }
    }

    pub(super) fn set_name(&self, name: &str) {
        self.object.set_name(name);
    }

    /// The execution in which an operation on the variable is performed; none outside of a check.
    ///
    /// What earlier calls have left on the stack must not be in the frames of the operation: see
    /// [`Current::clear_stack_below`]. So this, and the methods that call it, are always inlined.
    /// Then the compiler does not take a loop's first load out of the loop either: its later rounds
    /// would never be in the state of the first one.
    #[inline(always)]
    pub(super) fn current(&self, location: LocationRef) -> Option<Current> {
        let current = self.object.current(location)?;
        current.clear_stack_below();
        Some(current)
    }

    /// The address of its object.
    #[inline]
    pub(super) fn address(&self) -> Address {
        self.object.address()
    }

    /// Updates the state of the object.
    #[inline]
    pub(super) fn bring_up_to_date(&self, current: Current) {
        if current.has_store_buffers() {
            self.learn_committed(current);
        }
        let state = V::state(self.variable.get());
        current.set_state(self.object.address(), state);
    }

    /// Stores the committed value in the variable.
    #[cold]
    fn learn_committed(&self, current: Current) {
        let object = self.object.address();
        let committed = current.take_committed(object);
        if let Some(state) = committed {
            self.variable.set(V::from_state(state));
            current.note_up_to_date(&self.variable);
        }
    }

    /// The value for the calling thread, without an event.
    pub(super) fn peek(&self) -> V::Value {
        let object = self.object.address();
        let seen = Current::get()
            .filter(|current| current.has_store_buffers() && self.object.is_of_current())
            .and_then(|current| current.buffered_value(object));
        seen.map_or_else(|| self.variable.get(), V::from_state)
    }

    /// Stores the committed value in the variable, for code that reads the variable without an
    /// operation.
    pub(super) fn show_committed(&self) {
        if let Some(current) = Current::get() {
            if current.has_store_buffers() && self.object.is_of_current() {
                self.learn_committed(current);
            }
        }
    }

    /// Stores the value in the variable, including buffered stores: the caller has an exclusive
    /// reference.
    pub(super) fn take_exclusive(&self) {
        if let Some(current) = Current::get() {
            if current.has_store_buffers() && self.object.is_of_current() {
                if let Some(state) = current.take_exclusive(self.object.address()) {
                    self.variable.set(V::from_state(state));
                }
            }
        }
    }

    /// The value in memory, for an operation that is being performed.
    #[inline]
    pub(super) fn in_memory(&self, step: &mut Step<'_>) -> V::Value {
        if let Some(state) = step.take_committed(self.object.address()) {
            self.variable.set(V::from_state(state));
        }
        self.variable.get()
    }

    /// Performs an operation that waits for the stores in `drains`.
    #[inline]
    fn operation<R>(
        &self,
        current: Current,
        effect: Effect,
        drains: Drained,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let object = self.object.address();
        let before = move || {
            drains.wait(current, location);
            self.learn_committed(current);
        };
        let state = move || V::state(self.variable.get());
        current.variable_operation(object, before, state, effect, location, perform)
    }

    /// Performs a read-modify-write, which may fail.
    #[inline]
    fn exchange<R>(
        &self,
        current: Current,
        effect: Effect,
        ordering: Ordering,
        location: LocationRef,
        perform: impl FnOnce(&mut Step<'_>) -> R,
    ) -> R {
        let object = self.object.address();
        let drains = Drained::ByExchange(object, ordering);
        self.operation(current, effect, drains, location, perform)
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn load(&self, current: Current, ordering: Ordering) -> V::Value {
        match ordering {
            Ordering::Release => panic!("there is no such thing as a release load"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
            _ => {}
        }
        let object = self.object.address();
        let (drains, location) = (Drained::Nothing, LocationRef::caller());
        self.operation(current, Effect::Read, drains, location, move |step| {
            let state = step.read(object);
            let forwarded = step.forwarded(object);
            let events = step.target().load(object);
            step.emit(events, forwarded.unwrap_or(state));
            // A stale value is tried only where there are no store buffers.
            if let Some(other) = forwarded.or_else(|| step.take_stale_read()) {
                return V::from_state(other);
            }
            let thread = step.thread();
            if let Some(races) = step.races() {
                races.load(thread, object, ordering);
            }
            self.in_memory(step)
        })
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn store(&self, current: Current, value: V::Value, ordering: Ordering) {
        match ordering {
            Ordering::Acquire => panic!("there is no such thing as an acquire store"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
            _ => {}
        }
        let object = self.object.address();
        let location = LocationRef::caller();
        let drains = match current.target().buffers_store(ordering) {
            false => Drained::Everything,
            true if !current.buffers_stores() => Drained::Nothing,
            true if current.inserted(location).seq_cst_store => Drained::Everything,
            true => return self.store_later(current, value, ordering, location),
        };
        self.operation(current, Effect::Write, drains, location, move |step| {
            self.in_memory(step);
            self.variable.set(value);
            step.write(object, V::state(value));
            let events = step.target().store(object, ordering);
            step.emit(events, V::state(value));
            let thread = step.thread();
            if let Some(races) = step.races() {
                races.store(thread, object, ordering);
            }
        });
    }

    /// Issues a store to the thread's buffer. It is a step, though no other thread can observe it,
    /// so that a loop that stores is not assumed to only wait.
    #[cold]
    fn store_later(
        &self,
        current: Current,
        value: V::Value,
        ordering: Ordering,
        location: LocationRef,
    ) {
        let object = self.object.address();
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
            let is_change = seen != V::state(value);
            step.write(buffer, step.state(buffer) + u64::from(is_change));
            let events = step.target().store(object, ordering);
            step.emit(events, V::state(value));
            if events.barrier.is_some() {
                step.order_stores();
            }
        });
        current.buffer_store(object, V::state(value), releases(ordering), location);
    }

    /// Performs a read-modify-write that always writes. Returns the previous value.
    #[inline(never)]
    #[track_caller]
    pub(super) fn modify(
        &self,
        current: Current,
        ordering: Ordering,
        change: impl FnOnce(V::Value) -> V::Value,
    ) -> V::Value {
        self.exchange(
            current,
            Effect::Write,
            ordering,
            LocationRef::caller(),
            move |step| {
                let before = self.in_memory(step);
                self.overwrite(step, change(before), ordering);
                before
            },
        )
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn compare_exchange(
        &self,
        current: Current,
        expected: V::Value,
        new: V::Value,
        success: Ordering,
        failure: Ordering,
    ) -> Result<V::Value, V::Value> {
        match failure {
            Ordering::Release => panic!("there is no such thing as a release failure ordering"),
            Ordering::AcqRel => {
                panic!("there is no such thing as an acquire-release failure ordering")
            }
            _ => {}
        }
        let object = self.object.address();
        let expected = V::state(expected);
        let effect = Effect::WriteIf(Condition::Equals(expected));
        self.exchange(
            current,
            effect,
            success,
            LocationRef::caller(),
            move |step| {
                let before = self.in_memory(step);
                if V::state(before) == expected {
                    self.overwrite(step, new, success);
                    return Ok(before);
                }
                let state = step.read(object);
                let events = step.target().failed_exchange(object, success);
                step.emit(events, state);
                let thread = step.thread();
                if let Some(races) = step.races() {
                    races.load(thread, object, failure);
                }
                Err(before)
            },
        )
    }

    #[inline]
    fn overwrite(&self, step: &mut Step<'_>, value: V::Value, ordering: Ordering) {
        let object = self.object.address();
        self.variable.set(value);
        step.write(object, V::state(value));
        let events = step.target().read_modify_write(object, ordering);
        step.emit(events, V::state(value));
        let thread = step.thread();
        if let Some(races) = step.races() {
            races.read_modify_write(thread, object, ordering);
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

/// The methods of every atomic type, as in `std`.
macro_rules! common_operations {
    ($value:ty, [$($generics:tt)*], $name:ty, $variable:ty) => {
        impl<$($generics)*> $name {
            /// Creates a new atomic variable.
            #[inline]
            #[track_caller]
            pub fn new(value: $value) -> Self {
                Self {
                    atomic: Atomic::new(value, LocationRef::caller()),
                }
            }

            /// Names the variable in reports.
            #[must_use]
            pub fn named(self, name: &str) -> Self {
                self.atomic.set_name(name);
                self
            }

            /// Returns a mutable reference to the value.
            pub fn get_mut(&mut self) -> &mut $value {
                self.atomic.take_exclusive();
                self.atomic.variable.get_mut()
            }

            /// Calls `f` with a mutable reference to the value, like loom's `with_mut`.
            pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut $value) -> R) -> R {
                f(self.get_mut())
            }

            /// Consumes the variable and returns the value.
            pub fn into_inner(self) -> $value {
                self.atomic.take_exclusive();
                self.atomic.variable.into_inner()
            }

            /// Returns a pointer to the value. A check does not see accesses through it, and they
            /// do not see buffered stores.
            pub fn as_ptr(&self) -> *mut $value {
                self.atomic.show_committed();
                self.atomic.variable.as_ptr()
            }

            /// Loads the value.
            ///
            /// # Panics
            /// If the ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn load(&self, order: Ordering) -> $value {
                match self.atomic.current(LocationRef::caller()) {
                    None => self.atomic.variable.load(order),
                    Some(current) => self.atomic.load(current, order),
                }
            }

            /// Stores a value.
            ///
            /// # Panics
            /// If the ordering is `Acquire` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn store(&self, value: $value, order: Ordering) {
                match self.atomic.current(LocationRef::caller()) {
                    None => self.atomic.variable.store(value, order),
                    Some(current) => self.atomic.store(current, value, order),
                }
            }

            /// Stores a value, and returns the previous one.
            #[inline(always)]
            #[track_caller]
            pub fn swap(&self, value: $value, order: Ordering) -> $value {
                match self.atomic.current(LocationRef::caller()) {
                    None => self.atomic.variable.swap(value, order),
                    Some(current) => self.atomic.modify(current, order, move |_| value),
                }
            }

            /// Stores `new` if the value is `current`. Returns the previous value.
            ///
            /// # Errors
            /// Returns the value if it is not `current`.
            ///
            /// # Panics
            /// If the failure ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match self.atomic.current(LocationRef::caller()) {
                    None => {
                        let variable = &self.atomic.variable;
                        variable.compare_exchange(current, new, success, failure)
                    }
                    Some(execution) => {
                        self.atomic
                            .compare_exchange(execution, current, new, success, failure)
                    }
                }
            }

            /// Like `compare_exchange`. Outside of a check it may fail spuriously.
            ///
            /// # Errors
            /// Returns the value if it is not `current`.
            ///
            /// # Panics
            /// If the failure ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $value,
                new: $value,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$value, $value> {
                match self.atomic.current(LocationRef::caller()) {
                    None => {
                        let variable = &self.atomic.variable;
                        variable.compare_exchange_weak(current, new, success, failure)
                    }
                    Some(execution) => {
                        self.atomic
                            .compare_exchange(execution, current, new, success, failure)
                    }
                }
            }

            /// Loads the value and tries to replace it with the result of `f`, until that succeeds
            /// or `f` returns `None`. Returns the previous value.
            ///
            /// # Errors
            /// Returns the value for which `f` returned `None`.
            ///
            /// # Panics
            /// If the fetch ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn fetch_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                self.try_update(set_order, fetch_order, f)
            }

            /// An alias of `fetch_update`.
            ///
            /// # Errors
            /// Returns the value for which `f` returned `None`.
            ///
            /// # Panics
            /// If the fetch ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn try_update<F>(
                &self,
                set_order: Ordering,
                fetch_order: Ordering,
                mut f: F,
            ) -> Result<$value, $value>
            where
                F: FnMut($value) -> Option<$value>,
            {
                let mut previous = self.load(fetch_order);
                while let Some(next) = f(previous) {
                    match self.compare_exchange_weak(previous, next, set_order, fetch_order) {
                        Ok(previous) => return Ok(previous),
                        Err(other) => previous = other,
                    }
                }
                Err(previous)
            }

            /// Like `try_update`, with a function that always returns a new value.
            ///
            /// # Panics
            /// If the fetch ordering is `Release` or `AcqRel`.
            #[inline(always)]
            #[track_caller]
            pub fn update<F>(&self, set_order: Ordering, fetch_order: Ordering, mut f: F) -> $value
            where
                F: FnMut($value) -> $value,
            {
                let mut previous = self.load(fetch_order);
                loop {
                    let next = f(previous);
                    match self.compare_exchange_weak(previous, next, set_order, fetch_order) {
                        Ok(previous) => return previous,
                        Err(other) => previous = other,
                    }
                }
            }
        }

        impl<$($generics)*> From<$value> for $name {
            #[track_caller]
            fn from(value: $value) -> Self {
                Self::new(value)
            }
        }

        /// Formats the value, without an event.
        impl<$($generics)*> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.atomic.peek(), f)
            }
        }
    };
}

/// The read-modify-write methods.
macro_rules! modifications {
    ($value:ty => $($(#[$attribute:meta])* $method:ident($operand:ident: $type:ty) |$before:ident| $change:expr;)*) => {
        $(
            $(#[$attribute])*
            #[inline(always)]
            #[track_caller]
            pub fn $method(&self, $operand: $type, order: Ordering) -> $value {
                match self.atomic.current(LocationRef::caller()) {
                    None => self.atomic.variable.$method($operand, order),
                    Some(current) => self.atomic.modify(current, order, move |$before| $change),
                }
            }
        )*
    };
}

pub(super) use {common_operations, modifications};
