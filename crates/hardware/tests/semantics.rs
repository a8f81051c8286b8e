//! Single threads of all instructions on the processor: registers, flags and memory at the end are
//! what `fencepost-litmus` says. The bytes are made from what is written, the semantics from the
//! operations that it was lowered to, so this tests both.

use std::time::Duration;

use fencepost_hardware::{Ending, Processor, Record, Request};
use fencepost_litmus::code::{Register, Width};
use fencepost_litmus::generate::{Shape, random_test};
use fencepost_litmus::test::{Architecture, CellId, Observable, Test};
use fencepost_memory::{MemoryModel, Random};

use crate::common::{allowed, processor, read};

/// Observes everything there is: the registers of the processor, the flags, all cells.
fn observe_all(test: &mut Test) {
    test.observed.clear();
    for (thread, code) in test.threads.iter().enumerate() {
        for (number, info) in code.registers.iter().enumerate() {
            let is_flags = number == Register::FLAGS.index();
            if is_flags || !info.name.is_empty() {
                test.observed.push(Observable::Register {
                    thread,
                    register: Register(number as u8),
                    width: if is_flags { Width::Byte } else { Width::Quad },
                    unsigned: true,
                    name: format!("{thread}:{}", if is_flags { "flags" } else { &info.name }),
                });
            }
        }
    }
    for (number, cell) in test.cells.iter().enumerate() {
        let name = format!("[{}]", cell.name);
        test.observed.push(Observable::Cell {
            cell: CellId(number as u32),
            name,
        });
    }
}

/// Runs a test a few times, and compares its only final state.
fn compare(processor: &Processor, source: &str) {
    let mut test = read(source);
    observe_all(&mut test);
    let expected = allowed(&test, &MemoryModel::SC);
    assert_eq!(expected.len(), 1, "{source}");
    let mut record = Record::default();
    let request = Request {
        fixed: "slots=8,period=1".parse().expect("parameters"),
        ..Request::new(Duration::from_micros(200))
    };
    let ending = processor.run(&test, &mut record, &request);
    assert_eq!(ending, Ok(Ending::Completed), "{source}");
    assert!(record.executions > 0 && record.skipped == 0, "{source}");
    let show = |states: Vec<&Vec<u64>>| -> Vec<String> {
        states
            .iter()
            .map(|state| test.format_state(state))
            .collect()
    };
    assert_eq!(
        show(record.states.keys().collect()),
        show(expected.iter().collect()),
        "{source}"
    );
}

/// After a shift by more than one, overflow is undefined.
fn has_undefined_flags(source: &str) -> bool {
    source
        .lines()
        .any(|line| line.contains("shl") && !line.contains("$1,"))
}

#[test]
fn random_programs_end_as_the_semantics_say() {
    let Some(processor) = processor() else { return };
    let seed = std::env::var("FENCEPOST_TEST_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(11);
    let programs = std::env::var("FENCEPOST_TEST_PROGRAMS")
        .ok()
        .and_then(|count| count.parse().ok())
        .unwrap_or(150);
    println!("seed {seed}, {programs} programs");
    let mut random = Random::new(seed);
    for number in 0..programs {
        let architecture = if number % 3 == 0 {
            Architecture::X86
        } else {
            Architecture::X86_64
        };
        let shape = Shape {
            architecture,
            threads: 1,
            instructions: 14,
            locations: 3,
        };
        let source = random_test(&mut random, "random", &shape);
        if !has_undefined_flags(&source) {
            compare(&processor, &source);
        }
    }
}

#[test]
fn what_random_programs_do_not_have_ends_as_the_semantics_say() {
    let Some(processor) = processor() else { return };
    let with = |architecture: &str, init: &str, code: &str| {
        let rows: String = code
            .split(';')
            .map(|row| format!(" {} ;\n", row.trim()))
            .collect();
        compare(
            &processor,
            &format!("{architecture} T\n{{ {init} }}\n P0 ;\n{rows}"),
        );
    };
    // Parts of registers, and the stack pointer as a register like any other.
    with(
        "X86_64",
        "uint64_t 0:rax=81985529216486895; 0:rsp=7",
        "movb %ah,%bl; movw %ax,%cx; movb $3,%ah; addq %rsp,%rax; movl %esp,%edx; xchgq %rsp,%rbp",
    );
    with(
        "X86_64",
        "uint64_t x=81985529216486895",
        "movq (x),%rax; negl %eax; movq %rax,(x); shlq %rax; setc %bl; setp (y)",
    );
    with(
        "X86",
        "0:ECX=5",
        "MOV EAX,$1; SHL EAX,CL; SUB EAX,$33; XADD EAX,EBX; CMPXCHG EBX,ECX; SETS DL",
    );
    // Arrays, and addresses with an index.
    with(
        "X86_64",
        "int z[4]={1,2,3,4}; 0:rbx=z; 0:rcx=2",
        "movl 4(%rbx,%rcx,4),%eax; RET; movl $9,(%rbx)",
    );
    with(
        "X86",
        "int z[4]={1,2,3,4}; 0:EBX=z; 0:ECX=-4",
        "ADD [z+8],$5; MOV EAX,[EBX+ECX+8]; LOCK INC [EBX+4]; MOV EDX,[EBX]",
    );
    // A loop.
    with(
        "X86_64",
        "0:rcx=10",
        "L: addq %rcx,%rax; decq %rcx; jne L; movq %rax,(x)",
    );
    // All registers, and pointers as numbers: locations are where the model has them.
    let all: Vec<String> = (8..16).map(|n| format!("movq ${n},%r{n}")).collect();
    let legacy = "movq $1,%rax; movq $2,%rbx; movq $3,%rcx; movq $4,%rdx; movq $5,%rsi; movq $6,%rdi; movq $7,%rbp; movq $8,%rsp";
    with(
        "X86_64",
        "int64_t x=5",
        &format!("{legacy}; {}; addq (x),%rax; movq %rsp,(x)", all.join("; ")),
    );
    with(
        "X86_64",
        "int64_t x; int64_t y",
        "movq $x,%rax; movq $y,%rbx; subq %rax,%rbx; movq %rbx,(%rax); shlq $1,%rax; movq $x,(y)",
    );
    // Pointers that only move.
    with(
        "X86_64",
        "int64_t p=x; int64_t x=3; int64_t q",
        "movq (p),%rax; movq (%rax),%rbx; movq %rax,(q); xchgq %rax,%rcx",
    );
    with(
        "X86",
        "p=x; int x=3; 0:ESI=q",
        "MOV EAX,[p]; MOV EBX,[EAX]; MOV [ESI],EAX; CMOVE ECX,EAX",
    );
}
