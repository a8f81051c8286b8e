//! Store buffering, the smallest program that is not store-buffer safe: Fig. 1(b) of Burckhardt and
//! Musuvathi, *Effective program verification for relaxed memory models* (SOBER, 2008).
//!
//! **The bug:** each thread stores to one variable and then loads the other. While both stores wait in their
//! buffers, both loads read the old values. **The fix:** a fence between the store and the load.

use fencepost::sync::atomic::AtomicBool;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("store_buffering.rs"));

/// Two threads. At least one sees what the other has stored.
pub fn program(version: Version) {
    let x = AtomicBool::new(false);
    let y = AtomicBool::new(false);

    let (saw_y, saw_x) = thread::scope(|scope| {
        let first = scope.spawn(|| {
            x.store(true, Relaxed);
            version.fence(SeqCst);
            y.load(Relaxed)
        });
        let second = scope.spawn(|| {
            y.store(true, Relaxed);
            version.fence(SeqCst);
            x.load(Relaxed)
        });
        (first.join().unwrap(), second.join().unwrap())
    });
    assert!(saw_x || saw_y, "neither thread has seen the other");
}
