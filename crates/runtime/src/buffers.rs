//! Store buffers: the program run as the target runs it, and not as if every store were in memory at once.
//!
//! To the explorer the commit of a store is the one step of a thread of its own, which the store spawns and
//! which ends with it. What the machine waits for is then a join: a commit for the commit of the store before
//! (on PSO, of those that it may not overtake), and an operation that drains the buffer for the last
//! commits. A load reads the newest store of its own thread that is not committed, or memory; to the explorer
//! it reads the variable in both cases, so the order of a load and a commit matters, and nothing else does.
//!
//! The numbers of the commits' threads are made from the thread and from how many stores it had made before, so
//! they are the same in every execution, and in another process.
//!
//! Memory is the table of states, since a variable may be gone when a store to it is committed. A variable
//! learns what was committed when it is used next.

use std::panic::Location;

use fencepost_explore::{Effect, Intent, ThreadStatus, Touch, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::execution::{Execution, Phase};
use super::insertions::Inserted;
use super::mapping::{Drains, Events, Target};
use super::operation::Current;

/// How many numbers the threads of the program have, when stores are buffered; those above are of commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadIdSpace(u32);

impl ThreadIdSpace {
    /// Enough for most programs.
    pub const FIRST: ThreadIdSpace = ThreadIdSpace(4);
    /// All that there are, the smallest first.
    pub const ALL: [ThreadIdSpace; 4] = [
        ThreadIdSpace::FIRST,
        ThreadIdSpace(32),
        ThreadIdSpace(512),
        ThreadIdSpace(8192),
    ];

    /// How many numbers it has.
    pub fn width(self) -> u32 {
        self.0
    }

    /// The one with so many numbers.
    pub fn with_width(width: u32) -> Option<ThreadIdSpace> {
        ThreadIdSpace::ALL.into_iter().find(|ids| ids.0 == width)
    }

    /// The next larger one.
    pub fn next(self) -> Option<ThreadIdSpace> {
        ThreadIdSpace::ALL
            .into_iter()
            .find(|other| other.0 > self.0)
    }

    /// The number of the commit of a thread's store.
    pub fn commit(self, thread: ThreadId, store: u32) -> ThreadId {
        ThreadId((store + 1) * self.0 + thread.0)
    }

    /// Which store of which thread the number is the commit of; none if it is that of a thread.
    #[inline]
    pub fn committed(self, number: ThreadId) -> Option<(ThreadId, u32)> {
        let store = (number.0 / self.0).checked_sub(1)?;
        Some((ThreadId(number.0 % self.0), store))
    }
}

/// A store, from when it is issued.
#[derive(Debug)]
struct Store {
    object: Address,
    value: u64,
    location: &'static Location<'static>,
    /// The stores of the thread that are committed before it, and how many of them are known to be.
    after: Vec<u32>,
    known: usize,
    is_committed: bool,
    /// Who has the variable alone has changed it since: the store does nothing any more.
    is_void: bool,
    /// How many stores were issued before, by any thread.
    order: u64,
    /// What who reads it synchronizes with.
    released: Vec<u32>,
}

/// What a thread has stored.
#[derive(Debug, Default)]
struct Buffer {
    /// All that it has stored in this execution.
    stores: Vec<Store>,
    /// The last store to each variable that may not be committed.
    newest: Vec<(Address, u32)>,
    /// The last stores before a barrier between stores, which later ones may not overtake.
    barred: Vec<u32>,
    /// Whether its next operation has waited for everything, and there was something.
    has_drained: bool,
    /// Whether the operation has waited for anything.
    has_waited: bool,
}

impl Buffer {
    fn newest(&self, object: Address) -> Option<u32> {
        let mut newest = self.newest.iter();
        newest
            .find(|(known, _)| *known == object)
            .map(|(_, store)| *store)
    }

    /// The stores that the next one to a variable comes after.
    fn before_next(&self, object: Address, target: Target) -> Vec<u32> {
        if target == Target::X86 {
            return self
                .stores
                .len()
                .checked_sub(1)
                .map(|last| last as u32)
                .into_iter()
                .collect();
        }
        let mut before = self.barred.clone();
        before.extend(self.newest(object));
        before.sort_unstable();
        before.dedup();
        before
    }
}

/// The store buffers of an execution.
#[derive(Debug)]
pub(crate) struct StoreBuffers {
    ids: Option<ThreadIdSpace>,
    buffers: Vec<Buffer>,
    issued: u64,
    /// By object: whether the variable does not know yet what was committed.
    stale: Vec<bool>,
}

impl StoreBuffers {
    pub(crate) fn new(ids: Option<ThreadIdSpace>) -> Self {
        StoreBuffers {
            ids,
            buffers: Vec::new(),
            issued: 0,
            stale: Vec::new(),
        }
    }

    /// Whether stores are buffered at all.
    #[inline]
    pub(crate) fn are_enabled(&self) -> bool {
        self.ids.is_some()
    }

    /// Empties them, for a new execution.
    pub(crate) fn reset(&mut self) {
        for buffer in &mut self.buffers {
            buffer.stores.clear();
            buffer.newest.clear();
            buffer.barred.clear();
            buffer.has_drained = false;
            buffer.has_waited = false;
        }
        self.issued = 0;
        self.stale.fill(false);
    }

    fn store_of(&self, number: ThreadId) -> Option<(ThreadId, &Store)> {
        let (thread, store) = self.ids?.committed(number)?;
        let store = self
            .buffers
            .get(thread.index())?
            .stores
            .get(store as usize)?;
        Some((thread, store))
    }

    /// Whether there is a number for the thread.
    #[inline]
    pub fn has_room_for(&self, thread: ThreadId) -> bool {
        self.ids.is_none_or(|ids| thread.0 < ids.0)
    }

    /// An operation has waited for everything and is no event of the machine yet.
    pub(crate) fn forget_drain(&mut self, thread: ThreadId) {
        let buffer = self.buffer(thread);
        (buffer.has_drained, buffer.has_waited) = (false, false);
    }

    /// Whether the number is one of commits.
    #[inline]
    pub(crate) fn is_commit(&self, number: ThreadId) -> bool {
        self.ids.is_some_and(|ids| ids.committed(number).is_some())
    }

    /// A number above that of every commit.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        let Some(ids) = self.ids else { return 0 };
        let stores = self.buffers.iter().map(|buffer| buffer.stores.len()).max();
        (stores.unwrap_or(0) + 1) * ids.0 as usize
    }

    /// Where a commit stands.
    #[cold]
    pub(crate) fn status(&self, number: ThreadId) -> ThreadStatus {
        let Some((thread, store)) = self.store_of(number) else {
            return ThreadStatus::NotSpawned;
        };
        if store.is_committed {
            return ThreadStatus::Finished;
        }
        let intent = match (self.ids, store.after.get(store.known)) {
            (Some(ids), Some(&before)) => Intent::Join(ids.commit(thread, before)),
            _ => Intent::Access {
                object: store.object,
                effect: Effect::Write,
                awaits: None,
            },
        };
        ThreadStatus::Pending {
            intent,
            outcomes: 1,
        }
    }

    /// Where the store of a commit is in the source.
    pub(crate) fn location(&self, number: ThreadId) -> Option<&'static Location<'static>> {
        let (_, store) = self.store_of(number)?;
        (!store.is_committed).then_some(store.location)
    }

    /// What a thread reads of its own stores to a variable, if not memory.
    pub(crate) fn forwarded(&self, thread: ThreadId, object: Address) -> Option<u64> {
        let buffer = self.buffers.get(thread.index())?;
        let store = &buffer.stores[buffer.newest(object)? as usize];
        (!store.is_committed && !store.is_void).then_some(store.value)
    }

    /// What a variable has when all stores to it are committed in the order in which they were issued, if not
    /// what it has. They are void from now on.
    fn take_last_issued(&mut self, object: Address) -> Option<u64> {
        let stores = self
            .buffers
            .iter_mut()
            .flat_map(|buffer| &mut buffer.stores);
        stores
            .filter(|store| store.object == object && !store.is_committed && !store.is_void)
            .map(|store| {
                store.is_void = true;
                (store.order, store.value)
            })
            .max()
            .map(|(_, value)| value)
    }

    fn buffer(&mut self, thread: ThreadId) -> &mut Buffer {
        if self.buffers.len() <= thread.index() {
            self.buffers
                .resize_with(thread.index() + 1, Buffer::default);
        }
        &mut self.buffers[thread.index()]
    }

    /// Takes a note of the last stores that a thread has to wait for. Returns them.
    fn drain(&mut self, thread: ThreadId, drains: Drains<'_>) -> Vec<ThreadId> {
        let Some(ids) = self.ids else {
            return Vec::new();
        };
        let buffer = self.buffer(thread);
        let barred = match drains {
            Drains::Nothing => Vec::new(),
            _ => std::mem::take(&mut buffer.barred),
        };
        let mut last = Vec::new();
        buffer.newest.retain(|&(object, store)| {
            let is_drained = match drains {
                Drains::Nothing => false,
                Drains::Addresses(addresses) => {
                    addresses.contains(&object) || barred.contains(&store)
                }
                Drains::Everything => true,
            };
            if is_drained {
                last.push(store);
            }
            !is_drained
        });
        last.extend(barred);
        last.sort_unstable();
        last.dedup();
        let is_all = drains == Drains::Everything;
        buffer.has_drained = is_all && !last.is_empty();
        buffer.has_waited = !last.is_empty();
        last.into_iter()
            .map(|store| ids.commit(thread, store))
            .collect()
    }

    /// Later stores of the thread do not overtake earlier ones.
    pub(crate) fn bar(&mut self, thread: ThreadId) {
        let buffer = self.buffer(thread);
        buffer.barred = buffer.newest.iter().map(|&(_, store)| store).collect();
    }

    /// An operation is these events of the machine.
    pub(crate) fn check(&mut self, thread: ThreadId, events: Events, target: Target) -> Waited {
        let Some(operation) = events.operation.or(events.barrier) else {
            return Waited::Enough;
        };
        let buffer = self.buffer(thread);
        let has_drained = std::mem::take(&mut buffer.has_drained);
        let has_waited = std::mem::take(&mut buffer.has_waited);
        let drains_all = operation == Operation::Fence
            || operation.is_locked() && (target == Target::X86 || events.barrier.is_some());
        let own = operation.address().filter(|_| operation.is_locked());
        let is_missing = match drains_all {
            true => !buffer.newest.is_empty(),
            false => {
                own.is_some_and(|own| buffer.newest(own).is_some() || !buffer.barred.is_empty())
            }
        };
        let is_too_much = has_drained || has_waited && own.is_none();
        match (is_missing, is_too_much && !drains_all) {
            (true, _) => Waited::TooLittle,
            (false, true) => Waited::TooMuch,
            (false, false) => Waited::Enough,
        }
    }
}

