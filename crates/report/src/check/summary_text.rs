//! A summary as text: the outcome, what was explored, what was left out, and the assumptions.

use std::fmt::Write;
use std::time::Duration;

use fencepost_memory::Buffering;

use super::words::short_list;
use super::{Assumption, CheckSummary, Compared, Gap, Note, Outcome, Reporter, Target};
use crate::language::ProgramLanguage;
use crate::source::SourcePosition;
use crate::style::{ERROR, SUCCESS, Styled, WARNING};
use crate::text::{counted, grouped};

/// The largest number of loops that are named.
const MAX_LOOPS: usize = 6;

/// The text of a summary.
pub(super) fn text(reporter: &Reporter<'_>, summary: &CheckSummary) -> String {
    let mut lines = Lines::new(headline(summary, &reporter.target));
    let explored = match summary.outcome() {
        Outcome::Verified => explored(summary, " (one per equivalence class)"),
        Outcome::Incomplete | Outcome::Found => explored(summary, ""),
    };
    lines.push("explored", &explored);
    match summary.outcome() {
        Outcome::Verified if has_store_buffers(&reporter.target) && !summary.store_buffers => {
            lines.push("robust", "store buffers add no behaviour");
        }
        _ => {}
    }
    let language = reporter.language();
    for gap in &summary.gaps {
        match is_stop(gap) {
            true => lines.push_sentence(&gap_sentence(gap, language)),
            false => lines.push("left out", &gap_sentence(gap, language)),
        }
    }
    if summary.outcome() == Outcome::Incomplete {
        if let Some(shown) = shown_sentence(summary, &reporter.target) {
            lines.push("shown", &shown);
        }
    }
    if summary.outcome() != Outcome::Found {
        for assumption in assumptions(summary, language) {
            lines.push("assumes", &assumption);
        }
    }
    for note in notes(summary, language) {
        lines.push("note", &note);
    }
    lines.0
}

/// The lines of a summary, with aligned labels.
struct Lines(String);

impl Lines {
    fn new(headline: String) -> Self {
        Lines(headline + "\n")
    }

    fn push(&mut self, label: &str, text: &str) {
        let label = format!("{label}:");
        let _ = writeln!(self.0, "  {label:<9} {text}");
    }

    fn push_sentence(&mut self, text: &str) {
        let _ = writeln!(self.0, "  {text}");
    }
}

fn has_store_buffers(target: &Target) -> bool {
    target.model.buffering() != Buffering::None
}

/// The verdict, in one line.
fn headline(summary: &CheckSummary, target: &Target) -> String {
    let title = &target.title;
    match summary.outcome() {
        Outcome::Verified => format!("{} for {title}", Styled(SUCCESS, "verified")),
        Outcome::Incomplete => format!(
            "{} for {title}: no failure found, but some executions were not explored",
            Styled(WARNING, "incomplete")
        ),
        Outcome::Found => {
            let at_least = match summary.distinct_is_lower_bound {
                true => "at least ",
                false => "",
            };
            let occurrences = match summary.problems == summary.distinct {
                true => String::new(),
                false => format!(" ({})", counted(summary.problems, "occurrence")),
            };
            format!(
                "{} for {title}: {at_least}{}{occurrences}",
                Styled(ERROR, "failed"),
                counted(summary.distinct, "distinct failure"),
            )
        }
    }
}

/// `183 executions, 2,044 steps`. `which` follows the number of executions.
fn explored(summary: &CheckSummary, which: &str) -> String {
    let executions = counted(summary.executions, "execution");
    let machine = match summary.store_buffers {
        true => " with store buffers",
        false => "",
    };
    let steps = counted(summary.steps, "step");
    let abandoned = match summary.abandoned {
        0 => String::new(),
        abandoned => format!("; {} more abandoned early", grouped(abandoned)),
    };
    let pruned = match summary.pruned {
        0 => String::new(),
        pruned if pruned == summary.executions => {
            "; all of them ended at an assumption of the program".to_owned()
        }
        pruned => format!(
            "; {} of them ended at an assumption of the program",
            grouped(pruned)
        ),
    };
    format!("{executions}{machine}{which}, {steps}{pruned}{abandoned}")
}

