//! Tests made of operations, without a file.

use fencepost_litmus::assembly::{AssemblyInstruction, Mnemonic};
use fencepost_litmus::code::{
    AddressOperand, Computation, Fence, FlagCondition, FlagTest, Operand, Operation, Part,
    Register, Width,
};
use fencepost_litmus::test::{
    Architecture, Cell, CellId, Instruction, Observable, Position, Proposition, Quantifier,
    RegisterInfo, Test, Thread,
};
use fencepost_memory::Random;

const WIDTH: Width = Width::Long;
const LOW: Part = Part::Low(WIDTH);
/// Register 0 has the flags, register 1 what an instruction needs for itself.
const SCRATCH: Register = Register(1);
const FIRST_NAMED: u8 = 2;

/// A thread that is being written.
#[derive(Clone, Default)]
pub struct Code {
    operations: Vec<Operation>,
    instruction_of: Vec<u32>,
    instructions: Vec<Instruction>,
    registers: u8,
}

fn address(cell: usize) -> AddressOperand {
    AddressOperand {
        base: None,
        index: None,
        displacement: 0x1000 + 8 * cell as u64,
        width: WIDTH,
    }
}

impl Code {
    pub fn new() -> Self {
        Code::default()
    }

    fn instruction(mut self, text: String, operations: Vec<Operation>) -> Self {
        let number = self.instructions.len() as u32;
        self.instructions.push(Instruction {
            text,
            position: Position {
                line: number + 1,
                column: 1,
            },
            // Nobody encodes it.
            assembly: AssemblyInstruction {
                mnemonic: Mnemonic::Fence(Fence::Full),
                is_locked: false,
                width: WIDTH,
                destination: None,
                source: None,
                target: None,
            },
        });
        for operation in operations {
            self.operations.push(operation);
            self.instruction_of.push(number);
        }
        self
    }

    fn register(&mut self, number: u8) -> Register {
        self.registers = self.registers.max(number + 1);
        Register(FIRST_NAMED + number)
    }

    /// `MOV r,[cell]`
    pub fn load(mut self, register: u8, cell: usize) -> Self {
        let to = self.register(register);
        let operation = Operation::Load {
            to,
            at: address(cell),
            width: WIDTH,
        };
        self.instruction(format!("MOV r{register},[c{cell}]"), vec![operation])
    }

    /// `MOV [cell],$value`
    pub fn store(self, cell: usize, value: u64) -> Self {
        let operation = Operation::Store {
            at: address(cell),
            value: Operand::Constant(value),
            width: WIDTH,
        };
        self.instruction(format!("MOV [c{cell}],${value}"), vec![operation])
    }

    /// `MOV [cell],r`
    pub fn store_register(mut self, cell: usize, register: u8) -> Self {
        let value = Operand::Register(self.register(register), LOW);
        let operation = Operation::Store {
            at: address(cell),
            value,
            width: WIDTH,
        };
        self.instruction(format!("MOV [c{cell}],r{register}"), vec![operation])
    }

    /// `INC [cell]`
    pub fn increment(self, cell: usize, locked: bool) -> Self {
        let mut operations = vec![
            Operation::Load {
                to: SCRATCH,
                at: address(cell),
                width: WIDTH,
            },
            Operation::Compute {
                computation: Computation::Increment,
                width: WIDTH,
                to: Some((SCRATCH, LOW)),
                left: Operand::Register(SCRATCH, LOW),
                right: Operand::Constant(0),
                sets_flags: true,
            },
            Operation::Store {
                at: address(cell),
                value: Operand::Register(SCRATCH, LOW),
                width: WIDTH,
            },
        ];
        let mut text = format!("INC [c{cell}]");
        if locked {
            operations.insert(0, Operation::BeginLocked);
            operations.push(Operation::EndLocked);
            text = format!("LOCK {text}");
        }
        self.instruction(text, operations)
    }

