//! Which register of the processor each register of a thread is.

use fencepost_litmus::code::{Part, Register as ThreadRegister, Width};
use fencepost_litmus::test::Thread;
use iced_x86::Register;

use crate::error::Refusal;

/// The sixteen registers, in the order in which the harness prefers free ones: those first that
/// need no REX prefix, because `AH` and the like cannot be used with one.
pub(crate) const BY_PREFERENCE: [Register; 16] = [
    Register::RDI,
    Register::RSI,
    Register::RBP,
    Register::RBX,
    Register::RCX,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
    Register::RDX,
    Register::RAX,
    Register::RSP,
];

/// Names as litmus tests print them, in 64-bit and in 32-bit code.
const NAMES: [(&str, &str, Register); 16] = [
    ("rax", "EAX", Register::RAX),
    ("rbx", "EBX", Register::RBX),
    ("rcx", "ECX", Register::RCX),
    ("rdx", "EDX", Register::RDX),
    ("rsi", "ESI", Register::RSI),
    ("rdi", "EDI", Register::RDI),
    ("rbp", "EBP", Register::RBP),
    ("rsp", "ESP", Register::RSP),
    ("r8", "", Register::R8),
    ("r9", "", Register::R9),
    ("r10", "", Register::R10),
    ("r11", "", Register::R11),
    ("r12", "", Register::R12),
    ("r13", "", Register::R13),
    ("r14", "", Register::R14),
    ("r15", "", Register::R15),
];

fn by_name(name: &str) -> Option<Register> {
    // The flags and temporary registers have no name, as some registers have none in 32-bit code.
    let is_named = |known: &str| !name.is_empty() && known == name;
    let mut known = NAMES.iter();
    let found = known.find(|(quad, long, _)| is_named(quad) || is_named(long));
    found.map(|(.., register)| *register)
}

/// The registers of a thread.
#[derive(Clone, Debug)]
pub(crate) struct RegisterMap {
    /// By the number in the thread; none for the flags and for what exists within an instruction
    /// only.
    machine: Vec<Option<Register>>,
}

impl RegisterMap {
    /// Gives each register of a thread one of the processor. A symbolic register that the test
    /// could not give one to gets any that is free.
    pub fn new(index: usize, thread: &Thread) -> Result<Self, Refusal> {
        let mut machine = vec![None; thread.registers.len()];
        for (slot, info) in machine.iter_mut().zip(&thread.registers) {
            *slot = by_name(&info.name);
        }
        for (number, info) in thread.registers.iter().enumerate() {
            if machine[number].is_some() || info.name.is_empty() {
                continue;
            }
            let free = BY_PREFERENCE
                .iter()
                .find(|free| !machine.contains(&Some(**free)));
            let Some(free) = free else {
                return Err(Refusal::TooManyRegisters { thread: index });
            };
            machine[number] = Some(*free);
        }
        Ok(RegisterMap { machine })
    }

    /// The 64-bit register, if it is one of the processor's.
    pub fn whole(&self, register: ThreadRegister) -> Option<Register> {
        self.machine.get(register.index()).copied().flatten()
    }

    /// A part of a register.
    pub fn part(&self, register: ThreadRegister, part: Part) -> Option<Register> {
        self.whole(register).and_then(|whole| part_of(whole, part))
    }

    /// Those that the thread uses, with their numbers.
    pub fn used(&self) -> impl Iterator<Item = (usize, Register)> + '_ {
        let machine = self.machine.iter().enumerate();
        machine.filter_map(|(number, register)| Some((number, (*register)?)))
    }

    /// Those that the thread does not use, in the order of preference.
    pub fn free(&self) -> impl Iterator<Item = Register> + '_ {
        let all = BY_PREFERENCE.iter().copied();
        all.filter(|register| !self.machine.contains(&Some(*register)))
    }
}

/// A part of a 64-bit register. None if it has no such part (`AH` exists of four registers).
pub(crate) fn part_of(whole: Register, part: Part) -> Option<Register> {
    match part {
        Part::Low(Width::Quad) => Some(whole),
        Part::Low(Width::Long) => Some(whole.full_register32_of()),
        Part::Low(Width::Word) => Some(Register::AX + whole.number_of()),
        Part::Low(Width::Byte) => {
            // In the order of numbers AL, CL, DL, BL, and then those that need a REX prefix.
            const LOW: [Register; 16] = [
                Register::AL,
                Register::CL,
                Register::DL,
                Register::BL,
                Register::SPL,
                Register::BPL,
                Register::SIL,
                Register::DIL,
                Register::R8L,
                Register::R9L,
                Register::R10L,
                Register::R11L,
                Register::R12L,
                Register::R13L,
                Register::R14L,
                Register::R15L,
            ];
            LOW.get(whole.number_of() as usize).copied()
        }
        Part::HighByte => match whole {
            Register::RAX => Some(Register::AH),
            Register::RBX => Some(Register::BH),
            Register::RCX => Some(Register::CH),
            Register::RDX => Some(Register::DH),
            _ => None,
        },
    }
}

/// What of iced's registers is needed here, without its tables of instruction information.
trait Numbered {
    fn number_of(self) -> u32;
    fn full_register32_of(self) -> Register;
}

impl Numbered for Register {
    fn number_of(self) -> u32 {
        (self as u32).wrapping_sub(Register::RAX as u32)
    }

    fn full_register32_of(self) -> Register {
        Register::EAX + self.number_of()
    }
}
