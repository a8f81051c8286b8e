//! Small tests with bytes changed, left out, doubled and mixed: never a panic, always an answer with a
//! place in the file, and a test that is well-formed if there is one.

use crate::common;

use fencepost_litmus::code::Operation;
use fencepost_litmus::test::{Observable, Proposition, Term, Test};
use fencepost_litmus::{Limits, parse};
use fencepost_memory::Random;

const SAMPLES: [&str; 6] = [
    "X86 SB\n\"PodWR Fre PodWR Fre\"\nCycle=Fre PodWR Fre PodWR\n{ x=1; [y]=0; 0:EBX=x; }\n P0 | P1 ;\n \
     MOV [x],$1 | MOV [y],$1 ;\n MFENCE | ;\n MOV EAX,[y] | MOV EAX,[x] ;\nlocations [x; 0:EBX;]\n\
     exists (0:EAX=0 /\\ 1:EAX=0)\n",
    "X86_64 lock\n{ uint64_t x; int64_t t[2]={1,-1}; 0:rax=t; 0:rcx=1; }\n P0 | P1 ;\n \
     l0: lock; incq (x) | movq $-2,8(%rax) ;\n movq 0(%rax,%ecx,8),%rbx | xchgq %rax,(x) ;\n \
     cmpq $3,%rbx | lock cmpxchg (x),%rcx ;\n jne l0 | ret ;\nfilter (1:rax=0)\n\
     ~exists (x=3 \\/ not (0:rbx!=0x10) => t[1]=-1)\n",
    "X86 parts\n{ int8_t a; }\n P3 ;\n MOVB [a],$-1 ;\n SETE AL ;\n CMOVNE EAX,[b] ;\n XADD [b],ECX ;\n \
     SHL EDX,CL ;\n LOCK NOT [b] ;\n MOV %q,EAX ;\nforall (3:AL=1 /\\ %q=0)\n",
    "X86 pointers\n{ int *p = x; q = &y; int z[3]; }\n P0 ;\n MOV EAX,[p] ;\n MOV [EAX],$7 ;\n \
     MOV EBX,$z ;\n MOV [EBX+4],EAX ;\n MOV ECX,[EBX+ECX*4] ;\nexists (x=7 /\\ p=x /\\ z={0,0,0})\n",
    "X86_64 comments (* a (* b *) c *)\n{ x; (* *) }\n P0:T0 | P1 ;\n (* *) nop | pause ;\n\
     observed 0:rax=1; and x=2; << nothing",
    "X86 loop {} P0 | P1 ; again: MOV EAX,[x] | MOV [x],$1 ; CMP EAX,$0 | ; JE again | ; final (0:EAX=1)",
];

/// Pieces that files are made of.
const PIECES: [&str; 24] = [
    "(",
    ")",
    "[x]",
    "{",
    "}",
    ";",
    "|",
    "(*",
    "*)",
    "\"",
    "0:EAX",
    "%rax",
    "$",
    "-",
    "0x",
    "LOCK ",
    "exists ",
    "locations [",
    "filter ",
    "/\\",
    "\\/",
    "=>",
    "18446744073709551615",
    "\0",
];

fn mutate(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() as u64 + 1) as usize;
    match random.below(6) {
        0 if at < bytes.len() => bytes[at] = random.below(256) as u8,
        1 if at < bytes.len() => {
            let length = random.below(12) as usize;
            bytes.drain(at..(at + length).min(bytes.len()));
        }
        2 => {
            let piece = PIECES[random.below(PIECES.len() as u64) as usize];
            bytes.splice(at..at, piece.bytes());
        }
        3 => {
            let end = (at + random.below(40) as usize).min(bytes.len());
            let doubled = bytes[at..end].to_vec();
            let to = random.below(bytes.len() as u64 + 1) as usize;
            bytes.splice(to..to, doubled);
        }
        4 => {
            let other = SAMPLES[random.below(SAMPLES.len() as u64) as usize].as_bytes();
            let from = random.below(other.len() as u64) as usize;
            let end = (from + random.below(60) as usize).min(other.len());
            bytes.splice(at..at, other[from..end].iter().copied());
        }
        _ => bytes.truncate(at.max(8)),
    }
}

