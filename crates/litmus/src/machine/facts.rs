//! A static analysis of a test: which cells a thread may still access from a position on, which
//! registers are still live, and how many stores a thread can have issued.

use fencepost_memory::{Buffering, MemoryModel};

use crate::code::{AddressOperand, Operand, Operation, Part, Register, Width};
use crate::test::{CellId, Observable, Test, Thread};
use crate::thread::Layout;

/// A set of cells, as bits. Cells that are 64 apart share a bit, so the set is an
/// over-approximation, which callers have to tolerate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct CellSet(u64);

impl CellSet {
    pub(super) const ALL: CellSet = CellSet(u64::MAX);

    #[inline]
    pub(super) fn of(cell: CellId) -> Self {
        CellSet(1 << (cell.0 % 64))
    }

    #[inline]
    pub(super) fn has(self, cell: CellId) -> bool {
        self.0 & CellSet::of(cell).0 != 0
    }

    #[inline]
    pub(super) fn union(self, other: CellSet) -> Self {
        CellSet(self.0 | other.0)
    }
}

/// The facts about a thread at each of its positions.
pub(super) struct ThreadFacts {
    /// The cells that are read from here on, this operation included.
    pub(super) reads_from: Vec<CellSet>,
    /// The cells that are written from here on, this operation included.
    pub(super) writes_from: Vec<CellSet>,
    /// The registers whose content still matters here.
    pub(super) live: Vec<Vec<u8>>,
    /// How many stores the buffer holds before the thread has to wait: never fewer than the thread
    /// can issue, unless it loops.
    pub(super) buffer_bound: usize,
    /// Where its registers begin among those of all threads.
    pub(super) first_register: usize,
}

/// The facts about a test.
pub(super) struct Facts {
    pub(super) threads: Vec<ThreadFacts>,
    pub(super) observed_cells: Vec<bool>,
    pub(super) layout: Layout,
    pub(super) buffering: Buffering,
    pub(super) register_count: usize,
    /// A deliberate error of the machine, for tests.
    pub(super) mutation: Option<Mutation>,
}

/// A machine with an error, to see that the tests and the checks notice it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutation {
    /// A full fence does not wait for the buffer.
    FenceDoesNotWait,
    /// Stores to different cells leave the buffer in any order.
    StoresPassStores,
    /// A load does not forward from its own thread's buffer.
    NoForwarding,
    /// A locked instruction does not wait for the buffer.
    LockedDoesNotDrain,
}

impl Facts {
    pub(super) fn new(
        test: &Test,
        model: &MemoryModel,
        loop_buffer: usize,
        mutation: Option<Mutation>,
    ) -> Self {
        let layout = Layout::new(test);
        let mut observed_cells = vec![false; test.cells.len()];
        let mut observed_registers: Vec<Vec<Register>> = vec![Vec::new(); test.threads.len()];
        for observable in test.observables() {
            match observable {
                Observable::Cell { cell, .. } => observed_cells[cell.index()] = true,
                Observable::Register {
                    thread, register, ..
                } => {
                    observed_registers[*thread].push(*register);
                }
            }
        }
        let mut first_register = 0;
        let threads = test.threads.iter().zip(&observed_registers);
        let threads = threads
            .map(|(thread, observed)| {
                let (reads_from, writes_from) = cells_touched(thread, &layout);
                let facts = ThreadFacts {
                    reads_from,
                    writes_from,
                    live: live_registers(thread, observed),
                    buffer_bound: buffer_bound(thread, loop_buffer),
                    first_register,
                };
                first_register += thread.registers.len();
                facts
            })
            .collect();
        Facts {
            threads,
            observed_cells,
            layout,
            buffering: match mutation {
                Some(Mutation::StoresPassStores) => Buffering::PerAddress,
                _ => model.buffering(),
            },
            register_count: first_register,
            mutation,
        }
    }
}

/// The operations that may come next, `position` being one that is not the last.
fn successors(operation: &Operation, position: usize) -> impl Iterator<Item = usize> {
    let (next, jump) = match *operation {
        Operation::Jump(target) => (None, Some(target as usize)),
        Operation::JumpIf(_, target) => (Some(position + 1), Some(target as usize)),
        Operation::End => (None, None),
        _ => (Some(position + 1), None),
    };
    next.into_iter().chain(jump)
}

/// Solves `value[p] = own[p] ∪ (the values of the operations after p)`: backwards, again and again
/// until nothing changes. `step` recomputes one and returns whether it changed.
fn until_stable(thread: &Thread, mut step: impl FnMut(usize) -> bool) {
    loop {
        let mut changed = false;
        for position in (0..thread.operations.len()).rev() {
            changed |= step(position);
        }
        if !changed {
            return;
        }
    }
}

fn cells_touched(thread: &Thread, layout: &Layout) -> (Vec<CellSet>, Vec<CellSet>) {
    let constant = constant_registers(thread);
    let mut reads = vec![CellSet::default(); thread.operations.len()];
    let mut writes = reads.clone();
    until_stable(thread, |position| {
        let operation = &thread.operations[position];
        let (mut read, mut written) = (CellSet::default(), CellSet::default());
        match operation {
            Operation::Load { at, width, .. } => read = cells_at(at, *width, &constant, layout),
            Operation::Store { at, width, .. } => {
                written = cells_at(at, *width, &constant, layout);
            }
            _ => {}
        }
        for next in successors(operation, position) {
            read = read.union(reads[next]);
            written = written.union(writes[next]);
        }
        let changed = (read, written) != (reads[position], writes[position]);
        (reads[position], writes[position]) = (read, written);
        changed
    });
    (reads, writes)
}

