//! Random programs in C, compiled by gcc and clang with and without optimization, against machines that visit all states and
//! share no code with the library:
//!
//! - a check has exactly the outcomes of all interleavings, and says that threads wait for ever exactly if they can;
//! - with store buffers, it has exactly the outcomes of all interleavings with commits of stores;
//! - it reports a data race or a failed assertion exactly if some interleaving has one, and only such ones;
//! - its verdict about store buffers is that of the machines of x86-TSO and PSO;
//! - it has as many executions as the check of the same program in Rust, however it is compiled;
//! - each finding is found again from its schedule;
//! - a check that is stopped and resumed from its checkpoint finds the same;
//! - what it says about the consequence of a violation is true of the machine with store buffers.
//!
//! The programs and the machine are those of the tests of Rust programs. Variables have all sizes, and are written with
//! `stdatomic.h`, with `__atomic` and with `__sync`. `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more of
//! them:
//!
//! ```sh
//! FENCEPOST_TEST_SEED=7 FENCEPOST_TEST_PROGRAMS=5000 cargo test -p fencepost-native --test random -- --nocapture
//! ```
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod built;
#[path = "../../../fencepost/tests/support/explorer.rs"]
mod explorer;
#[path = "../../../fencepost/tests/conformance/checked.rs"]
mod exploring;
#[path = "../../../fencepost/tests/conformance/journal.rs"]
mod journal;
#[path = "../../../fencepost/tests/fuzzer/machine/mod.rs"]
#[allow(dead_code)] // Checks of C programs have no part of it.
mod machine;
#[path = "../../../fencepost/tests/conformance/program.rs"]
mod program;
#[path = "../../../fencepost/tests/support/mod.rs"]
#[allow(clippy::collapsible_if)] // It is compiled with older versions too.
mod support;
mod text;

#[path = "../../../fencepost/tests/conformance"]
mod over_fencepost {
    use fencepost as library;

    #[path = "cells.rs"]
    pub mod cells;
    #[path = "interpreter.rs"]
    mod interpreter;

    use cells::Cells;
    pub use interpreter::run;
}

use std::collections::BTreeSet;
use std::sync::Arc;

use built::{Built, Checked, configurations};
use fencepost_memory::machine::emits_non_sc_trace;
use fencepost_memory::program::{ProgramShape, StraightLineProgram};
use fencepost_memory::{MemoryModel, Operation, Random};
use fencepost_runtime::Setup;
use journal::{End, Results};
use machine::{Access, Behaviour, Buffers, Failure, Race, behaviour};
use program::{Generator, Op, Program, Programs};
use serde_json::Value;

/// The programs of one file.
const BATCH: u64 = 60;
/// A program with more executions is left out.
const MOST_EXECUTIONS: &str = "5000";

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// How many comparisons there were.
#[derive(Default)]
struct Tally {
    agree: u64,
    left_out: u64,
    differ: Vec<String>,
}

impl Tally {
    fn add(&mut self, compared: Option<Result<(), String>>, shown: impl FnOnce() -> String) {
        match compared {
            None => self.left_out += 1,
            Some(Ok(())) => self.agree += 1,
            Some(Err(difference)) => self.differ.push(format!("{difference}\n{}", shown())),
        }
    }

    /// Most programs must have been compared, and must agree.
    fn end(self, name: &str) {
        self.end_with(name, 2);
    }

    /// One program of so many must have been compared, and all must agree.
    fn end_with(self, name: &str, one_of: u64) {
        let (agree, left_out) = (self.agree, self.left_out);
        println!(
            "{name}: {agree} comparisons agree, {} differ, {left_out} left out",
            self.differ.len()
        );
        let shown = self.differ.iter().take(3).cloned().collect::<Vec<_>>();
        assert!(self.differ.is_empty(), "{name}\n{}", shown.join("\n\n"));
        let is_skipped = agree + left_out == 0;
        assert!(
            is_skipped || agree * one_of >= agree + left_out,
            "{name}: {left_out} left out"
        );
    }
}

