//! Whether a test can tell where its locations are.
//!
//! Most tests only name locations or follow pointers to them. Their final states are the same
//! wherever the locations are, so many instances can run side by side. A test that computes with an
//! address, or has one as a constant of an instruction, must have its locations exactly where the
//! model has them, and one instance at a time.

use std::collections::BTreeSet;

use fencepost_litmus::assembly::Argument;
use fencepost_litmus::code::{Computation, Operand, Operation, Register};
use fencepost_litmus::test::Test;

/// What a test does with addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressUse {
    /// It has no addresses as values.
    None,
    /// It moves them around and follows them.
    Moved,
    /// The numbers matter.
    Numbers,
}

/// Finds out what a test does with addresses. Takes more for `Numbers` than is.
pub(crate) fn address_use(test: &Test) -> AddressUse {
    let addresses: BTreeSet<u64> = test.cells.iter().map(|cell| cell.address).collect();
    let is_address = |value: u64| addresses.contains(&value);
    let has_constant = test
        .threads
        .iter()
        .flat_map(|thread| &thread.instructions)
        .any(|instruction| {
            let assembly = &instruction.assembly;
            [assembly.destination, assembly.source]
                .iter()
                .flatten()
                .any(|argument| matches!(argument, Argument::Address(_)))
        });
    if has_constant {
        return AddressUse::Numbers;
    }
    let in_cells = test.cells.iter().any(|cell| is_address(cell.initial));
    let mut holders: Vec<BTreeSet<Register>> = Vec::new();
    for thread in &test.threads {
        let registers = thread.registers.iter().enumerate();
        let holding = registers.filter(|(_, info)| is_address(info.initial));
        holders.push(holding.map(|(number, _)| Register(number as u8)).collect());
    }
    if !in_cells && holders.iter().all(BTreeSet::is_empty) {
        return AddressUse::None;
    }
    match spread(test, in_cells, &mut holders) {
        true => AddressUse::Numbers,
        false => AddressUse::Moved,
    }
}

/// Follows addresses through registers and memory, without regard to order, until nothing changes.
/// Returns whether something is computed from one.
fn spread(test: &Test, mut in_cells: bool, holders: &mut [BTreeSet<Register>]) -> bool {
    loop {
        let before = (in_cells, holders.iter().map(BTreeSet::len).sum::<usize>());
        for (thread, holding) in test.threads.iter().zip(holders.iter_mut()) {
            for operation in &thread.operations {
                if uses_number(operation, in_cells, holding) {
                    return true;
                }
                flow(operation, &mut in_cells, holding);
            }
        }
        if before == (in_cells, holders.iter().map(BTreeSet::len).sum::<usize>()) {
            return false;
        }
    }
}

fn holds(operand: Operand, holding: &BTreeSet<Register>) -> bool {
    matches!(operand, Operand::Register(register, _) if holding.contains(&register))
}

fn uses_number(operation: &Operation, in_cells: bool, holding: &BTreeSet<Register>) -> bool {
    match operation {
        Operation::Compute {
            computation,
            left,
            right,
            ..
        } => *computation != Computation::Move && (holds(*left, holding) || holds(*right, holding)),
        Operation::Load { at, width, .. } | Operation::Store { at, width, .. } => {
            // A part of an address is a number.
            let is_cut = width.bytes() < 4 && in_cells;
            let is_index = at.index.is_some_and(|(index, _)| holding.contains(&index));
            is_cut || is_index
        }
        _ => false,
    }
}

fn flow(operation: &Operation, in_cells: &mut bool, holding: &mut BTreeSet<Register>) {
    match operation {
        Operation::Load { to, .. } if *in_cells => {
            holding.insert(*to);
        }
        Operation::Store { value, .. } => *in_cells |= holds(*value, holding),
        Operation::Compute {
            computation: Computation::Move,
            to: Some((to, _)),
            left: from,
            ..
        }
        | Operation::MoveIf {
            to: (to, _), from, ..
        } if holds(*from, holding) => {
            holding.insert(*to);
        }
        _ => {}
    }
}

/// All numbers that the test has, which could be taken for addresses.
pub(crate) fn constants(test: &Test) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    for thread in &test.threads {
        found.extend(thread.registers.iter().map(|register| register.initial));
        for instruction in &thread.instructions {
            let assembly = &instruction.assembly;
            for argument in [assembly.destination, assembly.source].iter().flatten() {
                match argument {
                    Argument::Constant(value) => _ = found.insert(*value),
                    Argument::Memory(memory) => _ = found.insert(memory.offset),
                    _ => {}
                }
            }
        }
    }
    found.extend(test.cells.iter().map(|cell| cell.initial));
    found
}
