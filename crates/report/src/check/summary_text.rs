//! A summary as text: what was shown, and what was not.

use std::fmt::Write;
use std::time::Duration;

use fencepost_memory::Buffering;

use super::words::{short_list, tidy};
use super::{CheckSummary, Gap, Outcome, Reporter, Target};
use crate::source::SourcePosition;
use crate::style::{ERROR, SUCCESS, Styled, WARNING};
use crate::text::{counted, grouped};

/// So many loops are named.
const MOST_LOOPS: usize = 6;

/// The summary.
pub(super) fn text(reporter: &Reporter<'_>, summary: &CheckSummary) -> String {
    let target = &reporter.target;
    let mut text = match summary.outcome() {
        Outcome::Verified => verified(summary, target),
        Outcome::Incomplete => incomplete(summary, target),
        Outcome::Found => found(summary, target),
    };
    if summary.outcome() != Outcome::Found {
        for assumption in assumptions(summary) {
            let _ = writeln!(text, "  assuming that {assumption}");
        }
    }
    for note in &summary.notes {
        let _ = writeln!(text, "  note: {}", tidy(note, 400));
    }
    text
}

fn has_store_buffers(target: &Target) -> bool {
    target.model.buffering() != Buffering::None
}

/// `183 executions, 2,044 steps`.
fn amount(summary: &CheckSummary) -> String {
    let executions = counted(summary.executions, "execution");
    let steps = counted(summary.steps, "step");
    match summary.abandoned {
        0 => format!("{executions}, {steps}"),
        1 => format!("{executions}, {steps}; 1 more was begun and abandoned"),
        abandoned => format!(
            "{executions}, {steps}; {} more were begun and abandoned",
            grouped(abandoned)
        ),
    }
}

fn verified(summary: &CheckSummary, target: &Target) -> String {
    let shown = match has_store_buffers(target) {
        true if summary.store_buffers => {
            "no execution is wrong, those included that only store buffers allow"
        }
        true => "no execution is wrong, and store buffers add no others",
        false => "no execution is wrong",
    };
    format!(
        "{} for {}: {shown}\n  run: all executions that differ in more than the order of independent \
         steps ({})\n",
        Styled(SUCCESS, "verified"),
        target.title,
        amount(summary),
    )
}

fn incomplete(summary: &CheckSummary, target: &Target) -> String {
    let mut text = format!(
        "{} for {}: nothing wrong was found, but not everything was run\n",
        Styled(WARNING, "incomplete"),
        target.title
    );
    let _ = writeln!(text, "  run: {}", amount(summary));
    for gap in &summary.gaps {
        let _ = writeln!(text, "  left out: {}", gap_sentence(gap));
    }
    if let Some(shown) = shown_sentence(summary, target) {
        let _ = writeln!(text, "  shown: {shown}");
    }
    text
}

fn found(summary: &CheckSummary, target: &Target) -> String {
    let repeated = match summary.problems == summary.distinct {
        true => String::new(),
        false => format!(", seen {}", counted(summary.problems, "time")),
    };
    let mut text = format!(
        "{} for {}: {}{}{repeated}\n  run: {}\n",
        Styled(ERROR, "failed"),
        target.title,
        if summary.distinct_is_lower_bound {
            "at least "
        } else {
            ""
        },
        counted(summary.distinct, "distinct problem"),
        amount(summary)
    );
    for gap in &summary.gaps {
        let _ = writeln!(text, "  left out: {}", gap_sentence(gap));
    }
    text
}

/// What an incomplete check has shown, exactly; if nothing was run, that is nothing.
pub(crate) fn shown_sentence(summary: &CheckSummary, target: &Target) -> Option<String> {
    if summary.executions == 0 {
        return None;
    }
    if summary.store_buffers {
        let executions = match summary.covered_preemptions {
            Some(bound) => format!(
                "no execution with at most {}",
                counted(bound.into(), "preemption")
            ),
            None => "none of the executions that were run".to_string(),
        };
        return Some(format!(
            "{executions}, on the machine with store buffers, is wrong; this says nothing of others"
        ));
    }
    let executions = match summary.covered_preemptions {
        Some(bound) => format!(
            "no SC execution with at most {}",
            counted(bound.into(), "preemption")
        ),
        None => "none of the SC executions that were run".to_string(),
    };
    let (wrong, borderline) = match has_store_buffers(target) {
        true => (
            "wrong or borderline",
            "; borderline: store buffers could take it out of SC",
        ),
        false => ("wrong", ""),
    };
    Some(format!(
        "{executions} is {wrong} (SC: sequentially consistent{borderline}); this says nothing of others"
    ))
}

