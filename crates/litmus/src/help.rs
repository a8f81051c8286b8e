//! What should have been in a file instead of an error, and how to mend it.

use crate::parse_error_kind::{ParseErrorKind, Section, Unterminated, counted};
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

impl ParseErrorKind {
    /// What should have been there.
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
                Some(meant) => format!("an instruction, perhaps `{meant}`"),
                None => "an instruction of the model".into(),
            },
            ParseErrorKind::NotModelled { .. } => "an instruction of the model".into(),
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
                Some(meant) => format!("a register, perhaps `{meant}`"),
                None => "a general register".into(),
            },
            ParseErrorKind::WideRegister { .. } => "a register of at most 4 bytes".into(),
            ParseErrorKind::HighByteObserved { .. } => "the low bytes or all of a register".into(),
            ParseErrorKind::AmbiguousRegister { found } => format!("a thread, as in `0:%{found}`"),
            ParseErrorKind::UnusedRegister { .. } => "a register that the thread uses".into(),
            ParseErrorKind::BareName { found } => {
                format!("`[{found}]`, or `${found}` for its address")
            }
            ParseErrorKind::NumericAddress => "the name of a location, or a register".into(),
            ParseErrorKind::NarrowAddress => "a register of 4 or 8 bytes".into(),
            ParseErrorKind::NoSuchCell { .. } => "a location or an element of an array".into(),
            ParseErrorKind::UnknownLabel { meant, .. } => match meant {
                Some(meant) => format!("a label of the thread, perhaps `{meant}`"),
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

    /// How to mend it.
    pub fn hint(&self) -> String {
        match self {
            ParseErrorKind::NotUtf8 { .. } => "is this a litmus test at all?".into(),
            ParseErrorKind::Limit { .. } => {
                "this is a limit of the reader and no mistake: a test of this size could hardly be \
                 answered (`fencepost_litmus::Limits` has other limits)"
                    .into()
            }
            ParseErrorKind::UnknownArchitecture { .. } | ParseErrorKind::MissingName => {
                "a test begins with a line such as `X86 SB`: `X86` has the destination of an \
                 instruction first, `X86_64` the source"
                    .into()
            }
            ParseErrorKind::Unterminated(Unterminated::Comment) => {
                "comments nest: each `(*` needs a `*)`".into()
            }
            ParseErrorKind::Unterminated(Unterminated::Documentation) => {
                "the text after the name of a test stands between two quotes".into()
            }
            ParseErrorKind::Unterminated(Unterminated::InitialState) | ParseErrorKind::MissingInitialState => {
                "the initial state is written between braces, `{ x=1; 0:EAX=2; }`, and `{}` if all \
                 is zero"
                    .into()
            }
            ParseErrorKind::BadCharacter { .. } => {
                "names are made of letters, digits, `_` and `.`; comments stand between `(*` and \
                 `*)`"
                    .into()
            }
            ParseErrorKind::Unexpected { section, .. } | ParseErrorKind::UnexpectedEnd { section, .. } => {
                section.hint().into()
            }
            ParseErrorKind::BadNumber { .. } => "write 10, -10 or 0x0a".into(),
            ParseErrorKind::NumberTooLarge { .. } => {
                "registers and locations have at most 64 bits".into()
            }
            ParseErrorKind::DoesNotFit { .. } => {
                "the width is that of the register or the location; declare the location with \
                 another type, or use another register or suffix"
                    .into()
            }
            ParseErrorKind::UnknownType { .. } => {
                "the type says how many bytes a location has and whether it is printed with a sign"
                    .into()
            }
            ParseErrorKind::WrongCount { .. } | ParseErrorKind::ElementInitialized { .. } => {
                "an array is declared with its length and the contents of all elements, or none: \
                 `int x[2]={1,2};`"
                    .into()
            }
            ParseErrorKind::InitializedTwice { before, .. } => {
                format!(
                    "it was initialized in line {}, column {}",
                    before.line, before.column
                )
            }
            ParseErrorKind::DuplicateThread { .. } => {
                "threads are numbered in the first row of the program: `P0 | P1 ;`".into()
            }
            ParseErrorKind::NoSuchThread { .. } => {
                "`1:EAX` is register EAX of thread P1".into()
            }
            ParseErrorKind::RowLength { .. } => {
                "cells are separated by `|`, and a row ends with `;`".into()
            }
            ParseErrorKind::UnknownInstruction { .. } => {
                format!("Fencepost knows {INSTRUCTIONS}; suffixes b, w, l and q say how many bytes")
            }
            ParseErrorKind::NotModelled { needed, .. } => (*needed).into(),
            ParseErrorKind::OperandCount { .. } => "operands are separated by commas".into(),
            ParseErrorKind::OperandKind { .. } => {
                "the operands are those of the processor's instruction".into()
            }
            ParseErrorKind::ConstantDestination { architecture, .. } => match architecture {
                Architecture::X86 => {
                    "in `X86` the destination comes first: `MOV [x],$1`".into()
                }
                Architecture::X86_64 => {
                    "in `X86_64` the source comes first: `movq $1,(x)`".into()
                }
            },
            ParseErrorKind::TwoMemoryOperands { .. } => {
                "load one of them into a register first".into()
            }
            ParseErrorKind::LockNotAllowed { .. } => {
                "LOCK is for ADD, SUB, AND, OR, XOR, INC, DEC, NOT, NEG, XADD, CMPXCHG and XCHG with \
                 a memory destination; the processor faults on others"
                    .into()
            }
            ParseErrorKind::ByteMoveIf { .. } => {
                "the processor has CMOVcc for 2, 4 and 8 bytes".into()
            }
            ParseErrorKind::WidthMismatch { .. } => {
                "the suffix and the registers must agree: `movl` with `%eax`, `movq` with `%rax`"
                    .into()
            }
            ParseErrorKind::UnknownRegister { .. } => {
                "general registers and their parts are modelled, and nothing else; a symbolic \
                 register may be called `%tmp`"
                    .into()
            }
            ParseErrorKind::WideRegister { .. } => {
                "64-bit tests begin with `X86_64` and have the source of an instruction first"
                    .into()
            }
            ParseErrorKind::HighByteObserved { .. } => "observe the whole register".into(),
            ParseErrorKind::AmbiguousRegister { .. } | ParseErrorKind::UnusedRegister { .. } => {
                "a symbolic register belongs to the thread whose instructions use it".into()
            }
            ParseErrorKind::BareName { .. } => {
                "registers of `X86_64` are written `%rax`, those of `X86` `EAX`; memory stands in \
                 brackets or parentheses"
                    .into()
            }
            ParseErrorKind::NumericAddress => {
                "locations have names; which addresses they get is not said".into()
            }
            ParseErrorKind::NarrowAddress => "write `%rax` or `%eax`, not a part of it".into(),
            ParseErrorKind::NoSuchCell { .. } => {
                "only arrays, declared as `int x[2];`, have locations beside each other".into()
            }
            ParseErrorKind::UnknownLabel { .. } => {
                "labels are written `name:` before an instruction, belong to a thread, and are \
                 case-sensitive"
                    .into()
            }
            ParseErrorKind::DuplicateLabel { before, .. } => {
                format!(
                    "it is in line {}, column {} already",
                    before.line, before.column
                )
            }
            ParseErrorKind::MixedSize { .. } => {
                "all accesses to a location must have the same width; x86-TSO does not say what \
                 overlapping ones do"
                    .into()
            }
            ParseErrorKind::ArrayAlone { name } => {
                format!("compare an element, or all of them: `{name}={{1,2}}`")
            }
            ParseErrorKind::NotAnArray { .. } | ParseErrorKind::NoSuchElement { .. } => {
                "arrays are declared in the initial state: `int x[2]={1,2};`".into()
            }
            ParseErrorKind::FaultClaim => {
                "no access of the model faults; one outside all locations is an error of the test"
                    .into()
            }
            ParseErrorKind::NoRoom => {
                "each location gets an address that is no constant of the test".into()
            }
        }
    }
}
