//! Proving that a loop only waits: a thread that comes back to an operation in the same state.
//!
//! At every operation the runtime looks whether the thread has been there before, with the same
//! stack pointer, return address and registers, since it last changed something that others can see. If so,
//! and its stack and registers are as they were (see [`boundary`](super::boundary)), it will do
//! what it did in that round as long as it reads the same values. The explorer suspends it until
//! one of them has changed.
//!
//! Whether it has changed other memory, such as a counter on the heap, is compared too where that is
//! known (see [`memory`](super::memory)). If there is memory that is not compared, a thread may have
//! come back only in part. Then what it does next shows it sooner or later: as long as it reads the same
//! values, it has to perform the operations of the round before. If it does not, the loop depends on
//! memory that nobody has compared ([`Visits::is_unexpected`]).
//!
//! A loop that does not come back to the same state is explored round by round. If it does not end
//! either, there are endlessly many. So when a thread goes on and on without changing anything, the
//! check starts over ([`Restart::EndlessLoop`](super::Restart::EndlessLoop)), and stops the loop after
//! [`MOST_ROUNDS`] rounds until something changes. The check is then incomplete.
//!
//! Copying stacks takes time, and most programs have no loops that wait. So at first a runtime only
//! remembers which operations were performed. A second one makes the check start over with copies
//! ([`Setup::compared_states`](super::Setup::compared_states)).
//!
//! The first copy is taken at the first visit. The last one is kept, and one that is renewed at the
//! visits 2, 4, 8, … (Brent), which finds loops whose state repeats every few rounds.
#![allow(unsafe_code)] // Stacks are compared by address.

use super::boundary::{Frame, WORD};
use super::location::LocationRef;
use super::memory::Changes;
use super::setup::StateMutation;

/// The number of operations that are remembered: sets of [`WAYS`] operations with hashes that begin
/// alike. A new one replaces the oldest of its set. So a loop is missed only if it has more
/// operations than that, all in one set.
const SITES: usize = 32;
const WAYS: usize = 4;

/// How many operations are remembered in the order in which they were performed, if states are not
/// compared. Threads often change something before there are more, and need no hashes then.
const FIRST: usize = 4;

/// How many operations of a thread are recorded that has changed nothing in between.
const MOST_DONE: usize = 1 << 16;

/// How often a loop that goes round without end comes to the same operation without having changed
/// anything, before it is stopped until something changes.
pub const MOST_ROUNDS: u32 = 7;

/// A thread goes round without end if it performs more than this part of the steps of an
/// execution without changing anything, and at least so many. Others may need some too.
const ENDLESS_PART: u64 = 3;
const LEAST_ENDLESS: u64 = 100;

/// How much of a stack is cleared below the frames that were compared: deeper ones may be.
const BELOW: usize = 1024;

/// A thread's memory of its operations.
pub(crate) struct Visits {
    /// What was visited: of the stack pointer, the registers, the operation, and the epoch.
    hashes: [u64; SITES],
    /// Changes whenever the thread starts or changes something. Never decreases, so that visits of
    /// earlier executions are not taken for those of this one.
    epoch: u64,
    /// Which of a set is replaced next.
    oldest: usize,
    /// If states are not compared: the first operations of this epoch.
    first: [u64; FIRST],
    /// The same, and how many there are. If states are compared: whether there were visits in this
    /// epoch, 0 or 1.
    first_count: usize,
    /// The number of events of the thread.
    pub(crate) events: u32,
    /// How many of them there were when it last came back or changed something. Valid in its epoch.
    progress: (u64, u32),
    /// Operations of loops that go round without end, in this epoch.
    rounds: Vec<RoundCount>,
    /// The lowest frame since the stack was cleared; none if it never was.
    lowest: Option<usize>,
    /// If states are compared: the states at these visits.
    sites: Vec<Site>,
    /// If states are compared: what the thread has done.
    done: History,
}

/// An operation that a thread has performed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Done {
    operation: u64,
    /// What it has read; none if that is not known.
    read: Option<u64>,
    pub(crate) location: LocationRef,
}