/// Whether an operation has waited for the stores for which it waits on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    Enough,
    TooLittle,
    TooMuch,
}

impl Execution {
    /// Takes a step of a commit.
    #[cold]
    pub(crate) fn step_commit(&mut self, number: ThreadId) {
        let Some(ids) = self.buffers.ids else {
            return;
        };
        let Some((thread, store)) = ids.committed(number) else {
            return;
        };
        let store = &mut self.buffers.buffers[thread.index()].stores[store as usize];
        if store.known < store.after.len() {
            store.known += 1;
            return;
        }
        store.is_committed = true;
        let (object, location, value) = (store.object, store.location, store.value);
        let is_void = store.is_void;
        let released = std::mem::take(&mut store.released);
        let before = self.state(object);
        let after = if is_void { before } else { value };
        self.set_state(object, after);
        if !is_void {
            self.set_stale(object, true);
            if self.races.are_tracked() {
                self.races.commit(thread, object, &released);
            }
        }
        let location = Some(self.names.location(location));
        let performed = self.performed_mut();
        performed.touches.push(Touch {
            object,
            kind: TouchKind::Write,
            before,
            after,
        });
        performed.accesses.push(Access {
            thread: number,
            operation: Operation::Store(object),
            value: Some(value),
            location,
        });
    }

