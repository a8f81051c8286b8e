//! Breadth-first search with several workers, level by level.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::checkpoint::SearchCheckpoint;
use super::control::Control;
use super::worker::{Plan, StopReason, Worker};
use crate::state::Store;
use crate::state::store::Number;

/// The number of states that a worker takes at a time.
const CHUNK: usize = 64;

/// Levels with fewer states than this are expanded by one worker.
const MIN_PARALLEL_STATES: usize = 256;

/// The stack size of workers: compiled routines call each other, and may need much of it.
pub(super) const STACK_BYTES: usize = 256 << 20;

/// States with consecutive numbers.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub numbers: Range<Number>,
    /// With hash compaction: the packed states, and the index of the first one.
    pub packed: Option<(Arc<Vec<u64>>, usize)>,
}

/// How a search ended.
pub(super) struct SearchEnd {
    /// Nothing if all states were expanded.
    pub reason: Option<StopReason>,
    pub depth: u64,
    /// See [`SearchOutcome::covered`](super::SearchOutcome::covered).
    pub covered: Option<u64>,
    pub rules_fired: u64,
    pub hits: Vec<u64>,
}

/// The progress of a breadth-first search between two levels; checkpoints save it.
#[derive(Default)]
pub(super) struct Stage {
    /// The states that are not expanded yet, of this level and of the next.
    pub level: Vec<Chunk>,
    pub more: Vec<Chunk>,
    /// The depth of `level`.
    pub depth: u64,
    /// The rules fired and points hit before the workers began.
    pub rules_fired: u64,
    pub hits: Vec<u64>,
}

pub(super) struct Breadth<'p, 'm> {
    pub plan: &'p Plan<'m>,
    pub store: &'p Store,
    pub control: &'p Control<'p>,
    pub depth_allowed: u64,
}

impl Breadth<'_, '_> {
    pub fn run(&self, starts: &[(usize, Vec<i64>)]) -> SearchEnd {
        let mut workers = self.workers();
        for (index, parameters) in starts {
            if let Err(reason) = workers[0].start(*index, parameters) {
                // Not all start states are stored, so no depth is covered.
                return SearchEnd {
                    covered: None,
                    ..self.ended(&workers, &Stage::default(), Some(reason))
                };
            }
        }
        let stage = Stage {
            level: self.collect(&mut workers),
            ..Stage::default()
        };
        self.expand_levels(&mut workers, stage)
    }

    /// Resumes a saved search.
    pub fn resume(&self, stage: Stage) -> SearchEnd {
        self.expand_levels(&mut self.workers(), stage)
    }

    fn workers(&self) -> Vec<Worker<'_, '_>> {
        (0..self.plan.workers)
            .map(|_| Worker::new(self.plan, self.store, self.control.stop_flag()))
            .collect()
    }

    /// Expands level after level.
    fn expand_levels(&self, workers: &mut [Worker<'_, '_>], mut stage: Stage) -> SearchEnd {
        let words = self.plan.packer.words();
        let kept =
            |stage: &Stage| queue_bytes(&stage.level, words) + queue_bytes(&stage.more, words);
        self.store.set_queue(kept(&stage));
        loop {
            if stage.level.is_empty() {
                stage.level = std::mem::take(&mut stage.more);
                self.store.set_queue(kept(&stage));
                if stage.level.is_empty() {
                    return self.ended(workers, &stage, None);
                }
                stage.depth += 1;
            }
            if stage.depth >= self.depth_allowed {
                self.save(workers, &stage);
                return self.ended(workers, &stage, Some(StopReason::Depth));
            }
            let queue: usize = stage.level.iter().map(|chunk| chunk.numbers.len()).sum();
            self.control.at_level(stage.depth, queue as u64);
            let (reason, rest) = self.level(workers, &stage.level);
            stage.more.extend(self.collect(workers));
            stage.level = rest;
            match reason {
                None => {}
                Some(StopReason::Stopped) if self.control.take_pause() => {
                    self.save(workers, &stage)
                }
                Some(reason) => {
                    if !matches!(reason, StopReason::At(_)) {
                        self.save(workers, &stage);
                    }
                    return self.ended(workers, &stage, Some(reason));
                }
            }
        }
    }

    fn totals(&self, workers: &[Worker<'_, '_>], stage: &Stage) -> (u64, Vec<u64>) {
        let fired: u64 = workers.iter().map(|worker| worker.rules_fired).sum();
        let mut hits = stage.hits.clone();
        hits.resize(self.plan.model.points.len(), 0);
        for worker in workers {
            for (total, hits) in hits.iter_mut().zip(worker.hits()) {
                *total += hits;
            }
        }
        (stage.rules_fired + fired, hits)
    }

    fn save(&self, workers: &[Worker<'_, '_>], stage: &Stage) {
        let (rules_fired, hits) = self.totals(workers, stage);
        self.control.save(&SearchCheckpoint {
            plan: self.plan,
            store: self.store,
            level: &stage.level,
            more: &stage.more,
            depth: stage.depth,
            rules_fired,
            hits: &hits,
        });
    }

