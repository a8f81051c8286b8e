//! The programs of the papers that Fencepost implements, each with its store-buffer bug and without.
//!
//! One file each, to be read from top to bottom: what the program is and what is wrong with it, the data
//! structure, and threads that use it and check what they get. The code was written for this crate; the
//! algorithms, verdicts and [`figures`] are their authors'.
//!
//! - [`store_buffering`], [`dekker`], [`bakery`], [`take_queue`] and [`idle_consumer`] are unsafe under TSO and
//!   under PSO,
//! - [`msn`], [`ms2`], [`harris`], [`lazylist`] and [`snark`] are safe under TSO and unsafe under PSO.
//!
//! [`EXAMPLES`] lists them.

pub mod bakery;
pub mod dekker;
pub mod examples;
pub mod figures;
pub mod harris;
pub mod idle_consumer;
pub mod lazylist;
pub mod ms2;
pub mod msn;
pub mod snark;
pub mod store_buffering;
pub mod take_queue;

use fencepost::sync::atomic::Ordering::{self, Relaxed, Release};
use fencepost::sync::atomic::fence;

pub use examples::{EXAMPLES, Example, Fix, Verdict};

/// Which of the two programs in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As the paper has it: every access is `Relaxed`.
    Original,
    /// With the fences and orderings that make it safe.
    Fixed,
}

impl Version {
    /// A fence, in the fixed version.
    #[track_caller]
    pub fn fence(self, order: Ordering) {
        if self == Version::Fixed {
            fence(order);
        }
    }

    /// The ordering of a store by which others may see what was stored before: `Release` in the fixed version.
    pub fn release(self) -> Ordering {
        match self {
            Version::Original => Relaxed,
            Version::Fixed => Release,
        }
    }
}
