//! The programs that `fencepost demo` checks: Rust, as a user would write it.

pub mod dekker;