/// How often a thread has come to an operation of a loop that goes round without end.
#[derive(Clone, Copy)]
struct RoundCount {
    operation: u64,
    epoch: u64,
    rounds: u32,
    /// The number of events before the last time.
    events: u32,
}

/// The operations of a thread since it last changed something, and those that it has to repeat.
#[derive(Default)]
struct History {
    /// The epoch to which all this belongs.
    epoch: u64,
    done: Vec<Done>,
    /// The operation that is being performed.
    pending: Option<(u64, LocationRef)>,
    /// Whether it is not known what that one reads.
    is_read_unknown: bool,
    /// The round that the thread repeats as long as it reads the same; empty if there is none.
    expected: Vec<Done>,
    /// The position of the next operation in it.
    next: usize,
}

impl History {
    /// Forgets what was before this epoch.
    #[inline]
    fn enter(&mut self, epoch: u64) {
        if self.epoch != epoch {
            self.epoch = epoch;
            self.done.clear();
            self.expected.clear();
        }
    }

    /// The thread has come back to the state before the operation with this position.
    fn expect_from(&mut self, first: usize) {
        self.expected.clear();
        self.next = 0;
        if self.done.len() < MOST_DONE {
            self.expected.extend_from_slice(&self.done[first..]);
        }
    }

    fn note(&mut self, read: Option<u64>) {
        let Some((operation, location)) = self.pending.take() else {
            return;
        };
        let is_known = !std::mem::take(&mut self.is_read_unknown);
        let read = read.filter(|_| is_known);
        if self.done.len() < MOST_DONE {
            self.done.push(Done {
                operation,
                read,
                location,
            });
        }
        let Some(expected) = self.expected.get(self.next) else {
            return;
        };
        match read.is_some() && read == expected.read {
            true => self.next = (self.next + 1) % self.expected.len(),
            false => self.expected.clear(),
        }
    }
}

impl Default for Visits {
    fn default() -> Self {
        Visits {
            hashes: [0; SITES],
            epoch: 0,
            oldest: 0,
            first: [0; FIRST],
            first_count: 0,
            events: 0,
            progress: (0, 0),
            rounds: Vec::new(),
            lowest: None,
            sites: Vec::new(),
            done: History::default(),
        }
    }
}

#[derive(Clone, Default)]
struct Site {
    visits: u32,
    last: StateCopy,
    anchor: StateCopy,
}

/// The state of the thread at a visit.
#[derive(Clone, Default)]
struct StateCopy {
    /// Empty if there is no copy.
    bytes: Vec<u8>,
    at: Moment,
}

/// When a visit was.
#[derive(Clone, Copy, Default)]
struct Moment {
    /// The number of events of the thread before the visit.
    events: u32,
    /// The number of operations in the history.
    done: usize,
    /// The number of its changes to other memory.
    changes: u64,
}

impl StateCopy {
    fn renew(&mut self, state: &[u8], at: Moment) {
        self.bytes.clear();
        self.bytes.extend_from_slice(state);
        self.at = at;
    }

    fn is(&self, state: &[u8], changes: &mut Changes) -> bool {
        self.bytes == state && changes.cancel_out_since(self.at.changes)
    }
}

/// What a visit tells about the thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Visit {
    /// It has not been here in this state since it last changed something.
    Changed,
    /// It was here in the same state, so many events ago.
    Same(u32),
}