/// Why executions are missing.
pub(crate) fn gap_sentence(gap: &Gap) -> String {
    match gap {
        Gap::PreemptionBound(bound) => format!(
            "executions with more than {} (the bound)",
            counted((*bound).into(), "preemption")
        ),
        Gap::ExecutionBudget(budget) => format!(
            "what comes after {} (the budget)",
            counted(*budget, "execution")
        ),
        Gap::FurtherExecutions(budget) => format!(
            "what comes after {} (the budget)",
            counted(*budget, "more execution")
        ),
        Gap::TimeBudget(budget) => {
            format!("what comes after {} (the budget)", duration(*budget))
        }
        Gap::SpinBound(bound) => format!(
            "executions in which a loop waits for more than {} (the spin bound)",
            counted((*bound).into(), "round")
        ),
        Gap::Random { seed } => {
            format!("whatever chance did not choose (random executions, seed {seed})")
        }
        Gap::MemoryBudget(bytes) => {
            format!(
                "what needs more than {} MiB of memory (the budget)",
                grouped(bytes >> 20)
            )
        }
        Gap::Replay => "everything but the execution that was replayed".to_string(),
        Gap::Interrupted => "what comes after the interruption".to_string(),
        Gap::StoppedAtProblem => "what comes after the first problem".to_string(),
        Gap::Other(sentence) => tidy(sentence, 200),
    }
}

/// The name of a gap for scripts.
pub(crate) fn gap_name(gap: &Gap) -> &'static str {
    match gap {
        Gap::PreemptionBound(_) => "preemption-bound",
        Gap::ExecutionBudget(_) | Gap::FurtherExecutions(_) => "execution-budget",
        Gap::TimeBudget(_) => "time-budget",
        Gap::SpinBound(_) => "spin-bound",
        Gap::Random { .. } => "random",
        Gap::MemoryBudget(_) => "memory-budget",
        Gap::Replay => "replay",
        Gap::Interrupted => "interrupted",
        Gap::StoppedAtProblem => "stopped-at-problem",
        Gap::Other(_) => "other",
    }
}

/// What the result rests on, each to follow "assuming that".
pub(crate) fn assumptions(summary: &CheckSummary) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(loops) = places(&summary.waiting_loops) {
        let (these, they, went) = match summary.waiting_loops.len() {
            1 => ("the loop", "it", "it went round"),
            _ => ("the loops", "they", "each of them went round at least"),
        };
        let verbs = match summary.waiting_loops.len() {
            1 => {
                "only waits: that it goes round until something changes, counts no rounds and does not give up"
            }
            _ => {
                "only wait: that they go round until something changes, count no rounds and do not give up"
            }
        };
        let look = match summary.tried_rounds {
            Some(rounds) => format!(
                "please look: {went} {} in some execution, which is no proof; `spin_bound` runs all executions, up to a \
                 bound",
                counted(u64::from(rounds), "time")
            ),
            None => format!(
                "please look: what {they} would do after more rounds was not run; `spin_bound` runs it, up to a bound"
            ),
        };
        all.push(format!("{these} at {loops} {verbs} ({look})"));
    }
    if let Some(waits) = places(&summary.repeated_waits) {
        let (noun, verb) = match summary.repeated_waits.len() {
            1 => ("the wait", "does"),
            _ => ("the waits", "do"),
        };
        all.push(format!(
            "{noun} at {waits} {verb} not return without a notification again if nothing was changed since, \
             nor more than twice in a row"
        ));
    }
    all.push(COMPILER_ASSUMPTION.to_string());
    all.extend(summary.assumptions.iter().map(|a| tidy(a, 400)));
    all
}

/// `src/a.rs:1 and src/b.rs:2`, if there are any.
fn places(positions: &[SourcePosition]) -> Option<String> {
    let place = |position: &SourcePosition| format!("{}:{}", position.file, position.line);
    let mut places: Vec<String> = positions.iter().map(place).collect();
    places.dedup();
    (!places.is_empty()).then(|| short_list(&places, MOST_LOOPS))
}

/// What every result rests on.
const COMPILER_ASSUMPTION: &str =
    "the compiler keeps Relaxed accesses in program order, which Rust does not promise";

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

    #[test]
    fn one_is_singular() {
        let abandoned = |abandoned| CheckSummary {
            abandoned,
            ..CheckSummary::default()
        };
        assert!(amount(&abandoned(1)).ends_with("; 1 more was begun and abandoned"));
        assert!(amount(&abandoned(2)).ends_with("; 2 more were begun and abandoned"));
    }
}