/// Compiles the programs of a seed, in files of some, in all ways. Each is compared with what is expected of it, which is
/// found out once.
fn compare_all<P, E>(
    name: &str,
    programs: u64,
    make: impl Fn(u64) -> P,
    write: impl Fn(&P, &str, u64) -> String,
    expect: impl Fn(&P) -> Option<E>,
    compare: impl Fn(&Built, usize, &E) -> Option<Result<(), String>>,
) -> Tally {
    let seed = number_from("FENCEPOST_TEST_SEED", 1);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", programs);
    let configurations = configurations();
    let mut tally = Tally::default();
    if configurations.is_empty() {
        return tally;
    }
    for first in (0..programs).step_by(BATCH as usize) {
        let numbers: Vec<u64> = (first..programs.min(first + BATCH)).collect();
        let prefixes: Vec<String> = numbers.iter().map(|n| format!("p{n}")).collect();
        // Programs of different seeds are different ones.
        let seeds = numbers.iter().map(|n| seed.wrapping_mul(1 << 32) + n);
        let all: Vec<P> = seeds.clone().map(&make).collect();
        let texts: Vec<String> = (all.iter().zip(&prefixes).zip(seeds))
            .map(|((program, prefix), seed)| write(program, prefix, seed))
            .collect();
        let source = format!(
            "{}{}{}",
            text::HEADER,
            texts.concat(),
            text::main(&prefixes)
        );
        let expected: Vec<Option<E>> = all.iter().map(&expect).collect();
        for configuration in &configurations {
            let built = Built::new(&source, configuration);
            for (at, expected) in expected.iter().enumerate() {
                let compared = match expected {
                    Some(expected) => compare(&built, at, expected),
                    None => None,
                };
                tally.add(compared, || {
                    let how = configuration.name();
                    format!("{name}: program {at} of {first}, {how}\n{}", texts[at])
                });
            }
        }
    }
    tally
}

fn programs_of(kind: Programs) -> impl Fn(u64) -> Program {
    move |seed| Generator::new(kind, seed).program()
}

/// Elements of one set only, of each of two.
fn only_in<T: Ord + std::fmt::Debug>(found: &BTreeSet<T>, expected: &BTreeSet<T>) -> String {
    let missed: Vec<_> = expected.difference(found).take(3).collect();
    let invented: Vec<_> = found.difference(expected).take(3).collect();
    format!("missed: {missed:?}\ninvented: {invented:?}")
}

/// The results of the executions that end, and whether some do not.
fn ends(behaviour: Behaviour) -> (BTreeSet<Results>, bool) {
    let (done, blocked): (Vec<_>, Vec<_>) = behaviour
        .outcomes
        .into_iter()
        .partition(|outcome| outcome.0 == End::Done);
    let done = done.into_iter().map(|outcome| outcome.1).collect();
    (done, !blocked.is_empty())
}

/// What a check of a program is to find.
struct Expected {
    results: BTreeSet<Results>,
    may_block: bool,
    failures: BTreeSet<Failure>,
    /// The executions of its check in Rust, if they are as many.
    executions: Option<u64>,
}

impl Expected {
    fn of(program: &Program, buffers: Buffers) -> Option<Self> {
        let mut behaviour = behaviour(program, buffers)?;
        let failures = std::mem::take(&mut behaviour.failures);
        let (results, may_block) = ends(behaviour);
        Some(Expected {
            results,
            may_block,
            failures,
            executions: None,
        })
    }
}

/// Whether an operation of the program, or one within, is of a kind.
fn has(ops: &[Op], is_kind: fn(&Op) -> bool) -> bool {
    ops.iter().any(|op| {
        is_kind(op)
            || match op {
                Op::Lock(inner)
                | Op::TryLock(inner)
                | Op::Read(inner)
                | Op::Write(inner)
                | Op::TryRead(inner)
                | Op::TryWrite(inner)
                | Op::CallOnce(inner)
                | Op::IfSet(_, _, inner) => has(inner, is_kind),
                _ => false,
            }
    })
}

