//! Arithmetic against the processor that runs the tests: results, flags and conditions, and the
//! instructions that do more than compute.
#![allow(
    unsafe_code,
    reason = "the processor's own instructions are what is compared with"
)]

use crate::common;

use std::arch::asm;

use common::{read, run};
use fencepost_litmus::arithmetic::{Flags, compute};
use fencepost_litmus::code::{Computation, FlagCondition, FlagTest, Width};
use fencepost_memory::Random;

const WIDTHS: [Width; 4] = [Width::Byte, Width::Word, Width::Long, Width::Quad];

/// Our flags and the processor's, by their bits.
const BITS: [(u64, u64); 5] = [
    (Flags::CARRY, 1 << 0),
    (Flags::PARITY, 1 << 2),
    (Flags::ZERO, 1 << 6),
    (Flags::SIGN, 1 << 7),
    (Flags::OVERFLOW, 1 << 11),
];

fn to_processor(flags: Flags) -> u64 {
    // Bit 1 is always set.
    let set = BITS.iter().filter(|(ours, _)| flags.has(*ours));
    set.fold(2, |all, (_, theirs)| all | theirs)
}

fn from_processor(flags: u64) -> Flags {
    let set = BITS.iter().filter(|(_, theirs)| flags & theirs != 0);
    Flags(set.fold(0, |all, (ours, _)| all | ours))
}

/// A function that runs `$instruction` in every width: the destination is `{a}`, the source `{b}`.
macro_rules! on_processor {
    ($name:ident, $mnemonic:literal, $operands:tt) => {
        fn $name(width: Width, left: u64, right: u64, flags: Flags) -> (u64, Flags) {
            let mut flags = to_processor(flags);
            let result;
            macro_rules! run {
                ($type:ty, $class:ident, $text:expr) => {{
                    let mut a = left as $type;
                    let b = right as $type;
                    // SAFETY: the flags and two registers change, and the compiler is told so; what
                    // is pushed is popped.
                    unsafe {
                        asm!(
                            "push {f}",
                            "popfq",
                            $text,
                            "pushfq",
                            "pop {f}",
                            f = inout(reg) flags,
                            a = inout($class) a,
                            b = in($class) b,
                        );
                    }
                    let _ = b;
                    result = a as u64;
                }};
            }
            match width {
                Width::Byte => run!(u8, reg_byte, on_processor!(@ $mnemonic, $operands, "")),
                Width::Word => run!(u16, reg, on_processor!(@ $mnemonic, $operands, ":x")),
                Width::Long => run!(u32, reg, on_processor!(@ $mnemonic, $operands, ":e")),
                Width::Quad => run!(u64, reg, on_processor!(@ $mnemonic, $operands, ":r")),
            }
            (result, from_processor(flags))
        }
    };
    (@ $mnemonic:literal, two, $form:literal) => {
        concat!($mnemonic, " {a", $form, "}, {b", $form, "}")
    };
    // The other register is named in a comment, because it must be used.
    (@ $mnemonic:literal, one, $form:literal) => {
        concat!($mnemonic, " {a", $form, "} # {b", $form, "}")
    };
}

on_processor!(add, "add", two);
on_processor!(sub, "sub", two);
on_processor!(and, "and", two);
on_processor!(or, "or", two);
on_processor!(xor, "xor", two);
on_processor!(cmp, "cmp", two);
on_processor!(test, "test", two);
on_processor!(mov, "mov", two);
on_processor!(inc, "inc", one);
on_processor!(dec, "dec", one);
on_processor!(not, "not", one);
on_processor!(neg, "neg", one);

fn shl(width: Width, left: u64, right: u64, flags: Flags) -> (u64, Flags) {
    let mut flags = to_processor(flags);
    let mut result = left;
    macro_rules! run {
        ($text:literal) => {
            // SAFETY: the flags and one register change; what is pushed is popped.
            unsafe {
                asm!(
                    "push {f}", "popfq", $text, "pushfq", "pop {f}",
                    f = inout(reg) flags, a = inout(reg_abcd) result, in("cl") right as u8,
                );
            }
        };
    }
    match width {
        Width::Byte => run!("shl {a:l}, cl"),
        Width::Word => run!("shl {a:x}, cl"),
        Width::Long => run!("shl {a:e}, cl"),
        Width::Quad => run!("shl {a:r}, cl"),
    }
    (result & width.mask(), from_processor(flags))
}

