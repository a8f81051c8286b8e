//! Fig. 4 of SOBER: the original versions within preemption bounds, and the cost of monitoring the
//! fixed versions.

use std::time::Duration;

use fencepost::Checker;
use fencepost_report::style::{HEADING, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

use super::{Comparison, Output, ReproduceError, Table, checker, seconds, timed_check};
use crate::figures::SoberLine;
use crate::programs::{EXAMPLES, Example, Version};

const TITLE: &str =
    "SOBER, Fig. 4: executions within a preemption bound (Burckhardt and Musuvathi, 2008)";

const HEADER: [&str; 12] = [
    "program",
    "bound",
    "executions",
    "paper",
    "borderline",
    "paper",
    "first found",
    "paper",
    "fixed: monitor",
    "paper",
    "no monitor",
    "paper",
];

const NOTE: &str = "Fencepost runs one execution per equivalence class, and schedules loops that wait differently from \
    the paper's tool. Borderline: store buffers could take the execution out of sequential consistency. Times are in \
    seconds; the paper's are from a Core Duo with 2.2 GHz.";

/// The options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The largest preemption bound to measure.
    pub max_bound: u32,
}

/// Reproduces the table.
pub fn reproduce(options: &Options, output: &mut Output<'_>) -> Result<Comparison, ReproduceError> {
    let mut table = Table::new(true, &HEADER);
    let mut comparison = Comparison::default();
    for (example, line) in lines(options.max_bound) {
        let name = format!("{} with bound {}", example.name, bound_name(line));
        output.console.announce(&name);
        let measured = measure(example, line);
        if (measured.borderline > 0) != (line.borderline > 0) {
            comparison.contradictions.push(format!(
                "{name}: {} borderline executions, {} in the paper",
                measured.borderline, line.borderline
            ));
        }
        output.row(|| json(example, line, &measured))?;
        table.rows.push(cells(example, line, &measured));
    }
    if !output.is_json {
        writeln!(output.results, "{}\n", Styled(HEADING, TITLE))?;
        output.table(&table)?;
        writeln!(output.results, "\n{NOTE}")?;
    }
    Ok(comparison)
}

fn lines(max_bound: u32) -> impl Iterator<Item = (&'static Example, &'static SoberLine)> {
    let lines = EXAMPLES
        .iter()
        .flat_map(|example| example.sober.iter().map(move |line| (example, line)));
    lines.filter(move |(_, line)| line.bound <= Some(max_bound))
}

struct Measured {
    executions: u64,
    borderline: u64,
    /// The time until the first borderline execution was found.
    first: Option<Duration>,
    /// The times of all executions of the fixed version, with the monitor and without.
    monitored: Duration,
    unmonitored: Duration,
}

fn measure(example: &Example, line: &SoberLine) -> Measured {
    let within = |checker: Checker| match line.bound {
        Some(bound) => checker.preemption_bound(bound).strict_bound(true),
        None => checker,
    };
    let all = within(checker(example));
    let (outcome, _) = timed_check(&all, example, Version::Original);
    let (first, time) = timed_check(
        &all.clone().continue_after_failure(false),
        example,
        Version::Original,
    );
    let (_, monitored) = timed_check(&all, example, Version::Fixed);
    let (_, unmonitored) = timed_check(&all.monitor(false), example, Version::Fixed);
    Measured {
        executions: outcome.executions(),
        borderline: outcome.borderline_executions(),
        first: first.has_failed().then_some(time),
        monitored,
        unmonitored,
    }
}

fn bound_name(line: &SoberLine) -> String {
    line.bound
        .map_or("none".to_owned(), |bound| bound.to_string())
}

fn cells(example: &Example, line: &SoberLine, measured: &Measured) -> Vec<String> {
    vec![
        example.name.to_owned(),
        bound_name(line),
        grouped(measured.executions),
        grouped(line.interleavings.into()),
        grouped(measured.borderline),
        grouped(line.borderline.into()),
        measured.first.map_or("not found".to_owned(), seconds),
        line.found_after.to_owned(),
        seconds(measured.monitored),
        line.monitored.to_owned(),
        seconds(measured.unmonitored),
        line.unmonitored.to_owned(),
    ]
}

fn json(example: &Example, line: &SoberLine, measured: &Measured) -> serde_json::Value {
    json!({
        "schema": "fencepost-sober/1",
        "type": "row",
        "program": example.name,
        "bound": line.bound,
        "executions": measured.executions,
        "borderline": measured.borderline,
        "first_seconds": measured.first.map(|time| time.as_secs_f64()),
        "fixed_monitored_seconds": measured.monitored.as_secs_f64(),
        "fixed_unmonitored_seconds": measured.unmonitored.as_secs_f64(),
        "paper": {
            "executions": line.interleavings,
            "borderline": line.borderline,
            "first_seconds": line.found_after,
            "fixed_monitored_seconds": line.monitored,
            "fixed_unmonitored_seconds": line.unmonitored,
        },
    })
}
