//! The instructions by name.

use crate::code::{Computation, Fence, FlagCondition, FlagTest, Width};

/// The operation of an instruction, apart from its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mnemonic {
    /// `MOV`.
    Move,
    /// `ADD` and the like: destination and source.
    Binary(Computation),
    /// `CMP` and `TEST`: only the flags change.
    Compare(Computation),
    /// `INC` and the like: a destination.
    Unary(Computation),
    /// `SHL`.
    ShiftLeft,
    /// `XCHG`.
    Exchange,
    /// `XADD`.
    ExchangeAdd,
    /// `CMPXCHG`.
    CompareExchange,
    /// `CMOVcc`.
    MoveIf(FlagCondition),
    /// `SETcc`.
    SetIf(FlagCondition),
    /// `JMP`.
    Jump,
    /// `Jcc`.
    JumpIf(FlagCondition),
    /// A fence.
    Fence(Fence),
    /// An instruction without an effect on registers and memory.
    Nothing(Idle),
    /// `RET`.
    Return,
    /// The prefix `LOCK`.
    Lock,
}

/// An instruction without an effect on registers and memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Idle {
    /// `NOP`.
    Nop,
    /// `PAUSE`.
    Pause,
    /// `ENDBR64`.
    EndBranch,
}

/// A mnemonic, and the width of its suffix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named {
    pub mnemonic: Mnemonic,
    pub suffix: Option<Width>,
}

const SIZED: [(&str, Mnemonic); 15] = [
    ("MOV", Mnemonic::Move),
    ("ADD", Mnemonic::Binary(Computation::Add)),
    ("SUB", Mnemonic::Binary(Computation::Subtract)),
    ("XOR", Mnemonic::Binary(Computation::Xor)),
    ("OR", Mnemonic::Binary(Computation::Or)),
    ("AND", Mnemonic::Binary(Computation::And)),
    ("CMP", Mnemonic::Compare(Computation::Subtract)),
    ("TEST", Mnemonic::Compare(Computation::And)),
    ("INC", Mnemonic::Unary(Computation::Increment)),
    ("DEC", Mnemonic::Unary(Computation::Decrement)),
    ("NOT", Mnemonic::Unary(Computation::Not)),
    ("NEG", Mnemonic::Unary(Computation::Negate)),
    ("XCHG", Mnemonic::Exchange),
    ("XADD", Mnemonic::ExchangeAdd),
    ("CMPXCHG", Mnemonic::CompareExchange),
];

const SHIFTS: [(&str, Mnemonic); 2] = [("SHL", Mnemonic::ShiftLeft), ("SAL", Mnemonic::ShiftLeft)];

const UNSIZED: [(&str, Mnemonic); 11] = [
    ("MFENCE", Mnemonic::Fence(Fence::Full)),
    ("SFENCE", Mnemonic::Fence(Fence::Store)),
    ("LFENCE", Mnemonic::Fence(Fence::Load)),
    ("JMP", Mnemonic::Jump),
    ("LOCK", Mnemonic::Lock),
    ("NOP", Mnemonic::Nothing(Idle::Nop)),
    ("NOPW", Mnemonic::Nothing(Idle::Nop)),
    ("NOPL", Mnemonic::Nothing(Idle::Nop)),
    ("PAUSE", Mnemonic::Nothing(Idle::Pause)),
    ("ENDBR64", Mnemonic::Nothing(Idle::EndBranch)),
    ("RET", Mnemonic::Return),
];

/// `LT` and `GT` are herd7's.
const CONDITIONS: [(&str, FlagTest, bool); 32] = [
    ("O", FlagTest::Overflow, false),
    ("NO", FlagTest::Overflow, true),
    ("B", FlagTest::Below, false),
    ("C", FlagTest::Below, false),
    ("NAE", FlagTest::Below, false),
    ("NB", FlagTest::Below, true),
    ("NC", FlagTest::Below, true),
    ("AE", FlagTest::Below, true),
    ("E", FlagTest::Equal, false),
    ("Z", FlagTest::Equal, false),
    ("NE", FlagTest::Equal, true),
    ("NZ", FlagTest::Equal, true),
    ("BE", FlagTest::BelowOrEqual, false),
    ("NA", FlagTest::BelowOrEqual, false),
    ("NBE", FlagTest::BelowOrEqual, true),
    ("A", FlagTest::BelowOrEqual, true),
    ("S", FlagTest::Sign, false),
    ("NS", FlagTest::Sign, true),
    ("P", FlagTest::Parity, false),
    ("PE", FlagTest::Parity, false),
    ("NP", FlagTest::Parity, true),
    ("PO", FlagTest::Parity, true),
    ("L", FlagTest::Less, false),
    ("NGE", FlagTest::Less, false),
    ("LT", FlagTest::Less, false),
    ("NL", FlagTest::Less, true),
    ("GE", FlagTest::Less, true),
    ("LE", FlagTest::LessOrEqual, false),
    ("NG", FlagTest::LessOrEqual, false),
    ("NLE", FlagTest::LessOrEqual, true),
    ("G", FlagTest::LessOrEqual, true),
    ("GT", FlagTest::LessOrEqual, true),
];

