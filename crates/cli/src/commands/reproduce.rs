//! `fencepost reproduce`: the tables of the papers again, on the programs in `examples/papers`.
//!
//! Our programs and harnesses are not the papers', so the numbers are not either. What is the same is where something is
//! found, and where nothing is: the command fails where it is not. A sample may be too small to show something; that is
//! said, and is a limit.

use std::io::Write;
use std::time::{Duration, Instant};

use fencepost::{Checker, Outcome, Strategy, Target};
use fencepost_example_papers::figures::{BssFound, BssLine, SoberLine};
use fencepost_example_papers::{EXAMPLES, Example, Version};
use fencepost_report::columns::aligned;
use fencepost_report::style::{DIM, HEADING, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

mod tso_cc;
mod x86_tso;

use crate::args::{BssArguments, ReproduceCommand, SoberArguments};
use crate::exit::{self, Failure};

/// Reproduces a table.
pub fn run(command: &ReproduceCommand, is_quiet: bool) -> Result<u8, Failure> {
    let mut output = anstream::AutoStream::auto(std::io::stdout());
    let differences = match command {
        ReproduceCommand::Sober(arguments) => sober(arguments, is_quiet, &mut output)?,
        ReproduceCommand::Bss(arguments) => bss(arguments, is_quiet, &mut output)?,
        ReproduceCommand::X86Tso(arguments) => x86_tso::run(arguments, &mut output)?,
        ReproduceCommand::TsoCc(arguments) => return tso_cc::run(arguments, is_quiet, &mut output),
    };
    output.flush()?;
    let Differences { wrong, unseen } = differences;
    if !wrong.is_empty() {
        let wrong = wrong.join("\n  ");
        return Err(Failure::Internal(format!(
            "not as in the paper:\n  {wrong}"
        )));
    }
    if !unseen.is_empty() {
        let unseen = unseen.join("\n  ");
        return Err(Failure::Limit(format!(
            "not in these executions, but in the paper's; try more of them (`--executions`):\n  {unseen}"
        )));
    }
    Ok(exit::NO_VIOLATION)
}

/// Where something was found and should not have been, or the other way round.
#[derive(Default)]
struct Differences {
    wrong: Vec<String>,
    /// What a sample did not show.
    unseen: Vec<String>,
}

/// Says what is being done, on standard error.
fn tell(is_quiet: bool, what: &str) {
    if !is_quiet {
        // Where standard error is closed, nobody waits for it.
        let _ = writeln!(anstream::stderr(), "{what} …");
    }
}

fn checker(example: &Example) -> Checker {
    fencepost::provide_source(example.source_file, example.source_text);
    Checker::new()
        .without_environment()
        .progress(false)
        .go_on(true)
}

fn check(checker: &Checker, example: &Example, version: Version) -> (Outcome, Duration) {
    let program = example.program;
    let started = Instant::now();
    let outcome = checker.run(move || program(version));
    (outcome, started.elapsed())
}

/// A row of Fig. 4, as we measure it.
struct SoberRow {
    executions: u64,
    borderline: u64,
    first: Option<Duration>,
    monitored: Duration,
    unmonitored: Duration,
}

fn sober(
    arguments: &SoberArguments,
    is_quiet: bool,
    output: &mut impl Write,
) -> Result<Differences, Failure> {
    let mut rows = vec![
        [
            "program",
            "bound",
            "executions",
            "paper",
            "borderline",
            "paper",
            "first found",
            "paper",
        ]
        .into_iter()
        .chain(["fixed: monitor", "paper", "no monitor", "paper"])
        .map(str::to_owned)
        .collect::<Vec<_>>(),
    ];
    let mut differences = Differences::default();
    for example in EXAMPLES.iter().filter(|example| !example.sober.is_empty()) {
        for line in example.sober {
            if line.bound > Some(arguments.max_bound) {
                continue;
            }
            let bound = line
                .bound
                .map_or("none".to_owned(), |bound| bound.to_string());
            tell(is_quiet, &format!("{} with bound {bound}", example.name));
            let row = sober_row(example, line);
            if (row.borderline > 0) != (line.borderline > 0) {
                differences.wrong.push(format!(
                    "{} with bound {bound}: {} borderline executions, and {} in the paper",
                    example.name, row.borderline, line.borderline
                ));
            }
            if arguments.json {
                writeln!(output, "{}", sober_json(example, line, &row))?;
            }
            rows.push(sober_cells(example, &bound, line, &row));
        }
    }
    if !arguments.json {
        let title =
            "SOBER, Fig. 4: executions within a preemption bound (Burckhardt and Musuvathi, 2008)";
        writeln!(output, "{}\n", Styled(HEADING, title))?;
        table(&rows, output)?;
        let note = "An execution of ours stands for all that differ only in the order of independent steps; who waits in a \
                    loop is scheduled otherwise than by the paper's tool. Borderline: store buffers could take it out of sequential consistency. Times in seconds; the \
                    paper's are of a Core Duo with 2.2 GHz.";
        writeln!(output, "\n{note}")?;
    }
    Ok(differences)
}

fn sober_row(example: &Example, line: &SoberLine) -> SoberRow {
    let within = |checker: Checker| match line.bound {
        Some(bound) => checker.preemption_bound(bound).strict_bound(true),
        None => checker,
    };
    let all = within(checker(example));
    let (outcome, _) = check(&all, example, Version::Original);
    let (first, time) = check(&all.clone().go_on(false), example, Version::Original);
    let (_, monitored) = check(&all, example, Version::Fixed);
    let (_, unmonitored) = check(&all.monitor(false), example, Version::Fixed);
    SoberRow {
        executions: outcome.executions(),
        borderline: outcome.borderline_executions(),
        first: first.is_wrong().then_some(time),
        monitored,
        unmonitored,
    }
}

fn sober_cells(example: &Example, bound: &str, line: &SoberLine, row: &SoberRow) -> Vec<String> {
    vec![
        example.name.to_owned(),
        bound.to_owned(),
        grouped(row.executions),
        grouped(line.interleavings.into()),
        grouped(row.borderline),
        grouped(line.borderline.into()),
        row.first.map_or("not found".to_owned(), seconds),
        line.found_after.to_owned(),
        seconds(row.monitored),
        line.monitored.to_owned(),
        seconds(row.unmonitored),
        line.unmonitored.to_owned(),
    ]
}

fn sober_json(example: &Example, line: &SoberLine, row: &SoberRow) -> serde_json::Value {
    json!({
        "schema": "fencepost-sober/1",
        "type": "row",
        "program": example.name,
        "bound": line.bound,
        "executions": row.executions,
        "borderline": row.borderline,
        "first_seconds": row.first.map(|time| time.as_secs_f64()),
        "fixed_monitored_seconds": row.monitored.as_secs_f64(),
        "fixed_unmonitored_seconds": row.unmonitored.as_secs_f64(),
        "paper": {
            "executions": line.interleavings,
            "borderline": line.borderline,
            "first_seconds": line.found_after,
            "fixed_monitored_seconds": line.monitored,
            "fixed_unmonitored_seconds": line.unmonitored,
        },
    })
}

/// A row of Table 1, as we measure it.
struct BssRow {
    steps: f64,
    tso: (u64, u64),
    pso: (u64, u64),
    time: Duration,
}

fn bss(
    arguments: &BssArguments,
    is_quiet: bool,
    output: &mut impl Write,
) -> Result<Differences, Failure> {
    let mut rows = vec![
        [
            "program",
            "steps",
            "paper",
            "TSO: violating",
            "paper",
            "distinct",
            "paper",
        ]
        .into_iter()
        .chain(["PSO: violating", "paper", "distinct", "paper", "seconds"])
        .map(str::to_owned)
        .collect::<Vec<_>>(),
    ];
    let mut differences = Differences::default();
    for example in &EXAMPLES {
        let Some(line) = &example.bss else { continue };
        tell(is_quiet, example.name);
        let row = bss_row(example, arguments);
        for (model, found, paper) in [("TSO", row.tso, line.tso), ("PSO", row.pso, line.pso)] {
            let difference = format!(
                "{} under {model}: {} executions with violations, and {} in the paper",
                example.name, found.0, paper.executions
            );
            match (found.0 > 0, paper.executions > 0) {
                (true, false) => differences.wrong.push(difference),
                (false, true) => differences.unseen.push(difference),
                _ => {}
            }
        }
        if arguments.json {
            writeln!(output, "{}", bss_json(example, line, &row))?;
        }
        rows.push(bss_cells(example, line, &row));
    }
    if !arguments.json {
        let title = format!(
            "BSS, Table 1: {} random executions, seed {} (Burnim, Sen and Stergiou, 2010)",
            grouped(arguments.executions),
            arguments.seed
        );
        writeln!(output, "{}\n", Styled(HEADING, title))?;
        table(&rows, output)?;
        let note = "Violating: executions that store buffers could take out of sequential consistency; distinct: by their \
                    source lines. The paper has 1,000 executions, and events of memory where we have steps.";
        writeln!(output, "\n{note}")?;
    }
    Ok(differences)
}

fn bss_row(example: &Example, arguments: &BssArguments) -> BssRow {
    let started = Instant::now();
    let checker = checker(example)
        .strategy(Strategy::Random)
        .executions(arguments.executions)
        .seed(arguments.seed);
    let [tso, pso] = [Target::X86, Target::Pso].map(|target| {
        let checker = checker.clone().target(target);
        check(&checker, example, Version::Original).0
    });
    let found = |outcome: &Outcome| {
        (
            outcome.borderline_executions(),
            outcome.distinct_violations(),
        )
    };
    BssRow {
        steps: tso.steps() as f64 / tso.executions().max(1) as f64,
        tso: found(&tso),
        pso: found(&pso),
        time: started.elapsed(),
    }
}

fn bss_cells(example: &Example, line: &BssLine, row: &BssRow) -> Vec<String> {
    let counts = |found: (u64, u64), paper: &BssFound| {
        [
            grouped(found.0),
            grouped(paper.executions.into()),
            grouped(found.1),
            grouped(paper.distinct.into()),
        ]
    };
    let mut cells = vec![
        example.name.to_owned(),
        format!("{:.0}", row.steps),
        grouped(line.events.into()),
    ];
    cells.extend(counts(row.tso, &line.tso));
    cells.extend(counts(row.pso, &line.pso));
    cells.push(seconds(row.time));
    cells
}

fn bss_json(example: &Example, line: &BssLine, row: &BssRow) -> serde_json::Value {
    let ours = |(executions, distinct): (u64, u64)| json!({"executions": executions, "distinct": distinct});
    let paper =
        |found: BssFound| json!({"executions": found.executions, "distinct": found.distinct});
    json!({
        "schema": "fencepost-bss/1",
        "type": "row",
        "program": example.name,
        "steps": row.steps,
        "tso": ours(row.tso),
        "pso": ours(row.pso),
        "seconds": row.time.as_secs_f64(),
        "paper": {"events": line.events, "tso": paper(line.tso), "pso": paper(line.pso)},
    })
}

fn table(rows: &[Vec<String>], output: &mut impl Write) -> Result<(), Failure> {
    let lines = aligned(rows, "");
    for (number, line) in lines.iter().enumerate() {
        match number {
            0 => writeln!(output, "{}", Styled(DIM, line))?,
            _ => writeln!(output, "{line}")?,
        }
    }
    Ok(())
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}
