//! The program of `tests/replay_lines.rs`: store buffering, with an assertion that fails only on a machine with store buffers.

use fencepost::sync::atomic::{AtomicU32, Ordering::Relaxed};
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