/// The content of the registers that no operation of the thread writes.
fn constant_registers(thread: &Thread) -> Vec<Option<u64>> {
    let mut content: Vec<_> = thread
        .registers
        .iter()
        .map(|info| Some(info.initial))
        .collect();
    for operation in &thread.operations {
        if let Some((register, _)) = written_register(operation) {
            content[register.index()] = None;
        }
        if let Operation::Compute {
            sets_flags: true, ..
        } = operation
        {
            content[Register::FLAGS.index()] = None;
        }
    }
    content
}

fn cells_at(
    at: &AddressOperand,
    width: Width,
    constant: &[Option<u64>],
    layout: &Layout,
) -> CellSet {
    let base = at
        .base
        .map_or(Some(0), |register| constant[register.index()]);
    let index = at.index.map_or(Some(0), |(register, scale)| {
        Some(constant[register.index()]?.wrapping_mul(u64::from(scale)))
    });
    let (Some(base), Some(index)) = (base, index) else {
        return CellSet::ALL;
    };
    let address = base.wrapping_add(index).wrapping_add(at.displacement) & at.width.mask();
    // An address that is not a cell is a fault at run time, and accesses nothing.
    layout
        .cell(address, width)
        .map_or(CellSet::default(), CellSet::of)
}

fn written_register(operation: &Operation) -> Option<(Register, Part)> {
    match *operation {
        Operation::Load { to, .. } => Some((to, Part::Low(Width::Quad))),
        Operation::Compute { to, .. } => to,
        Operation::MoveIf { to, .. } | Operation::SetIf { to, .. } => Some(to),
        _ => None,
    }
}

fn live_registers(thread: &Thread, observed: &[Register]) -> Vec<Vec<u8>> {
    let count = thread.registers.len();
    let mut live = vec![vec![false; count]; thread.operations.len()];
    let mut here = vec![false; count];
    until_stable(thread, |position| {
        let operation = &thread.operations[position];
        here.fill(false);
        for next in successors(operation, position) {
            for register in 0..count {
                here[register] |= live[next][register];
            }
        }
        // A write of all of a register makes its old content irrelevant; a write of a part does
        // not.
        if let Some((register, Part::Low(Width::Long | Width::Quad))) = written_register(operation)
        {
            if !matches!(operation, Operation::MoveIf { .. }) {
                here[register.index()] = false;
            }
        }
        if let Operation::Compute {
            sets_flags: true, ..
        } = operation
        {
            here[Register::FLAGS.index()] = keeps_flags(operation);
        }
        for register in registers_read(operation) {
            here[register.index()] = true;
        }
        if *operation == Operation::End {
            for register in observed {
                here[register.index()] = true;
            }
        }
        let changed = here != live[position];
        live[position].copy_from_slice(&here);
        changed
    });
    let indices = |flags: &Vec<bool>| (0..count).filter(|&r| flags[r]).map(|r| r as u8).collect();
    live.iter().map(indices).collect()
}

/// Whether an operation that sets the flags leaves some as they were.
fn keeps_flags(operation: &Operation) -> bool {
    use crate::code::Computation::*;
    let Operation::Compute { computation, .. } = operation else {
        return true;
    };
    matches!(computation, Increment | Decrement | ShiftLeft | Move | Not)
}

fn registers_read(operation: &Operation) -> impl Iterator<Item = Register> {
    let of_address = |at: &AddressOperand| [at.base, at.index.map(|(register, _)| register), None];
    let of_operand = |operand: &Operand| match operand {
        Operand::Register(register, _) => Some(*register),
        Operand::Constant(_) => None,
    };
    let flags = Some(Register::FLAGS);
    let registers = match operation {
        Operation::Load { at, .. } => of_address(at),
        Operation::Store { at, value, .. } => {
            let [base, index, _] = of_address(at);
            [base, index, of_operand(value)]
        }
        Operation::Compute {
            left,
            right,
            sets_flags,
            ..
        } => {
            let kept = *sets_flags && keeps_flags(operation);
            [of_operand(left), of_operand(right), flags.filter(|_| kept)]
        }
        Operation::MoveIf { to, from, .. } => [Some(to.0), of_operand(from), flags],
        Operation::SetIf { .. } | Operation::JumpIf(..) => [flags, None, None],
        Operation::BeginLocked
        | Operation::EndLocked
        | Operation::Fence(_)
        | Operation::Jump(_)
        | Operation::End => [None; 3],
    };
    registers.into_iter().flatten()
}

fn buffer_bound(thread: &Thread, loop_buffer: usize) -> usize {
    let loops = thread
        .operations
        .iter()
        .enumerate()
        .any(|(position, operation)| successors(operation, position).any(|next| next <= position));
    if loops {
        loop_buffer
    } else {
        thread.operations.len()
    }
}