impl Visits {
    /// Forgets the visits, because the thread starts or has changed something that others can see.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.epoch += 1;
        self.first_count = 0;
    }

    /// Begins a new thread.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.forget();
        self.events = 0;
    }

    /// The thread is about to perform an operation. Whether it has done nothing for too long but to
    /// go from one new state to the next, in executions of so many steps.
    #[inline]
    pub(crate) fn is_endless(&mut self, visit: Visit, max_steps: u64) -> bool {
        if self.progress.0 != self.epoch || visit != Visit::Changed {
            self.progress = (self.epoch, self.events);
        }
        let most = (max_steps / ENDLESS_PART).max(LEAST_ENDLESS);
        u64::from(self.events - self.progress.1) > most
    }

    /// The thread is about to perform an operation of a loop that goes round without end. The number
    /// of events of its last round, if it has gone round often enough.
    pub(crate) fn bounded_round(&mut self, operation: u64) -> Option<u32> {
        let (epoch, events) = (self.epoch, self.events);
        let known = self
            .rounds
            .iter_mut()
            .find(|known| known.operation == operation);
        let Some(known) = known else {
            self.rounds.push(RoundCount {
                operation,
                epoch,
                rounds: 1,
                events,
            });
            return None;
        };
        let last = *known;
        let is_same_epoch = last.epoch == epoch;
        *known = RoundCount {
            operation,
            epoch,
            rounds: if is_same_epoch {
                last.rounds.saturating_add(1)
            } else {
                1
            },
            events,
        };
        (is_same_epoch && last.rounds >= MOST_ROUNDS).then(|| events - last.events)
    }

    /// Whether there were visits since the thread last changed something, if states are compared.
    #[inline]
    pub(crate) fn are_there(&self) -> bool {
        self.first_count > 0
    }

    /// The thread is about to perform an operation, and states are compared. Whether it cannot be this
    /// one, if the thread depends on nothing but what is compared: it is in the same state as
    /// before, has read the same values as then, and has performed another operation then.
    #[inline]
    pub(crate) fn is_unexpected(&mut self, operation: u64, location: LocationRef) -> bool {
        self.done.enter(self.epoch);
        self.done.pending = Some((operation, location));
        self.done.is_read_unknown = false;
        let expected = self.done.expected.get(self.done.next);
        expected.is_some_and(|expected| expected.operation != operation)
    }

    /// The round that the thread has to repeat.
    pub(crate) fn expected(&self) -> &[Done] {
        &self.done.expected
    }

    /// The thread has performed the operation, which has read this.
    #[inline]
    pub(crate) fn note_done(&mut self, read: u64) {
        self.done.enter(self.epoch);
        self.done.note(Some(read));
    }

    /// It is not known what the operation that is being performed reads.
    #[inline]
    pub(crate) fn note_unknown_read(&mut self) {
        self.done.is_read_unknown = true;
    }

    /// The thread has another stack than before.
    pub(crate) fn forget_lowest(&mut self) {
        self.lowest = None;
    }

    /// The stack is cleared. Returns down to which address it was used; none if that is not known.
    pub(crate) fn take_lowest(&mut self) -> Option<usize> {
        let lowest = self.lowest.replace(usize::MAX)?;
        Some(lowest.saturating_sub(BELOW))
    }

    /// Whether the thread has performed this operation since it last changed something, so that it
    /// may be in a loop.
    #[inline]
    pub(crate) fn is_repeated(&mut self, operation: u64) -> bool {
        let count = self.first_count;
        let Some(next) = self.first.get_mut(count) else {
            return self.first.contains(&operation) || self.find(operation).1;
        };
        *next = operation;
        self.first_count = count + 1;
        self.first[..count].contains(&operation)
    }

    /// Where a visit is remembered, and whether it was before.
    #[inline]
    fn find(&mut self, hash: u64) -> (usize, bool) {
        let hash = (hash ^ self.epoch.rotate_left(48)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let set = (hash >> 32) as usize % (SITES / WAYS) * WAYS;
        let known = self.hashes[set..set + WAYS]
            .iter()
            .position(|&known| known == hash);
        let site = set + known.unwrap_or(self.oldest);
        if known.is_none() {
            self.hashes[site] = hash;
            self.oldest = (self.oldest + 1) % WAYS;
        }
        (site, known.is_some())
    }

    /// The thread is about to perform an operation.
    ///
    /// # Safety
    /// The frame must be that of a running [`cross`](super::boundary::cross) on the stack that ends
    /// at `base`.
    pub(crate) unsafe fn visit(
        &mut self,
        frame: Frame,
        operation: u64,
        base: usize,
        changes: &mut Changes,
        mutation: Option<StateMutation>,
    ) -> Visit {
        // SAFETY: the caller's promise. Nobody writes to the stack meanwhile.
        let (hash, state) = unsafe { (frame.hash(), frame.state(base)) };
        let address = frame.address();
        self.lowest = self.lowest.map(|lowest| lowest.min(address));
        match mutation {
            None => self.compare(hash ^ operation, state, changes),
            Some(mutation) => {
                let state = mutation.compared(state, frame);
                self.compare(address as u64 ^ operation, &state, changes)
            }
        }
    }

    /// Compares a state with those at earlier visits with that hash. Equal states at an operation
    /// have equal hashes.
    fn compare(&mut self, hash: u64, state: &[u8], changes: &mut Changes) -> Visit {
        self.first_count = 1;
        self.done.enter(self.epoch);
        let now = Moment {
            events: self.events,
            done: self.done.done.len(),
            changes: changes.count(),
        };
        let (site, is_known) = self.find(hash);
        if self.sites.is_empty() {
            self.sites.resize(SITES, Site::default());
        }
        let site = &mut self.sites[site];
        if !is_known {
            site.visits = 0;
        }
        let Some(earlier) = site.compare(state, changes, now) else {
            return Visit::Changed;
        };
        self.done.expect_from(earlier.done);
        Visit::Same(now.events - earlier.events)
    }
}

