//! The names of registers and of their parts.

use crate::code::{Part, Width};
use crate::test::Architecture;

const QUAD: Part = Part::Low(Width::Quad);
const LONG: Part = Part::Low(Width::Long);
const WORD: Part = Part::Low(Width::Word);
const BYTE: Part = Part::Low(Width::Byte);

/// The parts of each register, in the order in which herd7 prints registers. Those after the first
/// four of the first eight registers and those of the other eight exist in 64-bit code only.
#[rustfmt::skip]
const NAMES: [(&str, u8, Part); 68] = [
    ("eax", 0, LONG), ("ebx", 1, LONG), ("ecx", 2, LONG), ("edx", 3, LONG),
    ("esi", 4, LONG), ("edi", 5, LONG), ("ebp", 6, LONG), ("esp", 7, LONG),
    ("ax", 0, WORD), ("bx", 1, WORD), ("cx", 2, WORD), ("dx", 3, WORD),
    ("si", 4, WORD), ("di", 5, WORD), ("bp", 6, WORD), ("sp", 7, WORD),
    ("al", 0, BYTE), ("bl", 1, BYTE), ("cl", 2, BYTE), ("dl", 3, BYTE),
    ("ah", 0, Part::HighByte), ("bh", 1, Part::HighByte),
    ("ch", 2, Part::HighByte), ("dh", 3, Part::HighByte),
    // Only in 64-bit code.
    ("rax", 0, QUAD), ("rbx", 1, QUAD), ("rcx", 2, QUAD), ("rdx", 3, QUAD),
    ("rsi", 4, QUAD), ("rdi", 5, QUAD), ("rbp", 6, QUAD), ("rsp", 7, QUAD),
    ("sil", 4, BYTE), ("dil", 5, BYTE), ("bpl", 6, BYTE), ("spl", 7, BYTE),
    ("r8", 8, QUAD), ("r8d", 8, LONG), ("r8w", 8, WORD), ("r8b", 8, BYTE),
    ("r9", 9, QUAD), ("r9d", 9, LONG), ("r9w", 9, WORD), ("r9b", 9, BYTE),
    ("r10", 10, QUAD), ("r10d", 10, LONG), ("r10w", 10, WORD), ("r10b", 10, BYTE),
    ("r11", 11, QUAD), ("r11d", 11, LONG), ("r11w", 11, WORD), ("r11b", 11, BYTE),
    ("r12", 12, QUAD), ("r12d", 12, LONG), ("r12w", 12, WORD), ("r12b", 12, BYTE),
    ("r13", 13, QUAD), ("r13d", 13, LONG), ("r13w", 13, WORD), ("r13b", 13, BYTE),
    ("r14", 14, QUAD), ("r14d", 14, LONG), ("r14w", 14, WORD), ("r14b", 14, BYTE),
    ("r15", 15, QUAD), ("r15d", 15, LONG), ("r15w", 15, WORD), ("r15b", 15, BYTE),
];

/// How many of the names exist in 32-bit code.
const NAMES_OF_X86: usize = 24;

/// The accumulator: `EAX`, `rax`.
pub(crate) const ACCUMULATOR: u8 = 0;

/// `ECX`, `rcx`, whose lowest byte counts shifts.
pub(crate) const COUNTER: u8 = 2;

fn names(architecture: Architecture) -> &'static [(&'static str, u8, Part)] {
    match architecture {
        Architecture::X86 => &NAMES[..NAMES_OF_X86],
        Architecture::X86_64 => &NAMES,
    }
}

/// A register of the machine or a symbolic one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Which<'s> {
    /// A register of the processor, by its index in herd7's order.
    Machine(u8),
    /// A symbolic one, by its name without `%`.
    Symbolic(&'s str),
}

/// A part of a register, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct WrittenRegister<'s> {
    /// Which register.
    pub which: Which<'s>,
    /// Which part of it.
    pub part: Part,
}

/// The whole of a register.
pub(crate) fn whole(architecture: Architecture) -> Part {
    match architecture {
        Architecture::X86 => LONG,
        Architecture::X86_64 => QUAD,
    }
}

