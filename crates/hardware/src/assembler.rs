//! Instructions one after another, and jumps between them.

use iced_x86::{Code, Encoder, Instruction, MemoryOperand, Register};

/// A place in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(usize);

#[derive(Clone, Copy, Debug)]
enum Item {
    Plain(Instruction),
    Jump(Code, Label),
    Here(Label),
}

/// Code in the making.
#[derive(Default)]
pub(crate) struct Assembler {
    items: Vec<Item>,
    labels: usize,
}

/// Why an instruction has no bytes: its number among all, and what the encoder says.
#[derive(Debug)]
pub(crate) struct EncodingError {
    pub item: usize,
    pub why: String,
}

impl Assembler {
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels - 1)
    }

    /// Puts a label here.
    pub fn here(&mut self, label: Label) {
        self.items.push(Item::Here(label));
    }

    pub fn jump(&mut self, code: Code, label: Label) {
        self.items.push(Item::Jump(code, label));
    }

    pub fn push(&mut self, instruction: Instruction) {
        self.items.push(Item::Plain(instruction));
    }

    /// The number of the next item.
    pub fn next(&self) -> usize {
        self.items.len()
    }

    pub fn plain(&mut self, code: Code) {
        self.push(Instruction::with(code));
    }

    pub fn one(&mut self, code: Code, register: Register) {
        self.push(right(Instruction::with1(code, register)));
    }

    pub fn two(&mut self, code: Code, to: Register, from: Register) {
        self.push(right(Instruction::with2(code, to, from)));
    }

    pub fn constant(&mut self, code: Code, to: Register, value: i32) {
        self.push(right(Instruction::with2(code, to, value)));
    }

    pub fn load(&mut self, code: Code, to: Register, from: MemoryOperand) {
        self.push(right(Instruction::with2(code, to, from)));
    }

    pub fn store(&mut self, code: Code, to: MemoryOperand, from: Register) {
        self.push(right(Instruction::with2(code, to, from)));
    }

    pub fn store_constant(&mut self, code: Code, to: MemoryOperand, value: i32) {
        self.push(right(Instruction::with2(code, to, value)));
    }

    /// Puts a number into a register.
    pub fn number(&mut self, to: Register, value: u64) {
        let instruction = match u32::try_from(value) {
            // Clears the upper half.
            Ok(value) => {
                let low = Register::EAX + (to as u32 - Register::RAX as u32);
                Instruction::with2(Code::Mov_r32_imm32, low, value)
            }
            Err(_) => Instruction::with2(Code::Mov_r64_imm64, to, value),
        };
        self.push(right(instruction));
    }

    /// The bytes, and for each item where it begins.
    pub fn finish(&self) -> Result<(Vec<u8>, Vec<u32>), EncodingError> {
        // All jumps have 32-bit displacements, so lengths do not depend on where labels are.
        let mut offsets = Vec::with_capacity(self.items.len());
        let mut labels = vec![0; self.labels];
        let mut encoder = Encoder::new(64);
        let mut at = 0_u64;
        for (item, what) in self.items.iter().enumerate() {
            offsets.push(at as u32);
            match what {
                Item::Here(label) => labels[label.0] = at,
                other => at += encode(&mut encoder, other, at, at, item)? as u64,
            }
        }
        let mut encoder = Encoder::new(64);
        for (item, what) in self.items.iter().enumerate() {
            let at = u64::from(offsets[item]);
            let target = match what {
                Item::Here(_) => continue,
                Item::Jump(_, label) => labels[label.0],
                Item::Plain(_) => at,
            };
            encode(&mut encoder, what, at, target, item)?;
        }
        Ok((encoder.take_buffer(), offsets))
    }
}

/// Instructions of the harness have operands that go together.
fn right(instruction: Result<Instruction, iced_x86::IcedError>) -> Instruction {
    instruction.expect("an instruction of the harness")
}

fn encode(
    encoder: &mut Encoder,
    what: &Item,
    at: u64,
    target: u64,
    item: usize,
) -> Result<usize, EncodingError> {
    let instruction = match what {
        Item::Plain(instruction) => *instruction,
        Item::Jump(code, _) => right(Instruction::with_branch(*code, target)),
        Item::Here(_) => return Ok(0),
    };
    let encoded = encoder.encode(&instruction, at);
    encoded.map_err(|error| EncodingError {
        item,
        why: error.to_string(),
    })
}
