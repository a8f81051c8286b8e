//! What should have been in a file instead of a mistake, and how to mend it.

use crate::problem::{Problem, Section, Unterminated, counted};
use crate::test::Architecture;

const INSTRUCTIONS: &str = "MOV, ADD, SUB, XOR, OR, AND, INC, DEC, NOT, NEG, CMP, TEST, SHL, XCHG, \
                            XADD, CMPXCHG, CMOVcc, SETcc, JMP, Jcc, MFENCE, SFENCE, LFENCE, NOP and RET";

impl Section {
    fn hint(self) -> &'static str {
        match self {
            Section::Header => {
                "a test begins with a line such as `X86 SB`, and its initial state stands in braces"
            }
            Section::InitialState => {
                "entries of the initial state end with `;`: `{ x=1; int y; 0:EAX=2; 1:EBX=x; int \
                 z[2]={1,2}; }`"
            }
            Section::Program => {
                "the first row of the program has the threads, `P0 | P1 ;`, the others have their \
                 instructions, `MOV [x],$1 | MOV EAX,[x] ;`"
            }
            Section::Condition => {
                "the program is followed by a condition such as `exists (0:EAX=0 /\\ x=1)`, with \
                 `locations [x; 0:EBX;]` and `filter (1:EAX=1)` before it if wanted"
            }
        }
    }
}

impl Problem {
    /// What should have been there.
    pub fn expected(&self) -> String {
        match self {
            Problem::NotUtf8 { .. } => "UTF-8 text".into(),
            Problem::Limit { allowed, .. } => format!("at most {allowed}"),
            Problem::UnknownArchitecture { .. } => "`X86` or `X86_64`".into(),
            Problem::MissingName => "a name after the architecture".into(),
            Problem::Unterminated(what) => match what {
                Unterminated::Comment => "`*)`".into(),
                Unterminated::Documentation => "`\"`".into(),
                Unterminated::InitialState => "`}`".into(),
            },
            Problem::MissingInitialState => "`{`".into(),
            Problem::BadCharacter { .. } => "a name, a number or a mark".into(),
            Problem::Unexpected { wanted, .. } | Problem::UnexpectedEnd { wanted, .. } => {
                (*wanted).into()
            }
            Problem::BadNumber { .. } => "decimal digits, or hexadecimal ones after `0x`".into(),
            Problem::NumberTooLarge { .. } => "a number of at most 64 bits".into(),
            Problem::DoesNotFit { bytes, .. } => {
                format!("a number of at most {} bits", bytes * 8)
            }
            Problem::UnknownType { .. } => {
                "`int`, `int8_t` to `int64_t`, `uint8_t` to `uint64_t`, or a pointer".into()
            }
            Problem::WrongCount { length, .. } => counted(*length as u64, "content"),
            Problem::ElementInitialized { name, .. } => {
                format!("all elements at once, such as `int {name}[2]={{1,2}}`")
            }
            Problem::InitializedTwice { .. } => "one initial content".into(),
            Problem::DuplicateThread { .. } => "threads with different numbers".into(),
            Problem::NoSuchThread { .. } => "a thread of the program".into(),
            Problem::RowLength { threads, .. } => match threads {
                1 => "one cell, which may be empty".into(),
                _ => format!("{threads} cells, of which some may be empty"),
            },
            Problem::UnknownInstruction { meant, .. } => match meant {
                Some(meant) => format!("an instruction, perhaps `{meant}`"),
                None => "an instruction of the model".into(),
            },
            Problem::NotModelled { .. } => "an instruction of the model".into(),
            Problem::OperandCount { wanted, .. } | Problem::OperandKind { wanted, .. } => {
                (*wanted).into()
            }
            Problem::ConstantDestination { .. } => "a register or memory".into(),
            Problem::TwoMemoryOperands { .. } => "at most one memory operand".into(),
            Problem::LockNotAllowed { can_lock, .. } => match can_lock {
                true => "memory as the destination".into(),
                false => "an instruction that reads and writes memory".into(),
            },
            Problem::ByteMoveIf { .. } => "2, 4 or 8 bytes".into(),
            Problem::WidthMismatch { bytes, .. } => {
                format!("a register of {}", counted(*bytes, "byte"))
            }
            Problem::UnknownRegister { meant, .. } => match meant {
                Some(meant) => format!("a register, perhaps `{meant}`"),
                None => "a general register".into(),
            },
            Problem::WideRegister { .. } => "a register of at most 4 bytes".into(),
            Problem::HighByteObserved { .. } => "the low bytes or all of a register".into(),
            Problem::AmbiguousRegister { found } => format!("a thread, as in `0:%{found}`"),
            Problem::UnusedRegister { .. } => "a register that the thread uses".into(),
            Problem::BareName { found } => format!("`[{found}]`, or `${found}` for its address"),
            Problem::NumericAddress => "the name of a location, or a register".into(),
            Problem::NarrowAddress => "a register of 4 or 8 bytes".into(),
            Problem::NoSuchCell { .. } => "a location or an element of an array".into(),
            Problem::UnknownLabel { meant, .. } => match meant {
                Some(meant) => format!("a label of the thread, perhaps `{meant}`"),
                None => "a label of the thread".into(),
            },
            Problem::DuplicateLabel { .. } => "each label once in a thread".into(),
            Problem::MixedSize { other, .. } => {
                format!("an access of {}", counted(*other, "byte"))
            }
            Problem::ArrayAlone { name } => format!("an element such as `{name}[0]`"),
            Problem::NotAnArray { name } => format!("an array, or `{name}` alone"),
            Problem::NoSuchElement { length, .. } => format!("a number below {length}"),
            Problem::FaultClaim => "a comparison such as `0:EAX=1`".into(),
            Problem::NoRoom => "fewer constants, or fewer locations".into(),
        }
    }

