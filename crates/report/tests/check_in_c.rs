//! What reports say of programs in C and C++ where they say something else of programs in Rust.

use crate::support;

use fencepost_memory::MemoryModel;
use fencepost_report::check::fences::{FenceReplacement, NeededFence, needed_fences};
use fencepost_report::check::{
    Assumption, Awaited, CheckSummary, Compared, Consequence, FenceAdvice, FenceOrdering,
    FurtherChecks, Gap, Note, PlannedOperation, Problem, Reporter, ScheduleMismatch, SetBy,
    Unexplored, Wait,
};
use fencepost_report::json::check::{FindingObject, SummaryObject};
use fencepost_report::{ProgramLanguage, SourcePosition};
use std::time::Duration;
use support::{Program, expect, plain};

const STORE_BUFFERING: &str = "\
atomic_int x, y;

void *first(void *argument) {
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    return (void *)(long)atomic_load(&y);
}

void *second(void *argument) {
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    return (void *)(long)atomic_load(&x);
}
";

fn store_buffering(file: &str) -> Program {
    Program::new(file, STORE_BUFFERING).in_c().run(&[
        ("T1 st x 1", "|atomic_store_explicit(&x"),
        ("T1 ld y 0", "|atomic_load(&y"),
        ("T2 st y 1", "|atomic_store_explicit(&y"),
        ("T2 ld x 1", "|atomic_load(&x"),
    ])
}

/// Fails if the text is about Rust.
fn assert_in_c(text: &str) {
    for word in [
        "Ordering::",
        "SeqCst",
        "Relaxed",
        "Release",
        "Acquire",
        "Arc",
        "Condvar",
        "panic",
        "FENCEPOST_INFER",
        "FENCEPOST_CONFIRM",
        "cargo",
        "`spin_bound",
        "_bound`",
        "`max_",
        "continue_after_failure",
        "store_buffers",
        "stack_size",
        "insert_fence",
        "leak_check(",
        "static",
        "std`",
    ] {
        assert!(!text.contains(word), "{word}: {text}");
    }
}

