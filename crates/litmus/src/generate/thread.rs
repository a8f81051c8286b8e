//! The instructions of a random thread.

use std::fmt::Write as _;

use fencepost_memory::Random;

use super::{Location, Shape};
use crate::code::Width;
use crate::test::Architecture;

/// By width: eight, four, two and one bytes.
pub(super) const DATA_REGISTERS: [[&str; 4]; 4] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
];
/// Registers that point to locations: eight and four bytes.
pub(super) const POINTERS: [[&str; 2]; 2] = [["rsi", "esi"], ["rdi", "edi"]];
const CONDITIONS: [&str; 16] = [
    "O", "NO", "B", "AE", "E", "NE", "BE", "A", "S", "NS", "P", "NP", "L", "GE", "LE", "G",
];
const BINARY: [&str; 5] = ["ADD", "SUB", "AND", "OR", "XOR"];
const UNARY: [&str; 4] = ["INC", "DEC", "NOT", "NEG"];

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

/// A thread that is being written.
pub(super) struct ThreadWriter<'a> {
    architecture: Architecture,
    locations: &'a [Location],
    /// One per row: labels and an instruction.
    pub(super) rows: Vec<String>,
    /// The locations that the pointer registers point to.
    pub(super) pointers: [usize; 2],
    pub(super) uses_pointer: [bool; 2],
    pub(super) uses_register: [bool; 4],
    pub(super) initial: [u64; 4],
    labels: usize,
    /// Labels that were jumped to and are not set, with how many instructions go before.
    open_labels: Vec<(usize, usize)>,
}

#[derive(Clone, Copy)]
struct Memory {
    location: usize,
    /// The pointer register that it goes through.
    pointer: Option<usize>,
}

/// Writes a thread of so many instructions.
pub(super) fn write_thread<'a>(
    random: &mut Random,
    shape: &Shape,
    locations: &'a [Location],
) -> ThreadWriter<'a> {
    let mut location = || random.below(locations.len() as u64) as usize;
    let pointers = [location(), location()];
    let mut writer = ThreadWriter {
        architecture: shape.architecture,
        locations,
        rows: Vec::new(),
        pointers,
        uses_pointer: [false; 2],
        uses_register: [false; 4],
        initial: [(); 4].map(|()| random.below(3)),
        labels: 0,
        open_labels: Vec::new(),
    };
    for _ in 0..shape.instructions {
        writer.write_instruction(random);
        for (_, left) in &mut writer.open_labels {
            *left = left.saturating_sub(1);
        }
    }
    if !writer.open_labels.is_empty() {
        let labels = writer.take_labels(true);
        writer.rows.push(labels);
    }
    writer
}

