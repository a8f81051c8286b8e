//! Dekker's mutual exclusion for two threads, with and without its fences.

use fencepost::hint::spin_loop;
use fencepost::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::*, fence};
use fencepost::thread;

/// What the compiler calls this file, and its text: the command may run where it is not.
pub const SOURCE: (&str, &str) = (file!(), include_str!("dekker.rs"));

struct Dekker {
    wants: [AtomicBool; 2],
    turn: AtomicUsize,
    is_fenced: bool,
}

impl Dekker {
    fn lock(&self, me: usize) {
        let other = 1 - me;
        self.wants[me].store(true, Release);
        if self.is_fenced {
            fence(SeqCst);
        }
        while self.wants[other].load(Acquire) {
            if self.turn.load(Acquire) == other {
                self.wants[me].store(false, Release);
                while self.turn.load(Acquire) == other {
                    spin_loop();
                }
                self.wants[me].store(true, Release);
                if self.is_fenced {
                    fence(SeqCst);
                }
            }
            spin_loop();
        }
    }

    fn unlock(&self, me: usize) {
        self.turn.store(1 - me, Release);
        self.wants[me].store(false, Release);
    }
}

/// Both threads count, one at a time.
pub fn two_threads_count(is_fenced: bool) {
    let lock = Dekker {
        wants: ["wants0", "wants1"].map(|name| AtomicBool::new(false).named(name)),
        turn: AtomicUsize::new(0),
        is_fenced,
    };
    let count = AtomicU32::new(0);
    thread::scope(|scope| {
        for me in [0, 1] {
            let (lock, count) = (&lock, &count);
            scope.spawn(move || {
                lock.lock(me);
                count.store(count.load(Relaxed) + 1, Relaxed);
                lock.unlock(me);
            });
        }
    });
    assert_eq!(count.load(Relaxed), 2);
}
