//! Statics that each execution initializes anew.
//!
//! An execution must not observe values of an earlier one, so a static with shared state is
//! declared with [`lazy_static!`](crate::lazy_static).
#![allow(unsafe_code)] // The value lives until the end of the execution, which no type expresses.

use std::fmt;
use std::ops::Deref;
use std::sync::OnceLock;

use fencepost_runtime::{Current, LocationRef, StaticDeclaration};

/// A static that is initialized on first use; in a check, in every execution.
/// [`lazy_static!`](crate::lazy_static) declares it.
///
/// In a check, its value is dropped at the end of the execution. The program must not keep a
/// reference for longer (in a `static` of `std`, for example): as with loom's statics, no type
/// prevents that.
pub struct Lazy<T: 'static> {
    name: &'static str,
    initialize: fn() -> T,
    location: LocationRef,
    outside: OnceLock<T>,
}

impl<T: 'static> Lazy<T> {
    #[doc(hidden)]
    #[track_caller]
    pub const fn new(name: &'static str, initialize: fn() -> T) -> Self {
        Lazy {
            name,
            initialize,
            location: LocationRef::caller(),
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
                // SAFETY: the documentation of the type forbids references that outlive the
                // execution. This is the one promise that is not enforced: `Deref` of a `static`
                // has to return a reference, whose lifetime the program may choose up to `'static`.
                // A use of an object of an earlier execution is reported as misuse.
                unsafe { current.static_value(declared, LocationRef::caller(), self.initialize) }
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

/// Declares statics that are initialized on first use; in a check, in every execution anew.
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
