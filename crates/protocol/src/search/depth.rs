//! Farthest states first, by one thread.

use super::breadth::Ended;
use super::control::Control;
use super::worker::{Plan, Trouble, Worker};
use crate::state::Store;
use crate::state::store::Number;

pub(super) struct Depth<'p, 'm> {
    pub plan: &'p Plan<'m>,
    pub store: &'p Store,
    pub control: &'p Control<'p>,
    pub depth_allowed: u64,
}

/// A state that is still to be looked at.
struct Waiting {
    number: Number,
    depth: u64,
    /// The state itself, if only fingerprints are stored.
    packed: Option<Box<[u64]>>,
}

impl Depth<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> Ended {
        let mut worker = Worker::new(self.plan, self.store, self.control.stop_flag());
        let mut stack = Vec::new();
        let mut deepest = 0;
        let mut trouble = None;
        for (index, parameters) in starts {
            if let Err(found) = worker.start(*index, parameters) {
                trouble = Some(found);
                break;
            }
        }
        self.push_added(&mut worker, 0, &mut stack);
        let mut is_cut = false;
        while let (None, Some(next)) = (&trouble, stack.pop()) {
            if self.control.is_stopped() {
                trouble = Some(Trouble::Stopped);
                break;
            }
            if next.depth >= self.depth_allowed {
                is_cut = true;
                continue;
            }
            let looked_at = worker.expand(next.number, next.packed.as_deref());
            let looked_at = looked_at.and_then(|()| worker.flush());
            trouble = looked_at.err();
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
            self.control.count(worker.take_new_fired(), 0);
        }
        if trouble.is_none() && is_cut {
            trouble = Some(Trouble::Depth);
        }
        Ended {
            trouble,
            depth: deepest,
            covered: None,
            rules_fired: worker.rules_fired,
            hits: worker.hits().to_vec(),
        }
    }

    fn push_added(&self, worker: &mut Worker<'_, '_>, depth: u64, stack: &mut Vec<Waiting>) {
        let queue = std::mem::take(&mut worker.queue);
        let mut packed = queue.chunks_exact(self.plan.packer.words());
        for number in worker.writer.take_added().into_iter().flatten() {
            stack.push(Waiting {
                number,
                depth,
                packed: packed.next().map(Box::from),
            });
        }
    }
}
