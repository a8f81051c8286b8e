//! A finding as text: the headline and the source first, then what to do, then the
//! execution, and for a store-buffer violation the run of the machine and the cycle.

use std::fmt::Write;

use fencepost_memory::{Access, Address};
use fencepost_monitor::Finding;

use super::interleaving::table;
use super::repair::repair_text;
use super::snippets;
use super::story::reason;
use super::words::Words;
use super::{CheckFinding, Consequence, Diagnosis, Problem, Reporter, Target, Unexplored};
use crate::columns::aligned;
use crate::names::Naming;
use crate::selection::head_and_tail;
use crate::style::{DIM, HEADING, HELP, Styled};
use crate::text::{before_the_run, counted, grouped};
use crate::witness_table::WitnessTable;

/// How far the tables are indented.
const INDENT: &str = "  ";
/// About so many steps of the machine are shown.
const MOST_STEPS: usize = 20;
/// So many events of a cycle are shown.
const MOST_OF_CYCLE: usize = 12;

/// The finding.
pub(super) fn text(reporter: &Reporter<'_>, finding: &CheckFinding) -> String {
    let words = reporter.words();
    let diagnosis = reporter.diagnosis(finding);
    let (sources, width) = (reporter.sources, reporter.width);
    let mut text = snippets::error(&diagnosis.headline, &diagnosis.marks, sources, width);
    if let Some(consequence) = &finding.consequence {
        let sentence = consequence_sentence(consequence, reporter);
        text.push_str(&titled(Styled(HEADING, "note"), &sentence));
    }
    text.push_str(&advice(&diagnosis, &words, reporter.all_fences));
    text.push_str(&execution(finding, &diagnosis, &words, width));
    if let Problem::StoreBuffer {
        explained: Ok(explained),
        ..
    } = &finding.problem
    {
        let old_value = |address| old_value(finding, explained, address, &words);
        text.push_str(&witness(
            explained,
            &words,
            &reporter.target,
            width,
            &old_value,
        ));
        text.push_str(&cycle(explained, &words, &reporter.target));
    }
    text.push_str(&replay(finding));
    if let Some(consequence) = &finding.consequence {
        text.push_str(&what_comes_of_it(reporter, consequence));
    }
    text
}

/// What comes of a violation: after all that is to be said about itself.
fn what_comes_of_it(reporter: &Reporter<'_>, consequence: &Consequence) -> String {
    let title = &reporter.target.title;
    match consequence {
        Consequence::Failure {
            finding,
            continues_witness,
            ..
        } => {
            let whence = match continues_witness {
                true => "going on from there",
                false => "in another execution",
            };
            let heading = format!("what comes of it under {title}, {whence}");
            let finding = text(reporter, finding);
            format!("\n{}:\n{finding}", Styled(HEADING, heading))
        }
        Consequence::NoFailure { .. } => {
            let sentence = consequence_sentence(consequence, reporter);
            format!(
                "\n{}",
                titled(Styled(HEADING, "what comes of it"), &sentence)
            )
        }
    }
}

/// What comes of a violation, in one sentence.
pub(crate) fn consequence_sentence(consequence: &Consequence, reporter: &Reporter<'_>) -> String {
    let title = &reporter.target.title;
    match consequence {
        Consequence::Failure {
            finding,
            continues_witness,
            also_under_sc,
        } => {
            let headline = reporter.headline(finding);
            let whence = match continues_witness {
                true => "when the program goes on from there".to_string(),
                false => format!("in another execution under {title}"),
            };
            match also_under_sc {
                true => format!("{whence}, {headline}; but that happens without store buffers too"),
                false => format!("harmful: {whence}, {headline}"),
            }
        }
        Consequence::NoFailure {
            executions,
            unexplored,
            assumptions,
            trouble,
        } => {
            let executions = counted(*executions, "execution");
            let mut sentence = match unexplored {
                Unexplored::Nothing => {
                    format!("harmless: of all {executions} under {title}, none is wrong")
                }
                Unexplored::Remaining => format!(
                    "nothing bad was found in {executions} under {title}; there are more (`store_buffers` \
                     runs them all)"
                ),
                Unexplored::Unsupported => format!(
                    "nothing bad was found in {executions} under {title}; there are more, which Fencepost cannot run: \
                     an operation on an `Arc`, a lock or a channel waits for stores there that may stay in the buffer \
                     on the machine"
                ),
            };
            if let Some(why) = trouble {
                sentence.push_str(&format!(" ({why})"));
            }
            for assumption in assumptions {
                sentence.push_str(&format!("\nassuming that {assumption}"));
            }
            sentence
        }
    }
}

fn advice(diagnosis: &Diagnosis, words: &Words<'_>, all_fences: Option<&str>) -> String {
    let mut text = String::new();
    for note in &diagnosis.notes {
        text.push_str(&titled(Styled(HEADING, "note"), note));
    }
    let repair = diagnosis.repair.as_ref();
    let repair = repair.map(|repair| repair_text(repair, words, all_fences));
    for help in repair.iter().chain(&diagnosis.help) {
        text.push_str(&titled(Styled(HELP, "help"), help));
    }
    text
}