/// Numbers near the edges of every width, and any.
fn operand(random: &mut Random) -> u64 {
    let width = WIDTHS[random.below(4) as usize];
    let near = random.below(5);
    match random.below(5) {
        0 => near.wrapping_sub(2),
        1 => (1_u64 << (width.bits() - 1))
            .wrapping_add(near)
            .wrapping_sub(2),
        2 => width.mask().wrapping_add(near).wrapping_sub(2),
        3 => random.next_u64() & width.mask(),
        _ => random.next_u64(),
    }
}

fn flags(random: &mut Random) -> Flags {
    Flags(random.below(32))
}

type OnProcessor = fn(Width, u64, u64, Flags) -> (u64, Flags);

#[test]
fn computations_are_the_processors() {
    let table: [(&str, Computation, OnProcessor); 10] = [
        ("mov", Computation::Move, mov),
        ("add", Computation::Add, add),
        ("sub", Computation::Subtract, sub),
        ("and", Computation::And, and),
        ("or", Computation::Or, or),
        ("xor", Computation::Xor, xor),
        ("inc", Computation::Increment, inc),
        ("dec", Computation::Decrement, dec),
        ("not", Computation::Not, not),
        ("neg", Computation::Negate, neg),
    ];
    let mut random = Random::new(0x51ac);
    for round in 0..20_000 {
        for (name, computation, on_processor) in table {
            for width in WIDTHS {
                let (left, right) = (operand(&mut random), operand(&mut random));
                let before = flags(&mut random);
                // MOV moves the left operand of ours.
                let expected = match computation {
                    Computation::Move => on_processor(width, right, left, before),
                    _ => on_processor(width, left, right, before),
                };
                let found = compute(computation, width, left, right, before);
                assert_eq!(
                    found, expected,
                    "round {round}: {name} {width:?} {left:#x}, {right:#x} with {before:?}"
                );
            }
        }
    }
}

#[test]
fn comparisons_are_the_processors() {
    let mut random = Random::new(0x51ad);
    for round in 0..20_000 {
        for width in WIDTHS {
            let (left, right) = (operand(&mut random), operand(&mut random));
            let before = flags(&mut random);
            let table: [(Computation, OnProcessor); 2] =
                [(Computation::Subtract, cmp), (Computation::And, test)];
            for (computation, on_processor) in table {
                let expected = on_processor(width, left, right, before).1;
                let found = compute(computation, width, left, right, before).1;
                assert_eq!(
                    found, expected,
                    "round {round}: {computation:?} {width:?} {left:#x}, {right:#x}"
                );
            }
        }
    }
}

/// Where the manual leaves flags undefined, only the others are compared.
#[test]
fn shifts_are_the_processors() {
    let mut random = Random::new(0x51ae);
    for round in 0..20_000 {
        for width in WIDTHS {
            let left = operand(&mut random);
            let right = random.below(256);
            let before = flags(&mut random);
            let (expected, expected_flags) = shl(width, left, right, before);
            let (found, found_flags) = compute(Computation::ShiftLeft, width, left, right, before);
            let count = right & if width == Width::Quad { 63 } else { 31 };
            let mut defined = u64::MAX;
            if count > 1 {
                defined &= !Flags::OVERFLOW;
            }
            if count > u64::from(width.bits()) {
                defined &= !Flags::CARRY;
            }
            assert_eq!(
                (found, found_flags.0 & defined),
                (expected, expected_flags.0 & defined),
                "round {round}: shl {width:?} {left:#x}, {right} with {before:?}"
            );
        }
    }
}

macro_rules! set_if {
    ($flags:expr, $condition:literal) => {{
        let mut set = 0_u8;
        // SAFETY: one register changes; what is pushed is popped.
        unsafe {
            asm!(
                "push {f}", "popfq", concat!("set", $condition, " {s}"),
                f = in(reg) to_processor($flags), s = inout(reg_byte) set,
            );
        }
        set == 1
    }};
}

