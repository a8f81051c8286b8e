//! A barrier in shared memory. Who waits spins for a moment and then sleeps, so that beside other
//! load the thread that is waited for gets the processor.

use std::sync::atomic::{AtomicU32, Ordering};

use super::counter::read_counter;

/// All zeros is a new one.
#[repr(C)]
pub(super) struct Barrier {
    arrived: AtomicU32,
    generation: AtomicU32,
    sleepers: AtomicU32,
}

impl Barrier {
    /// Waits for all `count` threads. The last one to come calls `last`, with whether another one
    /// sleeps, before any of them goes on.
    pub fn wait(&self, count: u32, spin: u64, last: impl FnOnce(bool)) {
        let generation = self.generation.load(Ordering::Acquire);
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == count {
            last(self.sleepers.load(Ordering::SeqCst) > 0);
            self.arrived.store(0, Ordering::Relaxed);
            self.generation
                .store(generation.wrapping_add(1), Ordering::SeqCst);
            if self.sleepers.load(Ordering::SeqCst) > 0 {
                wake(&self.generation);
            }
            return;
        }
        let begin = read_counter();
        while self.generation.load(Ordering::Acquire) == generation {
            if read_counter().wrapping_sub(begin) < spin {
                std::hint::spin_loop();
                continue;
            }
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            sleep(&self.generation, generation);
            self.sleepers.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Sleeps while the word has this value; may return without a reason.
pub(super) fn sleep(word: &AtomicU32, value: u32) {
    // SAFETY: the word outlives the call. The kernel compares and waits; there is no timeout.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            value,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

fn wake(word: &AtomicU32) {
    // SAFETY: the word outlives the call.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}
