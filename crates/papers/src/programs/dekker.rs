//! Dekker's lock for two threads, the first that needs nothing but loads and stores (Dijkstra, *Cooperating
//! sequential processes*, 1965). In SOBER (Burckhardt and Musuvathi, 2008) and in BSS (Burnim, Sen and
//! Stergiou, 2010).
//!
//! **The bug:** a thread says that it wants to enter, and looks whether the other does. While both stores
//! wait in their buffers, both enter. Under PSO what was stored inside may also come after the lock is left.
//! **The fix:** a fence after each store to `wants` that a load follows, and `Release` to leave.

use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use fencepost::{hint, thread};

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("dekker.rs"));

struct Dekker {
    wants: [AtomicBool; 2],
    /// Who goes first if both want to enter.
    turn: AtomicUsize,
    version: Version,
}

impl Dekker {
    fn new(version: Version) -> Self {
        Dekker {
            wants: ["wants0", "wants1"].map(|name| AtomicBool::new(false).named(name)),
            turn: AtomicUsize::new(0),
            version,
        }
    }

    fn lock(&self, me: usize) {
        let other = 1 - me;
        self.wants[me].store(true, Relaxed);
        self.version.fence(SeqCst);
        while self.wants[other].load(Relaxed) {
            if self.turn.load(Relaxed) == other {
                self.wants[me].store(false, Relaxed);
                self.version.fence(SeqCst);
                while self.turn.load(Relaxed) == other {
                    hint::spin_loop();
                }
                self.wants[me].store(true, Relaxed);
                self.version.fence(SeqCst);
            }
            hint::spin_loop();
        }
    }

    fn unlock(&self, me: usize) {
        self.turn.store(1 - me, Relaxed);
        self.wants[me].store(false, self.version.release());
    }
}

/// Two threads enter twice each, and count.
pub fn program(version: Version) {
    let dekker = Dekker::new(version);
    let count = AtomicU32::new(0);

    thread::scope(|scope| {
        for me in 0..2 {
            let (dekker, count) = (&dekker, &count);
            scope.spawn(move || {
                for _ in 0..2 {
                    dekker.lock(me);
                    let before = count.load(Relaxed);
                    count.store(before + 1, Relaxed);
                    dekker.unlock(me);
                }
            });
        }
    });
    assert_eq!(count.load(Relaxed), 4, "both were inside");
}
