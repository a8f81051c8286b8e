//! What the monitor sees of a program is exactly what the mapping says, on both targets.

use std::sync::Arc;

use crate::support::{Driver, Run, pso};
use fencepost::sync::atomic::{AtomicU32, Ordering, Ordering::*, compiler_fence, fence};
use fencepost::thread;
use fencepost_memory::{Operation, ThreadId};
use fencepost_runtime::Setup;

fn run(setup: Setup, program: fn()) -> Run {
    let run = Driver::with(setup, program).run_first();
    run.expect_fine();
    run
}

#[test]
fn atomic_operations_map_as_documented() {
    let program = || {
        let a = AtomicU32::new(0);
        for order in [Relaxed, Acquire, SeqCst] {
            a.load(order);
        }
        for order in [Relaxed, Release, SeqCst] {
            a.store(1, order);
        }
        for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
            a.fetch_add(1, order);
        }
        for order in [Relaxed, Acquire, Release, AcqRel, SeqCst] {
            let _ = a.compare_exchange(99, 0, order, Relaxed);
        }
        for order in [Acquire, Release, AcqRel, SeqCst] {
            fence(order);
            compiler_fence(order);
        }
    };
    let x86 = "ld ld ld st st lst il il il il il lld lld lld lld lld fence";
    let on_pso = "ld ld ld st stbar st stbar lst il il stbar il stbar il stbar il \
                  lld lld stbar lld stbar lld stbar lld stbar stbar fence";
    assert_eq!(run(Setup::default(), program).mnemonics(0).join(" "), x86);
    assert_eq!(run(pso(), program).mnemonics(0).join(" "), on_pso);
}

#[test]
fn accesses_have_values_and_places() {
    let line = line!() + 3;
    let mut driver = Driver::new(|| {
        let a = AtomicU32::new(7);
        a.load(Relaxed);
        a.store(8, Relaxed);
        a.fetch_add(1, Relaxed);
        let _ = a.compare_exchange(1, 2, SeqCst, SeqCst);
        fence(SeqCst);
    });
    let run = driver.run_first();
    let accesses = run.accesses();
    let values: Vec<_> = accesses.iter().map(|access| access.value).collect();
    assert_eq!(values, [Some(7), Some(8), Some(9), Some(9), None]);
    let lines: Vec<_> = accesses
        .iter()
        .map(|access| driver.registry.location(access.location.unwrap()).line())
        .collect();
    assert_eq!(lines, [line, line + 1, line + 2, line + 3, line + 4]);
    // The fence needs no step of its own.
    assert_eq!(run.steps.len(), 4);
}

#[test]
fn spawn_end_and_join_drain_and_pass_a_token() {
    let program = || {
        thread::spawn(|| ()).join().unwrap();
        // The monitor hears of a join when there is something that it orders.
        fence(SeqCst);
    };
    let seen = |setup| {
        let run = run(setup, program);
        assert_eq!(run.began.spawned, [ThreadId(1)]);
        run.accesses()
            .iter()
            .map(|access| format!("{} {}", access.thread, access.operation.kind()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        seen(Setup::default()),
        ["T0 lst", "T1 lld", "T1 lst", "T0 lld", "T0 fence"]
    );
    assert_eq!(
        seen(pso()),
        [
            "T0 fence", "T0 lst", "T1 lld", "T1 fence", "T1 lst", "T0 fence", "T0 lld", "T0 fence"
        ]
    );
    let accesses = run(Setup::default(), program).accesses();
    let addresses: Vec<_> = accesses.iter().map(|a| a.operation.address()).collect();
    assert_eq!(addresses[0], addresses[1]);
    assert_eq!(addresses[2], addresses[3]);
    assert_ne!(addresses[0], addresses[2]);
    assert!(accesses[..4].iter().all(|access| access.value == Some(1)));
}

#[test]
fn what_a_joined_thread_has_joined_comes_first() {
    let program = || {
        let outer = thread::spawn(|| thread::spawn(|| ()).join().unwrap());
        outer.join().unwrap();
        fence(SeqCst);
    };
    let seen: Vec<_> = run(Setup::default(), program)
        .accesses()
        .iter()
        .map(|access| format!("{} {}", access.thread, access.operation.kind()))
        .collect();
    let ends = ["T2 lst", "T1 lld", "T1 lst", "T0 lld", "T0 fence"];
    assert_eq!(seen[seen.len() - 5..], ends);
}

#[test]
fn visible_ends_show_the_monitor_the_same() {
    let setup = Setup {
        are_ends_visible: true,
        ..pso()
    };
    let run = run(setup, || thread::spawn(|| ()).join().unwrap());
    assert_eq!(run.mnemonics(1), ["lld", "fence", "lst"]);
    assert_eq!(run.steps.len(), 2, "the end and the join");
}

#[test]
fn park_and_unpark_drain() {
    let program = || {
        let me = thread::current();
        me.unpark();
        thread::park();
        thread::park_timeout(std::time::Duration::ZERO);
    };
    assert_eq!(
        run(Setup::default(), program).mnemonics(0),
        ["il", "il", "lld"]
    );
    let on_pso = ["fence", "il", "fence", "il", "fence", "lld"];
    assert_eq!(run(pso(), program).mnemonics(0), on_pso);
}

#[test]
fn hints_are_no_accesses() {
    let run = run(pso(), || {
        thread::yield_now();
        thread::sleep(std::time::Duration::ZERO);
        fencepost::hint::spin_loop();
    });
    assert_eq!(run.accesses(), []);
    assert_eq!(run.steps.len(), 3);
}

/// The accesses go with the step in which they are performed, in the order of the trait.
#[test]
fn a_step_carries_its_operation_then_what_follows_invisibly() {
    let run = run(pso(), || {
        let a = Arc::new(AtomicU32::new(0));
        let b = a.clone();
        a.store(1, Ordering::Relaxed);
        fence(SeqCst);
        let thread = thread::spawn(move || b.load(Relaxed));
        thread.join().unwrap();
    });
    let first: Vec<_> = run.steps[0]
        .accesses
        .iter()
        .map(|access| (access.thread.0, access.operation.kind().mnemonic()))
        .collect();
    assert_eq!(
        first,
        [
            (0, "st"),
            (0, "fence"),
            (0, "fence"),
            (0, "lst"),
            (1, "lld")
        ]
    );
    assert_eq!(run.steps[0].spawned, [ThreadId(1)]);
    assert!(matches!(
        run.steps[1].accesses[0].operation,
        Operation::Load(_)
    ));
}