/// The register of the machine with this name, in upper or lower case.
pub(crate) fn machine(name: &str, architecture: Architecture) -> Option<WrittenRegister<'static>> {
    let found = names(architecture)
        .iter()
        .find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
    Some(WrittenRegister {
        which: Which::Machine(found.1),
        part: found.2,
    })
}

/// Whether it is a register in 64-bit code only.
pub(crate) fn is_only_in_64_bits(name: &str) -> bool {
    machine(name, Architecture::X86).is_none() && machine(name, Architecture::X86_64).is_some()
}

/// What follows a `%`: a register of the machine, else a symbolic one. `Err` has the register that
/// was likely meant, because a register that no other instruction uses would silently be read as
/// zero.
pub(crate) fn after_percent(
    name: &str,
    architecture: Architecture,
) -> Result<WrittenRegister<'_>, Option<String>> {
    if let Some(register) = machine(name, architecture) {
        return Ok(register);
    }
    if is_only_in_64_bits(name) || refusal(name).is_some() {
        return Err(None);
    }
    let near = |known: &&str| known.len() >= 3;
    let known = names(architecture).iter().map(|(known, ..)| *known);
    if name.len() >= 3 {
        if let Some(meant) = fencepost_diagnostics::nearest(name, known.filter(near)) {
            if is_one_apart(name, &meant) {
                return Err(Some(meant));
            }
        }
    }
    Ok(WrittenRegister {
        which: Which::Symbolic(name),
        part: whole(architecture),
    })
}

fn is_one_apart(name: &str, meant: &str) -> bool {
    name.len().abs_diff(meant.len()) <= 1 && name[..1].eq_ignore_ascii_case(&meant[..1])
}

/// Why a register of the processor that is no general one is refused, and what to write instead.
pub(crate) fn refusal(name: &str) -> Option<(&'static str, &'static str)> {
    let lower = name.to_ascii_lowercase();
    let family = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_numbered = family.len() < lower.len();
    Some(match (lower.as_str(), family) {
        ("rip" | "eip" | "ip", _) => (
            "the instruction pointer is not modelled",
            "code has no addresses here; write the location alone, `(x)` for `x(%rip)`",
        ),
        ("cs" | "ds" | "es" | "fs" | "gs" | "ss", _) => (
            "segment registers are not modelled",
            "locations have no segments; give each thread locations of its own for what is local",
        ),
        (_, "xmm" | "ymm" | "zmm" | "mm") if is_numbered => (
            "vector registers are not modelled",
            "write each access as an instruction on a general-purpose register",
        ),
        ("st", _) | (_, "st") => (
            "floating-point registers are not modelled",
            "write each access as an instruction on a general-purpose register",
        ),
        (_, "cr" | "dr") if is_numbered => (
            "control registers are not modelled",
            "only what user code can do is modelled",
        ),
        _ => return None,
    })
}

/// The name that is nearest to `name`.
pub(crate) fn nearest(name: &str, architecture: Architecture) -> Option<String> {
    let known = names(architecture).iter().map(|(known, ..)| *known);
    fencepost_diagnostics::nearest(name, known).map(|meant| spelled(&meant, architecture))
}

fn spelled(name: &str, architecture: Architecture) -> String {
    match architecture {
        Architecture::X86 => name.to_ascii_uppercase(),
        Architecture::X86_64 => name.to_owned(),
    }
}

/// How a part of a register is printed, without `%`.
pub(crate) fn printed(register: u8, part: Part, architecture: Architecture) -> String {
    let found = names(architecture)
        .iter()
        .find(|(_, number, of)| *number == register && *of == part);
    found.map_or_else(String::new, |(name, ..)| spelled(name, architecture))
}

/// The registers that herd7 gives to symbolic ones, in the order in which it does.
pub(crate) fn free_for_symbolic(architecture: Architecture) -> std::ops::Range<u8> {
    match architecture {
        Architecture::X86 => 0..6,
        Architecture::X86_64 => 0..16,
    }
}