#[test]
fn conditions_are_the_processors() {
    for bits in 0..32 {
        let flags = Flags(bits);
        let meets = |test, negated| flags.meet(FlagCondition { test, negated });
        assert_eq!(meets(FlagTest::Overflow, false), set_if!(flags, "o"));
        assert_eq!(meets(FlagTest::Overflow, true), set_if!(flags, "no"));
        assert_eq!(meets(FlagTest::Below, false), set_if!(flags, "b"));
        assert_eq!(meets(FlagTest::Below, true), set_if!(flags, "nb"));
        assert_eq!(meets(FlagTest::Equal, false), set_if!(flags, "e"));
        assert_eq!(meets(FlagTest::Equal, true), set_if!(flags, "ne"));
        assert_eq!(meets(FlagTest::BelowOrEqual, false), set_if!(flags, "be"));
        assert_eq!(meets(FlagTest::BelowOrEqual, true), set_if!(flags, "nbe"));
        assert_eq!(meets(FlagTest::Sign, false), set_if!(flags, "s"));
        assert_eq!(meets(FlagTest::Sign, true), set_if!(flags, "ns"));
        assert_eq!(meets(FlagTest::Parity, false), set_if!(flags, "p"));
        assert_eq!(meets(FlagTest::Parity, true), set_if!(flags, "np"));
        assert_eq!(meets(FlagTest::Less, false), set_if!(flags, "l"));
        assert_eq!(meets(FlagTest::Less, true), set_if!(flags, "nl"));
        assert_eq!(meets(FlagTest::LessOrEqual, false), set_if!(flags, "le"));
        assert_eq!(meets(FlagTest::LessOrEqual, true), set_if!(flags, "nle"));
    }
}

/// Instructions of the files against the same text given to the assembler: registers before and after, and
/// the memory that `(%rsi)` is.
macro_rules! whole_instruction {
    ($random:expr, $($text:literal),* $(,)?) => {
        $(for _ in 0..50 {
            let small = |random: &mut Random| match random.below(3) {
                0 => random.below(3),
                _ => operand(random),
            };
            let before: [u64; 4] = std::array::from_fn(|_| small($random));
            let (mut a, mut b, mut c) = (before[0], before[1], before[2]);
            let mut memory = before[3];
            // SAFETY: `memory` is eight bytes, and no instruction of the tests writes more. RBX belongs
            // to the compiler, so it is put back.
            unsafe {
                asm!(
                    "xchgq {b},%rbx", "cmpq %rcx,%rax", $text, "xchgq {b},%rbx",
                    b = inout(reg) b, inout("rax") a, inout("rcx") c, in("rsi") &mut memory,
                    out("rdi") _, options(att_syntax)
                );
            }
            let source = format!(
                "X86_64 whole\n{{ uint64_t x={}; 0:rsi=x; uint64_t 0:rax={}; uint64_t 0:rbx={}; \
                 uint64_t 0:rcx={} }}\n P0 ;\n cmp %rcx,%rax ;\n {} ;\n\
                 locations [0:rax; 0:rbx; 0:rcx; x]",
                before[3], before[0], before[1], before[2], $text
            );
            let test = read(&source);
            let found = run(&test).expect("no fault").state;
            assert_eq!(found, format!("0:rax={a}; 0:rbx={b}; 0:rcx={c}; [x]={memory};"), "{source}");
        })*
    };
}

#[test]
fn whole_instructions_are_the_processors() {
    let random = &mut Random::new(0x51af);
    whole_instruction!(
        random,
        "movb %bl,%ah",
        "movw %bx,%ax",
        "movl %ebx,%eax",
        "movq %rbx,%rax",
        "movq (%rsi),%rax",
        "movq %rbx,(%rsi)",
        "cmovel %ebx,%eax",
        "cmovnel %ebx,%eax",
        "cmovbw %bx,%ax",
        "cmovgq (%rsi),%rbx",
        "sete %bl",
        "setb %bh",
        "xchgb %bl,%bh",
        "xchgl %ebx,%eax",
        "xchgq %rbx,(%rsi)",
        "xaddb %bl,%al",
        "xaddl %ebx,%ecx",
        "xaddq %rbx,(%rsi)",
        "lock xaddq %rcx,(%rsi)",
        "lock cmpxchgq %rbx,(%rsi)",
        "cmpxchgq %rbx,(%rsi)",
        "lock incq (%rsi)",
        "lock negq (%rsi)",
        "notq (%rsi)",
        "subq %rbx,(%rsi)",
        "addq (%rsi),%rbx",
        "shlq $3,(%rsi)",
        "shlq %cl,(%rsi)",
        "shll %cl,%ebx",
        "shlw $17,%bx",
        "incb %ah",
        "negl %ebx",
    );
}
