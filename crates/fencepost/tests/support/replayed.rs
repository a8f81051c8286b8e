//! The programs of `tests/replay_lines.rs`. The first is store buffering, with an assertion that fails only on a machine with store buffers.

use fencepost::sync::atomic::{AtomicU32, Ordering::Relaxed, Ordering::SeqCst};
use fencepost::thread;

pub fn program() {
    let cells = [0, 0].map(AtomicU32::new);
    thread::scope(|scope| {
        let one = scope.spawn(|| {
            cells[0].store(1, Relaxed);
            cells[1].load(Relaxed) // line 11: a fence before it is not enough, the other thread needs one too
        });
        let two = scope.spawn(|| {
            cells[1].store(1, Relaxed);
            cells[0].load(Relaxed)
        });
        let (one, two) = (one.join().unwrap(), two.join().unwrap());
        assert!(one + two > 0, "both threads read 0");
    });
}

/// This file, as locations name it.
#[allow(dead_code, reason = "the crate with the replay lines does not use it")]
pub const FILE: &str = file!();

/// Asks whether a thread has finished.
pub fn ends() {
    let flag = AtomicU32::new(0);
    thread::scope(|scope| {
        let thread = scope.spawn(|| flag.store(1, SeqCst));
        let is_set = flag.load(SeqCst) == 1;
        assert!(!is_set || thread.is_finished(), "it has not ended yet");
    });
}

struct Announces(fencepost::sync::Arc<AtomicU32>);

impl Drop for Announces {
    fn drop(&mut self) {
        self.0.store(1, SeqCst);
    }
}

/// Notices which thread drops an `Arc` last.
pub fn drops() {
    use fencepost::sync::Arc;
    let dropped = Arc::new(AtomicU32::new(0));
    let shared = Arc::new(Announces(dropped.clone()));
    let others = [(); 2].map(|()| {
        let shared = Arc::clone(&shared);
        thread::spawn(move || drop(shared))
    });
    drop(shared);
    let seen = dropped.load(SeqCst);
    for other in others {
        other.join().unwrap();
    }
    assert_eq!(seen, 0, "the last one dropped it before");
}

/// Store buffering among more than four threads.
pub fn wide() {
    let cells = [0, 0].map(AtomicU32::new);
    let cells = &cells;
    thread::scope(|scope| {
        let threads = [0, 1].map(|index| {
            scope.spawn(move || {
                cells[index].store(1, Relaxed);
                cells[1 - index].load(Relaxed)
            })
        });
        for _ in 0..3 {
            scope.spawn(|| ());
        }
        let [one, two] = threads.map(|thread| thread.join().unwrap());
        assert!(one + two > 0, "both threads read 0");
    });
}