    /// `XCHG [cell],r`, with `value` in `r`
    pub fn exchange(mut self, register: u8, cell: usize, value: u64) -> Self {
        let to = self.register(register);
        let operations = vec![
            Operation::BeginLocked,
            Operation::Load {
                to,
                at: address(cell),
                width: WIDTH,
            },
            Operation::Store {
                at: address(cell),
                value: Operand::Constant(value),
                width: WIDTH,
            },
            Operation::EndLocked,
        ];
        self.instruction(format!("XCHG [c{cell}],r{register}=${value}"), operations)
    }

    /// A locked instruction that only reads.
    pub fn locked_load(mut self, register: u8, cell: usize) -> Self {
        let to = self.register(register);
        let operations = vec![
            Operation::BeginLocked,
            Operation::Load {
                to,
                at: address(cell),
                width: WIDTH,
            },
            Operation::EndLocked,
        ];
        self.instruction(format!("LOCK MOV r{register},[c{cell}]"), operations)
    }

    pub fn fence(self, fence: Fence) -> Self {
        self.instruction(format!("{fence:?}"), vec![Operation::Fence(fence)])
    }

    /// `CMP r,$value`, and a jump over the next `skipped` operations if equal
    pub fn skip_if_equal(mut self, register: u8, value: u64, skipped: u32) -> Self {
        let left = Operand::Register(self.register(register), LOW);
        let target = self.operations.len() as u32 + 2 + skipped;
        self.compare_and_jump(left, value, target)
    }

    /// `CMP r,$value`, and a jump to an operation if equal
    pub fn repeat_if_equal(mut self, register: u8, value: u64, target: u32) -> Self {
        let left = Operand::Register(self.register(register), LOW);
        self.compare_and_jump(left, value, target)
    }

    fn compare_and_jump(self, left: Operand, value: u64, target: u32) -> Self {
        let compare = Operation::Compute {
            computation: Computation::Subtract,
            width: WIDTH,
            to: None,
            left,
            right: Operand::Constant(value),
            sets_flags: true,
        };
        let condition = FlagCondition {
            test: FlagTest::Equal,
            negated: false,
        };
        self.instruction(format!("CMP …,${value}"), vec![compare])
            .instruction(
                format!("JE {target}"),
                vec![Operation::JumpIf(condition, target)],
            )
    }

    fn into_thread(mut self, number: u32) -> Thread {
        self.operations.push(Operation::End);
        self.instruction_of.push(self.instructions.len() as u32);
        let names = (0..self.registers).map(|register| format!("r{register}"));
        let hidden = (0..FIRST_NAMED).map(|_| String::new());
        Thread {
            number,
            operations: self.operations,
            instruction_of: self.instruction_of,
            instructions: self.instructions,
            registers: hidden
                .chain(names)
                .map(|name| RegisterInfo { name, initial: 0 })
                .collect(),
        }
    }
}

/// A test with these threads, so many cells, and everything observed but the hidden registers.
pub fn test(cells: usize, threads: impl IntoIterator<Item = Code>) -> Test {
    let threads: Vec<Thread> = threads
        .into_iter()
        .enumerate()
        .map(|(number, code)| code.into_thread(number as u32))
        .collect();
    let mut observed = Vec::new();
    for (index, thread) in threads.iter().enumerate() {
        for register in FIRST_NAMED..thread.registers.len() as u8 {
            observed.push(Observable::Register {
                thread: index,
                register: Register(register),
                width: WIDTH,
                unsigned: false,
                name: format!("{index}:r{}", register - FIRST_NAMED),
            });
        }
    }
    for cell in 0..cells {
        observed.push(Observable::Cell {
            cell: CellId(cell as u32),
            name: format!("[c{cell}]"),
        });
    }
    Test {
        architecture: Architecture::X86,
        name: "built".to_owned(),
        documentation: None,
        info: Vec::new(),
        threads,
        cells: (0..cells)
            .map(|cell| Cell {
                name: format!("c{cell}"),
                address: 0x1000 + 8 * cell as u64,
                width: WIDTH,
                initial: 0,
                unsigned: false,
            })
            .collect(),
        observed,
        observed_by_filter: Vec::new(),
        filter: None,
        quantifier: Quantifier::ForAll,
        condition: Proposition::Constant(true),
        condition_text: "forall (true)".to_owned(),
        hash: None,
    }
}

