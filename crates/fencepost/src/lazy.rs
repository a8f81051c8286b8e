//! Statics that every execution has afresh.
//!
//! An execution must not see what an earlier one has left behind, so a static that holds shared
//! state is declared with [`lazy_static!`](crate::lazy_static).
#![allow(unsafe_code)] // The value lives until the end of the execution, which no type says.

use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::sync::OnceLock;

use fencepost_runtime::{Current, StaticDeclaration};

/// A static that is initialized when it is first used: in a check, in every execution. Made by
/// [`lazy_static!`](crate::lazy_static).
///
/// Its value is dropped at the end of the execution, and no reference to it may be kept for longer.
pub struct Lazy<T: 'static> {
    name: &'static str,
    initialize: fn() -> T,
    location: &'static Location<'static>,
    outside: OnceLock<T>,
}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    #[track_caller]
    pub const fn new(name: &'static str, initialize: fn() -> T) -> Self {
        Lazy {
            name,
            initialize,
            location: Location::caller(),
            outside: OnceLock::new(),
        }
    }

    #[track_caller]
    fn get(&self) -> &T {
        match Current::get() {
            None => self.outside.get_or_init(self.initialize),
            Some(current) => {
                let declared = StaticDeclaration {
                    identity: std::ptr::from_ref(self) as usize,
                    name: self.name,
                    location: self.location,
                };
                // SAFETY: who keeps the reference until another execution has kept an object of
                // an earlier execution, which is reported as bad use where it can be noticed, and
                // which the type's documentation forbids.
                unsafe { current.static_value(declared, Location::caller(), self.initialize) }
            }
        }
    }
}

impl<T: 'static> Deref for Lazy<T> {
    type Target = T;

    #[track_caller]
    fn deref(&self) -> &T {
        self.get()
    }
}

impl<T: 'static> fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lazy").field(&self.name).finish()
    }
}

/// Declares statics that are initialized when they are first used, and in a check in every
/// execution afresh.
///
/// ```
/// use fencepost::sync::atomic::{AtomicUsize, Ordering};
///
/// fencepost::lazy_static! {
///     /// How many.
///     static ref COUNT: AtomicUsize = AtomicUsize::new(3);
/// }
///
/// COUNT.fetch_add(1, Ordering::Relaxed);
/// assert_eq!(COUNT.load(Ordering::Relaxed), 4);
/// ```
#[macro_export]
macro_rules! lazy_static {
    () => {};
    ($(#[$attribute:meta])* $vis:vis static ref $name:ident: $type:ty = $init:expr; $($rest:tt)*) => {
        $(#[$attribute])*
        $vis static $name: $crate::__private::Lazy<$type> = {
            fn initialize() -> $type {
                $init
            }
            $crate::__private::Lazy::new(stringify!($name), initialize)
        };
        $crate::lazy_static!($($rest)*);
    };
}
