//! Detects whether it matters that waits of `std` park. At the end of a scope and in channels, `std` waits by parking
//! the thread, which takes the thread's park token if it is set. A thread that parks later notices. Then the check has
//! to restart, with waits that may [take tokens](super::Setup::do_waits_take_tokens).

use super::error::Restart;
use super::execution::Phase;
use super::operation::Current;

impl Current {
    /// Whether waits may take the park token of their thread.
    pub fn do_waits_take_tokens(self) -> bool {
        self.setup().do_waits_take_tokens
    }

    /// Records that the calling thread has waited, or may have, by parking.
    #[inline]
    pub fn note_parking_wait(self) {
        self.with(|execution| execution.slot_mut().has_waited_by_parking = true);
    }

    /// Records that the calling thread parks.
    pub fn note_park(self) {
        let is_needed = self.with(|execution| {
            execution.phase == Phase::Running
                && !execution.setup.do_waits_take_tokens
                && execution.slot().has_waited_by_parking
        });
        if is_needed {
            self.fail(Restart::TakenTokens);
        }
    }
}
