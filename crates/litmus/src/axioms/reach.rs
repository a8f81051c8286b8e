//! A static analysis of threads: which cells a thread may still write.

use crate::code::{AddressOperand, Operation};
use crate::test::{CellId, Test};

/// For each thread and position, the cells that may be written from there on.
pub(super) struct Reach {
    cells: usize,
    /// For each thread, `position * cells + cell`.
    may_write: Vec<Vec<bool>>,
    /// For each thread, whether a jump goes back.
    has_loop: Vec<bool>,
    /// The threads, those with the fewest loads first.
    visit_order: Vec<usize>,
}

impl Reach {
    pub(super) fn new(test: &Test) -> Self {
        let all = 0..test.threads.len();
        let loads = |&thread: &usize| {
            let operations = test.threads[thread].operations.iter();
            operations
                .filter(|operation| matches!(operation, Operation::Load { .. }))
                .count()
        };
        let mut visit_order: Vec<usize> = all.clone().collect();
        visit_order.sort_by_key(loads);
        Reach {
            cells: test.cells.len(),
            may_write: all.clone().map(|thread| writes_of(test, thread)).collect(),
            has_loop: all.map(|thread| jumps_back(test, thread)).collect(),
            visit_order,
        }
    }

    /// Whether a thread that stands at `position` may still write `cell`.
    pub(super) fn may_write(&self, thread: usize, position: u32, cell: CellId) -> bool {
        self.may_write[thread][position as usize * self.cells + cell.index()]
    }

    /// Whether a thread may come to the same position twice.
    pub(super) fn has_loop(&self, thread: usize) -> bool {
        self.has_loop[thread]
    }

    /// The order in which threads go on: writers first, so that reads find what they may read from
    /// and seldom have to wait for it.
    pub(super) fn visit_order(&self) -> &[usize] {
        &self.visit_order
    }
}

fn successors(operation: Operation, position: usize) -> [Option<usize>; 2] {
    match operation {
        Operation::End => [None, None],
        Operation::Jump(target) => [Some(target as usize), None],
        Operation::JumpIf(_, target) => [Some(position + 1), Some(target as usize)],
        _ => [Some(position + 1), None],
    }
}

fn jumps_back(test: &Test, thread: usize) -> bool {
    let operations = test.threads[thread].operations.iter().enumerate();
    operations.into_iter().any(|(position, &operation)| {
        let targets = successors(operation, position);
        targets.into_iter().flatten().any(|next| next <= position)
    })
}

fn constant_cell(test: &Test, at: &AddressOperand) -> Option<CellId> {
    match (at.base, at.index) {
        (None, None) => test.cell_at(at.displacement & at.width.mask()),
        _ => None,
    }
}

fn writes_of(test: &Test, thread: usize) -> Vec<bool> {
    let cells = test.cells.len();
    let operations = &test.threads[thread].operations;
    let mut may_write = vec![false; operations.len() * cells];
    for (position, operation) in operations.iter().enumerate() {
        if let Operation::Store { at, .. } = operation {
            match constant_cell(test, at) {
                Some(cell) => may_write[position * cells + cell.index()] = true,
                None => may_write[position * cells..][..cells].fill(true),
            }
        }
    }
    loop {
        let mut has_changed = false;
        for position in (0..operations.len()).rev() {
            let targets = successors(operations[position], position);
            for next in targets.into_iter().flatten() {
                for cell in 0..cells {
                    if may_write[next * cells + cell] && !may_write[position * cells + cell] {
                        may_write[position * cells + cell] = true;
                        has_changed = true;
                    }
                }
            }
        }
        if !has_changed {
            return may_write;
        }
    }
}
