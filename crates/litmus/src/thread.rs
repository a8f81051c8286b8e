//! The execution of a thread between two memory accesses.
//!
//! A thread is a position in its operations and a register file. [`Runner::advance`] performs
//! thread-local operations up to the next one that is not, and returns that. The caller performs it
//! on a memory and continues the thread with [`Runner::loaded`] or [`Runner::passed`]. The engines
//! and the judge decide what memory does; only this module and [`arithmetic`](crate::arithmetic)
//! decide what an instruction does.

use crate::arithmetic::{Flags, compute};
use crate::code::{AddressOperand, Fence, Operand, Operation, Register, Width};
use crate::test::{CellId, Test};

/// The next operation of a thread that is not thread-local.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// Read a cell. Answer with [`Runner::loaded`].
    Load(CellId),
    /// Write a cell. Answer with [`Runner::passed`].
    Store(CellId, u64),
    /// A fence. Answer with [`Runner::passed`].
    Fence(Fence),
    /// Begin a locked instruction. Answer with [`Runner::passed`]; what follows, up to
    /// [`EndLocked`](Pending::EndLocked), is one step.
    BeginLocked,
    /// End a locked instruction. Answer with [`Runner::passed`].
    EndLocked,
    /// Nothing: the thread has ended.
    Ended,
}

/// An operation that a thread cannot perform.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// An address that is no cell's.
    #[error("there is no location at address {address:#x}")]
    NoSuchCell {
        /// The address.
        address: u64,
    },
    /// An access in another width than the cell has.
    #[error(
        "accesses `{}` bytes of a location that has `{}`",
        accessed.bytes(),
        declared.bytes()
    )]
    MixedWidth {
        /// The cell.
        cell: CellId,
        /// The width of the access.
        accessed: Width,
        /// The width of the cell.
        declared: Width,
    },
    /// A loop that touches no memory and never ends.
    #[error("loops for ever without touching memory")]
    SilentLoop,
}

/// A fault, and where it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The thread: an index into [`Test::threads`].
    pub thread: usize,
    /// The instruction: an index into the thread's instructions.
    pub instruction: usize,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// How many operations a thread may perform without a memory access. A litmus test is not expected
/// to have a loop of that many iterations.
const MOST_SILENT_OPERATIONS: u32 = 1 << 20;

/// The cells by address.
#[derive(Clone, Debug)]
pub struct Layout {
    by_address: Vec<(u64, CellId, Width)>,
}

impl Layout {
    /// The layout of a test's memory.
    pub fn new(test: &Test) -> Self {
        let cells = test.cells.iter().enumerate();
        let mut by_address: Vec<_> = cells
            .map(|(index, cell)| (cell.address, CellId(index as u32), cell.width))
            .collect();
        by_address.sort_unstable();
        Layout { by_address }
    }

    /// The cell of an access.
    #[inline]
    pub fn cell(&self, address: u64, accessed: Width) -> Result<CellId, FaultKind> {
        let found = self
            .by_address
            .binary_search_by_key(&address, |entry| entry.0);
        let Ok(index) = found else {
            return Err(FaultKind::NoSuchCell { address });
        };
        let (_, cell, declared) = self.by_address[index];
        if declared != accessed {
            return Err(FaultKind::MixedWidth {
                cell,
                accessed,
                declared,
            });
        }
        Ok(cell)
    }
}

/// A read-only view of a thread's position and registers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The thread: an index into [`Test::threads`].
    pub thread: usize,
    /// The test.
    pub test: &'a Test,
    /// Its layout.
    pub layout: &'a Layout,
    /// The operation that the thread stands before.
    pub position: u32,
    /// The register file.
    pub registers: &'a [u64],
}

