//! Random litmus tests, as text in both syntaxes.
//!
//! For comparing engines, readers and other tools: every kind of instruction occurs, every register that is used and
//! every location is observed, so a difference anywhere shows. All jumps go forward, so every thread ends.
//! A location is accessed in one width only, and a pointer register keeps its pointer. The same seed gives the
//! same text for ever.

use std::fmt::Write as _;

use fencepost_memory::Random;

use crate::code::Width;
use crate::test::Architecture;

/// How large a random test is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The syntax.
    pub architecture: Architecture,
    /// How many threads.
    pub threads: usize,
    /// How many instructions each has, not counting jumps.
    pub instructions: usize,
    /// How many locations there are: at most 8.
    pub locations: usize,
}

const LOCATION_NAMES: [&str; 8] = ["x", "y", "z", "a", "b", "c", "d", "e"];
/// By width: eight, four, two and one bytes.
const DATA_REGISTERS: [[&str; 4]; 4] = [
    ["rax", "eax", "ax", "al"],
    ["rbx", "ebx", "bx", "bl"],
    ["rcx", "ecx", "cx", "cl"],
    ["rdx", "edx", "dx", "dl"],
];
const POINTERS: [[&str; 2]; 2] = [["rsi", "esi"], ["rdi", "edi"]];
const CONDITIONS: [&str; 16] = [
    "O", "NO", "B", "AE", "E", "NE", "BE", "A", "S", "NS", "P", "NP", "L", "GE", "LE", "G",
];
const BINARY: [&str; 5] = ["ADD", "SUB", "AND", "OR", "XOR"];
const UNARY: [&str; 4] = ["INC", "DEC", "NOT", "NEG"];

/// A random test.
pub fn random_test(random: &mut Random, name: &str, shape: &Shape) -> String {
    let count = shape.locations.clamp(1, LOCATION_NAMES.len());
    let locations: Vec<Location> = (0..count)
        .map(|index| Location {
            name: LOCATION_NAMES[index],
            width: random_width(random, shape.architecture),
            initial: random.below(3),
        })
        .collect();
    let threads: Vec<Writer> = (0..shape.threads)
        .map(|_| write_thread(random, shape, &locations))
        .collect();
    render(name, shape.architecture, &locations, &threads)
}

struct Location {
    name: &'static str,
    width: Width,
    initial: u64,
}

/// `X86` has declarations of locations too, but its programs are of four bytes.
fn random_width(random: &mut Random, architecture: Architecture) -> Width {
    match architecture {
        Architecture::X86 => Width::Long,
        Architecture::X86_64 => match random.below(8) {
            0 => Width::Byte,
            1 => Width::Word,
            2..5 => Width::Quad,
            _ => Width::Long,
        },
    }
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

/// A thread that is being written.
struct Writer<'a> {
    architecture: Architecture,
    locations: &'a [Location],
    /// One per row: labels and an instruction.
    rows: Vec<String>,
    /// The locations that the pointer registers point to.
    pointers: [usize; 2],
    uses_pointer: [bool; 2],
    uses_register: [bool; 4],
    initial: [u64; 4],
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

fn write_thread<'a>(random: &mut Random, shape: &Shape, locations: &'a [Location]) -> Writer<'a> {
    let mut location = || random.below(locations.len() as u64) as usize;
    let pointers = [location(), location()];
    let mut writer = Writer {
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

impl Writer<'_> {
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

fn render(
    name: &str,
    architecture: Architecture,
    locations: &[Location],
    threads: &[Writer<'_>],
) -> String {
    let (syntax, whole) = match architecture {
        Architecture::X86 => ("X86", 1),
        Architecture::X86_64 => ("X86_64", 0),
    };
    let register_name = |register: &str| match architecture {
        Architecture::X86 => register.to_uppercase(),
        Architecture::X86_64 => register.to_owned(),
    };
    let mut text = format!("{syntax} {name}\n{{\n");
    let mut observed = Vec::new();
    for location in locations {
        let kind = match location.width {
            Width::Byte => "uint8_t",
            Width::Word => "uint16_t",
            Width::Long => "int",
            Width::Quad => "uint64_t",
        };
        let _ = writeln!(text, "{kind} {}={};", location.name, location.initial);
        observed.push(format!("{};", location.name));
    }
    for (number, thread) in threads.iter().enumerate() {
        for (index, register) in DATA_REGISTERS.iter().enumerate() {
            if thread.uses_register[index] {
                let register = register_name(register[whole]);
                let _ = writeln!(text, "{number}:{register}={};", thread.initial[index]);
                observed.push(format!("{number}:{register};"));
            }
        }
        for (index, pointer) in POINTERS.iter().enumerate() {
            if thread.uses_pointer[index] {
                let location = locations[thread.pointers[index]].name;
                let pointer = register_name(pointer[whole]);
                let _ = writeln!(text, "{number}:{pointer}={location};");
            }
        }
    }
    text.push_str("}\n");
    render_table(&mut text, threads);
    let _ = writeln!(text, "locations [{}]\nforall (true)", observed.join(" "));
    text
}

fn render_table(text: &mut String, threads: &[Writer<'_>]) {
    let rows = threads.iter().map(|thread| thread.rows.len());
    let height = rows.max().unwrap_or(0);
    let cell = |thread: usize, row: usize| match row.checked_sub(1) {
        None => format!("P{thread}"),
        Some(row) => threads[thread].rows.get(row).cloned().unwrap_or_default(),
    };
    let width_of = |thread: usize| (0..=height).map(|row| cell(thread, row).len()).max();
    let widths: Vec<usize> = (0..threads.len())
        .map(|thread| width_of(thread).unwrap_or(0))
        .collect();
    for row in 0..=height {
        let cells: Vec<String> = widths
            .iter()
            .enumerate()
            .map(|(thread, &width)| format!(" {:<width$} ", cell(thread, row)))
            .collect();
        let _ = writeln!(text, "{};", cells.join("|"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_a_test() {
        let shape = Shape {
            architecture: Architecture::X86,
            threads: 2,
            instructions: 4,
            locations: 2,
        };
        let text = |seed| random_test(&mut Random::new(seed), "random", &shape);
        assert_eq!(text(5), text(5));
        assert_ne!(text(5), text(6));
    }

    #[test]
    fn every_kind_of_instruction_occurs_in_both_syntaxes() {
        for architecture in [Architecture::X86, Architecture::X86_64] {
            let shape = Shape {
                architecture,
                threads: 3,
                instructions: 8,
                locations: 3,
            };
            let text: String = (0..200)
                .map(|seed| random_test(&mut Random::new(seed), "random", &shape))
                .collect();
            let text = text.to_uppercase();
            let names = "MOV ADD SUB AND OR XOR INC DEC NOT NEG XCHG XADD CMPXCHG CMP TEST MFENCE \
                         SFENCE LFENCE NOP LOCK JE SETE CMOVE";
            for name in names.split(' ') {
                let begins = |word: &str| word.starts_with(name);
                assert!(text.split_whitespace().any(begins), "no {name}");
            }
        }
    }
}