/// The claim that an incomplete check proves; none if no execution was explored.
pub(crate) fn shown_sentence(summary: &CheckSummary, target: &Target) -> Option<String> {
    if summary.executions == 0 {
        return None;
    }
    let executions = match summary.covered_preemptions {
        Some(bound) => format!(
            "no execution with at most {}",
            counted(bound.into(), "preemption")
        ),
        None => "no explored execution".to_owned(),
    };
    let fails = match has_store_buffers(target) && !summary.store_buffers {
        true => "fails, and store buffers add no behaviour to them",
        false => "fails",
    };
    Some(format!(
        "{executions} {fails}; nothing is shown about the others"
    ))
}

/// Whether a gap is the reason for which the search stopped: its sentence needs no label.
fn is_stop(gap: &Gap) -> bool {
    matches!(
        gap,
        Gap::ExecutionBudget(_)
            | Gap::FurtherExecutions(_)
            | Gap::TimeBudget(_)
            | Gap::MemoryBudget(_)
            | Gap::Interrupted
            | Gap::StoppedAtProblem
    )
}

/// The executions that are missing, and the setting that decides it.
pub(crate) fn gap_sentence(gap: &Gap, language: ProgramLanguage) -> String {
    let setting = |method| language.setting(method);
    match gap {
        Gap::PreemptionBound(bound) => format!(
            "executions with more than {} (raise `{}` to explore more)",
            counted((*bound).into(), "preemption"),
            setting("preemption_bound")
        ),
        Gap::ExecutionBudget(budget) => format!(
            "stopped after {} (raise `{}` to explore more)",
            counted(*budget, "execution"),
            setting("max_executions")
        ),
        Gap::FurtherExecutions(budget) => format!(
            "stopped after {} (raise `{}` to explore more)",
            counted(*budget, "more execution"),
            setting("max_executions")
        ),
        Gap::TimeBudget(budget) => format!(
            "stopped after {} (raise `{}` to explore more)",
            duration(*budget),
            setting("max_time")
        ),
        Gap::SpinBound(bound) => format!(
            "executions in which a loop spins for more than {} (raise `{}` to explore more)",
            counted((*bound).into(), "round"),
            setting("spin_bound")
        ),
        Gap::WaitBound(bound) => format!(
            "executions in which a wait returns again and again without a notification (up to {} in a row), each \
             time in another state",
            counted((*bound).into(), "time")
        ),
        Gap::Random { seed } => {
            format!("executions that were not sampled (random executions, seed {seed})")
        }
        Gap::MemoryBudget(bytes) => {
            format!(
                "stopped at the memory limit of {} MiB",
                grouped(bytes >> 20)
            )
        }
        Gap::Replay => "every execution except the replayed one".to_string(),
        Gap::Interrupted => "stopped by an interrupt".to_string(),
        Gap::StoppedAtProblem => format!(
            "stopped at the first failure (use `{}` to find more)",
            setting("continue_after_failure")
        ),
        Gap::EarlyDrain => format!("executions in which {}", early_drain(language)),
        Gap::EndlessLoops(rounds, loops) => {
            let noun = match loops.len() {
                1 => "the loop",
                _ => "one of the loops",
            };
            format!(
                "executions in which {noun} at {}, which never comes back to the same state, goes round more than \
                 {} although nothing changes",
                places(loops).unwrap_or_default(),
                counted(u64::from(*rounds), "time")
            )
        }
        Gap::UnseenMemory(loops) => {
            let (noun, depends) = match loops.len() {
                1 => ("the loop", "depends"),
                _ => ("the loops", "depend"),
            };
            let loops = places(loops).unwrap_or_default();
            format!(
                "executions that differ in memory that Fencepost does not see: {noun} at {loops} {depends} on it"
            )
        }
    }
}

