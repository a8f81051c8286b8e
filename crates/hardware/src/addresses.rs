//! Whether a test can tell where its locations are.
//!
//! Most tests only name locations or follow pointers to them. Their final states are the same
//! wherever the locations are, so many instances can run side by side. A test that computes with an
//! address, takes a part of one, reaches one location from another, or has an address as a constant of
//! an instruction, must have its locations exactly where the model has them, and one instance at a
//! time. So must one that computes numbers that could be taken for addresses.

use std::collections::BTreeSet;

use fencepost_litmus::assembly::Argument;
use fencepost_litmus::code::{AddressOperand, Computation, Operand, Operation, Part, Register};
use fencepost_litmus::test::Test;

use crate::geometry::groups;

/// What a test does with addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AddressUse {
    /// It has no addresses as values.
    None,
    /// It moves them around and follows them.
    Moved,
    /// The numbers, or the distances between locations, matter.
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
    if has_constant || goes_astray(test) {
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
        // What a register is computed to may be an address.
        return match accesses_by_register(test) {
            true => AddressUse::Numbers,
            false => AddressUse::None,
        };
    }
    match spread(test, in_cells, &mut holders) || may_compute_large_numbers(test) {
        true => AddressUse::Numbers,
        false => AddressUse::Moved,
    }
}

/// Numbers below this one cannot become an address of the harness with few computations: each at
/// most doubles what there is, and the lowest address is 2^29.
const SMALL: u64 = 1 << 16;
const FEW: usize = 12;

