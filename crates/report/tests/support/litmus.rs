//! Litmus tests made by hand, and executions of them.

use fencepost_litmus::assembly::{AssemblyInstruction, Mnemonic};
use fencepost_litmus::code::{AddressOperand, Operand, Operation, Part, Register, Width};
use fencepost_litmus::code::{Computation, Fence};
use fencepost_litmus::execution::Execution;
use fencepost_litmus::machine::{Limits, explore};
use fencepost_litmus::run::Run;
use fencepost_litmus::test::{
    Architecture, Cell, CellId, Instruction, Observable, Position, Proposition, Quantifier,
    RegisterInfo, Test, Thread,
};
use fencepost_memory::MemoryModel;

/// A test with one of its executions.
pub struct Sample {
    pub test: Test,
    pub model: MemoryModel,
    pub run: Run,
    pub execution: Execution,
    pub final_state: Vec<u64>,
}

const WIDTH: Width = Width::Long;
const PART: Part = Part::Low(WIDTH);

/// A test of threads of instructions: `W x 1` stores, `R x` loads into the next register, `X x 1`
/// exchanges, `F` is a fence.
pub fn litmus(name: &str, threads: &[&[&str]]) -> Test {
    let mut test = empty_test(name);
    for (number, instructions) in threads.iter().enumerate() {
        let mut thread = empty_thread(number as u32);
        for text in *instructions {
            add_instruction(&mut test, &mut thread, text);
        }
        thread.operations.push(Operation::End);
        let end = thread.instructions.len() as u32;
        thread.instruction_of.push(end);
        test.threads.push(thread);
    }
    for index in 0..test.cells.len() {
        test.observed.push(Observable::Cell {
            cell: CellId(index as u32),
            name: format!("[{}]", test.cells[index].name),
        });
    }
    test
}

pub fn empty_test(name: &str) -> Test {
    Test {
        architecture: Architecture::X86,
        name: name.into(),
        documentation: None,
        info: Vec::new(),
        threads: Vec::new(),
        cells: Vec::new(),
        observed: Vec::new(),
        observed_by_filter: Vec::new(),
        filter: None,
        quantifier: Quantifier::Exists,
        condition: Proposition::Constant(true),
        condition_text: "exists (true)".into(),
        hash: None,
    }
}

pub fn empty_thread(number: u32) -> Thread {
    Thread {
        number,
        operations: Vec::new(),
        instruction_of: Vec::new(),
        instructions: Vec::new(),
        registers: vec![RegisterInfo {
            name: String::new(),
            initial: 0,
        }],
    }
}

pub fn add_text(thread: &mut Thread, text: String) {
    let line = thread.instructions.len() as u32 + 1;
    let position = Position { line, column: 1 };
    // Pictures and texts show what was written.
    let assembly = AssemblyInstruction {
        mnemonic: Mnemonic::Fence(Fence::Full),
        is_locked: false,
        width: WIDTH,
        destination: None,
        source: None,
        target: None,
    };
    thread.instructions.push(Instruction {
        text,
        position,
        assembly,
    });
}

pub fn cell(test: &mut Test, name: &str) -> CellId {
    let known = test.cells.iter().position(|cell| cell.name == name);
    let index = known.unwrap_or_else(|| {
        test.cells.push(Cell {
            name: name.into(),
            address: 0x10_0000 + 8 * test.cells.len() as u64,
            width: WIDTH,
            initial: 0,
            unsigned: false,
        });
        test.cells.len() - 1
    });
    CellId(index as u32)
}