/// A random test of so many instructions that access memory, and some others.
pub fn random_test(random: &mut Random, accesses: usize) -> Test {
    let threads = 2 + random.below(2) as usize;
    let cells = 2 - usize::from(random.below(4) == 0);
    let mut codes = vec![Code::new(); threads];
    let mut value = 0;
    let mut left = accesses;
    while left > 0 {
        let code = &mut codes[random.below(threads as u64) as usize];
        let cell = random.below(cells as u64) as usize;
        let register = code.registers.min(3);
        let is_reuse = code.registers > 0 && random.below(2) == 0;
        let (mut cost, grown) = match random.below(28).saturating_sub(12) {
            0..2 => (1, code.clone().load(register, cell)),
            2..8 => {
                value += 1;
                (1, code.clone().store(cell, 1 + value % 3))
            }
            8 if is_reuse => (1, code.clone().store_register(cell, 0)),
            9 => (2, code.clone().increment(cell, true)),
            10 => (2, code.clone().increment(cell, false)),
            11 => {
                value += 1;
                (2, code.clone().exchange(register, cell, 1 + value % 3))
            }
            12 => (1, code.clone().locked_load(register, cell)),
            13 => (0, code.clone().fence(Fence::Full)),
            14 => (0, code.clone().fence(Fence::Store)),
            15 if is_reuse => {
                value += 1;
                let stored = code.clone().skip_if_equal(0, random.below(3), 1);
                (1, stored.store(cell, 1 + value % 3))
            }
            _ => continue,
        };
        if cost > left {
            cost = 0;
        } else {
            *code = grown;
        }
        left -= cost;
    }
    test(cells, codes)
}

/// A random test in which threads wait in loops, for a while or for ever: some accesses, a loop that goes on while a
/// register has a value, and some accesses.
pub fn random_waiting_test(random: &mut Random) -> Test {
    let cells = 1 + random.below(2) as usize;
    let mut codes = vec![Code::new(); 2 + random.below(2) as usize];
    for code in &mut codes {
        *code = with_accesses(random, code.clone(), cells, 3);
        if random.below(4) > 0 {
            let start = code.operations.len() as u32;
            let register = code.registers;
            let cell = random.below(cells as u64) as usize;
            let mut waiting = match random.below(6) {
                0 => code.clone().locked_load(register, cell),
                5 => code.clone().exchange(register, cell, random.below(2)),
                1 => code.clone().fence(Fence::Full).load(register, cell),
                _ => code.clone().load(register, cell),
            };
            if random.below(4) == 0 {
                waiting = waiting.load(register + 1, random.below(cells as u64) as usize);
            }
            *code = waiting.repeat_if_equal(register, random.below(2), start);
            *code = with_accesses(random, code.clone(), cells, 2);
        }
    }
    test(cells, codes)
}

fn with_accesses(random: &mut Random, mut code: Code, cells: usize, bound: u64) -> Code {
    for _ in 0..random.below(bound) {
        let cell = random.below(cells as u64) as usize;
        code = match random.below(5) {
            0 | 1 => code.store(cell, random.below(3)),
            2 | 3 => {
                let register = code.registers;
                code.load(register, cell)
            }
            _ => code.increment(cell, true),
        };
    }
    code
}

/// The instructions of a test, for messages.
pub fn listing(test: &Test) -> String {
    let mut lines = String::new();
    for thread in &test.threads {
        let texts = thread.instructions.iter().map(|found| found.text.as_str());
        let code: Vec<&str> = texts.collect();
        lines.push_str(&format!("P{}: {}\n", thread.number, code.join("; ")));
    }
    lines
}
