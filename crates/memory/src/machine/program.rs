//! The part of a machine that does not change during a run, arranged so that every step
//! takes constant time.

use rustc_hash::FxHashMap;

use super::step::EventId;
use crate::event::{Access, Address, IssueIndex, Operation, ThreadId};

/// No operation.
pub(super) const NONE: u32 = u32::MAX;

/// A program with what its runs look up. Operations are numbered through, thread by
/// thread; a *queue* is a thread with an address that it accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) accesses: Vec<Access>,
    /// The first operation of each thread, and at the end the number of operations.
    pub(super) starts: Vec<u32>,
    /// For each operation, in the same order.
    pub(super) links: Vec<OperationLinks>,
    pub(super) cells: FxHashMap<Address, u32>,
    pub(super) queues: FxHashMap<(ThreadId, Address), u32>,
}

/// The address and the neighbouring stores of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperationLinks {
    /// The number of its address among the addresses in use.
    pub(super) cell: u32,
    pub(super) queue: u32,
    /// The last earlier and the first later plain store in the same queue.
    pub(super) store_before: u32,
    pub(super) store_after: u32,
    /// How many store-store barriers of the thread come before.
    pub(super) epoch: u32,
}

impl Program {
    pub(super) fn new(threads: impl Iterator<Item = Vec<Access>>) -> Self {
        let mut program = Program::default();
        // The last store so far in each queue.
        let mut last_stores: Vec<u32> = Vec::new();
        for (thread, accesses) in threads.enumerate() {
            let thread = ThreadId(u32::try_from(thread).expect("less than 2^32 threads"));
            program.starts.push(program.accesses.len() as u32);
            program.accesses.reserve(accesses.len());
            program.links.reserve(accesses.len());
            let mut epoch = 0;
            for access in accesses {
                let access = Access { thread, ..access };
                let index = program.accesses.len() as u32;
                assert!(
                    index < NONE - 1,
                    "a program has less than 2^32 - 2 operations"
                );
                let (mut cell, mut queue, mut store_before) = (NONE, NONE, NONE);
                if let Some(address) = access.operation.address() {
                    let cells = program.cells.len() as u32;
                    cell = *program.cells.entry(address).or_insert(cells);
                    let queues = program.queues.len() as u32;
                    queue = *program.queues.entry((thread, address)).or_insert(queues);
                    if queue as usize == last_stores.len() {
                        last_stores.push(NONE);
                    }
                    let last_store = &mut last_stores[queue as usize];
                    store_before = *last_store;
                    if matches!(access.operation, Operation::Store(_)) {
                        if let Some(before) = program.links.get_mut(store_before as usize) {
                            before.store_after = index;
                        }
                        *last_store = index;
                    }
                }
                program.links.push(OperationLinks {
                    cell,
                    queue,
                    store_before,
                    store_after: NONE,
                    epoch,
                });
                program.accesses.push(access);
                epoch += u32::from(access.operation == Operation::StoreBarrier);
            }
        }
        program.starts.push(program.accesses.len() as u32);
        program
    }

    pub(super) fn threads(&self) -> usize {
        self.starts.len() - 1
    }

    pub(super) fn id(&self, index: u32) -> EventId {
        let thread = self.accesses[index as usize].thread;
        EventId {
            thread,
            issue: IssueIndex(u64::from(index - self.starts[thread.index()]) + 1),
        }
    }

    pub(super) fn id_if_any(&self, index: u32) -> Option<EventId> {
        (index != NONE).then(|| self.id(index))
    }
}
