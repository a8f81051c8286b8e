//! Exploring a program, from the start again whenever it asks for a restart.
//!
//! Some operations are not steps as long as no thread can notice them: the end of a thread, the initialization of a
//! static, the drop of an `Arc`. When a program turns out to notice, it asks for a [`Restart`], and the exploration
//! starts over with a [`Setup`](fencepost_runtime::Setup) in which the operation is a step.

use std::ops::ControlFlow;
use std::sync::Arc;

use fencepost_explore::{CheckpointOptions, CheckpointWriter, explore_with_checkpoints};
use fencepost_report::check::Refusal;
use fencepost_runtime::{ComparedStates, Restart, Setup, ThreadIdSpace};

use super::checkpoint::CheckpointFile;
use super::progress::ProgressLine;
use super::session::{Report, Session};

/// A check restarts at most this often.
const MOST_RESTARTS: usize = 1000;

impl Session {
    /// Explores the program, from a checkpoint if there is one, and confirms the findings.
    pub(super) fn explore(&mut self) -> Result<Report, Refusal> {
        let mut resume_from = None;
        let file = CheckpointFile::of(&self.checker, self.identity)?;
        if let Some(file) = &file {
            if let Some(loaded) = file.load(&self.settings, self.setup)? {
                resume_from = Some(loaded.checkpoint);
                self.registry = Arc::new(loaded.registry);
                self.setup = loaded.setup;
            }
        }
        let mut progress = ProgressLine::new(self.checker.progress);
        let mut replayer = None;
        let mut report = self.explore_until_settled::<Refusal>(|session| {
            let mut update = |state: &_| {
                progress.update(state);
                ControlFlow::Continue(())
            };
            let mut save = |checkpoint| {
                if let Some(file) = &file {
                    file.save(checkpoint, &session.registry, session.setup);
                }
            };
            let writer = file.as_ref().map(|file| CheckpointWriter {
                interval: file.every,
                save: &mut save,
            });
            let options = CheckpointOptions {
                resume_from: resume_from.take(),
                writer,
            };
            let make = || session.runtime();
            let explored = explore_with_checkpoints(make, &session.settings, &mut update, options);
            let (report, again) = explored.map_err(|error| match &file {
                Some(file) => Refusal::Checkpoint(file.refuse(error)),
                None => Refusal::Explorer(error.into()),
            })?;
            replayer = Some(again);
            Ok(report)
        })?;
        progress.end();
        if let Some(file) = &file {
            file.end(report.is_resumable);
            self.checkpoint_note = file.note();
        }
        if let Some(replayer) = replayer {
            self.confirm(&mut report, replayer);
        }
        Ok(report)
    }

    /// Calls `explore` until the program asks for no restart any more.
    pub(super) fn explore_until_settled<E: From<Refusal>>(
        &mut self,
        mut explore: impl FnMut(&Session) -> Result<Report, E>,
    ) -> Result<Report, E> {
        for _ in 0..MOST_RESTARTS {
            let report = explore(self)?;
            match &report.restart {
                None => return Ok(report),
                // What was to be tried is that there is no such memory.
                Some(Restart::UnseenMemory) if self.unrolls() => return Ok(report),
                Some(restart) => apply(restart, &mut self.setup)?,
            }
        }
        panic!("internal error: a check has restarted too often; this is a bug in Fencepost");
    }
}

/// Changes the setup as a restart asks for.
fn apply(restart: &Restart, setup: &mut Setup) -> Result<(), Refusal> {
    match restart {
        // The registry has recorded it.
        Restart::OrderedDrops | Restart::UnseenMemory | Restart::EndlessLoop => {}
        Restart::VisibleEnds => setup.are_ends_visible = true,
        Restart::VisibleStatics => setup.are_statics_visible = true,
        Restart::ComparedStates => setup.compared_states = ComparedStates::Always,
        Restart::AnnouncedWriters => setup.are_writers_announced = true,
        Restart::LateDestructors => setup.are_destructors_late = true,
        Restart::TakenTokens => setup.do_waits_take_tokens = true,
        Restart::WiderThreadIdSpace => {
            let wider = setup.store_buffers.and_then(ThreadIdSpace::next);
            setup.store_buffers = Some(wider.ok_or(Refusal::TooManyThreads)?);
        }
        restart => panic!("internal error: the check cannot restart with {restart:?}"),
    }
    Ok(())
}
