//! Detects whether it matters that a waiting writer of an `RwLock` blocks readers. Then the check
//! has to restart, with writers that are [announced](super::Setup::are_writers_announced).

use fencepost_memory::Address;

use super::error::Restart;
use super::execution::Phase;
use super::operation::Current;

/// How the program uses a reader-writer lock.
pub(crate) struct LockUse {
    lock: Address,
    /// Whether a writer may wait for it.
    has_writers: bool,
    /// Whether such a writer could block a reader in a way that matters.
    can_block_readers: bool,
}

impl LockUse {
    fn of(lock: Address) -> Self {
        LockUse {
            lock,
            has_writers: false,
            can_block_readers: false,
        }
    }
}

impl Current {
    /// Whether waiting writers block readers.
    pub fn are_writers_announced(self) -> bool {
        self.setup().are_writers_announced
    }

    /// Records that a thread takes the lock for writing, and waits if necessary.
    pub fn note_writer(self, lock: Address) {
        self.note_lock_use(lock, |used| used.has_writers = true);
    }

    /// Records that a waiting writer could block a reader of the lock in a way that matters.
    #[cold]
    pub fn note_blocked_reader(self, lock: Address) {
        self.note_lock_use(lock, |used| used.can_block_readers = true);
    }

    fn note_lock_use(self, lock: Address, note: impl FnOnce(&mut LockUse)) {
        let is_needed = self.with(|execution| {
            if execution.setup.are_writers_announced || execution.phase == Phase::Teardown {
                return false;
            }
            let uses = &mut execution.lock_uses;
            let at = uses.iter().position(|used| used.lock == lock);
            let at = at.unwrap_or_else(|| {
                uses.push(LockUse::of(lock));
                uses.len() - 1
            });
            note(&mut uses[at]);
            uses[at].has_writers && uses[at].can_block_readers
        });
        if is_needed {
            self.fail(Restart::AnnouncedWriters);
        }
    }

    /// Records that the calling thread may wait while it holds locks for reading.
    #[cold]
    pub(crate) fn note_wait_of_reader(self) {
        let held = self.with(|execution| {
            let slot = execution.slot();
            slot.reading.clone()
        });
        for lock in held {
            self.note_blocked_reader(lock);
        }
    }
}
