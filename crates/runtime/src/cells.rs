//! Cells whose accesses are checked for data races.

use super::error::ProgramError;
use super::execution::Phase;
use super::foreign;
use super::location::{LocationRef, OwnedLocation};
use super::operation::Current;

/// A cell of an execution, or one that was created outside of any.
#[derive(Debug)]
pub struct CheckedCell {
    execution: u64,
    index: u32,
    created_at: LocationRef,
}

/// The step in which an access to a cell started.
#[derive(Clone, Copy, Debug)]
pub struct CellAccessStart {
    step: u64,
}

/// How a cell is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellAccessKind {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

impl CheckedCell {
    /// Creates a cell. This counts as a write.
    pub fn new(location: LocationRef) -> Self {
        let (execution, index) = match Current::get() {
            None => (0, 0),
            Some(current) => current.with(|execution| {
                let index = execution
                    .races
                    .create_cell(execution.running.thread, location);
                if execution.phase == Phase::StaticInit {
                    execution.statics.initializer.add_cell(index);
                }
                (execution.serial, index)
            }),
        };
        CheckedCell {
            execution,
            index,
            created_at: location,
        }
    }

    /// Gives the cell a name for reports.
    pub fn set_name(&self, name: &str) {
        if let Some(current) = Current::get() {
            if current.is_of(self.execution) {
                current.with(|execution| execution.races.name_cell(self.index, name));
            }
        }
    }

    /// Starts an access. A data race ends the execution.
    #[inline]
    pub fn begin(&self, how: CellAccessKind, location: LocationRef) -> CellAccessStart {
        match Current::get() {
            Some(current) => self.begin_in(current, how, location),
            None => {
                if self.execution != 0 {
                    foreign::report_foreign_use(self.execution, self.created_at, location);
                }
                CellAccessStart { step: 0 }
            }
        }
    }

    /// Ends an access. If the thread took a step meanwhile, other threads may have run, so the end
    /// counts as an access too.
    #[inline]
    pub fn end(&self, how: CellAccessKind, begun: CellAccessStart, location: LocationRef) {
        if let Some(current) = Current::get() {
            if current.step_count() != begun.step {
                self.begin_in(current, how, location);
            }
        }
    }

    fn begin_in(
        &self,
        current: Current,
        how: CellAccessKind,
        location: LocationRef,
    ) -> CellAccessStart {
        if current.phase() == Phase::StaticInit
            && !current.is_alone()
            && !current.with(|execution| execution.statics.initializer.has_cell(self.index))
        {
            current.note_shared_use();
        }
        let is_early = current.with(|execution| {
            execution.phase == Phase::Running && execution.slot().is_in_early_destructor
        });
        if is_early {
            current.request_late_destructors();
        }
        let (race, dropped, step) = current.with(|execution| {
            let step = execution.recording.steps;
            if execution.phase == Phase::Teardown || execution.serial != self.execution {
                return (None, None, step);
            }
            let drop = execution.slot().final_drop;
            if how == CellAccessKind::Write && execution.phase == Phase::Running {
                // What it writes is not known.
                let slot = execution.slot_mut();
                slot.waits.note_change();
                slot.visits.forget();
            }
            let (races, thread) = (&mut execution.races, execution.running.thread);
            let race = match how {
                CellAccessKind::Read => races.read_cell(thread, self.index, location),
                CellAccessKind::Write => races.write_cell(thread, self.index, location),
            };
            let is_write = how == CellAccessKind::Write;
            let dropped = races.access_in_drop(self.index, is_write, drop);
            (race, dropped, step)
        });
        if let Some(race) = race {
            current.fail(ProgramError::Race(race));
        }
        if let Some(drop) = dropped {
            current.request_ordered_drops(drop);
        }
        if !current.is_of(self.execution) && current.phase() != Phase::Teardown {
            current.fail(ProgramError::Misuse {
                message: format!(
                    "the cell created at {}, outside of this execution, is used inside of it: create it \
                     in the closure that is checked, or with fencepost::lazy_static!",
                    OwnedLocation::from(self.created_at)
                ),
                location: Some(location.into()),
            });
        }
        CellAccessStart { step }
    }
}
