//! Errors of made-up programs, as users see them.

use crate::support;

use fencepost_memory::MemoryModel;
use fencepost_report::SourcePosition;
use fencepost_report::check::{
    AccessKind, Awaited, Holder, PlannedOperation, Problem, RaceAccess, RacedCell, Unreproduced,
    Wait,
};
use support::{Program, expect, plain};

const TRANSFER: &str = "\
fn transfer(from: &Account, to: &Account, amount: u64) {
    let mut a = from.balance.lock().unwrap();
    let mut b = to.balance.lock().unwrap();
    *a -= amount;
    *b += amount;
    assert_eq!(*a + *b, TOTAL, \"money was lost\");
}

fn wait_for(flag: &AtomicBool) {
    while !flag.load(Ordering::Acquire) {
        spin_loop();
    }
}

fn log(line: &'static str) {
    // Safety: only one thread logs.
    LOG.with_mut(|log| unsafe { (*log).push(line) });
}

fn read_log() -> usize {
    LOG.with(|log| unsafe { (*log).len() })
}

fn main() {
    let node = Arc::new(Node::default());
}
";

fn bank() -> Program {
    Program::new("examples/bank.rs", TRANSFER).run(&[
        ("T1 il alice 1", "from.balance.|lock"),
        ("T2 il bob 1", "from.balance.|lock"),
        ("T2 ld done 0", "flag.|load"),
    ])
}

fn check(name: &str, make: impl FnOnce(&mut Program) -> Problem) {
    let mut program = bank();
    let problem = make(&mut program);
    let kind = problem.kind();
    let finding = program.with_problem(problem);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    assert!(text.starts_with("error: "));
    assert!(text.lines().count() <= 40, "{kind}: {text}");
    assert!(text.ends_with(&format!("\nreplay: {}\n", support::REPLAY)));
    expect(name, &text);
}

#[test]
fn panic() {
    check("panic.txt", |program| Problem::Panic {
        thread: program.thread_id("T2"),
        message: "assertion `left == right` failed: money was lost\n  left: 90\n right: 100".into(),
        location: Some(program.find("|assert_eq!")),
    });
}

#[test]
fn panic_without_place() {
    check("panic-without-place.txt", |program| Problem::Panic {
        thread: program.thread_id("T2"),
        message: String::new(),
        location: None,
    });
}

#[test]
fn deadlock() {
    check("deadlock.txt", |program| {
        let location = Some(program.find("to.balance.|lock"));
        let taken = program.find("from.balance.|lock");
        let held = |thread| {
            vec![Holder {
                thread,
                location: Some(taken.clone()),
            }]
        };
        let (first, second) = (program.thread_id("T1"), program.thread_id("T2"));
        Problem::Deadlock {
            waits: vec![
                Wait {
                    thread: first,
                    awaited: Awaited::Object("bob".into()),
                    spins: false,
                    location: location.clone(),
                    holders: held(second),
                },
                Wait {
                    thread: second,
                    awaited: Awaited::Object("alice".into()),
                    spins: false,
                    location,
                    holders: held(first),
                },
            ],
        }
    });
}

#[test]
fn deadlock_of_many_threads() {
    check("deadlock-of-many.txt", |program| {
        let location = Some(program.find("to.balance.|lock"));
        let wait = |index: u32| Wait {
            thread: program.thread_id(&format!("worker {index}")),
            awaited: Awaited::ThreadEnd(program.thread_id("T1")),
            spins: false,
            location: location.clone(),
            holders: Vec::new(),
        };
        Problem::Deadlock {
            waits: (0..40).map(wait).collect(),
        }
    });
}

#[test]
fn livelock() {
    check("livelock.txt", |program| Problem::Livelock {
        waits: vec![Wait {
            thread: program.thread_id("T2"),
            awaited: Awaited::Object("`done`, which stays 0".into()),
            spins: true,
            location: Some(program.find("flag.|load")),
            holders: Vec::new(),
        }],
    });
}