fn all_ops(program: &Program) -> Vec<Op> {
    let first = [&program.before, &program.between, &program.after];
    let all = first.into_iter().chain(&program.threads);
    all.flatten().cloned().collect()
}

/// The executions of the check of the same program in Rust.
fn executions_in_rust(program: &Program) -> Option<u64> {
    // Whether a thread has come back to the same state when it waits again depends on what the compiler keeps where.
    let waits_again = |op: &Op| matches!(op, Op::WaitWhileZero);
    if has(&all_ops(program), waits_again) {
        return None;
    }
    let found = exploring::found(&Arc::new(program.clone()), Setup::default())?;
    Some(found.executions)
}

/// Finds what a finding is about from its schedule again.
fn replay(
    built: &Built,
    number: usize,
    settings: &[(&str, &str)],
    finding: &Value,
) -> Result<(), String> {
    let schedule = finding["schedule"].as_str().expect("a schedule");
    let again = built.check(number, &[settings, &[("REPLAY", schedule)]].concat());
    let headline = |finding: &Value| finding["headline"].clone();
    let is_same = |other: &Value| headline(other) == headline(finding);
    match again.findings.iter().any(is_same) && again.number("executions") == 1 {
        true => Ok(()),
        false => Err(format!("not found again: {finding}\n{}", again.text)),
    }
}

fn replay_all(
    built: &Built,
    number: usize,
    settings: &[(&str, &str)],
    checked: &Checked,
) -> Result<(), String> {
    let mut findings = checked.findings.iter();
    findings.try_for_each(|finding| replay(built, number, settings, finding))
}

const UNMONITORED: [(&str, &str); 4] = [
    // Programs free nothing.
    ("LEAK_CHECK", "off"),
    ("MONITOR", "off"),
    ("CONTINUE_AFTER_FAILURE", "on"),
    ("MAX_EXECUTIONS", MOST_EXECUTIONS),
];

/// A check that was stopped by the bound says nothing.
fn is_cut(checked: &Checked) -> bool {
    let gaps = checked.summary["gaps"].as_array().expect("an array");
    gaps.iter().any(|gap| gap["reason"] == "execution-budget")
}

fn problems(checked: &Checked) -> BTreeSet<&str> {
    let problems = checked.findings.iter();
    problems
        .map(|finding| finding["problem"].as_str().expect("a kind"))
        .collect()
}

fn compare_outcomes(
    built: &Built,
    number: usize,
    expected: &Expected,
) -> Option<Result<(), String>> {
    let checked = built.check(number, &UNMONITORED);
    if is_cut(&checked) {
        return None;
    }
    let problems = problems(&checked);
    let expected_problems = expected
        .may_block
        .then_some("deadlock")
        .into_iter()
        .collect();
    let executions = checked.number("executions");
    Some(if checked.outcomes != expected.results {
        Err(only_in(&checked.outcomes, &expected.results))
    } else if problems != expected_problems {
        Err(format!(
            "{problems:?} and not {expected_problems:?}: {}",
            checked.text
        ))
    } else if let Some(in_rust) = expected.executions.filter(|&in_rust| in_rust != executions) {
        Err(format!("{executions} executions, and {in_rust} in Rust"))
    } else {
        replay_all(built, number, &UNMONITORED, &checked)
    })
}

#[test]
fn checks_have_the_outcomes_of_all_interleavings() {
    let expect = |program: &Program| {
        let mut expected = Expected::of(program, Buffers::None)?;
        expected.executions = executions_in_rust(program);
        Some(expected)
    };
    compare_all(
        "outcomes",
        120,
        programs_of(Programs::OfC),
        text::program,
        expect,
        compare_outcomes,
    )
    .end("outcomes");
}