impl ThreadWriter<'_> {
    fn memory(&self, random: &mut Random) -> Memory {
        if random.below(4) == 0 {
            let pointer = random.below(2) as usize;
            return Memory {
                location: self.pointers[pointer],
                pointer: Some(pointer),
            };
        }
        Memory {
            location: random.below(self.locations.len() as u64) as usize,
            pointer: None,
        }
    }

    fn width(&self, memory: Memory) -> Width {
        self.locations[memory.location].width
    }

    fn memory_text(&mut self, memory: Memory) -> String {
        if let Some(pointer) = memory.pointer {
            self.uses_pointer[pointer] = true;
        }
        let name = self.locations[memory.location].name;
        match (self.architecture, memory.pointer) {
            (Architecture::X86, None) => format!("[{name}]"),
            (Architecture::X86_64, None) => format!("({name})"),
            (Architecture::X86, Some(pointer)) => {
                format!("[{}]", POINTERS[pointer][1].to_uppercase())
            }
            (Architecture::X86_64, Some(pointer)) => format!("(%{})", POINTERS[pointer][0]),
        }
    }

    fn register(&mut self, random: &mut Random, width: Width) -> String {
        let register = random.below(4) as usize;
        self.uses_register[register] = true;
        let column = match width {
            Width::Quad => 0,
            Width::Long => 1,
            Width::Word => 2,
            Width::Byte => 3,
        };
        let name = DATA_REGISTERS[register][column];
        match self.architecture {
            Architecture::X86 => name.to_uppercase(),
            Architecture::X86_64 => format!("%{name}"),
        }
    }

    fn constant(random: &mut Random) -> String {
        match random.below(8) {
            0 => "$-1".to_owned(),
            other => format!("${}", other % 4),
        }
    }

    /// A register or a constant.
    fn value(&mut self, random: &mut Random, width: Width) -> String {
        match random.below(2) {
            0 => Self::constant(random),
            _ => self.register(random, width),
        }
    }

    /// A width for what is between registers only.
    fn register_width(&self, random: &mut Random) -> Width {
        match self.architecture {
            Architecture::X86 => Width::Long,
            Architecture::X86_64 => pick(
                random,
                &[
                    Width::Quad,
                    Width::Quad,
                    Width::Long,
                    Width::Word,
                    Width::Byte,
                ],
            ),
        }
    }

    fn mnemonic(&self, name: &str, width: Width) -> String {
        match self.architecture {
            Architecture::X86 => name.to_owned(),
            Architecture::X86_64 => {
                let suffix = match width {
                    Width::Byte => 'b',
                    Width::Word => 'w',
                    Width::Long => 'l',
                    Width::Quad => 'q',
                };
                format!("{}{suffix}", name.to_lowercase())
            }
        }
    }

    /// An instruction with two operands, in the order of the syntax.
    fn two(&self, name: &str, width: Width, destination: &str, source: &str) -> String {
        let mnemonic = self.mnemonic(name, width);
        let is_memory_first = matches!(name, "XCHG" | "CMPXCHG");
        match self.architecture {
            Architecture::X86_64 if !is_memory_first => {
                format!("{mnemonic} {source},{destination}")
            }
            _ => format!("{mnemonic} {destination},{source}"),
        }
    }

    fn bare(&self, name: &str) -> String {
        match self.architecture {
            Architecture::X86 => name.to_owned(),
            Architecture::X86_64 => name.to_lowercase(),
        }
    }

    fn lock(&self, random: &mut Random, instruction: String) -> String {
        match random.below(2) {
            0 => format!("{} {instruction}", self.bare("LOCK")),
            _ => instruction,
        }
    }

    fn push(&mut self, instruction: String) {
        let labels = self.take_labels(false);
        self.rows.push(labels + &instruction);
    }

    /// The labels that are due here, or all that are left, as text.
    fn take_labels(&mut self, all: bool) -> String {
        let mut text = String::new();
        self.open_labels.retain(|&(label, left)| {
            let is_due = all || left == 0;
            if is_due {
                let _ = write!(text, "L{label}: ");
            }
            !is_due
        });
        text
    }

    fn write_instruction(&mut self, random: &mut Random) {
        let kind = random.below(24);
        match kind {
            18 => {
                let fence = pick(random, &["MFENCE", "MFENCE", "SFENCE", "LFENCE", "NOP"]);
                self.push(self.bare(fence));
            }
            23 => self.write_between_registers(random),
            _ => self.write_access(random, kind),
        }
    }

    fn write_access(&mut self, random: &mut Random, kind: u64) {
        let memory = self.memory(random);
        let width = self.width(memory);
        let at = self.memory_text(memory);
        match kind {
            0..4 => {
                let value = self.value(random, width);
                self.push(self.two("MOV", width, &at, &value));
            }
            4..8 => {
                let to = self.register(random, width);
                self.push(self.two("MOV", width, &to, &at));
            }
            8 | 9 => {
                let name = pick(random, &BINARY);
                let value = self.value(random, width);
                let update = self.two(name, width, &at, &value);
                let update = self.lock(random, update);
                self.push(update);
            }
            10 | 11 => {
                let name = pick(random, &UNARY);
                let update = format!("{} {at}", self.mnemonic(name, width));
                let update = self.lock(random, update);
                self.push(update);
            }
            12 => {
                let name = pick(random, &BINARY);
                let to = self.register(random, width);
                self.push(self.two(name, width, &to, &at));
            }
            13 | 14 => {
                let with = self.register(random, width);
                let exchange = self.two("XCHG", width, &at, &with);
                let exchange = self.lock(random, exchange);
                self.push(exchange);
            }
            15 => {
                let with = self.register(random, width);
                let add = self.two("XADD", width, &at, &with);
                let add = self.lock(random, add);
                self.push(add);
            }
            16 | 17 => {
                // It compares with the accumulator.
                self.uses_register[0] = true;
                let with = self.register(random, width);
                let exchange = self.two("CMPXCHG", width, &at, &with);
                let exchange = self.lock(random, exchange);
                self.push(exchange);
            }
            19 | 20 => {
                self.write_comparison(random, &at, width);
                self.write_jump(random);
            }
            21 => {
                self.write_comparison(random, &at, width);
                self.write_conditional(random, &at, width);
            }
            _ => self.write_conditional(random, &at, width),
        }
    }

    fn write_comparison(&mut self, random: &mut Random, at: &str, width: Width) {
        let name = pick(random, &["CMP", "CMP", "TEST"]);
        match random.below(3) {
            0 => {
                let value = self.value(random, width);
                self.push(self.two(name, width, at, &value));
            }
            _ => {
                let width = self.register_width(random);
                let left = self.register(random, width);
                let right = self.value(random, width);
                self.push(self.two(name, width, &left, &right));
            }
        }
    }

    fn write_jump(&mut self, random: &mut Random) {
        let jump = format!("J{}", pick(random, &CONDITIONS));
        let label = self.labels;
        self.labels += 1;
        self.push(format!("{} L{label}", self.bare(&jump)));
        self.open_labels.push((label, 2 + random.below(2) as usize));
    }

    /// `CMOVcc` or `SETcc`.
    fn write_conditional(&mut self, random: &mut Random, at: &str, width: Width) {
        let condition = pick(random, &CONDITIONS);
        match random.below(4) {
            0 if width != Width::Byte => {
                let to = self.register(random, width);
                self.push_move_if(condition, &to, at);
            }
            1 => {
                let width = match self.register_width(random) {
                    Width::Byte => Width::Word,
                    width => width,
                };
                let to = self.register(random, width);
                let from = self.register(random, width);
                self.push_move_if(condition, &to, &from);
            }
            2 if width == Width::Byte => {
                self.push(format!("{} {at}", self.bare(&format!("SET{condition}"))));
            }
            _ => {
                let to = self.register(random, Width::Byte);
                self.push(format!("{} {to}", self.bare(&format!("SET{condition}"))));
            }
        }
    }

    /// Without a suffix: a register says the width, and `CMOVL` is a condition.
    fn push_move_if(&mut self, condition: &str, to: &str, from: &str) {
        let name = self.bare(&format!("CMOV{condition}"));
        self.push(match self.architecture {
            Architecture::X86 => format!("{name} {to},{from}"),
            Architecture::X86_64 => format!("{name} {from},{to}"),
        });
    }

    fn write_between_registers(&mut self, random: &mut Random) {
        let width = self.register_width(random);
        let to = self.register(random, width);
        let instruction = match random.below(6) {
            0 => {
                let value = self.value(random, width);
                self.two("MOV", width, &to, &value)
            }
            1 => format!("{} {to}", self.mnemonic(pick(random, &UNARY), width)),
            2 if self.architecture == Architecture::X86_64 => {
                let count = format!("${}", 1 + random.below(3));
                self.two("SHL", width, &to, &count)
            }
            3 => {
                let with = self.register(random, width);
                self.two(pick(random, &["XCHG", "XADD"]), width, &to, &with)
            }
            _ => {
                let value = self.value(random, width);
                self.two(pick(random, &BINARY), width, &to, &value)
            }
        };
        self.push(instruction);
    }
}
