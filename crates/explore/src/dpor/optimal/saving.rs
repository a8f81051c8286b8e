//! Checkpoints of a worker that shares nothing: its path with all nodes.

use fencepost_memory::ThreadId;

use super::{Node, Optimal};
use crate::dpor::learned::LearnedFootprints;
use crate::driver::checkpoint::{SavedNode, SavedPath, SavedTree};
use crate::execution::fault::Fault;
use crate::execution::fingerprint::Fingerprint;
use crate::execution::run::End;
use crate::program::{Program, Stop};

impl<P: Program> Optimal<P> {
    /// The unexplored part of the tree, between two executions.
    pub(crate) fn remaining(&self, has_work: bool) -> SavedTree {
        SavedTree {
            learned: self
                .run
                .learned
                .as_ref()
                .map_or(Vec::new(), LearnedFootprints::pairs),
            path: has_work.then(|| self.saved_path()),
        }
    }

    fn saved_path(&self) -> SavedPath {
        let log = &self.run.log;
        let settled = (0..log.race_count()).filter(|&race| log.race(race).is_settled);
        let saved = |node: &Node| SavedNode {
            explored: node.explored,
            asleep: self.sleep.to_vec(node.sleep),
            planned: self.forest.planned_steps(node.tree),
        };
        SavedPath {
            schedule: self.run.schedule(),
            fingerprint: Fingerprint::of(log),
            settled: settled.map(|race| race as u32).collect(),
            nodes: self.nodes[..=log.len()].iter().map(saved).collect(),
        }
    }

    /// Resumes a search after this many executions. Returns false if nothing is left.
    pub(crate) fn resume(&mut self, tree: &SavedTree, executions: u64) -> bool {
        self.run.learned = Some(LearnedFootprints::from_pairs(&tree.learned));
        self.run.findings.execution = executions;
        if let Some(path) = &tree.path {
            self.restore_path(path);
        }
        tree.path.is_some()
    }

    /// Replays a path and restores its nodes. The next execution begins from there.
    fn restore_path(&mut self, path: &SavedPath) {
        let turns = &path.schedule.0;
        let mut result = match turns.is_empty() {
            // The program may fail before its first operation.
            true => Ok(()),
            false => self.run.begin().and_then(|()| self.run.follow(turns)),
        };
        if result.is_ok() && Fingerprint::of(&self.run.log) != path.fingerprint {
            // The path was checked when the checkpoint was read, and ran differently now.
            let last = turns.last().map_or(ThreadId(0), |turn| turn.thread);
            let step = turns.len();
            result = Err(Fault::InfeasibleSchedule { step, thread: last }.into());
        }
        let mut end = match result {
            Ok(()) => End::Redundant,
            Err(Stop::Restart(_) | Stop::Error(Fault::Program(_))) => {
                End::Fault(Fault::InfeasibleSchedule {
                    step: self.run.log.len(),
                    thread: ThreadId(0),
                })
            }
            Err(Stop::Error(fault)) => End::Fault(fault),
        };
        self.run.finish(&mut end);
        if let End::Fault(fault) = end {
            let schedule = self.run.schedule();
            self.run.findings.fault(fault, schedule, &[]);
            self.run.findings.should_stop = true;
            return;
        }
        for &race in &path.settled {
            if (race as usize) < self.run.log.race_count() {
                self.run.log.settle(race as usize);
            }
        }
        let (forest, sleep) = (&mut self.forest, &mut self.sleep);
        sleep.clear();
        let restored = path.nodes.iter().map(|node| Node {
            sleep: sleep.put(&node.asleep),
            tree: forest.restore(&node.planned),
            explored: node.explored,
        });
        self.nodes = restored.collect();
    }
}