fn condition(name: &str) -> Option<FlagCondition> {
    let (_, test, negated) = *CONDITIONS.iter().find(|(known, ..)| *known == name)?;
    Some(FlagCondition { test, negated })
}

fn in_table(table: &[(&str, Mnemonic)], name: &str) -> Option<Mnemonic> {
    let found = table.iter().find(|(known, _)| *known == name)?;
    Some(found.1)
}

fn sized(name: &str) -> Option<Mnemonic> {
    let tables = in_table(&SIZED, name).or_else(|| in_table(&SHIFTS, name));
    tables.or_else(|| {
        name.strip_prefix("CMOV")
            .and_then(condition)
            .map(Mnemonic::MoveIf)
    })
}

fn unsized_(name: &str) -> Option<Mnemonic> {
    let set = || {
        name.strip_prefix("SET")
            .and_then(condition)
            .map(Mnemonic::SetIf)
    };
    let jump = || {
        name.strip_prefix('J')
            .and_then(condition)
            .map(Mnemonic::JumpIf)
    };
    in_table(&UNSIZED, name).or_else(set).or_else(jump)
}

/// The instruction with this name, in upper or lower case. A name that is an instruction without a
/// suffix is that one: `CMOVL` is a `CMOV` if less.
pub(crate) fn find(name: &str) -> Option<Named> {
    let upper = name.to_ascii_uppercase();
    if let Some(mnemonic) = unsized_(&upper).or_else(|| sized(&upper)) {
        let suffix = None;
        return Some(Named { mnemonic, suffix });
    }
    let (last, rest) = (upper.chars().last()?, &upper[..upper.len() - 1]);
    let width = match last {
        'B' => Width::Byte,
        'W' => Width::Word,
        'L' => Width::Long,
        'Q' => Width::Quad,
        _ => return None,
    };
    let mnemonic = sized(rest)?;
    Some(Named {
        mnemonic,
        suffix: Some(width),
    })
}

/// Why an instruction that exists is refused, and what it would take to have it.
pub(crate) fn refusal(name: &str) -> Option<(&'static str, &'static str)> {
    let upper = name.to_ascii_uppercase();
    let begins_with = |words: &[&str]| words.iter().any(|word| upper.starts_with(word));
    if begins_with(&["MOVNT", "MASKMOV"]) || upper == "MOVT" {
        return Some((
            "non-temporal stores are not modelled",
            "they pass the store buffer, so x86-TSO would need write-combining buffers beside it; \
             if their order does not matter here, write MOV",
        ));
    }
    if begins_with(&["CLFLUSH", "CLWB", "CLDEMOTE", "PREFETCH"]) {
        return Some((
            "caches are not modelled",
            "x86-TSO has no caches; Px86 is a model that has flushes to persistent memory",
        ));
    }
    if begins_with(&["UXCH"]) {
        return Some((
            "no processor exchanges with memory without a lock",
            "write XCHG, which is always locked, or two MOVs",
        ));
    }
    if begins_with(&["MOVS", "CMPS", "STOS", "LODS", "SCAS", "REP"]) {
        return Some((
            "instructions with several memory operands are not modelled",
            "write each access as an instruction of its own",
        ));
    }
    if begins_with(&["CMPXCHG8B", "CMPXCHG16B"]) {
        return Some((
            "a location has at most 8 bytes and one register",
            "write a CMPXCHG of one location",
        ));
    }
    if begins_with(&["PUSH", "POP", "CALL", "LEAVE", "ENTER"]) {
        return Some((
            "there is no stack",
            "name a location for what is kept, and write the code of a function where it is called",
        ));
    }
    if begins_with(&["XBEGIN", "XEND", "XABORT", "XTEST", "XACQUIRE", "XRELEASE"]) {
        return Some((
            "transactions are not modelled",
            "write the transaction as locked instructions",
        ));
    }
    if begins_with(&[
        "IRET",
        "CPUID",
        "SERIALIZE",
        "INVLPG",
        "WBINVD",
        "IN",
        "OUT",
    ]) && matches!(
        upper.as_str(),
        "IRET" | "CPUID" | "SERIALIZE" | "INVLPG" | "WBINVD" | "IN" | "OUT"
    ) {
        return Some((
            "only MFENCE, SFENCE, LFENCE and locked instructions order memory here",
            "MFENCE is what a serializing instruction is to ordinary memory",
        ));
    }
    None
}

/// The instruction that was likely meant.
pub(crate) fn nearest(name: &str) -> Option<String> {
    let conditions = CONDITIONS.iter().map(|(condition, ..)| *condition);
    let with = |prefix: &'static str| {
        let conditions = conditions.clone();
        conditions.map(move |condition| format!("{prefix}{condition}"))
    };
    let tables = SIZED.iter().chain(&SHIFTS).chain(&UNSIZED);
    let plain = tables.map(|(known, _)| (*known).to_owned());
    let known: Vec<String> = plain
        .chain(with("J"))
        .chain(with("SET"))
        .chain(with("CMOV"))
        .collect();
    let meant = fencepost_diagnostics::nearest(name, known.iter().map(String::as_str))?;
    Some(match name.chars().any(|c| c.is_ascii_lowercase()) {
        true => meant.to_ascii_lowercase(),
        false => meant,
    })
}
