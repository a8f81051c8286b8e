//! The common core of all atomic types: a variable of `std`, and an object of the execution.
//!
//! Outside of a check the variable is used with the given ordering. In a check the runtime performs the
//! operations.

use std::sync::atomic::Ordering;

use fencepost_memory::Address;
use fencepost_runtime::{Current, LocationRef, Object, Operand, Variable};

/// An atomic variable of `std`.
pub(super) trait StdVariable: Variable {
    /// The name of its type.
    const KIND: &'static str;

    /// Creates a variable with this value.
    fn new(value: Self::Value) -> Self;
}

/// An atomic variable and its object.
pub(super) struct Atomic<V> {
    pub(super) variable: V,
    object: Object,
}

impl<V: StdVariable> Atomic<V> {
    #[inline]
    pub(super) fn new(value: V::Value, location: LocationRef) -> Self {
        let variable = V::new(value);
        let object = Object::new(V::KIND, variable.state(value), location);
        Atomic { variable, object }
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

    /// What an operation is performed on.
    #[inline]
    pub(super) fn operand(&self) -> Operand<'_, V> {
        Operand {
            variable: &self.variable,
            object: self.object.address(),
        }
    }

    /// The execution to which the object belongs, if it is the current one.
    fn own_execution(&self) -> Option<Current> {
        Current::get().filter(|_| self.object.is_of_current())
    }

    /// The value for the calling thread, without an event.
    pub(super) fn peek(&self) -> V::Value {
        match self.own_execution() {
            Some(current) => self.operand().peek(current),
            None => self.variable.get(),
        }
    }

    /// Stores the committed value in the variable, for code that reads the variable without an
    /// operation.
    pub(super) fn show_committed(&self) {
        if let Some(current) = self.own_execution() {
            self.operand().show_committed(current);
        }
    }

    /// Stores the value in the variable, including buffered stores: the caller has an exclusive
    /// reference.
    pub(super) fn take_exclusive(&self) {
        if let Some(current) = self.own_execution() {
            self.operand().take_exclusive(current);
        }
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn load(&self, current: Current, ordering: Ordering) -> V::Value {
        match ordering {
            Ordering::Release => panic!("there is no such thing as a release load"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release load"),
            _ => {}
        }
        self.operand()
            .load(current, ordering, LocationRef::caller())
    }

    #[inline(never)]
    #[track_caller]
    pub(super) fn store(&self, current: Current, value: V::Value, ordering: Ordering) {
        match ordering {
            Ordering::Acquire => panic!("there is no such thing as an acquire store"),
            Ordering::AcqRel => panic!("there is no such thing as an acquire-release store"),
            _ => {}
        }
        self.operand()
            .store(current, value, ordering, LocationRef::caller());
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
        self.operand()
            .modify(current, ordering, LocationRef::caller(), change)
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
        let location = LocationRef::caller();
        let orderings = (success, failure);
        self.operand()
            .compare_exchange(current, (expected, new), orderings, location)
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