fn compare_with_buffers(
    target: &'static str,
    built: &Built,
    number: usize,
    expected: &Expected,
) -> Option<Result<(), String>> {
    let settings = [
        ("STORE_BUFFERS", "on"),
        ("LEAK_CHECK", "off"),
        ("TARGET", target),
        ("CONTINUE_AFTER_FAILURE", "on"),
        ("MAX_EXECUTIONS", MOST_EXECUTIONS),
    ];
    let checked = built.check(number, &settings);
    if is_cut(&checked) {
        return None;
    }
    match checked.outcome() {
        // An operation waited for stores that may stay in the buffer: there are fewer results.
        "incomplete" if checked.outcomes.is_subset(&expected.results) => None,
        _ if checked.outcomes != expected.results => {
            Some(Err(only_in(&checked.outcomes, &expected.results)))
        }
        _ => Some(replay_all(built, number, &settings, &checked)),
    }
}

#[test]
fn checks_with_store_buffers_have_the_outcomes_of_the_machine() {
    for (target, buffers) in [("x86", Buffers::Tso), ("pso", Buffers::Pso)] {
        compare_all(
            target,
            30,
            programs_of(Programs::OfOrderingsOfC),
            text::program,
            |program| Expected::of(program, buffers),
            |built, number, expected| compare_with_buffers(target, built, number, expected),
        )
        .end(target);
    }
}

/// The failure that a finding is; none if it is that threads wait for ever.
fn failure(finding: &Value) -> Result<Option<Failure>, String> {
    let unexpected = || format!("an unexpected finding: {finding}");
    match finding["problem"].as_str() {
        Some("deadlock") => Ok(None),
        Some("failed") => {
            let message = finding["message"].as_str().unwrap_or_default();
            let from = message.find("thread ").ok_or_else(unexpected)?;
            let text = message[from..].split('"').next().unwrap_or_default();
            Ok(Some(Failure::Panic(text.trim_end_matches('\\').to_owned())))
        }
        Some("race") => {
            let cell = finding["cell"].as_str().ok_or_else(unexpected)?;
            let cell = match (cell.contains("_c0"), cell.contains("_c1")) {
                (true, false) => 0,
                (false, true) => 1,
                _ => return Err(unexpected()),
            };
            let access = |of: &Value| -> Option<Access> {
                let thread = of["thread"].as_str()?;
                Some(Access {
                    thread: match thread.strip_prefix('T') {
                        Some(number) => number.parse().ok()?,
                        None => 0,
                    },
                    is_write: of["writes"].as_bool()?,
                })
            };
            let [first, second] = [&finding["first"], &finding["second"]].map(access);
            let (Some(first), Some(second)) = (first, second) else {
                return Err(unexpected());
            };
            Ok(Some(Failure::Race(Race {
                cell,
                first,
                second,
            })))
        }
        _ => Err(unexpected()),
    }
}

/// A program with an execution that fails need not be explored further than to one of them.
fn compare_failures(
    built: &Built,
    number: usize,
    expected: &Expected,
) -> Option<Result<(), String>> {
    let checked = built.check(number, &UNMONITORED);
    if is_cut(&checked) && checked.findings.is_empty() {
        return None;
    }
    let failures = checked.findings.iter().map(failure);
    let failures = match failures.collect::<Result<Vec<_>, _>>() {
        Ok(failures) => failures.into_iter().flatten().collect::<BTreeSet<_>>(),
        Err(message) => return Some(Err(message)),
    };
    let is_equal = match expected.failures.is_empty() {
        true => failures.is_empty() && checked.outcomes == expected.results,
        false => !failures.is_empty() && failures.is_subset(&expected.failures),
    };
    Some(match is_equal {
        true => replay_all(built, number, &UNMONITORED, &checked),
        false => Err(format!(
            "failures: {}\n{}",
            only_in(&failures, &expected.failures),
            only_in(&checked.outcomes, &expected.results)
        )),
    })
}

