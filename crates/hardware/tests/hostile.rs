//! Tests that misbehave end with a named result, and this process goes on.

use std::time::Duration;

use fencepost_hardware::{Ending, Record, Request};

use crate::common::{processor, read, run};

#[test]
fn an_endless_loop_is_ended() {
    let Some(processor) = processor() else { return };
    let test = read(
        "X86 T\n{ }\n P0 | P1 ;\n MOV [x],$1 | L: MOV EAX,[y] ;\n | CMP EAX,$1 ;\n | JNE L ;\n",
    );
    let (record, ending) = run(&processor, &test, 1);
    assert!(matches!(ending, Ending::NoEnd { .. }), "{ending:?}");
    assert_eq!(record.executions, 0);
}

#[test]
fn a_wild_address_is_a_fault_with_its_instruction() {
    let Some(processor) = processor() else { return };
    let fault = |init: &str, code: &str| {
        let test = read(&format!(
            "X86_64 T\n{{ {init} }}\n P0 ;\n nop ;\n {code} ;\n"
        ));
        let (record, ending) = run(&processor, &test, 1);
        assert_eq!(record.executions, 0);
        match ending {
            Ending::Fault {
                name,
                address,
                instruction,
                ..
            } => (name, address, instruction),
            other => panic!("{code}: {other:?}"),
        }
    };
    let here = Some((0, 1));
    assert_eq!(
        fault("0:rax=16", "movl (%rax),%ebx"),
        ("SIGSEGV", Some(16), here)
    );
    assert_eq!(
        fault("0:rax=16", "movl $1,(%rax)"),
        ("SIGSEGV", Some(16), here)
    );
    // The stack pointer is a register of the test, and does not matter to the one who handles signals.
    assert_eq!(
        fault("0:rsp=16", "movl (%rsp),%ebx"),
        ("SIGSEGV", Some(16), here)
    );
    // No canonical address: the kernel does not say which.
    assert_eq!(
        fault("int64_t 0:rax=1311768467463790320", "movl (%rax),%ebx"),
        ("SIGSEGV", None, here)
    );
}

#[test]
fn a_run_is_stopped_on_demand() {
    let Some(processor) = processor() else { return };
    let test = read("X86 T\n{ }\n P0 ;\n MOV [x],$1 ;\n");
    let mut record = Record::default();
    let request = Request {
        stop: &|| true,
        ..Request::new(Duration::from_secs(3600))
    };
    assert_eq!(
        processor.run(&test, &mut record, &request),
        Ok(Ending::Stopped)
    );
    // It can go on.
    let again = Request::new(Duration::from_millis(1));
    assert_eq!(
        processor.run(&test, &mut record, &again),
        Ok(Ending::Completed)
    );
    assert!(record.executions > 0 && record.runs == 2);
    assert!(record.parameters().is_some());
}

#[test]
fn a_test_that_does_not_end_is_stopped_on_demand_too() {
    let Some(processor) = processor() else { return };
    // Every thread loops and there are more of them than processors: the watcher would wait longest.
    let threads = processor.cores() + 1;
    let row = |cell: &str| format!(" {} ;\n", vec![cell; threads].join(" | "));
    let heads: Vec<String> = (0..threads).map(|thread| format!("P{thread}")).collect();
    let test = read(&format!(
        "X86 T\n{{ }}\n {} ;\n{}{}",
        heads.join(" | "),
        row("L: MOV EAX,[x]"),
        row("JMP L")
    ));
    let mut record = Record::default();
    let request = Request {
        stop: &|| true,
        ..Request::new(Duration::from_secs(3600))
    };
    let begin = std::time::Instant::now();
    let ending = processor.run(&test, &mut record, &request);
    assert_eq!(ending, Ok(Ending::Stopped));
    // Without a stop it takes at least five.
    assert!(
        begin.elapsed() < Duration::from_secs(4),
        "{:?}",
        begin.elapsed()
    );
}
