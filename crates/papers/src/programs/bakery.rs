//! Lamport's bakery: whoever wants to enter draws a number, and the lowest one goes first (*A new solution of
//! Dijkstra's concurrent programming problem*, 1974). In SOBER (Burckhardt and Musuvathi, 2008) and in BSS
//! (Burnim, Sen and Stergiou, 2010).
//!
//! **The bug:** while a thread's number waits in its store buffer, the other one sees none and enters, and so
//! does the first if it has the lower number. Any execution shows it, also without preemption. **The fix:** a
//! fence before looking at the other's number, when drawing and when waiting; under PSO also `Release` where a
//! number is complete and where it is given back.

use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicU32};
use fencepost::{hint, thread};

use crate::Version;

/// This file, for reports.
pub const SOURCE: (&str, &str) = (file!(), include_str!("bakery.rs"));

struct Bakery {
    is_drawing: [AtomicBool; 2],
    /// The threads' numbers; 0 for one that does not want to enter.
    numbers: [AtomicU32; 2],
    version: Version,
}

impl Bakery {
    fn new(version: Version) -> Self {
        Bakery {
            is_drawing: ["is_drawing0", "is_drawing1"]
                .map(|name| AtomicBool::new(false).named(name)),
            numbers: ["number0", "number1"].map(|name| AtomicU32::new(0).named(name)),
            version,
        }
    }

    fn lock(&self, me: usize) {
        let other = 1 - me;
        self.is_drawing[me].store(true, Relaxed);
        self.version.fence(SeqCst);
        let mine = 1 + self.numbers[other].load(Relaxed);
        self.numbers[me].store(mine, Relaxed);
        self.is_drawing[me].store(false, self.version.release());
        self.version.fence(SeqCst);
        while self.is_drawing[other].load(Relaxed) {
            hint::spin_loop();
        }
        loop {
            let others = self.numbers[other].load(Relaxed);
            if others == 0 || (mine, me) < (others, other) {
                return;
            }
            hint::spin_loop();
        }
    }

    fn unlock(&self, me: usize) {
        self.numbers[me].store(0, self.version.release());
    }
}

/// Two threads count, one of them twice.
pub fn program(version: Version) {
    let bakery = Bakery::new(version);
    let count = AtomicU32::new(0);

    thread::scope(|scope| {
        for (me, rounds) in [(0, 2), (1, 1)] {
            let (bakery, count) = (&bakery, &count);
            scope.spawn(move || {
                for _ in 0..rounds {
                    bakery.lock(me);
                    let before = count.load(Relaxed);
                    count.store(before + 1, Relaxed);
                    bakery.unlock(me);
                }
            });
        }
    });
    assert_eq!(count.load(Relaxed), 3, "both were inside");
}
