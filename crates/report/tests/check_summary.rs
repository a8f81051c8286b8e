//! Summaries as text and JSON, and findings as JSON.

use crate::support;

use std::time::Duration;

use fencepost_memory::MemoryModel;
use fencepost_report::check::{
    Assumption, CheckSummary, Compared, FenceOrdering, Gap, Note, Outcome, Problem,
};
use fencepost_report::json::check::{FindingObject, SummaryObject};
use fencepost_report::{SourcePosition, json};
use support::{Program, expect, plain};

fn summary() -> CheckSummary {
    CheckSummary {
        executions: 1183,
        steps: 20_440,
        ..CheckSummary::default()
    }
}

fn both(name: &str, summary: &CheckSummary, model: MemoryModel) {
    let program = Program::default();
    let reporter = program.reporter(model);
    let text = plain(&reporter.summary(summary));
    let object = SummaryObject::new(summary, &reporter);
    let value: serde_json::Value = serde_json::from_str(&json::line(&object)).unwrap();
    assert_eq!(value["outcome"], summary.outcome().name());
    let json = serde_json::to_string_pretty(&object).unwrap();
    expect(name, &format!("{text}\n{json}\n"));
}

#[test]
fn verified() {
    both("summary-verified.txt", &summary(), MemoryModel::TSO);
    let with_loops = CheckSummary {
        abandoned: 7,
        waiting_loops: vec![
            SourcePosition::new("src/dekker.rs", 31, 9),
            SourcePosition::new("src/dekker.rs", 44, 9),
        ],
        tried_rounds: Some(64),
        repeated_waits: vec![SourcePosition::new("src/queue.rs", 7, 9)],
        declared_waits: vec![SourcePosition::new("src/spin.rs", 12, 13)],
        assumptions: vec![
            Assumption::ImmediateStores,
            Assumption::NoLeaks,
            Assumption::NoSpuriousWakeups,
            Assumption::InsertedFence {
                fence: FenceOrdering::SeqCst,
                before: SourcePosition::new("src/lock.rs", 31, 9),
            },
        ],
        ..summary()
    };
    assert_eq!(with_loops.outcome(), Outcome::Verified);
    both(
        "summary-verified-assuming.txt",
        &with_loops,
        MemoryModel::PSO,
    );
    both("summary-verified-sc.txt", &summary(), MemoryModel::SC);
}

/// What is said of loops depends on what was compared.
#[test]
fn compared() {
    for (compared, name) in [
        (Compared::Stacks, "summary-compared-stacks.txt"),
        (Compared::MostMemory, "summary-compared-most.txt"),
        (Compared::Memory, "summary-compared-memory.txt"),
    ] {
        let summary = CheckSummary {
            waiting_loops: vec![SourcePosition::new("src/dekker.rs", 31, 9)],
            tried_rounds: (compared != Compared::Memory).then_some(1000),
            compared,
            ..summary()
        };
        both(name, &summary, MemoryModel::TSO);
    }
}

#[test]
fn incomplete() {
    let bounded = CheckSummary {
        gaps: vec![Gap::PreemptionBound(2)],
        covered_preemptions: Some(2),
        ..summary()
    };
    assert_eq!(bounded.outcome(), Outcome::Incomplete);
    both("summary-bounded.txt", &bounded, MemoryModel::TSO);
    let stopped = CheckSummary {
        gaps: vec![
            Gap::ExecutionBudget(1183),
            Gap::FurtherExecutions(500),
            Gap::TimeBudget(Duration::from_millis(1500)),
            Gap::MemoryBudget(4 << 30),
            Gap::SpinBound(1),
            Gap::Random { seed: 17 },
            Gap::Replay,
            Gap::Interrupted,
            Gap::EarlyDrain,
            Gap::UnseenMemory(vec![SourcePosition::new("src/lock.rs", 31, 9)]),
        ],
        ..summary()
    };
    both("summary-stopped.txt", &stopped, MemoryModel::TSO);
    both("summary-stopped-sc.txt", &stopped, MemoryModel::SC);
}

#[test]
fn found() {
    let found = CheckSummary {
        problems: 17,
        distinct: 2,
        gaps: vec![Gap::StoppedAtProblem],
        ..summary()
    };
    assert_eq!(found.outcome(), Outcome::Found);
    both("summary-found.txt", &found, MemoryModel::TSO);
    let with_note = CheckSummary {
        notes: vec![
            Note::UnusedFence(SourcePosition::new("src/lock.rs", 31, 9)),
            Note::NothingChecked,
            Note::NothingShared,
            Note::FoundInRounds(1000),
        ],
        ..found
    };
    both("summary-note.txt", &with_note, MemoryModel::TSO);
}

#[test]
fn findings_as_json() {
    let source = "fn f() {\n    X.store(1, Relaxed);\n    Y.load(Relaxed);\n}\n";
    let mut program = Program::new("src/sb.rs", source).run(&[
        ("T1 st X 1", "X.|store"),
        ("T1 ld Y 0", "Y.|load"),
        ("T2 st Y 1", "X.|store"),
        ("T2 ld X 1", "Y.|load"),
    ]);
    let violation = program.violation(MemoryModel::TSO);
    let object = FindingObject::new(1, &violation, &program.reporter(MemoryModel::TSO));
    expect(
        "finding-violation.json",
        &(serde_json::to_string_pretty(&object).unwrap() + "\n"),
    );

    let thread = program.thread_id("T1");
    let panic = program.with_problem(Problem::Panic {
        thread,
        message: "no\nreally".into(),
        location: Some(program.find("Y.|load")),
    });
    let object = FindingObject::new(2, &panic, &program.reporter(MemoryModel::TSO));
    expect(
        "finding-panic.json",
        &(serde_json::to_string_pretty(&object).unwrap() + "\n"),
    );
}