/// A word, a colon, and lines indented by as much.
fn titled(title: Styled<&str>, lines: &str) -> String {
    let indent = " ".repeat(title.1.len() + 2);
    let lines: Vec<&str> = lines.lines().collect();
    format!("{title}: {}\n", lines.join(&format!("\n{indent}")))
}

fn execution(
    finding: &CheckFinding,
    diagnosis: &Diagnosis,
    words: &Words<'_>,
    width: usize,
) -> String {
    let execution = format!("execution {}", grouped(finding.execution));
    let execution = Styled(HEADING, execution);
    if finding.interleaving.is_empty() {
        // What was used wrongly has nothing to do with what came before.
        if matches!(finding.problem, Problem::BadUse { .. }) {
            return String::new();
        }
        return format!("\n{execution}: no access to a shared variable came before\n");
    }
    let interleaving = &finding.interleaving;
    // An error is shown with what led to it; a violation with its cycle only, and a livelock without
    // its rounds.
    let fills = !matches!(
        finding.problem,
        Problem::StoreBuffer { .. } | Problem::Livelock { .. }
    );
    let rows = (diagnosis.rows.as_slice(), fills);
    let buffers = finding.buffers.as_ref();
    let table = table((interleaving, buffers), rows, words, width, INDENT);
    let remark = match buffers {
        None => "(sequentially consistent: every store is in memory at once)",
        Some(_) => "(with store buffers: a store is in memory when it is committed)",
    };
    let remark = Styled(DIM, remark);
    format!("\n{execution} {remark}:\n{table}")
}

/// What a variable had when the run of the machine began, if nobody had written it before: what it
/// had from the beginning.
fn old_value(
    finding: &CheckFinding,
    explained: &Finding,
    address: Address,
    words: &Words<'_>,
) -> Option<u64> {
    let start = usize::try_from(explained.witness.starts_after).ok()?;
    let before = finding.interleaving.get(..start)?;
    let is_write =
        |access: &&Access| access.operation.address() == Some(address) && access.operation.writes();
    let last_write = before.iter().rev().find(is_write);
    match last_write {
        Some(write) => write.value,
        None => words.first_value(address),
    }
}

fn witness(
    finding: &Finding,
    words: &Words<'_>,
    target: &Target,
    width: usize,
    old_value: &dyn Fn(Address) -> Option<u64>,
) -> String {
    let title = format!("the same program under {}", target.title);
    let remark = Styled(
        DIM,
        "(replayed on a model of the machine, stores wait in buffers)",
    );
    let mut text = format!("\n{} {remark}:\n", Styled(HEADING, title));
    if let Some(before) = before_the_run(&finding.witness) {
        let _ = writeln!(text, "{INDENT}{before}; then, with empty buffers:");
    }
    let positions: Vec<u64> = finding.cycle.iter().map(|s| s.event.position).collect();
    let shape = (width, INDENT);
    let table = WitnessTable::around(
        &finding.witness,
        words,
        &positions,
        MOST_STEPS,
        shape,
        old_value,
    );
    let table = table.render(INDENT);
    let (headings, rows) = table.split_once('\n').unwrap_or((&table, ""));
    let _ = write!(text, "{}\n{rows}", Styled(DIM, headings));
    text
}

fn cycle(finding: &Finding, words: &Words<'_>, target: &Target) -> String {
    let cycle = &finding.cycle;
    let title = "why that is not sequentially consistent";
    let mut text = format!(
        "\n{} {}:\n",
        Styled(HEADING, title),
        Styled(DIM, "(each comes before the next, in a circle)")
    );
    let cell = |index: usize| {
        let event = &cycle[index].event;
        let thread = words.thread(event.thread());
        format!(
            "({}) {thread} {}",
            index + 1,
            words.operation(&event.event.access)
        )
    };
    let ranges = head_and_tail(cycle.len(), MOST_OF_CYCLE);
    let shown = ranges.iter().cloned().flatten();
    let rows: Vec<Vec<String>> = shown
        .map(|index| {
            let next = (index + 1) % cycle.len();
            let why = reason(&cycle[index], &cycle[next], words, target);
            vec![cell(index), format!("→ {}", cell(next)), why]
        })
        .collect();
    let mut lines = aligned(&rows, INDENT);
    if cycle.len() > MOST_OF_CYCLE {
        let count = cycle.len() - rows.len();
        lines.insert(ranges[0].len(), format!("{INDENT}… {count} left out …"));
    }
    for line in lines {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn replay(finding: &CheckFinding) -> String {
    if finding.replay.is_empty() && finding.schedule.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n");
    // The line that replays usually has the schedule in it.
    if !finding.replay.contains(&finding.schedule) || finding.replay.is_empty() {
        text.push_str(&titled(Styled(HEADING, "schedule"), &finding.schedule));
    }
    if !finding.replay.is_empty() {
        text.push_str(&titled(Styled(HEADING, "replay"), &finding.replay));
    }
    text
}