#[test]
fn violations_name_fences_orderings_and_options_of_c() {
    for (file, fence, ordering) in [
        (
            "sb.c",
            "`atomic_thread_fence(memory_order_seq_cst)`",
            "`memory_order_seq_cst`",
        ),
        (
            "sb.cc",
            "`std::atomic_thread_fence(std::memory_order_seq_cst)`",
            "`std::memory_order_seq_cst`",
        ),
    ] {
        let program = store_buffering(file);
        let finding = program.violation(MemoryModel::TSO);
        let reporter = Reporter {
            further: FurtherChecks {
                all_fences: FenceAdvice::Infer(SetBy::Environment),
                confirm: Some(SetBy::Environment),
            },
            ..program.reporter(MemoryModel::TSO)
        };
        let text = plain(&reporter.finding(&finding));
        assert_in_c(&text);
        for part in [
            format!("help: insert {fence} in each of these places of {file}"),
            format!("or use {ordering} for the stores in lines 4 and 9"),
            "use `--infer-fences` to infer fences that rule out all cycles".to_owned(),
            "use `--confirm` to see whether this can make the program fail".to_owned(),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        if file == "sb.c" {
            expect("violation-in-c.txt", &text);
        }
    }
}

#[test]
fn consequences_name_options() {
    let program = store_buffering("sb.c");
    let mut finding = program.violation(MemoryModel::TSO);
    for (unexplored, part) in [
        (
            Unexplored::Remaining,
            "(use `--store-buffers` to explore them all)",
        ),
        (
            Unexplored::Unsupported,
            "during an operation on a lock or a condition variable that drains it",
        ),
    ] {
        finding.consequence = Some(Consequence::NoFailure {
            executions: 7,
            unexplored,
            assumptions: vec![Assumption::SpinLoopsOnlyWait],
            obstacle: None,
        });
        let reporter = program.reporter(MemoryModel::TSO);
        let text = plain(&reporter.finding(&finding));
        assert_in_c(&text);
        assert!(text.contains(part), "{text}");
        assert!(text.contains("(`--store-buffers` lists them)"), "{text}");
        let json = serde_json::to_string(&FindingObject::new(1, &finding, &reporter)).unwrap();
        assert!(json.contains("--store-buffers"), "{json}");
    }
}

#[test]
fn failures_say_what_to_do_in_c() {
    let mut program = store_buffering("sb.c");
    let thread = program.thread_id("T1");
    let location = Some(program.find("|atomic_load(&y"));
    let wait = |awaited| Wait {
        thread,
        awaited,
        spins: false,
        location: location.clone(),
        holders: vec![],
    };
    let mut all = String::new();
    for problem in [
        Problem::Panic {
            thread,
            message: "no memory".into(),
            location: location.clone(),
        },
        Problem::StackOverflow {
            thread,
            location: location.clone(),
        },
        Problem::StepLimit {
            steps: 100,
            thread,
            location: location.clone(),
        },
        Problem::NonDeterminism {
            step: 3,
            expected: PlannedOperation::SpinHint,
            found: PlannedOperation::Fence,
            thread,
            location: location.clone(),
        },
        Problem::Deadlock {
            waits: vec![wait(Awaited::Notification("not_empty".into()))],
        },
        Problem::BadUse {
            message: "`fork` is called".into(),
            location: location.clone(),
        },
        Problem::BadUse {
            message: "`dlopen` is called\nhelp: link the library".into(),
            location: Some(SourcePosition::new("main", 0, 0)),
        },
        Problem::InfeasibleSchedule {
            step: 4,
            mismatch: ScheduleMismatch::Blocked {
                thread,
                has_waited: true,
            },
        },
        Problem::InfeasibleSchedule {
            step: 4,
            mismatch: ScheduleMismatch::NoSuchThread(9),
        },
    ] {
        let finding = program.with_problem(problem);
        let reporter = program.reporter(MemoryModel::TSO);
        let text = plain(&reporter.finding(&finding));
        let text = text.split("\nexecution 12").next().unwrap_or_default();
        assert_in_c(text);
        let json = FindingObject::new(1, &finding, &reporter);
        let json = serde_json::to_string(&json.problem).expect("it is JSON");
        // Kinds are the same for all languages.
        assert_in_c(&json.replace("\"problem\":\"panic\"", ""));
        all.push_str(&format!("{text}json: {json}\n\n"));
    }
    expect("failures-in-c.txt", &all);
}

#[test]
fn summaries_name_options_and_what_is_assumed_of_c() {
    let place = || SourcePosition::new("spin.c", 31, 0);
    let summary = CheckSummary {
        executions: 1183,
        steps: 20_440,
        waiting_loops: vec![place()],
        compared: Compared::MostMemory,
        assumptions: vec![
            Assumption::ImmediateStores,
            Assumption::NoLeaks,
            Assumption::NoSpuriousWakeups,
            Assumption::SpinLoopsOnlyWait,
            Assumption::InsertedFence {
                fence: FenceOrdering::Release,
                before: place(),
            },
        ],
        notes: vec![Note::NothingChecked, Note::NothingShared],
        ..CheckSummary::default()
    };
    let not_compared = CheckSummary {
        compared: Compared::Nothing,
        assumptions: vec![],
        notes: vec![],
        ..summary.clone()
    };
    let incomplete = CheckSummary {
        gaps: vec![
            Gap::PreemptionBound(2),
            Gap::ExecutionBudget(1183),
            Gap::FurtherExecutions(500),
            Gap::TimeBudget(Duration::from_millis(1500)),
            Gap::SpinBound(1),
            Gap::StoppedAtProblem,
            Gap::EarlyDrain,
        ],
        ..not_compared.clone()
    };
    let program = Program::default().in_c();
    let reporter = program.reporter(MemoryModel::TSO);
    let mut all = String::new();
    for summary in [&summary, &not_compared, &incomplete] {
        let text = plain(&reporter.summary(summary));
        assert_in_c(&text);
        let object = SummaryObject::new(summary, &reporter);
        let json = serde_json::to_string(&object).unwrap();
        assert_in_c(&json.replace("\"store_buffers\"", ""));
        all.push_str(&format!("{text}\n"));
    }
    expect("summaries-in-c.txt", &all);
}

#[test]
fn inferred_fences_are_code_of_their_files() {
    let needed = |file: &str, fence, alternative| NeededFence {
        fence,
        before: SourcePosition::new(file, 31, 9),
        source_line: None,
        is_inside_call: false,
        alternative,
    };
    let store = FenceReplacement::SeqCstStore(SourcePosition::new("a.c", 30, 9));
    let fences = [
        needed("a.c", FenceOrdering::SeqCst, Some(store)),
        needed(
            "b.cpp",
            FenceOrdering::Release,
            Some(FenceReplacement::ReleaseWrite),
        ),
        needed("b.cpp", FenceOrdering::SeqCst, None),
    ];
    assert_eq!(
        needed_fences(&fences, true, ProgramLanguage::C),
        "3 fences make the program store-buffer safe, and no smaller set does:\n  \
         atomic_thread_fence(memory_order_seq_cst) before a.c:31:9\n    \
         or use memory_order_seq_cst for the store at a.c:30:9\n  \
         std::atomic_thread_fence(std::memory_order_release) before b.cpp:31:9\n    \
         or use std::memory_order_release for this write\n  \
         std::atomic_thread_fence(std::memory_order_seq_cst) before b.cpp:31:9\n    \
         no seq_cst store can replace it\n\
         with them: "
    );
}

/// gcc and clang may leave out columns, and a function without debug information has no line.
#[test]
fn places_without_columns_and_lines_are_shown_as_they_are() {
    let mut program = store_buffering("sb.c");
    let thread = program.thread_id("T1");
    for (position, part) in [
        (
            SourcePosition::new("sb.c", 4, 0),
            " --> sb.c:4:5\n  |\n4 |     atomic_store_explicit(&x, 1, memory_order_relaxed);\n",
        ),
        (
            SourcePosition::new("main", 0, 0),
            "  --> main: T1 aborts here\n",
        ),
        // There is a file of this name.
        (
            SourcePosition::new("sb.c", 0, 0),
            "  --> sb.c: T1 aborts here\n",
        ),
    ] {
        let finding = program.with_problem(Problem::Failed {
            thread,
            kind: fencepost_report::check::FailureKind::Abort,
            message: String::new(),
            location: Some(position),
        });
        let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
        assert!(text.contains(part), "{text}");
        assert!(!text.contains(":0"), "{text}");
    }
    assert_eq!(SourcePosition::new("main", 0, 0).file_and_line(), "main");
    assert_eq!(SourcePosition::new("sb.c", 4, 2).file_and_line(), "sb.c:4");
}

/// A program in C is replayed by a command, and by no line of code.
#[test]
fn the_replay_is_the_command() {
    let program = store_buffering("sb.c");
    let finding = program.violation(MemoryModel::TSO);
    let finding = fencepost_report::check::CheckFinding {
        replay: String::new(),
        schedule: "-".into(),
        command: Some("fencepost cc sb.c --replay -".into()),
        ..finding
    };
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    assert!(
        text.ends_with("\nreplay: fencepost cc sb.c --replay -\n"),
        "{text}"
    );
    assert!(!text.contains("schedule:"), "{text}");
}