#[test]
fn livelock_with_somebody_who_waits() {
    check("livelock-with-waiting.txt", |program| {
        let wait = |thread, awaited, spins, location| Wait {
            thread,
            awaited,
            spins,
            location: Some(location),
            holders: Vec::new(),
        };
        let (flag, lock) = (program.find("spin_|loop"), program.find("to.balance.|lock"));
        let threads = ["T1", "T2", "main"].map(|name| program.thread_id(name));
        Problem::Livelock {
            waits: vec![
                wait(threads[2], Awaited::ThreadEnd(threads[0]), false, lock),
                wait(threads[0], Awaited::Change, true, flag.clone()),
                wait(threads[1], Awaited::Change, true, flag),
            ],
        }
    });
}

#[test]
fn what_does_not_come_again_has_no_replay() {
    let mut program = bank();
    program.accesses.clear();
    let unreproduced = "the program is not deterministic: a replay of the schedule did not \
                        reproduce the failure (a deadlock)";
    for (problem, message) in [
        (
            Problem::BadUse {
                message: "the schedule does not fit the program".into(),
                location: None,
            },
            "the schedule does not fit the program",
        ),
        (Problem::Unreproduced(Unreproduced::Deadlock), unreproduced),
    ] {
        assert_eq!(problem.kind(), "bad-use");
        let mut finding = program.with_problem(problem);
        (finding.schedule, finding.replay) = (String::new(), String::new());
        let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
        assert_eq!(text, format!("error: {message}\n"));
    }
}

#[test]
fn race() {
    check("race.txt", |program| Problem::Race {
        cell: RacedCell::Named("LOG".into()),
        first: RaceAccess {
            thread: program.thread_id("T1"),
            kind: AccessKind::Write,
            size: None,
            location: Some(program.find("LOG.|with_mut")),
        },
        second: RaceAccess {
            thread: program.thread_id("T2"),
            kind: AccessKind::Read,
            size: None,
            location: Some(program.find("LOG.|with(")),
        },
    });
}

#[test]
fn leak() {
    check("leak.txt", |program| Problem::Leak {
        kind: "Arc<Node>".into(),
        name: None,
        location: Some(program.find("|Arc::new")),
    });
}

#[test]
fn stack_overflow() {
    check("stack-overflow.txt", |program| Problem::StackOverflow {
        thread: program.thread_id("T2"),
        location: Some(program.find("flag.|load")),
    });
}

#[test]
fn step_limit() {
    check("step-limit.txt", |program| Problem::StepLimit {
        steps: 100_000,
        thread: program.thread_id("T2"),
        location: Some(program.find("flag.|load")),
    });
}

#[test]
fn non_determinism() {
    check("non-determinism.txt", |program| Problem::NonDeterminism {
        step: 2,
        expected: PlannedOperation::Access("done".into()),
        found: PlannedOperation::Access("alice".into()),
        thread: program.thread_id("T1"),
        location: Some(program.find("from.balance.|lock")),
    });
}

#[test]
fn bad_use() {
    check("bad-use.txt", |program| Problem::BadUse {
        message: "a `fencepost` mutex was used outside of a check\ncall it inside of \
                  `fencepost::check`"
            .into(),
        location: Some(program.find("from.balance.|lock")),
    });
}

#[test]
fn places_in_several_files_and_unknown_places() {
    let mut program = bank();
    let other = "mod log {\n    pub fn drain() { LOG.take(); }\n}\n";
    program.sources.insert("src/log.rs".into(), other.into());
    let problem = Problem::Race {
        cell: RacedCell::Named("LOG".into()),
        first: RaceAccess {
            thread: program.thread_id("T1"),
            kind: AccessKind::Write,
            size: None,
            location: Some(program.find("LOG.|with_mut")),
        },
        second: RaceAccess {
            thread: program.thread_id("T2"),
            kind: AccessKind::Write,
            size: None,
            location: Some(program.find("LOG.|take")),
        },
    };
    let position = SourcePosition::new("/rustc/library/core/src/cell.rs", 7, 3);
    program.perform("T1 st head 7", position);
    let finding = program.with_problem(problem);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("race-in-two-files.txt", &plain(&text));
}