    /// How to mend it.
    pub fn hint(&self) -> String {
        match self {
            Problem::NotUtf8 { .. } => "is this a litmus test at all?".into(),
            Problem::Limit { .. } => {
                "this is a limit of the reader and no mistake: a test of this size could hardly be \
                 answered (`fencepost_litmus::Limits` has other limits)"
                    .into()
            }
            Problem::UnknownArchitecture { .. } | Problem::MissingName => {
                "a test begins with a line such as `X86 SB`: `X86` has the destination of an \
                 instruction first, `X86_64` the source"
                    .into()
            }
            Problem::Unterminated(Unterminated::Comment) => {
                "comments nest: each `(*` needs a `*)`".into()
            }
            Problem::Unterminated(Unterminated::Documentation) => {
                "the text after the name of a test stands between two quotes".into()
            }
            Problem::Unterminated(Unterminated::InitialState) | Problem::MissingInitialState => {
                "the initial state is written between braces, `{ x=1; 0:EAX=2; }`, and `{}` if all \
                 is zero"
                    .into()
            }
            Problem::BadCharacter { .. } => {
                "names are made of letters, digits, `_` and `.`; comments stand between `(*` and \
                 `*)`"
                    .into()
            }
            Problem::Unexpected { section, .. } | Problem::UnexpectedEnd { section, .. } => {
                section.hint().into()
            }
            Problem::BadNumber { .. } => "write 10, -10 or 0x0a".into(),
            Problem::NumberTooLarge { .. } => {
                "registers and locations have at most 64 bits".into()
            }
            Problem::DoesNotFit { .. } => {
                "the width is that of the register or the location; declare the location with \
                 another type, or use another register or suffix"
                    .into()
            }
            Problem::UnknownType { .. } => {
                "the type says how many bytes a location has and whether it is printed with a sign"
                    .into()
            }
            Problem::WrongCount { .. } | Problem::ElementInitialized { .. } => {
                "an array is declared with its length and the contents of all elements, or none: \
                 `int x[2]={1,2};`"
                    .into()
            }
            Problem::InitializedTwice { before, .. } => {
                format!(
                    "it was initialized in line {}, column {}",
                    before.line, before.column
                )
            }
            Problem::DuplicateThread { .. } => {
                "threads are numbered in the first row of the program: `P0 | P1 ;`".into()
            }
            Problem::NoSuchThread { .. } => {
                "`1:EAX` is register EAX of thread P1".into()
            }
            Problem::RowLength { .. } => {
                "cells are separated by `|`, and a row ends with `;`".into()
            }
            Problem::UnknownInstruction { .. } => {
                format!("Fencepost knows {INSTRUCTIONS}; suffixes b, w, l and q say how many bytes")
            }
            Problem::NotModelled { needed, .. } => (*needed).into(),
            Problem::OperandCount { .. } => "operands are separated by commas".into(),
            Problem::OperandKind { .. } => {
                "the operands are those of the processor's instruction".into()
            }
            Problem::ConstantDestination { architecture, .. } => match architecture {
                Architecture::X86 => {
                    "in `X86` the destination comes first: `MOV [x],$1`".into()
                }
                Architecture::X86_64 => {
                    "in `X86_64` the source comes first: `movq $1,(x)`".into()
                }
            },
            Problem::TwoMemoryOperands { .. } => {
                "load one of them into a register first".into()
            }
            Problem::LockNotAllowed { .. } => {
                "LOCK is for ADD, SUB, AND, OR, XOR, INC, DEC, NOT, NEG, XADD, CMPXCHG and XCHG with \
                 a memory destination; the processor faults on others"
                    .into()
            }
            Problem::ByteMoveIf { .. } => {
                "the processor has CMOVcc for 2, 4 and 8 bytes".into()
            }
            Problem::WidthMismatch { .. } => {
                "the suffix and the registers must agree: `movl` with `%eax`, `movq` with `%rax`"
                    .into()
            }
            Problem::UnknownRegister { .. } => {
                "general registers and their parts are modelled, and nothing else; a symbolic \
                 register may be called `%tmp`"
                    .into()
            }
            Problem::WideRegister { .. } => {
                "64-bit tests begin with `X86_64` and have the source of an instruction first"
                    .into()
            }
            Problem::HighByteObserved { .. } => "observe the whole register".into(),
            Problem::AmbiguousRegister { .. } | Problem::UnusedRegister { .. } => {
                "a symbolic register belongs to the thread whose instructions use it".into()
            }
            Problem::BareName { .. } => {
                "registers of `X86_64` are written `%rax`, those of `X86` `EAX`; memory stands in \
                 brackets or parentheses"
                    .into()
            }
            Problem::NumericAddress => {
                "locations have names; which addresses they get is not said".into()
            }
            Problem::NarrowAddress => "write `%rax` or `%eax`, not a part of it".into(),
            Problem::NoSuchCell { .. } => {
                "only arrays, declared as `int x[2];`, have locations beside each other".into()
            }
            Problem::UnknownLabel { .. } => {
                "labels are written `name:` before an instruction, belong to a thread, and are \
                 case-sensitive"
                    .into()
            }
            Problem::DuplicateLabel { before, .. } => {
                format!(
                    "it is in line {}, column {} already",
                    before.line, before.column
                )
            }
            Problem::MixedSize { .. } => {
                "all accesses to a location must have the same width; x86-TSO does not say what \
                 overlapping ones do"
                    .into()
            }
            Problem::ArrayAlone { name } => {
                format!("compare an element, or all of them: `{name}={{1,2}}`")
            }
            Problem::NotAnArray { .. } | Problem::NoSuchElement { .. } => {
                "arrays are declared in the initial state: `int x[2]={1,2};`".into()
            }
            Problem::FaultClaim => {
                "no access of the model faults; one outside all locations is an error of the test"
                    .into()
            }
            Problem::NoRoom => {
                "each location gets an address that is no constant of the test".into()
            }
        }
    }
}