impl StateMutation {
    /// How much of the stack is taken for the lowest frame, in bytes.
    const LOWEST: usize = 256;

    /// How much of the frame above the operands is taken to have parts of them, in bytes.
    const SPILLED: usize = 128;

    /// What is compared of a state.
    #[cold]
    pub(crate) fn compared(self, state: &[u8], frame: Frame) -> Vec<u8> {
        let parts = Frame::parts();
        let ignore_registers = |state: &mut [u8]| {
            let registers = parts.registers.iter().cloned();
            registers.for_each(|part| state[part].fill(0));
        };
        let mut state = state.to_vec();
        match self {
            StateMutation::IgnoreRegisters => ignore_registers(&mut state),
            StateMutation::IgnoreOperands => {
                ignore_registers(&mut state);
                let words = |bytes: &[u8]| bytes.chunks_exact(WORD).map(<[u8]>::to_vec).collect();
                let operands: Vec<Vec<u8>> = words(&state[frame.operands()]);
                let end = (frame.operands().end + Self::SPILLED).min(state.len());
                state[parts.frames.start..end].fill(0);
                // How far up there are others depends on what the compiler has inlined.
                let others = state[end..].chunks_exact_mut(WORD);
                let copies = others.filter(|word| operands.iter().any(|operand| operand == word));
                copies.for_each(|word| word.fill(0));
            }
            StateMutation::IgnoreLowestFrame => {
                let frames = &mut state[parts.frames];
                let lowest = Self::LOWEST.min(frames.len());
                frames[..lowest].fill(0);
            }
            StateMutation::CompareHashes => {
                let fold = |hash: u8, byte: &u8| hash.rotate_left(3) ^ byte;
                state = vec![state.iter().fold(0, fold)];
            }
        }
        state
    }
}

impl Site {
    /// When the thread was here in this state; none if it was not.
    fn compare(&mut self, state: &[u8], changes: &mut Changes, now: Moment) -> Option<Moment> {
        if self.visits == 0 {
            self.last.bytes.clear();
            self.anchor.bytes.clear();
        }
        self.visits = self.visits.saturating_add(1);
        for copy in [&mut self.last, &mut self.anchor] {
            if copy.is(state, changes) {
                // The next round begins here.
                return Some(std::mem::replace(&mut copy.at, now));
            }
        }
        if self.visits > 1 && self.visits.is_power_of_two() {
            self.anchor.renew(state, now);
        }
        self.last.renew(state, now);
        None
    }
}