/// The stores that Fencepost drains before the machine has to.
pub(super) fn early_drain(language: ProgramLanguage) -> String {
    let objects = match language {
        ProgramLanguage::Rust => "an `Arc`, a lock or a channel",
        ProgramLanguage::C => "a lock or a condition variable",
    };
    format!(
        "a store stays in the buffer during an operation on {objects} that drains it in Fencepost"
    )
}

/// The name of a gap for scripts.
pub(crate) fn gap_name(gap: &Gap) -> &'static str {
    match gap {
        Gap::PreemptionBound(_) => "preemption-bound",
        Gap::ExecutionBudget(_) | Gap::FurtherExecutions(_) => "execution-budget",
        Gap::TimeBudget(_) => "time-budget",
        Gap::SpinBound(_) => "spin-bound",
        Gap::WaitBound(_) => "wait-bound",
        Gap::Random { .. } => "random",
        Gap::MemoryBudget(_) => "memory-budget",
        Gap::Replay => "replay",
        Gap::Interrupted => "interrupted",
        Gap::StoppedAtProblem => "stopped-at-problem",
        Gap::EarlyDrain => "other",
        Gap::UnseenMemory(_) => "unseen-memory",
        Gap::EndlessLoops(..) => "endless-loops",
    }
}

/// The assumptions of a result, each a clause.
pub(crate) fn assumptions(summary: &CheckSummary, language: ProgramLanguage) -> Vec<String> {
    let mut all = Vec::new();
    match (summary.compared, language) {
        (Compared::Nothing, _) => {
            all.extend(loop_assumption(summary, language));
            all.extend(wait_assumption(summary));
        }
        (_, ProgramLanguage::C) => all.extend(library_assumption(summary)),
        (Compared::Stacks, _) => all.extend(memory_assumption(summary)),
        (Compared::Memory, _) => all.extend(outliving_assumption(summary, "")),
        (Compared::MostMemory, _) => all.extend(outliving_assumption(summary, LARGE_BLOCKS)),
    }
    all.extend(declared_assumptions(summary));
    match language {
        ProgramLanguage::Rust => all.push(COMPILER_ASSUMPTION.to_string()),
        ProgramLanguage::C => all.extend(C_ASSUMPTIONS.map(str::to_owned)),
    }
    let settings = summary.assumptions.iter();
    all.extend(settings.map(|item| assumption(item, language)));
    all
}

/// Of loops and waits of a program in C, whose accesses to memory are seen if the compiler has instrumented them.
fn library_assumption(summary: &CheckSummary) -> Option<String> {
    let all = summary.loops_and_waits();
    let loops = places(&all)?;
    let (noun, depends) = match all.len() {
        1 => ("the loop", "depends"),
        _ => ("the loops", "depend"),
    };
    Some(format!(
        "{noun} at {loops} {depends} on no memory that code without instrumentation writes (the C library, other \
         libraries{})",
        tried(summary)
    ))
}

/// Of loops and waits that come back to the same state.
fn memory_assumption(summary: &CheckSummary) -> Option<String> {
    let all = summary.loops_and_waits();
    let loops = places(&all)?;
    let (noun, comes) = match all.len() {
        1 => ("the loop", "comes"),
        _ => ("the loops", "come"),
    };
    let tried = tried(summary);
    Some(format!(
        "{noun} at {loops} {comes} back to the same state, and {verb} on no memory but the threads' stacks and \
         Fencepost's types (other memory is compared only with `fencepost::Allocator`{tried})",
        verb = if all.len() == 1 { "depends" } else { "depend" },
    ))
}

