//! Tests that an engine once had wrong, or never came to the end of.

use std::collections::BTreeSet;

use fencepost_litmus::answer::{AnswerError, Options, answer};
use fencepost_litmus::robust::{self, Safety};
use fencepost_litmus::test::Test;
use fencepost_litmus::{axioms, machine, parse};
use fencepost_memory::MemoryModel;

fn read(text: &str) -> Test {
    match parse(text.as_bytes(), &Default::default()) {
        Ok(test) => test,
        Err(error) => panic!("{}", error.render("a test")),
    }
}

fn options(cross_check: bool) -> Options<'static> {
    Options {
        limits: machine::Limits::default(),
        cross_check,
    }
}

/// A locked instruction that drains its own location only does not wait for the oldest store.
#[test]
fn a_locked_instruction_waits_for_stores_to_its_own_location() {
    let test = read(
        "X86 own\n{ }\n\
         P0 | P1 | P2 | P3 ;\n\
         MOV [e],$1 | MOV [d],$1 | MOV EAX,[e] | MOV [c],$2 ;\n\
          | MOV [c],$1 | MOV EBX,[d] | ;\n\
          | XCHG [c],EAX | | ;\n\
          | MOV EBX,[e] | | ;\n\
         exists (1:EBX=0 /\\ 2:EAX=1 /\\ 2:EBX=0)\n",
    );
    for (model, is_allowed) in [
        (MemoryModel::TSO, false),
        (MemoryModel::PSO, false),
        (MemoryModel::PSO_OWN_ADDRESS, true),
    ] {
        let answer = answer(&test, &model, &options(true)).expect("the engines agree");
        assert!(answer.is_cross_checked);
        assert_eq!(answer.positive() > 0, is_allowed, "{model:?}");
    }
}

#[test]
fn loops_over_fences_come_to_an_end() {
    for fence in ["MFENCE", "SFENCE", "LFENCE"] {
        let text = format!(
            "X86 loop\n{{ }}\nP0 | P1 ;\nMOV [x],$1 | MOV [y],$1 ;\nL: {fence} | ;\nJMP L | ;\nexists (x=1)\n"
        );
        let test = read(&text);
        for model in &MemoryModel::ALL {
            let answer = answer(&test, model, &options(false)).expect("no faults");
            assert!(answer.states.is_empty(), "P0 never ends");
            let safety = robust::check(&test, model, &robust::Limits::default());
            assert!(!matches!(safety, Safety::Unsafe { .. }), "{safety:?}");
        }
    }
}

#[test]
fn a_loop_with_a_store_fence_waits_for_a_reply() {
    let test = read(
        "X86 reply\n{ }\nP0 | P1 ;\nMOV [x],$1 | MOV EAX,[x] ;\nL: SFENCE | MOV [y],$1 ;\n\
         MOV EAX,[y] | ;\nCMP EAX,$1 | ;\nJNE L | ;\nexists (1:EAX=0)\n",
    );
    for model in &MemoryModel::ALL {
        let answer = answer(&test, model, &options(true)).expect("the engines agree");
        assert_eq!(answer.cut(), None);
        assert_eq!(answer.states.len(), 2);
    }
}

#[test]
fn what_only_the_filter_observes_does_not_count() {
    let test = read(
        "X86 filtered\n{ }\nP0 | P1 ;\nMOV [x],$1 | MOV ECX,[x] ;\n\
         filter (1:ECX=0 \\/ 1:ECX=1)\nexists (x=1)\n",
    );
    let answer = answer(&test, &MemoryModel::TSO, &options(true)).expect("the engines agree");
    assert_eq!((answer.states.len(), answer.positive()), (1, 1));
}

/// A thread that goes on for ever by itself may be all that the machine looks at; the axioms look elsewhere too.
#[test]
fn a_fault_beside_an_endless_thread_is_found_by_the_axioms() {
    let test = read(
        "X86 fault\n{ 1:EBX=5; }\nP0 | P1 ;\nL: XCHG [x],EAX | XCHG [z],ECX ;\nJMP L | MOV [EBX],$1 ;\n\
         exists (x=1)\n",
    );
    let found = answer(&test, &MemoryModel::TSO, &options(true));
    assert!(matches!(found, Err(AnswerError::Fault(_))));
}

/// Cells that are 64 apart share a bit in the machine's sets.
#[test]
fn more_than_64_locations_make_no_difference() {
    let many: String = (0..70).map(|n| format!("a{n}=0; ")).collect();
    let body = "P0 | P1 ;\nMOV [a0],$1 | MOV [a64],$1 ;\nMOV EAX,[a64] | MOV EAX,[a0] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
    let test = read(&format!("X86 many\n{{ {many}}}\n{body}"));
    for model in &MemoryModel::ALL {
        let explored =
            machine::explore(&test, model, &machine::Limits::default()).expect("no faults");
        let machine: BTreeSet<_> = explored.final_states().collect();
        let axioms = axioms::explore(&test, model, &axioms::Limits::default()).expect("axioms");
        assert_eq!(machine, axioms.states.into_iter().collect(), "{model:?}");
    }
}

/// Beside a thread that counts for ever, each choice of another thread begins another count.
#[test]
fn a_thread_that_counts_for_ever_beside_another_is_given_up() {
    let test = read(
        "X86 counts\n{ }\nP0 | P1 ;\nL: INC [x] | MOV EAX,[x] ;\nJMP L | ;\nexists (1:EAX=3)\n",
    );
    for model in &MemoryModel::ALL {
        let explored =
            machine::explore(&test, model, &machine::Limits::default()).expect("no faults");
        assert_eq!(explored.cut(), Some(machine::Cut::LongLoop), "{model:?}");
        assert!(explored.is_empty());
    }
}
