//! A consumer that sleeps while there is no work, and a producer that takes no lock unless the consumer
//! sleeps: Fig. 4(b) of Burckhardt and Musuvathi, *Effective program verification for relaxed memory models*
//! (SOBER, 2008), a bug of a production library.
//!
//! **The bug:** the consumer says that it is idle and looks for work, the producer says that there is work and
//! looks whether the consumer is idle. While both stores wait in their buffers, the producer notifies nobody,
//! and the consumer sleeps for ever. **The fix:** a fence between each store and the load after it.

use fencepost::sync::atomic::AtomicBool;
use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::{Condvar, Mutex};
use fencepost::thread;

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("idle_consumer.rs"));

struct Shared {
    is_idling: AtomicBool,
    has_work: AtomicBool,
    bed: Mutex<()>,
    alarm: Condvar,
    version: Version,
}

impl Shared {
    fn new(version: Version) -> Self {
        Shared {
            is_idling: AtomicBool::new(false),
            has_work: AtomicBool::new(false),
            bed: Mutex::new(()),
            alarm: Condvar::new(),
            version,
        }
    }

    /// For the consumer: returns when there is work.
    fn block_on_idle(&self) {
        let mut bed = self.bed.lock().unwrap();
        self.is_idling.store(true, Relaxed);
        self.version.fence(SeqCst);
        // The paper has `if`, which a wake-up for no reason would break.
        while !self.has_work.load(Relaxed) {
            bed = self.alarm.wait(bed).unwrap();
        }
        self.is_idling.store(false, Relaxed);
    }

    /// For the producer.
    fn notify_potential_work(&self) {
        self.has_work.store(true, Relaxed);
        self.version.fence(SeqCst);
        if self.is_idling.load(Relaxed) {
            let _bed = self.bed.lock().unwrap();
            self.alarm.notify_one();
        }
    }
}

/// One consumer, one producer. The consumer wakes: if it did not, that would be a deadlock.
pub fn program(version: Version) {
    let shared = Shared::new(version);

    thread::scope(|scope| {
        scope.spawn(|| shared.block_on_idle());
        scope.spawn(|| shared.notify_potential_work());
    });
    assert!(!shared.is_idling.load(Relaxed), "the consumer is awake");
}
