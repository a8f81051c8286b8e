//! Store buffers: the program runs as on the target, where a store reaches memory later.
//!
//! To the explorer, the commit of a store is the only step of a thread of its own, which the store
//! spawns. Whatever the machine waits for is then a join: a commit joins the commit of the store
//! before it (on PSO, of those that it may not overtake), and an operation that drains the buffer
//! joins the last commits. A load reads the newest store of its own thread that is not committed,
//! or memory; to the explorer it reads the variable in both cases, so the order of a load and a
//! commit matters, and nothing else does.
//!
//! The thread id of a commit is computed from the storing thread and the number of its earlier
//! stores, so it is the same in every execution and in another process.
//!
//! Memory is the table of object states, since a variable may have been dropped when a store to it
//! is committed. A variable takes the committed value when it is used next; one at an address of the program's memory
//! takes it at once, since the program may read it without an operation.
#![allow(unsafe_code)] // It writes to the memory of the program.

use fencepost_explore::{Effect, Intent, ThreadStatus, Touch, TouchKind};
use fencepost_memory::{Access, Address, Operation, ThreadId};

use super::execution::{Execution, Phase};
use super::insertions::Inserted;
use super::location::LocationRef;
use super::mapping::{Drains, Events, Target};
use super::operation::Current;

/// The thread ids of the program when stores are buffered: those below the [width](Self::width).
/// The ids above are those of commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadIdSpace(u32);

impl ThreadIdSpace {
    /// Enough for most programs.
    pub const FIRST: ThreadIdSpace = ThreadIdSpace(4);
    /// All widths, the smallest first.
    pub const ALL: [ThreadIdSpace; 4] = [
        ThreadIdSpace::FIRST,
        ThreadIdSpace(32),
        ThreadIdSpace(512),
        ThreadIdSpace(8192),
    ];

    /// How many thread ids the program has.
    pub fn width(self) -> u32 {
        self.0
    }

    /// The space with this width.
    pub fn with_width(width: u32) -> Option<ThreadIdSpace> {
        ThreadIdSpace::ALL.into_iter().find(|ids| ids.0 == width)
    }

    /// The next wider space.
    pub fn next(self) -> Option<ThreadIdSpace> {
        ThreadIdSpace::ALL
            .into_iter()
            .find(|other| other.0 > self.0)
    }

    /// The thread id of the commit of a thread's store.
    pub fn commit(self, thread: ThreadId, store: u32) -> ThreadId {
        ThreadId((store + 1) * self.0 + thread.0)
    }

    /// The thread and the store whose commit has this id; none if it is the id of a thread of the
    /// program.
    #[inline]
    pub fn committed(self, number: ThreadId) -> Option<(ThreadId, u32)> {
        let store = (number.0 / self.0).checked_sub(1)?;
        Some((ThreadId(number.0 % self.0), store))
    }
}

/// A store that was issued.
#[derive(Debug)]
struct Store {
    object: Address,
    value: u64,
    location: LocationRef,
    /// The stores of the thread that are committed before it, and how many of their commits it has
    /// joined.
    after: Vec<u32>,
    known: usize,
    is_committed: bool,
    /// Whether the variable was changed through an exclusive reference since: the commit then
    /// changes nothing.
    is_void: bool,
    /// How many stores all threads had issued before.
    order: u64,
    /// The clock that a load of the stored value synchronizes with.
    released: Vec<u32>,
}

/// The store buffer of a thread.
#[derive(Debug, Default)]
struct Buffer {
    /// All stores of the thread in this execution, committed or not.
    stores: Vec<Store>,
    /// The last store to each variable, unless it is known to be committed.
    newest: Vec<(Address, u32)>,
    /// The last stores before a store barrier, which later ones may not overtake.
    barred: Vec<u32>,
    /// Whether the next operation has waited for the whole buffer, which was not empty.
    has_drained: bool,
    /// Whether the next operation has waited for any store.
    has_waited: bool,
}

impl Buffer {
    fn newest(&self, object: Address) -> Option<u32> {
        let mut newest = self.newest.iter();
        newest
            .find(|(known, _)| *known == object)
            .map(|(_, store)| *store)
    }

    /// The stores that are committed before the next store to a variable.
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
    /// By object: whether the variable has not taken the committed value yet.
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

    /// Whether stores are buffered.
    #[inline]
    pub(crate) fn are_enabled(&self) -> bool {
        self.ids.is_some()
    }

    /// Empties the buffers, for a new execution.
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

    /// Whether the thread has an id of the program's threads.
    #[inline]
    pub fn has_room_for(&self, thread: ThreadId) -> bool {
        self.ids.is_none_or(|ids| thread.0 < ids.0)
    }

    /// Forgets that the next operation has waited.
    pub(crate) fn forget_drain(&mut self, thread: ThreadId) {
        let buffer = self.buffer(thread);
        (buffer.has_drained, buffer.has_waited) = (false, false);
    }

    /// Whether the id is that of a commit.
    #[inline]
    pub(crate) fn is_commit(&self, number: ThreadId) -> bool {
        self.ids.is_some_and(|ids| ids.committed(number).is_some())
    }