fn add_instruction(test: &mut Test, thread: &mut Thread, text: &str) {
    let parts: Vec<&str> = text.split(' ').collect();
    let mut operations = Vec::new();
    let at = |test: &mut Test| AddressOperand {
        base: None,
        index: None,
        displacement: {
            let cell = cell(test, parts[1]);
            test.cells[cell.index()].address
        },
        width: WIDTH,
    };
    let new_register = |thread: &mut Thread, initial: u64| {
        let named = thread.registers.iter().filter(|r| !r.name.is_empty());
        let named = named.count();
        let name = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"][named];
        thread.registers.push(RegisterInfo {
            name: name.into(),
            initial,
        });
        (Register(thread.registers.len() as u8 - 1), name)
    };
    let observe = |test: &mut Test, thread: &Thread, (register, name): (Register, &str)| {
        test.observed.push(Observable::Register {
            thread: thread.number as usize,
            register,
            width: WIDTH,
            unsigned: false,
            name: format!("{}:{name}", thread.number),
        });
    };
    let text = match parts[0] {
        "W" => {
            let at = at(test);
            operations.push(Operation::Store {
                at,
                value: Operand::Constant(parts[2].parse().unwrap()),
                width: WIDTH,
            });
            format!("MOV [{}],${}", parts[1], parts[2])
        }
        "R" => {
            let at = at(test);
            let register = new_register(thread, 0);
            operations.push(Operation::Load {
                to: register.0,
                at,
                width: WIDTH,
            });
            observe(test, thread, register);
            format!("MOV {},[{}]", register.1, parts[1])
        }
        "X" => {
            let at = at(test);
            let register = new_register(thread, parts[2].parse().unwrap());
            thread.registers.push(RegisterInfo {
                name: String::new(),
                initial: 0,
            });
            let scratch = Register(thread.registers.len() as u8 - 1);
            let value = Operand::Register(register.0, PART);
            operations.extend([
                Operation::BeginLocked,
                Operation::Load {
                    to: scratch,
                    at,
                    width: WIDTH,
                },
                Operation::Store {
                    at,
                    value,
                    width: WIDTH,
                },
                Operation::EndLocked,
                Operation::Compute {
                    computation: Computation::Move,
                    width: WIDTH,
                    to: Some((register.0, PART)),
                    left: Operand::Register(scratch, PART),
                    right: Operand::Constant(0),
                    sets_flags: false,
                },
            ]);
            observe(test, thread, register);
            format!("XCHG [{}],{}", parts[1], register.1)
        }
        "F" => {
            operations.push(Operation::Fence(Fence::Full));
            "MFENCE".into()
        }
        _ => panic!("{text} is no instruction"),
    };
    let instruction = thread.instructions.len() as u32;
    add_text(thread, text);
    for operation in operations {
        thread.operations.push(operation);
        thread.instruction_of.push(instruction);
    }
}

/// An execution of a test that ends in this state: contents of registers in program order, then of
/// cells in the order in which they occur.
pub fn sample(test: Test, model: MemoryModel, final_state: &[u64]) -> Sample {
    let found = explore(&test, &model, &Limits::default()).unwrap();
    let index = (0..found.len())
        .find(|&index| found.final_state(index) == final_state)
        .expect("there is such an execution");
    let run = found.run(index);
    let execution = run.execution();
    drop(found);
    Sample {
        test,
        model,
        execution,
        final_state: final_state.to_vec(),
        run,
    }
}

/// Store buffering: both loads pass the stores.
pub fn store_buffering() -> Sample {
    let test = litmus("SB", &[&["W x 1", "R y"], &["W y 1", "R x"]]);
    sample(test, MemoryModel::TSO, &[0, 0, 1, 1])
}

/// x86-TSO section 2.1: a load from the own buffer, and a store that overtakes.
pub fn n6() -> Sample {
    let test = litmus("n6", &[&["W x 1", "R x", "R y"], &["W y 2", "W x 2"]]);
    sample(test, MemoryModel::TSO, &[1, 0, 1, 2])
}

/// Message passing, as every model here allows it.
pub fn message_passing() -> Sample {
    let test = litmus("MP", &[&["W x 1", "W y 1"], &["R y", "R x"]]);
    sample(test, MemoryModel::TSO, &[1, 1, 1, 1])
}

/// Message passing that fails under PSO.
pub fn message_passing_pso() -> Sample {
    let test = litmus("MP", &[&["W x 1", "W y 1"], &["R y", "R x"]]);
    sample(test, MemoryModel::PSO, &[1, 0, 1, 1])
}

/// Independent reads of independent writes, as x86-TSO forbids it: made by hand.
pub fn iriw() -> Sample {
    let threads: &[&[&str]] = &[&["W x 1"], &["R x", "R y"], &["W y 1"], &["R y", "R x"]];
    let mut sample = sample(
        litmus("IRIW", threads),
        MemoryModel::TSO,
        &[1, 1, 1, 1, 1, 1],
    );
    use fencepost_litmus::execution::{Action, EventId};
    for (read, cell) in [(2, 1), (5, 0)] {
        sample.execution.events[read].action = Action::Read(CellId(cell), 0);
        sample.execution.reads_from[read] = None;
    }
    sample.execution.memory_order = [2, 5, 0, 1, 3, 4].map(EventId).to_vec();
    sample.final_state = vec![1, 0, 1, 0, 1, 1];
    sample
}

/// A cycle of three threads, one without a fence.
pub fn three_threads() -> Sample {
    let test = litmus(
        "3.SB",
        &[
            &["W x 1", "R y"],
            &["W y 1", "F", "R z"],
            &["W z 1", "F", "R x"],
        ],
    );
    sample(test, MemoryModel::TSO, &[0, 0, 0, 1, 1, 1])
}

/// A locked exchange on the one side, a plain store on the other.
pub fn exchange() -> Sample {
    let test = litmus(
        "SB+xchg",
        &[&["X x 1", "R y"], &["W y 1", "R x"], &["W x 2"]],
    );
    sample(test, MemoryModel::TSO, &[0, 0, 0, 2, 1])
}
