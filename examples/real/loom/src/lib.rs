//! Fencepost under the name of [loom](https://docs.rs/loom), for crates that have `cfg(loom)`: with
//! `[patch.crates-io] loom = { path = … }` they are checked by Fencepost and need not be changed.
//!
//! It has only what Fencepost has too. loom explores other executions: those of the C11 model, not those of x86 or
//! PSO.

pub use fencepost::{cell, hint, lazy_static, sync, thread, thread_local};

/// Checks a program, as loom's `model` does.
#[track_caller]
pub fn model(program: impl Fn() + Send + Sync + 'static) {
    fencepost::check(program);
}
