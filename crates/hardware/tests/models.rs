//! Several threads beside x86-TSO.

use std::collections::BTreeSet;
use std::path::Path;

use fencepost_hardware::{Ending, Record, Refusal};
use fencepost_litmus::generate::{Shape, random_test};
use fencepost_litmus::test::{Architecture, Test};
use fencepost_memory::Random;

use crate::common::{forbidden, processor, read, run};

fn tests_below(directory: &str) -> Vec<Test> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(directory);
    let mut paths: Vec<_> = std::fs::read_dir(root)
        .expect("the tests")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
        .iter()
        .map(|path| read(&std::fs::read_to_string(path).expect("a test")))
        .collect()
}

#[test]
fn nothing_forbidden_is_seen_of_the_tests_here() {
    let Some(processor) = processor() else { return };
    for test in tests_below("litmus/basic")
        .iter()
        .chain(&tests_below("litmus/x86-tso"))
    {
        let (record, ending) = run(&processor, test, 4);
        assert_eq!(ending, Ending::Completed, "{}", test.name);
        assert_eq!(
            forbidden(test, &record),
            Vec::<String>::new(),
            "{}",
            test.name
        );
        // Threads that may wait for each other skip nothing.
        if test.name.starts_with("peterson") || test.name == "spinlock" {
            assert!(
                record.executions > 0 && record.skipped == 0,
                "{}",
                test.name
            );
        }
    }
}

#[test]
fn nothing_forbidden_is_seen_of_random_tests() {
    let Some(processor) = processor() else { return };
    let mut random = Random::new(5);
    for number in 0..40 {
        let architecture = if number % 2 == 0 {
            Architecture::X86
        } else {
            Architecture::X86_64
        };
        let threads = 2 + number % 3;
        let shape = Shape {
            architecture,
            threads,
            instructions: 3,
            locations: 2,
        };
        let source = random_test(&mut random, "random", &shape);
        let test = read(&source);
        let (record, ending) = run(&processor, &test, 2);
        assert_eq!(ending, Ending::Completed, "{source}");
        assert_eq!(forbidden(&test, &record), Vec::<String>::new(), "{source}");
    }
}

/// Where locations are differs from slot to slot and from layout to layout; a final state must not.
#[test]
fn parts_of_addresses_and_distances_between_locations_are_the_models() {
    let Some(processor) = processor() else { return };
    for code in [
        "movw %ax,%bx",
        "movb $0,%al",
        "movb (w),%al",
        "cmpl $1,(y) | ;\n sete %al",
        "movb %ah,%bl",
        "movl 64(%rax),%ebx",
        "movq %rax,%rbx",
        "movq %rax,(z) | ;\n movq (z),%rbx",
    ] {
        let test = read(&format!(
            "X86_64 T\n{{ uint64_t 0:rax=x; uint64_t 0:rbx=0; y=5; uint64_t z=0; uint8_t w=3; }}\n P0 | P1 ;\n {code} | movl $1,(x) ;\n\
             movl $6,(y) | ;\nlocations [x; y; 0:rax; 0:rbx;]"
        ));
        for spacing in ["spacing=8", "spacing=64", "spacing=128"] {
            let mut record = Record::default();
            let request = fencepost_hardware::Request {
                fixed: spacing.parse().expect("parameters"),
                ..fencepost_hardware::Request::new(std::time::Duration::from_millis(1))
            };
            let ending = processor.run(&test, &mut record, &request);
            assert_eq!(ending, Ok(Ending::Completed), "{code}");
            assert_eq!(forbidden(&test, &record), Vec::<String>::new(), "{code}");
        }
    }
}

#[test]
fn a_wrong_encoding_is_noticed() {
    // The processor gets the two stores in the other order; the model does not.
    let Some(processor) = processor() else { return };
    let mut test = read("X86 W\n{ }\n P0 ;\n MOV [x],$1 ;\n MOV [x],$2 ;\nforall ([x]=2)");
    let (record, _) = run(&processor, &test, 1);
    assert!(record.executions > 0);
    assert_eq!(forbidden(&test, &record), Vec::<String>::new());
    let instructions = &mut test.threads[0].instructions;
    let first = instructions[0].assembly;
    instructions[0].assembly = instructions[1].assembly;
    instructions[1].assembly = first;
    let (record, _) = run(&processor, &test, 1);
    assert_eq!(forbidden(&test, &record), ["[x]=1;"]);
}

#[test]
fn more_threads_than_processors_take_turns_or_share_them() {
    let Some(processor) = processor() else { return };
    let threads = 2 * processor.cores() + 1;
    let table = |row: &dyn Fn(usize) -> String| {
        let cells: Vec<String> = (0..threads).map(row).collect();
        format!(" {} ;\n", cells.join(" | "))
    };
    let heads = table(&|thread| format!("P{thread}"));
    let increments = format!(
        "X86 T\n{{ }}\n{heads}{}forall ([x]={threads})",
        table(&|_| "LOCK INC [x]".into())
    );
    let test = read(&increments);
    // Batches without an execution of all threads are possible on a busy machine.
    let (record, ending) = run(&processor, &test, 3);
    assert_eq!(ending, Ending::Completed);
    let whole = BTreeSet::from([vec![threads as u64]]);
    assert!(
        record.states.keys().all(|state| whole.contains(state)),
        "{:?}",
        record.states
    );
    // Each waits for the one before it, so all must be there at once.
    let turns = format!(
        "X86 T\n{{ }}\n{heads}{}{}{}{}forall ([x]={threads})",
        table(&|_| "L: MOV EAX,[x]".into()),
        table(&|thread| format!("CMP EAX,${thread}")),
        table(&|_| "JNE L".into()),
        table(&|_| "LOCK INC [x]".into()),
    );
    let test = read(&turns);
    let mut record = Record::default();
    let request = fencepost_hardware::Request {
        fixed: "slots=1".parse().expect("parameters"),
        ..fencepost_hardware::Request::new(std::time::Duration::from_millis(1))
    };
    match processor.run(&test, &mut record, &request) {
        // Very busy machines may need longer than a watcher waits.
        Ok(Ending::Completed) => assert!(
            record.executions > 0 && record.states.keys().all(|state| whole.contains(state))
        ),
        Ok(Ending::NoEnd { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn large_tests_fit_or_are_refused() {
    let Some(processor) = processor() else { return };
    let array = read(
        "X86_64 T\n{ int x[60000]; 1:rbx=x; }\n P0 | P1 ;\n movl $1,(x) | movl $2,40000(%rbx) ;\nlocations [x[0]; x[59999];]",
    );
    let (record, ending) = run(&processor, &array, 2);
    assert_eq!(
        (forbidden(&array, &record), ending.is_usual()),
        (Vec::new(), true)
    );
    let heads: Vec<String> = (0..300).map(|thread| format!("P{thread}")).collect();
    let stores: Vec<String> = (0..300)
        .map(|thread| format!("MOV [x{thread}],$1"))
        .collect();
    let wide = read(&format!(
        "X86 T\n{{ }}\n {} ;\n {} ;\nexists (x0=1)",
        heads.join(" | "),
        stores.join(" | ")
    ));
    let mut record = Record::default();
    let request = fencepost_hardware::Request::new(std::time::Duration::from_millis(2));
    match processor.run(&wide, &mut record, &request) {
        Ok(ending) => assert!(ending.is_usual(), "{ending:?}"),
        Err(refusal) => assert!(matches!(refusal, Refusal::TooLarge { .. }), "{refusal}"),
    }
    assert!(record.states.keys().all(|state| state == &[1]));
}
