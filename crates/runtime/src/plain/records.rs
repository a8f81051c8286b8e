//! The accesses to eight bytes, or to a page of them, that could still race.
//!
//! An access is forgotten byte by byte, and only when a later one stands for it: one that it
//! happens before, and that conflicts with everything that it conflicts with. What races with the
//! forgotten access then races with the later one too. So nothing that could race is forgotten, and
//! yet a byte has at most one plain write, and three other accesses of each thread.

use fencepost_memory::ThreadId;

use super::{AccessKind, RecordedAccess};

/// The kinds of accesses with which one conflicts, one bit for each.
const CONFLICTS: [u8; 6] = {
    let (read, atomic_write) = (
        1 << AccessKind::Read as u8,
        1 << AccessKind::AtomicWrite as u8,
    );
    let writes = 1 << AccessKind::Write as u8
        | 1 << AccessKind::Allocation as u8
        | 1 << AccessKind::Free as u8;
    let everything = read | 1 << AccessKind::AtomicRead as u8 | atomic_write | writes;
    let mut conflicts = [everything; 6];
    conflicts[AccessKind::Read as usize] = atomic_write | writes;
    conflicts[AccessKind::AtomicRead as usize] = writes;
    conflicts[AccessKind::AtomicWrite as usize] = read | writes;
    conflicts
};

/// Whether accesses of these kinds to the same byte race if nothing orders them.
#[inline]
fn conflict(one: AccessKind, other: AccessKind) -> bool {
    CONFLICTS[one as usize] & (1 << other as u8) != 0
}

/// Whether accesses of the one kind conflict with all that those of the other kind conflict with.
#[inline]
fn stands_for(one: AccessKind, other: AccessKind) -> bool {
    CONFLICTS[other as usize] & !CONFLICTS[one as usize] == 0
}

/// An access to some of eight bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) place: u64,
    /// The thread's own entry in its clock at that time.
    pub(super) time: u32,
    pub(super) thread: ThreadId,
    /// The size of the whole access.
    pub(super) size: u32,
    /// One bit for each byte.
    pub(super) mask: u8,
    pub(super) kind: AccessKind,
}

impl Record {
    /// No access.
    const NONE: Record = Record {
        place: 0,
        time: 0,
        thread: ThreadId(0),
        size: 0,
        mask: 0,
        kind: AccessKind::Read,
    };

    /// Whether this access stands for a later one. Both are of one thread, which has released
    /// nothing in between, so whatever races with the later one races with this.
    #[inline]
    fn includes(&self, later: &Record) -> bool {
        self.mask & later.mask == later.mask
            && (self.thread, self.time) == (later.thread, later.time)
            && stands_for(self.kind, later.kind)
            // An allocation makes a new block. For reports, a write says more than the allocation
            // before it, and a free more than the write before it.
            && !matches!(later.kind, AccessKind::Allocation | AccessKind::Free)
            && self.kind != AccessKind::Allocation
    }

    /// Whether it happens before what a thread with this clock does.
    #[inline]
    fn happens_before(&self, now: &[u32]) -> bool {
        now.get(self.thread.index()).copied().unwrap_or(0) >= self.time
    }

    pub(super) fn recorded(&self) -> RecordedAccess {
        RecordedAccess {
            thread: self.thread,
            kind: self.kind,
            size: self.size,
            place: self.place,
        }
    }
}

/// The accesses that could still race.
#[derive(Debug)]
pub(super) struct Records {
    /// Of no bytes, if there are no records.
    first: Record,
    more: Vec<Record>,
}

impl Default for Records {
    fn default() -> Self {
        Records {
            first: Record::NONE,
            more: Vec::new(),
        }
    }
}

impl Records {
    #[inline]
    pub(super) fn clear(&mut self) {
        self.first = Record::NONE;
        self.more.clear();
    }

    pub(super) fn copy_from(&mut self, other: &Records) {
        self.first = other.first;
        self.more.clear();
        self.more.extend_from_slice(&other.more);
    }

    /// Forgets everything but this access.
    pub(super) fn replace(&mut self, only: Record) {
        self.first = only;
        self.more.clear();
    }

    /// Adds an access of a thread with this clock. Returns one with which it races, if there is
    /// one, and the first byte on which they race.
    #[inline]
    pub(super) fn add(&mut self, new: &Record, now: &[u32]) -> Option<(Record, u32)> {
        if self.first.includes(new) {
            return None;
        }
        self.add_unless_included(new, now)
    }

    fn add_unless_included(&mut self, new: &Record, now: &[u32]) -> Option<(Record, u32)> {
        if new.kind == AccessKind::Allocation {
            self.retain(new, |_| false);
            self.push(*new);
            return None;
        }
        if let Some(earlier) = self.more.iter_mut().find(|earlier| earlier.includes(new)) {
            // The thread will access it again.
            std::mem::swap(&mut self.first, earlier);
            return None;
        }
        for earlier in std::iter::once(&self.first).chain(&self.more) {
            if earlier.mask & new.mask == 0 {
                continue;
            }
            if conflict(earlier.kind, new.kind) && !earlier.happens_before(now) {
                let common = earlier.mask & new.mask;
                return Some((*earlier, common.trailing_zeros()));
            }
        }
        self.retain(new, |earlier| {
            !(stands_for(new.kind, earlier.kind) && earlier.happens_before(now))
        });
        self.push(*new);
        None
    }

    /// Forgets the accesses that are not kept, as far as they are to bytes of the new one.
    fn retain(&mut self, new: &Record, is_kept: impl Fn(&Record) -> bool) {
        if !is_kept(&self.first) {
            self.first.mask &= !new.mask;
        }
        self.more.retain_mut(|earlier| {
            if !is_kept(earlier) {
                earlier.mask &= !new.mask;
            }
            earlier.mask != 0
        });
    }

    #[inline]
    fn push(&mut self, new: Record) {
        match self.first.mask {
            0 => self.first = new,
            _ => self.more.push(new),
        }
    }
}