/// What the engines rely on.
fn check(test: &Test) {
    for thread in &test.threads {
        let count = thread.operations.len();
        assert_eq!(thread.operations[count - 1], Operation::End);
        assert_eq!(thread.instruction_of.len(), count);
        assert_eq!(
            thread.instruction_of[count - 1] as usize,
            thread.instructions.len()
        );
        assert!(thread.instruction_of.is_sorted());
        assert!(thread.registers.len() <= 255 && thread.registers[0].name.is_empty());
        let mut is_locked = false;
        for operation in &thread.operations {
            match operation {
                Operation::Jump(to) | Operation::JumpIf(_, to) => assert!((*to as usize) < count),
                Operation::BeginLocked => assert!(!std::mem::replace(&mut is_locked, true)),
                Operation::EndLocked => assert!(std::mem::replace(&mut is_locked, false)),
                _ => {}
            }
        }
        assert!(!is_locked);
    }
    let mut addresses: Vec<u64> = test.cells.iter().map(|cell| cell.address).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), test.cells.len());
    for observable in test.observables() {
        match observable {
            Observable::Register {
                thread, register, ..
            } => {
                assert!(register.index() < test.threads[*thread].registers.len());
            }
            Observable::Cell { cell, .. } => assert!(cell.index() < test.cells.len()),
        }
    }
    let count = test.observables().count();
    check_terms(&test.condition, test.observed.len());
    if let Some(filter) = &test.filter {
        check_terms(filter, count);
    }
    let state = vec![0; count];
    test.format_state(&state);
    test.passes_filter(&state);
    test.condition.holds(&state);
}

fn check_terms(proposition: &Proposition, count: usize) {
    match proposition {
        Proposition::Constant(_) => {}
        Proposition::Equal(left, right) => {
            for term in [left, right] {
                assert!(!matches!(term, Term::Observed(index) if *index >= count));
            }
        }
        Proposition::Not(inner) => check_terms(inner, count),
        Proposition::And(parts) | Proposition::Or(parts) => {
            parts.iter().for_each(|part| check_terms(part, count));
        }
        Proposition::Implies(left, right) => {
            check_terms(left, count);
            check_terms(right, count);
        }
    }
}

#[test]
fn samples_are_tests() {
    for sample in SAMPLES {
        check(&common::read(sample));
    }
}

#[test]
fn mutated_files_are_read_or_refused() {
    let limits = Limits::default();
    let (mut read, mut refused) = (0, 0);
    for seed in 0..40_000_u64 {
        let mut random = Random::new(seed);
        let sample = SAMPLES[random.below(SAMPLES.len() as u64) as usize];
        let mut bytes = sample.as_bytes().to_vec();
        for _ in 0..1 + random.below(4) {
            mutate(&mut random, &mut bytes);
        }
        let result = std::panic::catch_unwind(|| match parse(&bytes, &limits) {
            Ok(test) => {
                check(&test);
                true
            }
            Err(error) => {
                assert!(!error.errors.is_empty() && error.errors.len() <= 20);
                let lines = String::from_utf8_lossy(&bytes).lines().count() as u32;
                for error in &error.errors {
                    assert!((1..=lines + 1).contains(&error.position.line));
                    assert!(error.excerpt.caret_at <= error.excerpt.text.chars().count());
                }
                assert!(!error.render("mutated").is_empty());
                false
            }
        });
        match result {
            Ok(true) => read += 1,
            Ok(false) => refused += 1,
            Err(_) => panic!("seed {seed}: {:?}", String::from_utf8_lossy(&bytes)),
        }
    }
    assert!(
        read > 1000 && refused > 1000,
        "{read} read, {refused} refused"
    );
}
