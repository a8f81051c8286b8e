//! Nearest states first, by several threads: one distance after the other.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::control::Control;
use super::worker::{Plan, Trouble, Worker};
use crate::state::Store;
use crate::state::store::Number;

/// So many states are given to a thread at a time.
const CHUNK: usize = 64;

/// Fewer states than this are not worth starting threads.
const FEW: usize = 1024;

/// Compiled routines call each other, and may keep much on the stack.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// States that follow each other.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub numbers: Range<Number>,
    /// The states themselves, if only fingerprints are stored, and where the first one is.
    pub packed: Option<(Arc<Vec<u64>>, usize)>,
}

/// How a search ended.
pub(super) struct Ended {
    /// Nothing if all states were looked at.
    pub trouble: Option<Trouble>,
    pub depth: u64,
    pub rules_fired: u64,
    pub hits: Vec<u64>,
    /// What is still to be looked at: at this distance, and at the next.
    pub rest: [Vec<Chunk>; 2],
}

pub(super) struct Breadth<'p, 'm> {
    pub plan: &'p Plan<'m>,
    pub store: &'p Store,
    pub control: &'p Control<'p>,
    pub depth_allowed: u64,
}

impl Breadth<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> Ended {
        let mut workers: Vec<Worker<'_, '_>> = (0..self.plan.workers)
            .map(|_| Worker::new(self.plan, self.store, self.control.stop_flag()))
            .collect();
        let mut trouble = None;
        for (index, parameters) in starts {
            if let Err(found) = workers[0].start(*index, parameters) {
                trouble = Some(found);
                break;
            }
        }
        let level = self.collect(&mut workers);
        self.go_on(&mut workers, [level, Vec::new()], 0, trouble)
    }

    /// Looks at all states from a distance on.
    fn go_on(
        &self,
        workers: &mut [Worker<'_, '_>],
        [mut level, mut more]: [Vec<Chunk>; 2],
        mut depth: u64,
        mut trouble: Option<Trouble>,
    ) -> Ended {
        while trouble.is_none() && !level.is_empty() {
            if depth >= self.depth_allowed {
                trouble = Some(Trouble::Depth);
                break;
            }
            let queue: usize = level.iter().map(|chunk| chunk.numbers.len()).sum();
            self.control.at(depth, queue as u64);
            let (found, rest) = self.level(workers, &level);
            trouble = found;
            more.extend(self.collect(workers));
            if trouble.is_some() {
                level = rest;
                break;
            }
            level = std::mem::take(&mut more);
            if !level.is_empty() {
                depth += 1;
            }
        }
        if !more.is_empty() && trouble.is_some() {
            depth += 1;
        }
        let mut hits = vec![0; self.plan.model.points.len()];
        for worker in workers.iter() {
            for (total, hits) in hits.iter_mut().zip(worker.hits()) {
                *total += hits;
            }
        }
        Ended {
            trouble,
            depth,
            rules_fired: workers.iter().map(|worker| worker.rules_fired).sum(),
            hits,
            rest: [level, more],
        }
    }

    /// The states that were added, in chunks.
    fn collect(&self, workers: &mut [Worker<'_, '_>]) -> Vec<Chunk> {
        let words = self.plan.packer.words();
        let mut chunks = Vec::new();
        for worker in workers {
            let queue = Arc::new(std::mem::take(&mut worker.queue));
            let mut at = 0;
            for range in worker.writer.take_added() {
                for first in range.clone().step_by(CHUNK) {
                    let last = range.end.min(first.saturating_add(CHUNK as u32));
                    let packed = self.plan.is_compact.then(|| (Arc::clone(&queue), at));
                    at += (last - first) as usize * words;
                    chunks.push(Chunk {
                        numbers: first..last,
                        packed,
                    });
                }
            }
        }
        chunks
    }

    /// Looks at all states of a distance. If there is trouble, also what was not looked at.
    fn level(&self, workers: &mut [Worker<'_, '_>], level: &[Chunk]) -> (Option<Trouble>, Vec<Chunk>) {
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let states: usize = level.iter().map(|chunk| chunk.numbers.len()).sum();
        let work = |worker: &mut Worker<'_, '_>| self.work(worker, level, &next, &is_over);
        let results: Vec<(Option<Trouble>, Vec<Chunk>)> = match workers {
            [one] => vec![work(one)],
            [one, ..] if states < FEW => vec![work(one)],
            several => std::thread::scope(|scope| {
                let threads: Vec<_> = several
                    .iter_mut()
                    .map(|worker| {
                        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                        builder.spawn_scoped(scope, || work(worker))
                    })
                    .collect();
                threads
                    .into_iter()
                    .filter_map(|thread| match thread.ok()?.join() {
                        Ok(result) => Some(result),
                        Err(panic) => std::panic::resume_unwind(panic),
                    })
                    .collect()
            }),
        };
        let mut trouble: Option<Trouble> = None;
        let mut rest = Vec::new();
        for (found, chunks) in results {
            rest.extend(chunks);
            // Errors of the model are more than reasons to end.
            let is_better = match (&trouble, &found) {
                (_, None) => false,
                (None, _) => true,
                (Some(Trouble::At(_)), _) => false,
                (Some(_), Some(found)) => matches!(found, Trouble::At(_)),
            };
            if is_better {
                trouble = found;
            }
        }
        if trouble.is_some() {
            let untouched = next.load(Ordering::Relaxed).min(level.len());
            rest.extend_from_slice(&level[untouched..]);
        }
        (trouble, rest)
    }

    fn work(
        &self,
        worker: &mut Worker<'_, '_>,
        level: &[Chunk],
        next: &AtomicUsize,
        is_over: &AtomicBool,
    ) -> (Option<Trouble>, Vec<Chunk>) {
        let words = self.plan.packer.words();
        loop {
            if is_over.load(Ordering::Relaxed) {
                // Another thread found something.
                return match worker.flush() {
                    Ok(()) => (None, Vec::new()),
                    Err(trouble) => (Some(trouble), Vec::new()),
                };
            }
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = level.get(at) else {
                return match worker.flush() {
                    Ok(()) => (None, Vec::new()),
                    Err(trouble) => {
                        is_over.store(true, Ordering::Relaxed);
                        (Some(trouble), Vec::new())
                    }
                };
            };
            for (number, place) in chunk.numbers.clone().zip(0..) {
                let packed = chunk.packed.as_ref().map(|(queue, at)| {
                    let start = at + place * words;
                    &queue[start..start + words]
                });
                let mut looked_at = match self.control.is_stopped() {
                    true => Err(Trouble::Stopped),
                    false => worker.expand(number, packed),
                };
                if looked_at == Err(Trouble::Stopped)
                    && let Err(trouble) = worker.flush()
                {
                    looked_at = Err(trouble);
                }
                if let Err(trouble) = looked_at {
                    is_over.store(true, Ordering::Relaxed);
                    let rest = Chunk {
                        numbers: number..chunk.numbers.end,
                        packed: chunk
                            .packed
                            .as_ref()
                            .map(|(queue, at)| (Arc::clone(queue), at + place * words)),
                    };
                    return (Some(trouble), vec![rest]);
                }
            }
            self.control.count(worker.take_new_fired(), chunk.numbers.len() as u64);
        }
    }
}