    fn set_stale(&mut self, object: Address, is_stale: bool) {
        let stale = &mut self.buffers.stale;
        if stale.len() <= object.index() {
            stale.resize(object.index() + 1, false);
        }
        stale[object.index()] = is_stale;
    }

    /// What the running thread sees of a variable, if the variable does not know it.
    pub(crate) fn seen(&self, object: Address) -> Option<u64> {
        let is_stale = self.buffers.stale.get(object.index()) == Some(&true);
        let own = self.buffers.forwarded(self.running.thread, object);
        own.or_else(|| is_stale.then(|| self.state(object)))
    }

    /// What a variable does not know yet: what was committed to it. It knows now.
    #[inline]
    pub(crate) fn take_committed(&mut self, object: Address) -> Option<u64> {
        match self.buffers.are_enabled() {
            true => self.take_from_buffers(object),
            false => None,
        }
    }

    #[cold]
    fn take_from_buffers(&mut self, object: Address) -> Option<u64> {
        let unknown = match self.phase {
            Phase::Running => None,
            // Nothing will be committed any more.
            _ => self.buffers.take_last_issued(object),
        };
        let is_stale = self.buffers.stale.get(object.index()) == Some(&true);
        self.set_stale(object, false);
        unknown.or_else(|| is_stale.then(|| self.state(object)))
    }
}