fn tried(summary: &CheckSummary) -> String {
    match summary.tried_rounds {
        Some(rounds) => format!("; tried for {}", counted(u64::from(rounds), "round")),
        None => String::new(),
    }
}

/// What is not compared of a heap.
const LARGE_BLOCKS: &str = ", and not on blocks beyond the first 128 KiB of a thread";

/// The same, if all memory of the execution was compared.
fn outliving_assumption(summary: &CheckSummary, besides: &str) -> Option<String> {
    let all = summary.loops_and_waits();
    let loops = places(&all)?;
    let (noun, depends) = match all.len() {
        1 => ("the loop", "depends"),
        _ => ("the loops", "depend"),
    };
    Some(format!(
        "{noun} at {loops} {depends} on nothing that outlives an execution (statics, thread-locals of std, what the \
         closure captures{}), and on no atomics and locks of std{besides}",
        tried(summary)
    ))
}

/// One clause for each loop that the program declares to only wait.
fn declared_assumptions(summary: &CheckSummary) -> impl Iterator<Item = String> + '_ {
    summary.declared_waits.iter().filter_map(|declared| {
        let declared = places(std::slice::from_ref(declared))?;
        let tried = match summary.tried_rounds {
            Some(rounds) => format!(" (tried for {})", counted(u64::from(rounds), "round")),
            None => String::new(),
        };
        Some(format!(
            "the loop around `assume_waits` at {declared} only waits{tried}"
        ))
    })
}

fn loop_assumption(summary: &CheckSummary, language: ProgramLanguage) -> Option<String> {
    let loops = places(&summary.waiting_loops)?;
    let is_one = summary.waiting_loops.len() == 1;
    let claim = match is_one {
        true => format!("the loop at {loops} only waits, and never gives up"),
        false => format!("the loops at {loops} only wait, and never give up"),
    };
    let evidence = match summary.tried_rounds {
        Some(rounds) => {
            let rounds = counted(u64::from(rounds), "round");
            let at_least = if is_one { "" } else { "at least " };
            format!("tried for {at_least}{rounds}, not proved")
        }
        None => "not tried".to_string(),
    };
    let setting = language.setting("spin_bound");
    Some(format!("{claim} ({evidence}; see `{setting}`)"))
}

fn wait_assumption(summary: &CheckSummary) -> Option<String> {
    let waits = places(&summary.repeated_waits)?;
    let (noun, verb) = match summary.repeated_waits.len() {
        1 => ("the wait", "wakes"),
        _ => ("the waits", "wake"),
    };
    Some(format!(
        "{noun} at {waits} {verb} up spuriously again only after a change, and at most twice in a row"
    ))
}

/// An assumption that a setting makes, as a clause.
pub(super) fn assumption(assumption: &Assumption, language: ProgramLanguage) -> String {
    let is_c = language == ProgramLanguage::C;
    match assumption {
        Assumption::ImmediateStores if is_c => {
            "every store reaches memory at once (FENCEPOST_MONITOR=off)".to_string()
        }
        Assumption::ImmediateStores => {
            "every store reaches memory at once (`monitor(false)`)".to_string()
        }
        Assumption::NoLeaks if is_c => "no memory leaks (`--leak-check off`)".to_string(),
        Assumption::NoLeaks => "no `Arc` leaks (`leak_check(false)`)".to_string(),
        Assumption::NoSpuriousWakeups if is_c => {
            "no wait for a condition variable wakes up spuriously (FENCEPOST_SPURIOUS_WAKEUPS=off)"
                .to_string()
        }
        Assumption::NoSpuriousWakeups => {
            "no `Condvar` wait or `park` wakes up spuriously (`spurious_wakeups(false)`)"
                .to_string()
        }
        Assumption::SpinLoopsOnlyWait => format!(
            "spin loops only wait (`{}` lists them)",
            language.setting("store_buffers")
        ),
        Assumption::PlainAccessesKept => {
            "the compiler kept the plain accesses that race, each as one instruction (`--races allow`)".to_string()
        }
        Assumption::OpenValues { low, high } => {
            format!("numbers that the program leaves open are from {low} to {high}")
        }
        Assumption::InsertedFence { fence, before } => format!(
            "`{}` is inserted before {before} (`{}`)",
            language.fence(*fence, Some(&before.file)),
            language.setting("insert_fence")
        ),
    }
}

