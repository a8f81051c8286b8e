//! What was expected in a file instead of an error, and how to fix it.

use crate::parse_error_kind::{ParseErrorKind, Section, Unterminated, counted};
use crate::test::{Architecture, Position};
use fencepost_diagnostics::nearest;

/// The hints that do not depend on the file.
mod hints {
    pub(super) const NOT_UTF8: &str = "check that the file is a litmus test";
    pub(super) const LIMIT: &str = "this is a limit of the reader, not an error in the test: a test \
        of this size can hardly be answered (`fencepost_litmus::Limits` has other limits)";
    pub(super) const FIRST_LINE: &str = "a test begins with a line such as `X86 SB`: `X86` has the \
        destination of an instruction first, `X86_64` the source";
    pub(super) const COMMENT: &str = "comments nest: each `(*` needs a `*)`";
    pub(super) const DOCUMENTATION: &str =
        "the text after the name of a test is between two quotes";
    pub(super) const INITIAL_STATE: &str = "write the initial state between braces, \
        `{ x=1; 0:EAX=2; }`, and `{}` if everything is zero";
    pub(super) const CHARACTERS: &str = "names consist of letters, digits, `_` and `.`; comments \
        are between `(*` and `*)`";
    pub(super) const NUMBERS: &str = "write 10, -10 or 0x0a";
    pub(super) const LARGE_NUMBER: &str = "registers and locations have at most 64 bits";
    pub(super) const WIDTH_OF_NUMBER: &str = "the width is that of the register or the location; \
        declare the location with another type, or use another register or suffix";
    pub(super) const TYPES: &str = "the type determines the size of a location and whether its \
        value is signed";
    pub(super) const ARRAY_CONTENTS: &str = "declare an array with its length and the contents of \
        all elements, or none: `int x[2]={1,2};`";
    pub(super) const THREADS: &str =
        "the first row of the program numbers the threads: `P0 | P1 ;`";
    pub(super) const REGISTER_OF_THREAD: &str = "`1:EAX` is register EAX of thread P1";
    pub(super) const ROWS: &str = "cells are separated by `|`, and a row ends with `;`";
    pub(super) const INSTRUCTIONS: &str = "Fencepost knows MOV, ADD, SUB, XOR, OR, AND, INC, DEC, NOT, \
        NEG, CMP, TEST, SHL, XCHG, XADD, CMPXCHG, CMOVcc, SETcc, JMP, Jcc, MFENCE, SFENCE, LFENCE, \
        NOP and RET; the suffixes b, w, l and q give the width";
    pub(super) const OPERAND_SEPARATOR: &str = "operands are separated by commas";
    pub(super) const OPERAND_KINDS: &str = "the operands are those of the processor's instruction";
    pub(super) const X86_ORDER: &str = "in `X86` the destination comes first: `MOV [x],$1`";
    pub(super) const X86_64_ORDER: &str = "in `X86_64` the source comes first: `movq $1,(x)`";
    pub(super) const TWO_MEMORY_OPERANDS: &str = "load one of them into a register first";
    pub(super) const LOCK: &str = "LOCK is for ADD, SUB, AND, OR, XOR, INC, DEC, NOT, NEG, XADD, \
        CMPXCHG and XCHG with a memory destination; the processor faults on others";
    pub(super) const CMOV: &str = "the processor has CMOVcc for 2, 4 and 8 bytes";
    pub(super) const SUFFIXES: &str = "the suffix and the registers must agree: `movl` with `%eax`, \
        `movq` with `%rax`";
    pub(super) const REGISTERS: &str = "only general-purpose registers and their parts are modelled; \
        a symbolic register may be called `%tmp`";
    pub(super) const WIDE_REGISTERS: &str = "64-bit tests begin with `X86_64` and have the source of \
        an instruction first";
    pub(super) const HIGH_BYTES: &str = "observe the whole register";
    pub(super) const SYMBOLIC_REGISTERS: &str = "a symbolic register belongs to the thread whose \
        instructions use it";
    pub(super) const UNUSED_REGISTERS: &str = "it would only have its initial value";
    pub(super) const UNKNOWN_LOCATIONS: &str = "no instruction and no initial state has it, so it \
        would always be 0";
    pub(super) const OPERAND_SYNTAX: &str = "registers of `X86_64` are written `%rax`, those of \
        `X86` `EAX`; memory operands are in brackets or parentheses";
    pub(super) const ADDRESSES: &str = "locations have names; their addresses are not specified";
    pub(super) const ADDRESS_REGISTERS: &str = "write `%rax` or `%eax`, not a part of it";
    pub(super) const NEIGHBOURS: &str = "only the elements of an array, declared as `int x[2];`, are \
        next to each other";
    pub(super) const LABELS: &str = "labels are written `name:` before an instruction, belong to a \
        thread, and are case-sensitive";
    pub(super) const MIXED_SIZE: &str = "all accesses to a location must have the same width; \
        x86-TSO does not define what overlapping ones do";
    pub(super) const ARRAYS: &str = "declare arrays in the initial state: `int x[2]={1,2};`";
    pub(super) const FAULTS: &str = "no access of the model faults; an access outside of all \
        locations is an error of the test";
    pub(super) const NO_ADDRESS: &str = "each location gets an address that is not a constant of \
        the test";
}

