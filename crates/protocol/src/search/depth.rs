//! Depth-first search, by one worker.

use super::breadth::SearchEnd;
use super::control::Control;
use super::worker::{Plan, StopReason, Worker};
use crate::state::Store;
use crate::state::store::Number;

pub(super) struct Depth<'p, 'm> {
    pub plan: &'p Plan<'m>,
    pub store: &'p Store,
    pub control: &'p Control<'p>,
    pub depth_allowed: u64,
}

/// A state that is not expanded yet.
struct PendingState {
    number: Number,
    depth: u64,
    /// With hash compaction: the packed state.
    packed: Option<Box<[u64]>>,
}

impl Depth<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> SearchEnd {
        let mut worker = Worker::new(self.plan, self.store, self.control.stop_flag());
        let mut stack = Vec::new();
        let mut deepest = 0;
        let mut reason = None;
        for (index, parameters) in starts {
            if let Err(found) = worker.start(*index, parameters) {
                reason = Some(found);
                break;
            }
        }
        self.push_added(&mut worker, 0, &mut stack);
        let mut is_cut = false;
        while let (None, Some(next)) = (&reason, stack.pop()) {
            if self.control.is_stopped() {
                reason = Some(StopReason::Stopped);
                break;
            }
            if next.depth >= self.depth_allowed {
                is_cut = true;
                continue;
            }
            let expanded = worker.expand(next.number, next.packed.as_deref());
            let expanded = expanded.and_then(|()| worker.flush());
            reason = expanded.err();
            let before = stack.len();
            self.push_added(&mut worker, next.depth + 1, &mut stack);
            if stack.len() > before {
                deepest = deepest.max(next.depth + 1);
            }
            if self.plan.is_compact {
                let bytes = 8 * self.plan.packer.words() as u64;
                self.store.set_queue(bytes * stack.len() as u64);
            }
            self.control.at(next.depth, stack.len() as u64);
            self.control.count(worker.take_new_rules_fired(), 0);
        }
        if reason.is_none() && is_cut {
            reason = Some(StopReason::Depth);
        }
        SearchEnd {
            reason,
            depth: deepest,
            covered: None,
            rules_fired: worker.rules_fired,
            hits: worker.hits().to_vec(),
        }
    }

    fn push_added(&self, worker: &mut Worker<'_, '_>, depth: u64, stack: &mut Vec<PendingState>) {
        let queue = std::mem::take(&mut worker.queue);
        let mut packed = queue.chunks_exact(self.plan.packer.words());
        for number in worker.writer.take_added().into_iter().flatten() {
            stack.push(PendingState {
                number,
                depth,
                packed: packed.next().map(Box::from),
            });
        }
    }
}