impl Current {
    /// The value of a variable as the calling thread sees it, if a store buffer or the last commit
    /// has another one than the variable.
    pub fn buffered_value(self, object: Address) -> Option<u64> {
        self.with(|execution| execution.seen(object))
    }

    /// What was committed to a variable and is not in it yet. The caller puts it there.
    pub fn take_committed(self, object: Address) -> Option<u64> {
        self.with(|execution| execution.take_committed(object))
    }

    /// Whether stores wait in buffers.
    #[inline]
    pub fn has_store_buffers(self) -> bool {
        self.read(|execution| execution.buffers.are_enabled())
    }

    /// Whether a store that the thread makes now is buffered. What a thread does while it is alone is done
    /// before others begin.
    #[inline]
    pub fn buffers_stores(self) -> bool {
        self.has_store_buffers() && !self.is_direct() && !self.is_alone()
    }

    /// What is done to operations at a place.
    pub fn inserted(self, location: &'static Location<'static>) -> Inserted {
        self.with(|execution| match execution.recording.has_insertions {
            true => execution
                .names
                .registry()
                .insertions()
                .inserted(location.into()),
            false => Inserted::default(),
        })
    }

    /// Waits until stores of the calling thread are in memory.
    #[inline]
    pub fn drain(self, drains: Drains<'_>, location: &'static Location<'static>) {
        if self.has_store_buffers() && !self.is_direct() {
            self.drain_buffer(drains, location);
        }
    }

    #[cold]
    fn drain_buffer(self, drains: Drains<'_>, location: &'static Location<'static>) {
        let inserted = self.inserted(location).barrier();
        let last = self.with(|execution| {
            let thread = execution.running.thread;
            if inserted == Some(Operation::StoreBarrier) {
                execution.buffers.bar(thread);
            }
            if inserted != Some(Operation::Fence) {
                return execution.buffers.drain(thread, drains);
            }
            let last = execution.buffers.drain(thread, Drains::Everything);
            execution.buffers.forget_drain(thread);
            last
        });
        for commit in last {
            self.stop_before(Intent::Join(commit), location);
        }
    }

    /// Puts a store into the calling thread's buffer. `released` is what who reads it synchronizes with.
    pub fn buffer_store(
        self,
        object: Address,
        value: u64,
        is_releasing: bool,
        location: &'static Location<'static>,
    ) {
        self.with(|execution| {
            let (thread, target) = (execution.running.thread, execution.setup.target);
            let Some(ids) = execution.buffers.ids else {
                return;
            };
            let released = match execution.races.are_tracked() {
                true => execution.races.released_by_store(thread, is_releasing),
                false => Vec::new(),
            };
            let order = execution.buffers.issued;
            execution.buffers.issued += 1;
            let buffer = execution.buffers.buffer(thread);
            let after = buffer.before_next(object, target);
            let number = buffer.stores.len() as u32;
            buffer.stores.push(Store {
                object,
                value,
                location,
                after,
                known: 0,
                is_committed: false,
                is_void: false,
                order,
                released,
            });
            buffer.newest.retain(|&(known, _)| known != object);
            buffer.newest.push((object, number));
            let commit = ids.commit(thread, number);
            execution.performed_mut().spawned.push(commit);
        });
    }

    /// The calling thread has a variable alone: its stores to it are done. What it has then, if it does not
    /// know.
    pub fn take_exclusive(self, object: Address) -> Option<u64> {
        self.with(|execution| {
            let thread = execution.running.thread;
            let own = execution.buffers.forwarded(thread, object);
            let committed = execution.take_committed(object);
            if let Some(buffer) = execution.buffers.buffers.get_mut(thread.index()) {
                buffer.newest.retain(|&(known, _)| known != object);
                let stores = buffer.stores.iter_mut();
                for store in stores.filter(|store| store.object == object) {
                    store.is_void |= !store.is_committed;
                }
            }
            own.or(committed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_commits_are_those_of_no_threads() {
        for ids in ThreadIdSpace::ALL {
            for thread in [0, 1, 2, 3].map(ThreadId) {
                assert_eq!(ids.committed(thread), None);
                for store in [0, 1, 2, 100] {
                    let number = ids.commit(thread, store);
                    assert_eq!(ids.committed(number), Some((thread, store)));
                }
            }
        }
    }
}