impl Section {
    fn hint(self) -> &'static str {
        match self {
            Section::Header => {
                "a test begins with a line such as `X86 SB`, followed by the initial state in braces"
            }
            Section::InitialState => {
                "entries of the initial state end with `;`: `{ x=1; int y; 0:EAX=2; 1:EBX=x; int \
                 z[2]={1,2}; }`"
            }
            Section::Program => {
                "the first row of the program names the threads, `P0 | P1 ;`, the others have their \
                 instructions, `MOV [x],$1 | MOV EAX,[x] ;`"
            }
            Section::Condition => {
                "the program is followed by a condition such as `exists (0:EAX=0 /\\ x=1)`, \
                 optionally with `locations [x; 0:EBX;]` and `filter (1:EAX=1)` before it"
            }
        }
    }
}

impl Unterminated {
    fn hint(self) -> &'static str {
        match self {
            Unterminated::Comment => hints::COMMENT,
            Unterminated::Documentation => hints::DOCUMENTATION,
            Unterminated::InitialState => hints::INITIAL_STATE,
        }
    }
}

impl ParseErrorKind {
    /// What was expected.
    pub fn expected(&self) -> String {
        match self {
            ParseErrorKind::NotUtf8 { .. } => "UTF-8 text".into(),
            ParseErrorKind::Limit { allowed, .. } => format!("at most {allowed}"),
            ParseErrorKind::UnknownArchitecture { .. } => "`X86` or `X86_64`".into(),
            ParseErrorKind::MissingName => "a name after the architecture".into(),
            ParseErrorKind::Unterminated(what) => match what {
                Unterminated::Comment => "`*)`".into(),
                Unterminated::Documentation => "`\"`".into(),
                Unterminated::InitialState => "`}`".into(),
            },
            ParseErrorKind::MissingInitialState => "`{`".into(),
            ParseErrorKind::BadCharacter { .. } => "a name, a number or a mark".into(),
            ParseErrorKind::Unexpected { found, wanted, .. } if wanted.contains("`exists`") => {
                let words = ["exists", "forall"].into_iter();
                match nearest(found, words.filter(|word| wanted.contains(word))) {
                    Some(meant) => format!("{wanted}; did you mean `{meant}`?"),
                    None => (*wanted).into(),
                }
            }
            ParseErrorKind::Unexpected { wanted, .. }
            | ParseErrorKind::UnexpectedEnd { wanted, .. } => (*wanted).into(),
            ParseErrorKind::BadNumber { .. } => {
                "decimal digits, or hexadecimal ones after `0x`".into()
            }
            ParseErrorKind::NumberTooLarge { .. } => "a number of at most 64 bits".into(),
            ParseErrorKind::DoesNotFit { bytes, .. } => {
                format!("a number of at most {} bits", bytes * 8)
            }
            ParseErrorKind::UnknownType { .. } => {
                "`int`, `int8_t` to `int64_t`, `uint8_t` to `uint64_t`, or a pointer".into()
            }
            ParseErrorKind::WrongCount { length, .. } => counted(*length as u64, "content"),
            ParseErrorKind::ElementInitialized { name, .. } => {
                format!("all elements at once, such as `int {name}[2]={{1,2}}`")
            }
            ParseErrorKind::InitializedTwice { .. } => "one initial content".into(),
            ParseErrorKind::DuplicateThread { .. } => "threads with different numbers".into(),
            ParseErrorKind::NoSuchThread { .. } => "a thread of the program".into(),
            ParseErrorKind::RowLength { threads, .. } => match threads {
                1 => "one cell, which may be empty".into(),
                _ => format!("{threads} cells, of which some may be empty"),
            },
            ParseErrorKind::UnknownInstruction { meant, .. } => match meant {
                Some(meant) => format!("an instruction; did you mean `{meant}`?"),
                None => "an instruction of the model".into(),
            },
            ParseErrorKind::NotModelled { .. } => "instructions and registers of the model".into(),
            ParseErrorKind::OperandCount { wanted, .. }
            | ParseErrorKind::OperandKind { wanted, .. } => (*wanted).into(),
            ParseErrorKind::ConstantDestination { .. } => "a register or memory".into(),
            ParseErrorKind::TwoMemoryOperands { .. } => "at most one memory operand".into(),
            ParseErrorKind::LockNotAllowed { can_lock, .. } => match can_lock {
                true => "memory as the destination".into(),
                false => "an instruction that reads and writes memory".into(),
            },
            ParseErrorKind::ByteMoveIf { .. } => "2, 4 or 8 bytes".into(),
            ParseErrorKind::WidthMismatch { bytes, .. } => {
                format!("a register of {}", counted(*bytes, "byte"))
            }
            ParseErrorKind::UnknownRegister { meant, .. } => match meant {
                Some(meant) => format!("a register; did you mean `{meant}`?"),
                None => "a general register".into(),
            },
            ParseErrorKind::WideRegister { .. } => "a register of at most 4 bytes".into(),
            ParseErrorKind::HighByteObserved { .. } => "the low bytes or all of a register".into(),
            ParseErrorKind::AmbiguousRegister { found } => format!("a thread, as in `0:%{found}`"),
            ParseErrorKind::UnusedRegister { meant, .. } => match meant {
                Some(meant) => format!("a register that the thread uses; did you mean `{meant}`?"),
                None => "a register that the thread uses".into(),
            },
            ParseErrorKind::UnknownLocation { meant, known, .. } => match (meant, known.as_slice())
            {
                (Some(meant), _) => {
                    format!("a location of the test; did you mean `{meant}`?")
                }
                (None, []) => "a location of the test".into(),
                (None, known) => format!("a location of the test: {}", listed(known)),
            },
            ParseErrorKind::BareName { found } => {
                format!("`[{found}]`, or `${found}` for its address")
            }
            ParseErrorKind::NumericAddress => "the name of a location, or a register".into(),
            ParseErrorKind::NarrowAddress => "a register of 4 or 8 bytes".into(),
            ParseErrorKind::NoSuchCell { .. } => "a location or an element of an array".into(),
            ParseErrorKind::UnknownLabel { meant, .. } => match meant {
                Some(meant) => format!("a label of the thread; did you mean `{meant}`?"),
                None => "a label of the thread".into(),
            },
            ParseErrorKind::DuplicateLabel { .. } => "each label once in a thread".into(),
            ParseErrorKind::MixedSize { other, .. } => {
                format!("an access of {}", counted(*other, "byte"))
            }
            ParseErrorKind::ArrayAlone { name } => format!("an element such as `{name}[0]`"),
            ParseErrorKind::NotAnArray { name } => format!("an array, or `{name}` alone"),
            ParseErrorKind::NoSuchElement { length, .. } => format!("a number below {length}"),
            ParseErrorKind::FaultClaim => "a comparison such as `0:EAX=1`".into(),
            ParseErrorKind::NoRoom => "fewer constants, or fewer locations".into(),
        }
    }