    /// An upper bound of the ids of commits.
    #[inline]
    pub(crate) fn bound(&self) -> usize {
        let Some(ids) = self.ids else { return 0 };
        let stores = self.buffers.iter().map(|buffer| buffer.stores.len()).max();
        (stores.unwrap_or(0) + 1) * ids.0 as usize
    }

    /// The status of a commit.
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

    /// The source location of the store of a pending commit.
    pub(crate) fn location(&self, number: ThreadId) -> Option<LocationRef> {
        let (_, store) = self.store_of(number)?;
        (!store.is_committed).then_some(store.location)
    }

    /// The value that a load of the thread forwards from its own buffer; none if it reads memory.
    pub(crate) fn forwarded(&self, thread: ThreadId, object: Address) -> Option<u64> {
        let buffer = self.buffers.get(thread.index())?;
        let store = &buffer.stores[buffer.newest(object)? as usize];
        (!store.is_committed && !store.is_void).then_some(store.value)
    }

    /// The value of a variable after all buffered stores to it are committed in the order in which
    /// they were issued; none if there are none. Their commits change nothing any more.
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

    /// Marks stores as drained. Returns the commits that the thread has to join.
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

    /// A store barrier: later stores of the thread do not overtake earlier ones.
    pub(crate) fn bar(&mut self, thread: ThreadId) {
        let buffer = self.buffer(thread);
        buffer.barred = buffer.newest.iter().map(|&(_, store)| store).collect();
    }

    /// Checks whether an operation that consists of these events has waited for the right stores.
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

/// Whether an operation has waited for the stores that it waits for on the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waited {
    Enough,
    TooLittle,
    TooMuch,
}

impl Execution {
    /// Performs a step of a commit.
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
            let is_in_memory = self.write_to_memory(object, after);
            self.set_stale(object, !is_in_memory);
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

    /// Writes a committed value to the memory of the program, if the object is there: plain accesses may read it.
    fn write_to_memory(&self, object: Address, value: u64) -> bool {
        let Some((address, size)) = self.objects.place(object) else {
            return false;
        };
        let bytes = value.to_le_bytes();
        let place = std::ptr::with_exposed_provenance_mut::<u8>(address);
        let size = usize::from(size).min(bytes.len());
        // SAFETY: who has created the object promises that the memory is there.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), size) };
        true
    }

    fn set_stale(&mut self, object: Address, is_stale: bool) {
        let stale = &mut self.buffers.stale;
        if stale.len() <= object.index() {
            stale.resize(object.index() + 1, false);
        }
        stale[object.index()] = is_stale;
    }

    /// The value of a variable for the running thread, if it differs from the one in the variable.
    pub(crate) fn buffered_value(&self, object: Address) -> Option<u64> {
        let is_stale = self.buffers.stale.get(object.index()) == Some(&true);
        let own = self.buffers.forwarded(self.running.thread, object);
        own.or_else(|| is_stale.then(|| self.state(object)))
    }

    /// The committed value that a variable has not taken yet.
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
            // There are no commits any more.
            _ => self.buffers.take_last_issued(object),
        };
        let is_stale = self.buffers.stale.get(object.index()) == Some(&true);
        self.set_stale(object, false);
        unknown.or_else(|| is_stale.then(|| self.state(object)))
    }
}

impl Current {
    /// The value of a variable for the calling thread, if a store buffer or the last commit has
    /// another one than the variable.
    pub fn buffered_value(self, object: Address) -> Option<u64> {
        self.with(|execution| execution.buffered_value(object))
    }

    /// The committed value that a variable has not taken yet. The caller stores it there.
    pub fn take_committed(self, object: Address) -> Option<u64> {
        self.with(|execution| execution.take_committed(object))
    }

    /// Whether stores are buffered.
    #[inline]
    pub fn has_store_buffers(self) -> bool {
        self.are_buffers_enabled()
    }

    /// Whether the next store of the calling thread is buffered. What the only thread does is in
    /// memory before others start.
    #[inline]
    pub fn buffers_stores(self) -> bool {
        self.has_store_buffers() && !self.is_direct() && !self.is_alone()
    }

    /// The insertions at a source location.
    pub fn inserted(self, location: LocationRef) -> Inserted {
        self.with(|execution| match execution.recording.has_insertions {
            true => execution
                .names
                .registry()
                .insertions()
                .inserted(location.into()),
            false => Inserted::default(),
        })
    }

    /// Waits until these stores of the calling thread are committed.
    #[inline]
    pub fn drain(self, drains: Drains<'_>, location: LocationRef) {
        if self.has_store_buffers() && !self.is_direct() {
            self.drain_buffer(drains, location);
        }
    }

    #[cold]
    fn drain_buffer(self, drains: Drains<'_>, location: LocationRef) {
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

    /// Issues a store to the calling thread's buffer.
    pub fn buffer_store(
        self,
        object: Address,
        value: u64,
        is_releasing: bool,
        location: LocationRef,
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

    /// Completes the stores of the calling thread to a variable to which it has an exclusive
    /// reference. Returns the value that the variable has not taken yet.
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
    fn ids_of_commits_are_not_ids_of_threads() {
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