impl View<'_> {
    fn operation(&self) -> Operation {
        self.test.threads[self.thread].operations[self.position as usize]
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        let instructions = &self.test.threads[self.thread].instruction_of;
        Fault {
            thread: self.thread,
            instruction: instructions[self.position as usize] as usize,
            kind,
        }
    }

    fn value(&self, operand: Operand) -> u64 {
        match operand {
            Operand::Register(register, part) => part.of(self.registers[register.index()]),
            Operand::Constant(value) => value,
        }
    }

    fn cell(&self, at: &AddressOperand, width: Width) -> Result<CellId, Fault> {
        let mut address = at.displacement;
        if let Some(base) = at.base {
            address = address.wrapping_add(self.registers[base.index()]);
        }
        if let Some((index, scale)) = at.index {
            let index = self.registers[index.index()];
            address = address.wrapping_add(index.wrapping_mul(u64::from(scale)));
        }
        let cell = self.layout.cell(address & at.width.mask(), width);
        cell.map_err(|kind| self.fault(kind))
    }

    /// The next operation of the thread. `None` if it is thread-local.
    pub fn pending(&self) -> Result<Option<Pending>, Fault> {
        Ok(Some(match self.operation() {
            Operation::Load { at, width, .. } => Pending::Load(self.cell(&at, width)?),
            Operation::Store { at, value, width } => {
                Pending::Store(self.cell(&at, width)?, self.value(value) & width.mask())
            }
            Operation::BeginLocked => Pending::BeginLocked,
            Operation::EndLocked => Pending::EndLocked,
            Operation::Fence(fence) => Pending::Fence(fence),
            Operation::End => Pending::Ended,
            Operation::Compute { .. }
            | Operation::MoveIf { .. }
            | Operation::SetIf { .. }
            | Operation::Jump(_)
            | Operation::JumpIf(..) => return Ok(None),
        }))
    }
}

/// A thread's position and registers, borrowed from wherever they are kept.
pub struct Runner<'a> {
    /// The thread: an index into [`Test::threads`].
    pub thread: usize,
    /// The test.
    pub test: &'a Test,
    /// Its layout.
    pub layout: &'a Layout,
    /// The operation that the thread stands before.
    pub position: &'a mut u32,
    /// The register file.
    pub registers: &'a mut [u64],
}

impl Runner<'_> {
    /// A read-only view.
    pub fn view(&self) -> View<'_> {
        View {
            thread: self.thread,
            test: self.test,
            layout: self.layout,
            position: *self.position,
            registers: self.registers,
        }
    }

    /// The next operation of the thread. `None` if it is thread-local.
    pub fn pending(&self) -> Result<Option<Pending>, Fault> {
        self.view().pending()
    }

    fn operation(&self) -> Operation {
        self.view().operation()
    }

    fn value(&self, operand: Operand) -> u64 {
        self.view().value(operand)
    }

    /// Performs what concerns the thread only, up to an operation that others may notice.
    pub fn advance(&mut self) -> Result<Pending, Fault> {
        for _ in 0..MOST_SILENT_OPERATIONS {
            if let Some(pending) = self.pending()? {
                return Ok(pending);
            }
            self.perform_silent();
        }
        Err(self.view().fault(FaultKind::SilentLoop))
    }

    fn perform_silent(&mut self) {
        let mut next = *self.position + 1;
        let flags = Flags(self.registers[Register::FLAGS.index()]);
        match self.operation() {
            Operation::Compute {
                computation,
                width,
                to,
                left,
                right,
                sets_flags,
            } => {
                let (left, right) = (self.value(left), self.value(right));
                let (result, flags) = compute(computation, width, left, right, flags);
                if let Some((register, part)) = to {
                    let whole = &mut self.registers[register.index()];
                    *whole = part.replace(*whole, result);
                }
                if sets_flags {
                    self.registers[Register::FLAGS.index()] = flags.0;
                }
            }
            Operation::MoveIf {
                condition,
                to: (register, part),
                from,
            } => {
                let whole = self.registers[register.index()];
                let moved = if flags.meet(condition) {
                    self.value(from)
                } else {
                    part.of(whole)
                };
                self.registers[register.index()] = part.replace(whole, moved);
            }
            Operation::SetIf {
                condition,
                to: (register, part),
            } => {
                let whole = &mut self.registers[register.index()];
                *whole = part.replace(*whole, u64::from(flags.meet(condition)));
            }
            Operation::Jump(target) => next = target,
            Operation::JumpIf(condition, target) => {
                if flags.meet(condition) {
                    next = target;
                }
            }
            other => unreachable!("{other:?} is not silent"),
        }
        *self.position = next;
    }

    /// The pending load has read `value`.
    #[inline]
    pub fn loaded(&mut self, value: u64) {
        if let Operation::Load { to, width, .. } = self.operation() {
            self.registers[to.index()] = value & width.mask();
        }
        *self.position += 1;
    }

    /// The pending store, fence, or begin or end of a locked instruction was performed.
    #[inline]
    pub fn passed(&mut self) {
        *self.position += 1;
    }
}
