//! Checks a witness: whether an execution is one of a test, and whether a model allows it.
//!
//! This is the executable checker of x86-TSO, section E.4 (`check_valid_execution`, and of
//! `check_well_formed_event_structure` what the types leave open), over lists, without
//! optimizations. It shares nothing with the engines but the meaning of instructions
//! ([`thread`](crate::thread)), so an outcome whose witness passed here is allowed even if both
//! engines are wrong.
//!
//! Read in this order: [`Rejection`] (what can be wrong), `replay` (the events are those that the
//! threads perform when they read these values), `memory_order` (the order of memory keeps what the
//! model keeps of program order, and locked instructions are whole), `reads_from` (each read has
//! the latest value that its thread can see).
//!
//! `forbidden` checks the opposite: that a candidate is none, because of a cycle.
//!
//! Deviations from the paper:
//! - The memory order is linear on reads too: the paper's `linear_valid_execution`, which is
//!   equivalent (Theorem 2).
//! - There are no register events. The registers follow from the replay.
//! - The [`MemoryModel`] decides which part of program order the memory order keeps. TSO keeps that
//!   of the paper; SC keeps all of it; PSO keeps a write before a write only on one cell or with a
//!   fence between. Reads return what they return in the paper, under every model: the latest write
//!   in memory order among those before them in memory order or in program order.

mod forbidden;
mod memory_order;
mod reads_from;
mod rejection;
mod replay;

use fencepost_memory::MemoryModel;

pub use forbidden::check_forbidden;
pub use rejection::{EventLabel, KeptBecause, Rejection};

use crate::execution::{Action, Event, Execution};
use crate::final_state::FinalState;
use crate::test::{Cell, Test};

/// Whether `execution` is an execution of `test` that `model` allows. If so, its final state; if
/// not, the first thing that is wrong.
pub fn check(
    test: &Test,
    model: &MemoryModel,
    execution: &Execution,
) -> Result<FinalState, Rejection> {
    let registers = replay::check(test, execution)?;
    let places = memory_order::Places::of(test, execution)?;
    memory_order::check_program_order(test, model, execution, &places)?;
    memory_order::check_atomicity(test, execution, &places)?;
    reads_from::check(test, execution, &places)?;

    let mut cells: Vec<u64> = test.cells.iter().map(initial_content).collect();
    for &id in &execution.memory_order {
        if let Action::Write(cell, value) = execution.event(id).action {
            cells[cell.index()] = value;
        }
    }
    Ok(FinalState { registers, cells })
}

/// The paper's `po_iico`: of one thread, and earlier in the list of its events.
///
/// The instructions here make their events one after the other, so intra-instruction causality
/// is the order of the list too: a read comes before the write that is computed from it.
fn is_before_in_program(execution: &Execution, earlier: usize, later: usize) -> bool {
    earlier < later && execution.events[earlier].thread == execution.events[later].thread
}

/// Whether two events belong to the same performance of the same instruction.
fn are_of_one_instance(one: &Event, other: &Event) -> bool {
    one.thread == other.thread && one.instance == other.instance
}

fn initial_content(cell: &Cell) -> u64 {
    cell.initial & cell.width.mask()
}