    fn ended(
        &self,
        workers: &[Worker<'_, '_>],
        stage: &Stage,
        reason: Option<StopReason>,
    ) -> SearchEnd {
        let (rules_fired, hits) = self.totals(workers, stage);
        // States of the next level were found.
        let is_farther = reason.is_some() && !stage.more.is_empty();
        SearchEnd {
            reason,
            depth: stage.depth + u64::from(is_farther),
            covered: Some(stage.depth),
            rules_fired,
            hits,
        }
    }

    /// The states that the workers added, in chunks.
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

    /// Expands the states of a level. Returns the reason to stop, if there is one, and the states
    /// that were not expanded.
    fn level(
        &self,
        workers: &mut [Worker<'_, '_>],
        level: &[Chunk],
    ) -> (Option<StopReason>, Vec<Chunk>) {
        let next = AtomicUsize::new(0);
        let is_over = AtomicBool::new(false);
        let states: usize = level.iter().map(|chunk| chunk.numbers.len()).sum();
        let work = |worker: &mut Worker<'_, '_>| {
            let (reason, mut rest) = self.work(worker, level, &next, &is_over);
            rest.extend(worker.take_unfinished().into_iter().map(|number| Chunk {
                numbers: number..number + 1,
                packed: None,
            }));
            (reason, rest)
        };
        let results: Vec<(Option<StopReason>, Vec<Chunk>)> = match workers {
            [] => Vec::new(),
            [one] => vec![work(one)],
            [one, ..] if states < MIN_PARALLEL_STATES => vec![work(one)],
            [one, others @ ..] => std::thread::scope(|scope| {
                let threads: Vec<_> = others
                    .iter_mut()
                    .map(|worker| {
                        let builder = std::thread::Builder::new().stack_size(STACK_BYTES);
                        builder.spawn_scoped(scope, || work(worker))
                    })
                    .collect();
                // This thread works, too, even if no other can be started.
                let mut results = vec![work(one)];
                for thread in threads.into_iter().flatten() {
                    match thread.join() {
                        Ok(result) => results.push(result),
                        Err(panic) => std::panic::resume_unwind(panic),
                    }
                }
                results
            }),
        };
        let mut reason: Option<StopReason> = None;
        let mut rest = Vec::new();
        for (found, chunks) in results {
            rest.extend(chunks);
            // Errors of the model take precedence over limits. A broken symmetry takes precedence
            // over both, because it makes other results doubtful.
            let weight = |reason: &Option<StopReason>| match reason {
                None => 0,
                Some(StopReason::At(_)) => 2,
                Some(StopReason::AsymmetricItem(_)) => 3,
                Some(_) => 1,
            };
            let is_better = weight(&found) > weight(&reason);
            if is_better {
                reason = found;
            }
        }
        if reason.is_some() {
            let untouched = next.load(Ordering::Relaxed).min(level.len());
            rest.extend_from_slice(&level[untouched..]);
        }
        (reason, rest)
    }

    fn work(
        &self,
        worker: &mut Worker<'_, '_>,
        level: &[Chunk],
        next: &AtomicUsize,
        is_over: &AtomicBool,
    ) -> (Option<StopReason>, Vec<Chunk>) {
        let words = self.plan.packer.words();
        loop {
            if is_over.load(Ordering::Relaxed) {
                // Another worker stopped the level.
                return match worker.flush() {
                    Ok(()) => (None, Vec::new()),
                    Err(reason) => (Some(reason), Vec::new()),
                };
            }
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(chunk) = level.get(at) else {
                return match worker.flush() {
                    Ok(()) => (None, Vec::new()),
                    Err(reason) => {
                        is_over.store(true, Ordering::Relaxed);
                        (Some(reason), Vec::new())
                    }
                };
            };
            for (number, place) in chunk.numbers.clone().zip(0..) {
                let packed = chunk.packed.as_ref().map(|(queue, at)| {
                    let start = at + place * words;
                    &queue[start..start + words]
                });
                let mut expanded = match self.control.is_stopped() {
                    true => Err(StopReason::Stopped),
                    false => worker.expand(number, packed),
                };
                if expanded == Err(StopReason::Stopped)
                    && let Err(reason) = worker.flush()
                {
                    expanded = Err(reason);
                }
                if let Err(reason) = expanded {
                    is_over.store(true, Ordering::Relaxed);
                    let rest = Chunk {
                        numbers: number..chunk.numbers.end,
                        packed: chunk
                            .packed
                            .as_ref()
                            .map(|(queue, at)| (Arc::clone(queue), at + place * words)),
                    };
                    return (Some(reason), vec![rest]);
                }
            }
            self.control
                .count(worker.take_new_rules_fired(), chunk.numbers.len() as u64);
        }
    }
}

/// The bytes of the packed states that hash compaction keeps in the queue.
fn queue_bytes(chunks: &[Chunk], words: usize) -> u64 {
    let kept = chunks.iter().filter(|chunk| chunk.packed.is_some());
    kept.map(|chunk| (chunk.numbers.len() * words * 8) as u64)
        .sum()
}