    /// How to fix it.
    pub fn hint(&self) -> String {
        let hint = match self {
            ParseErrorKind::NotUtf8 { .. } => hints::NOT_UTF8,
            ParseErrorKind::Limit { .. } => hints::LIMIT,
            ParseErrorKind::UnknownArchitecture { .. } | ParseErrorKind::MissingName => {
                hints::FIRST_LINE
            }
            ParseErrorKind::Unterminated(what) => what.hint(),
            ParseErrorKind::MissingInitialState => Unterminated::InitialState.hint(),
            ParseErrorKind::BadCharacter { .. } => hints::CHARACTERS,
            ParseErrorKind::Unexpected { section, .. }
            | ParseErrorKind::UnexpectedEnd { section, .. } => section.hint(),
            ParseErrorKind::BadNumber { .. } => hints::NUMBERS,
            ParseErrorKind::NumberTooLarge { .. } => hints::LARGE_NUMBER,
            ParseErrorKind::DoesNotFit { .. } => hints::WIDTH_OF_NUMBER,
            ParseErrorKind::UnknownType { .. } => hints::TYPES,
            ParseErrorKind::WrongCount { .. } | ParseErrorKind::ElementInitialized { .. } => {
                hints::ARRAY_CONTENTS
            }
            ParseErrorKind::InitializedTwice { before, .. } => {
                return format!("it was initialized in {}", position_text(before));
            }
            ParseErrorKind::DuplicateThread { .. } => hints::THREADS,
            ParseErrorKind::NoSuchThread { .. } => hints::REGISTER_OF_THREAD,
            ParseErrorKind::RowLength { .. } => hints::ROWS,
            ParseErrorKind::UnknownInstruction { .. } => hints::INSTRUCTIONS,
            ParseErrorKind::NotModelled { needed, .. } => needed,
            ParseErrorKind::OperandCount { .. } => hints::OPERAND_SEPARATOR,
            ParseErrorKind::OperandKind { .. } => hints::OPERAND_KINDS,
            ParseErrorKind::ConstantDestination { architecture, .. } => match architecture {
                Architecture::X86 => hints::X86_ORDER,
                Architecture::X86_64 => hints::X86_64_ORDER,
            },
            ParseErrorKind::TwoMemoryOperands { .. } => hints::TWO_MEMORY_OPERANDS,
            ParseErrorKind::LockNotAllowed { .. } => hints::LOCK,
            ParseErrorKind::ByteMoveIf { .. } => hints::CMOV,
            ParseErrorKind::WidthMismatch { .. } => hints::SUFFIXES,
            ParseErrorKind::UnknownRegister { .. } => hints::REGISTERS,
            ParseErrorKind::WideRegister { .. } => hints::WIDE_REGISTERS,
            ParseErrorKind::HighByteObserved { .. } => hints::HIGH_BYTES,
            ParseErrorKind::AmbiguousRegister { .. } => hints::SYMBOLIC_REGISTERS,
            ParseErrorKind::UnusedRegister { found, .. } => {
                // A symbolic register is nothing without an instruction that uses it.
                let is_named = found.contains(':') && !found.contains('%');
                let register = if is_named { found } else { "0:EAX" };
                return initialize(hints::UNUSED_REGISTERS, register);
            }
            ParseErrorKind::UnknownLocation { found, .. } => {
                return initialize(hints::UNKNOWN_LOCATIONS, found);
            }
            ParseErrorKind::BareName { .. } => hints::OPERAND_SYNTAX,
            ParseErrorKind::NumericAddress => hints::ADDRESSES,
            ParseErrorKind::NarrowAddress => hints::ADDRESS_REGISTERS,
            ParseErrorKind::NoSuchCell { .. } => hints::NEIGHBOURS,
            ParseErrorKind::UnknownLabel { .. } => hints::LABELS,
            ParseErrorKind::DuplicateLabel { before, .. } => {
                return format!("it is already defined in {}", position_text(before));
            }
            ParseErrorKind::MixedSize { .. } => hints::MIXED_SIZE,
            ParseErrorKind::ArrayAlone { name } => {
                return format!("compare an element, or all of them: `{name}={{1,2}}`");
            }
            ParseErrorKind::NotAnArray { .. } | ParseErrorKind::NoSuchElement { .. } => {
                hints::ARRAYS
            }
            ParseErrorKind::FaultClaim => hints::FAULTS,
            ParseErrorKind::NoRoom => hints::NO_ADDRESS,
        };
        hint.to_owned()
    }
}

/// `x`, `y` and `z`, in quotes.
fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => quoted.concat(),
    }
}

/// That something not in the program can be meant.
fn initialize(otherwise: &str, name: &str) -> String {
    format!("{otherwise}; if that is meant, initialize it: `{{ {name}=0; }}`")
}

fn position_text(position: &Position) -> String {
    format!("line {}, column {}", position.line, position.column)
}