/// Whether a test may come to numbers that look like addresses, by computing them: final states show
/// addresses and numbers alike.
fn may_compute_large_numbers(test: &Test) -> bool {
    let operations = || test.threads.iter().flat_map(|thread| &thread.operations);
    let computed = operations().filter(|operation| {
        let Operation::Compute {
            computation, to, ..
        } = operation
        else {
            return false;
        };
        to.is_some() && *computation != Computation::Move
    });
    let computed = computed.count();
    if computed == 0 {
        return false;
    }
    let shifts = operations().any(|operation| {
        matches!(operation, Operation::Compute { computation, .. } if *computation == Computation::ShiftLeft)
    });
    let is_large = |value: u64| {
        let is_small = |value: u64| value < SMALL || value.wrapping_neg() < SMALL;
        let low = i64::from(value as u32 as i32) as u64;
        !is_small(value) && !is_small(low)
    };
    let is_address = |value: &u64| test.cell_at(*value).is_some();
    let mut constants = constants(test).into_iter();
    shifts
        || computed > FEW
        || crate::program::has_loops(test)
        || constants.any(|value| !is_address(&value) && is_large(value))
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

/// Whether an operand is a part of an address: a number.
fn is_cut(operand: Operand, holding: &BTreeSet<Register>) -> bool {
    holds(operand, holding)
        && matches!(operand, Operand::Register(_, part) if part.width().bytes() < 4)
}

/// Whether a part of an address is replaced.
fn is_mixed((to, part): (Register, Part), holding: &BTreeSet<Register>) -> bool {
    holding.contains(&to) && part.width().bytes() < 4
}

fn uses_number(operation: &Operation, in_cells: bool, holding: &BTreeSet<Register>) -> bool {
    match operation {
        Operation::Compute {
            computation: Computation::Move,
            to,
            left,
            ..
        } => is_cut(*left, holding) || to.is_some_and(|to| is_mixed(to, holding)),
        Operation::Compute { left, right, .. } => holds(*left, holding) || holds(*right, holding),
        Operation::MoveIf { to, from, .. } => is_cut(*from, holding) || is_mixed(*to, holding),
        Operation::SetIf { to, .. } => is_mixed(*to, holding),
        Operation::Load { at, width, .. } | Operation::Store { at, width, .. } => {
            let is_part = width.bytes() < 4 && in_cells;
            let is_index = at.index.is_some_and(|(index, _)| holding.contains(&index));
            let is_cut_value = match operation {
                Operation::Store { value, .. } => {
                    is_cut(*value, holding) || width.bytes() < 4 && holds(*value, holding)
                }
                _ => false,
            };
            is_part || is_index || is_cut_value
        }
        _ => false,
    }
}

/// Whether an access has its address from registers alone, and not from the name of a location.
fn accesses_by_register(test: &Test) -> bool {
    let lowest = test.cells.iter().map(|cell| cell.address).min();
    let is_computed = |at: &AddressOperand| {
        let is_name = lowest.is_some_and(|lowest| at.displacement as i64 >= lowest as i64);
        (at.base.is_some() || at.index.is_some()) && !is_name
    };
    let mut operations = test.threads.iter().flat_map(|thread| &thread.operations);
    operations.any(|operation| {
        matches!(operation, Operation::Load { at, .. } | Operation::Store { at, .. } if is_computed(at))
    })
}

/// Whether an access may go from one location to another: only the distances that the test has lead
/// to the location that the model finds there.
fn goes_astray(test: &Test) -> bool {
    let is_relative =
        |at: &AddressOperand| at.index.is_some() || at.base.is_some() && at.displacement != 0;
    let mut operations = test.threads.iter().flat_map(|thread| &thread.operations);
    let has_relative = operations.any(|operation| {
        matches!(operation, Operation::Load { at, .. } | Operation::Store { at, .. } if is_relative(at))
    });
    has_relative && groups(test).len() > 1
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

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_litmus::{Limits, parse};

    fn used(init: &str, code: &str) -> AddressUse {
        let source = format!("X86_64 T\n{{ {init} }}\n P0 ;\n {code} ;\n");
        let test = parse(source.as_bytes(), &Limits::default());
        address_use(&test.unwrap_or_else(|error| panic!("{}", error.render("test"))))
    }

    #[test]
    fn pointers_are_followed_and_moved() {
        let pointer = "uint64_t 0:rax=x; uint64_t 0:rbx=0; y=0;";
        for code in [
            "movl $1,(%rax)",
            "movq %rax,%rbx ;\n movl $1,(%rbx)",
            "movl $1,(%rax) ;\n movb $1,%cl ;\n sete %cl ;\n addl $3,%ecx",
        ] {
            assert_eq!(used(pointer, code), AddressUse::Moved, "{code}");
        }
        assert_eq!(used("y=0;", "movl $1,(x)"), AddressUse::None);
        // From one location to the next there is none.
        assert_eq!(used("int x[3];", "movl $1,8(x)"), AddressUse::None);
        assert_eq!(
            used("int x[3]; uint64_t 0:rax=x;", "movl $1,8(%rax)"),
            AddressUse::Moved
        );
    }

    #[test]
    fn an_address_may_be_a_number_from_the_start() {
        let code = "movq $1,%rax ;\n shlq $28,%rax ;\n movl $1,(%rax)";
        assert_eq!(used("x=0;", code), AddressUse::Numbers);
        let added = "movl x(%rax),%ebx";
        assert_eq!(used("int x[2];", added), AddressUse::None);
    }

    #[test]
    fn numbers_made_of_addresses_and_distances_are_noticed() {
        let pointer = "uint64_t 0:rax=x; uint64_t 0:rbx=0; y=0;";
        for code in [
            "addq $4,%rax ;\n movl $1,(x)",
            "cmpq %rax,%rbx ;\n movl $1,(x)",
            "movw %ax,%bx ;\n movl $1,(x)",
            "movb %ah,%bl ;\n movl $1,(x)",
            "movb $0,%al ;\n movl $1,(x)",
            "movb (y),%al ;\n movl $1,(x)",
            "sete %al ;\n movl $1,(x)",
            "cmovew %ax,%bx ;\n movl $1,(x)",
            "movw %ax,(y) ;\n movl $1,(x)",
            "movl 64(%rax),%ebx ;\n movl $1,(x)",
            "movl (%rax,%rbx,4),%ecx ;\n movl $1,(x)",
            "shlq $29,%rcx ;\n movl $1,(%rax)",
            "addq $536870912,%rcx ;\n movl $1,(%rax)",
            "L: addq $1,%rcx ;\n jne L ;\n movl $1,(%rax)",
        ] {
            assert_eq!(used(pointer, code), AddressUse::Numbers, "{code}");
        }
        let without = used("uint64_t 0:rbx=0; y=0;", "movl x(,%rbx,4),%ecx");
        assert_eq!(without, AddressUse::Numbers);
    }
}