#[test]
fn checks_report_the_failures_of_all_interleavings() {
    compare_all(
        "failures",
        120,
        programs_of(Programs::OfCWithFailures),
        text::program,
        |program| Expected::of(program, Buffers::None),
        compare_failures,
    )
    .end("failures");
}

/// A random straight-line program, by its seed.
fn straight_line(seed: u64) -> StraightLineProgram {
    let mut random = Random::new(seed);
    let (threads, operations, addresses) = match random.below(2) {
        0 => (2, 4, 2),
        _ => (3, 3, 3),
    };
    let shape = ProgramShape {
        threads,
        operations,
        addresses,
    };
    StraightLineProgram::random(&mut random, shape)
}

/// The program as the machine gets it: a sequentially consistent store drains everything, and so is a barrier too.
fn compiled(program: &StraightLineProgram) -> StraightLineProgram {
    let compile = |&operation: &Operation| match operation {
        Operation::LockedStore(_) => vec![Operation::StoreBarrier, operation],
        _ => vec![operation],
    };
    let threads = program.threads.iter();
    StraightLineProgram {
        threads: threads
            .map(|operations| operations.iter().flat_map(compile).collect())
            .collect(),
    }
}

#[test]
fn verdicts_are_those_of_the_machines() {
    let models = [
        ("x86", MemoryModel::TSO),
        ("pso", MemoryModel::PSO_OWN_ADDRESS),
    ];
    let expect = |program: &StraightLineProgram| {
        let is_unsafe = |model| emits_non_sc_trace(model, &compiled(program)).is_some();
        Some([is_unsafe(&models[0].1), is_unsafe(&models[1].1)])
    };
    let compare = |built: &Built, number: usize, expected: &[bool; 2]| {
        let compare = |at: usize| {
            let settings = [("TARGET", models[at].0), ("CONTINUE_AFTER_FAILURE", "on")];
            let checked = built.check(number, &settings);
            let found = match expected[at] {
                true => BTreeSet::from(["store-buffer"]),
                false => BTreeSet::new(),
            };
            match problems(&checked) == found && (checked.outcome() == "verified") != expected[at] {
                true => replay_all(built, number, &settings, &checked),
                false => Err(format!("{} {expected:?}: {}", models[at].0, checked.text)),
            }
        };
        Some(compare(0).and_then(|()| compare(1)))
    };
    compare_all(
        "verdicts",
        120,
        straight_line,
        text::straight_line,
        expect,
        compare,
    )
    .end("verdicts");
}

/// What must be the same if a check is interrupted.
fn essence(checked: &Checked) -> (String, u64, u64, BTreeSet<String>, BTreeSet<Results>) {
    let headlines = checked.findings.iter().map(|f| f["headline"].to_string());
    (
        checked.outcome().to_owned(),
        checked.number("executions"),
        checked.number("problems"),
        headlines.collect(),
        checked.outcomes.clone(),
    )
}

fn compare_pieces(built: &Built, number: usize) -> Option<Result<(), String>> {
    let settings = [("LEAK_CHECK", "off"), ("CONTINUE_AFTER_FAILURE", "on")];
    let bound = [("MAX_EXECUTIONS", "300")];
    let whole = built.check(number, &[&settings[..], &bound].concat());
    let executions = whole.number("executions");
    // Where a search gives executions up depends on its order.
    if is_cut(&whole) || executions < 2 || whole.number("abandoned") > 0 {
        return None;
    }
    let mut random = Random::new(executions);
    let most = executions / 4 + 2;
    let (pieces, resumed) = built.check_in_pieces(number, &settings, || 1 + random.below(most));
    let (whole, pieces) = (essence(&whole), essence(&pieces));
    match resumed {
        0 => None,
        _ if whole == pieces => Some(Ok(())),
        _ => Some(Err(format!("{whole:?}\nagainst {pieces:?}"))),
    }
}