/// The notes of a summary, each a sentence.
pub(crate) fn notes(summary: &CheckSummary, language: ProgramLanguage) -> Vec<String> {
    let notes = summary.notes.iter();
    // Plain memory that threads share is checked in C.
    let is_meant =
        |item: &&Note| language == ProgramLanguage::Rust || **item != Note::NothingShared;
    let notes = notes.filter(is_meant);
    notes.map(|item| note(item, language)).collect()
}

fn note(note: &Note, language: ProgramLanguage) -> String {
    let is_c = language == ProgramLanguage::C;
    match note {
        Note::UnusedFence(before) => {
            format!("no operation was executed at {before}: the fence inserted there has no effect")
        }
        Note::NothingChecked if is_c => {
            "the program used no thread, atomic variable or lock: was every file compiled by \
             `fencepost cc` or fencepost-cc?"
                .to_string()
        }
        Note::NothingChecked => "the program used no thread, atomic or lock of Fencepost: does it \
             use those of `std`? (if a `cfg` decides, is it set?)"
            .to_string(),
        Note::NothingShared => {
            "no thread used a type of Fencepost: does the program use the atomics \
             and locks of `std`?"
                .to_string()
        }
        Note::FoundInRounds(rounds) => format!(
            "the exhaustive search, in which spin loops only wait, found no failure; this one is \
             from sampled executions in which they spin for up to {} rounds",
            grouped(u64::from(*rounds))
        ),
        Note::CheckpointNotWritten { path, error } => format!(
            "the last checkpoint could not be written to {}: {error}",
            path.display()
        ),
    }
}

/// `src/a.rs:1 and src/b.rs:2`, if there are any.
fn places(positions: &[SourcePosition]) -> Option<String> {
    let mut places: Vec<String> = positions
        .iter()
        .map(SourcePosition::file_and_line)
        .collect();
    places.dedup();
    (!places.is_empty()).then(|| short_list(&places, MAX_LOOPS))
}

/// The assumptions of every result for a program in C or C++.
const C_ASSUMPTIONS: [&str; 3] = [
    "the compiler does not reorder relaxed accesses",
    "arguments, input, files, time and random numbers are those of this check",
    "freed memory is not allocated again in the same execution",
];

/// The assumption of every result.
const COMPILER_ASSUMPTION: &str = "the compiler does not reorder Relaxed accesses";

/// `90 s`, `1.5 s`, `50 ms`.
fn duration(duration: Duration) -> String {
    if duration.is_zero() {
        return "0 s".to_owned();
    }
    let exact = format!("{duration:?}");
    let unit = exact.find(char::is_alphabetic).unwrap_or(exact.len());
    format!("{} {}", &exact[..unit], &exact[unit..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular() {
        let line = |count| {
            let summary = CheckSummary {
                executions: count,
                steps: count,
                abandoned: count,
                ..CheckSummary::default()
            };
            explored(&summary, "")
        };
        assert_eq!(line(0), "0 executions, 0 steps");
        assert_eq!(line(1), "1 execution, 1 step; 1 more abandoned early");
        assert_eq!(line(2), "2 executions, 2 steps; 2 more abandoned early");
    }

    #[test]
    fn durations_are_exact() {
        for (milliseconds, shown) in [
            (0, "0 s"),
            (50, "50 ms"),
            (1250, "1.25 s"),
            (90_000, "90 s"),
        ] {
            assert_eq!(duration(Duration::from_millis(milliseconds)), shown);
        }
    }
}