#[test]
fn resumed_checks_find_what_uninterrupted_ones_find() {
    let (name, kind) = ("checkpoints", Programs::OfOrderingsOfC);
    let tally = compare_all(
        name,
        40,
        programs_of(kind),
        text::program,
        |_| Some(()),
        |built, number, ()| compare_pieces(built, number),
    );
    tally.end_with(name, 6);
}

/// A program whose threads look at what they find.
fn with_assertions(seed: u64) -> Program {
    let mut program = Generator::new(Programs::OfOrderingsOfC, seed).program();
    let mut random = Random::new(seed);
    let mut assertion = || Op::PanicIf(random.below(2) as usize, random.below(3) as u32);
    program.after.push(assertion());
    for ops in &mut program.threads {
        ops.push(assertion());
    }
    program
}

/// What the report says about the consequence of a violation, against the machine.
fn compare_consequences(
    target: &'static str,
    built: &Built,
    number: usize,
    (without, with): &(Expected, Expected),
) -> Option<Result<(), String>> {
    let settings = [("TARGET", target), ("CONFIRM", "on"), ("LEAK_CHECK", "off")];
    let checked = built.check(number, &settings);
    let fails_anyway = !without.failures.is_empty();
    let fails = !with.failures.is_empty();
    let wrong = |what: &str| {
        let failures = [&without.failures, &with.failures];
        Some(Err(format!("{what}: {failures:?}: {}", checked.text)))
    };
    let Some(finding) = checked.findings.first() else {
        return match fails || fails_anyway {
            true => wrong("nothing is found"),
            false => Some(Ok(())),
        };
    };
    if finding["problem"] != "store-buffer" {
        return match fails_anyway {
            true => Some(replay_all(built, number, &settings, &checked)),
            false => wrong("it does not fail"),
        };
    }
    let kind = finding["consequence"]["kind"].as_str().unwrap_or_default();
    let is_right = match kind {
        "harmful" => fails && !fails_anyway,
        "wrong-anyway" => fails_anyway,
        "harmless" => !fails,
        _ => !fails && !fails_anyway,
    };
    if !is_right {
        return wrong("it has another consequence");
    }
    if !matches!(kind, "harmful" | "harmless") {
        return None;
    }
    let failing = &finding["consequence"]["finding"];
    Some(match failing.is_null() {
        true => Ok(()),
        false => {
            let settings = [
                ("TARGET", target),
                ("STORE_BUFFERS", "on"),
                ("LEAK_CHECK", "off"),
            ];
            replay(built, number, &settings, failing)
        }
    })
}

#[test]
fn consequences_are_those_of_the_machine() {
    for (target, buffers) in [("x86", Buffers::Tso), ("pso", Buffers::Pso)] {
        let name = format!("consequences, {target}");
        let expect = |program: &Program| {
            let without = Expected::of(program, Buffers::None)?;
            Some((without, Expected::of(program, buffers)?))
        };
        compare_all(
            &name,
            60,
            with_assertions,
            text::program,
            expect,
            |built, number, expected| compare_consequences(target, built, number, expected),
        )
        .end(&name);
    }
}

/// The comparisons notice a check of a machine with other store buffers, and one in which release operations are relaxed.
#[test]
fn differences_from_the_machine_are_noticed() {
    let buffers = compare_all(
        "other buffers",
        100,
        programs_of(Programs::OfOrderingsOfC),
        text::program,
        |program| Expected::of(program, Buffers::Pso),
        |built, number, expected| compare_with_buffers("x86", built, number, expected),
    );
    let unlocked = compare_all(
        "unlocked",
        60,
        programs_of(Programs::OfCWithFailures),
        |program, prefix, seed| text::program(&program.without_mutex(), prefix, seed),
        |program| Expected::of(program, Buffers::None),
        compare_failures,
    );
    if !configurations().is_empty() {
        assert!(!buffers.differ.is_empty(), "stores are in order on x86");
        assert!(!unlocked.differ.is_empty(), "a mutex keeps threads apart");
    }
}
