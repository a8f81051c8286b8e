//! Table 1 of BSS: random executions of the original versions, under TSO and under PSO.

use std::time::{Duration, Instant};

use fencepost::{Outcome, Strategy, Target};
use fencepost_report::style::{HEADING, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

use super::{Comparison, Output, ReproduceError, Table, checker, seconds, timed_check};
use crate::figures::{BssFound, BssLine};
use crate::programs::{EXAMPLES, Example, Version};

const HEADER: [&str; 12] = [
    "program",
    "steps",
    "paper",
    "TSO: violating",
    "paper",
    "distinct",
    "paper",
    "PSO: violating",
    "paper",
    "distinct",
    "paper",
    "seconds",
];

const NOTE: &str = "Violating: executions that store buffers could take out of sequential consistency; distinct: by \
    their source lines. The paper ran 1,000 executions, and counts memory events where we count steps.";

/// The options of the measurement.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The random executions of each program, under each model.
    pub executions: u64,
    /// The seed of the random scheduler.
    pub seed: u64,
    /// Whether the programs in C are measured too.
    pub with_c: bool,
}

/// Reproduces the table.
pub fn reproduce(options: &Options, output: &mut Output<'_>) -> Result<Comparison, ReproduceError> {
    let mut table = Table::new(true, &HEADER);
    let mut comparison = Comparison::default();
    for example in &EXAMPLES {
        let Some(line) = &example.bss else { continue };
        output.console.announce(example.name);
        let measured = measure(example, options);
        compare(example, line, &measured, &mut comparison);
        output.row(|| json(example, line, &measured, "rust"))?;
        table.rows.push(cells(example, line, &measured));
        if options.with_c {
            output.console.announce(&format!("{} in C", example.name));
            let measured = measure_c(example, options)?;
            compare(example, line, &measured, &mut comparison);
            output.row(|| json(example, line, &measured, "c"))?;
            let mut cells = cells(example, line, &measured);
            cells[0] = "  in C".to_owned();
            table.rows.push(cells);
        }
    }
    if !output.is_json {
        let title = format!(
            "BSS, Table 1: {} random executions, seed {} (Burnim, Sen and Stergiou, 2010)",
            grouped(options.executions),
            options.seed
        );
        writeln!(output.results, "{}\n", Styled(HEADING, title))?;
        output.table(&table)?;
        writeln!(output.results, "\n{NOTE}")?;
    }
    Ok(comparison)
}

/// The violations in the executions of a program.
struct Violations {
    executions: u64,
    distinct: u64,
}

struct Measured {
    /// The average number of steps of an execution.
    steps: f64,
    tso: Violations,
    pso: Violations,
    time: Duration,
}

fn measure(example: &Example, options: &Options) -> Measured {
    let started = Instant::now();
    let checker = checker(example)
        .strategy(Strategy::Random)
        .executions(options.executions)
        .seed(options.seed);
    let [tso, pso] = [Target::X86, Target::Pso].map(|target| {
        let checker = checker.clone().target(target);
        timed_check(&checker, example, Version::Original).0
    });
    let violations = |outcome: &Outcome| Violations {
        executions: outcome.borderline_executions(),
        distinct: outcome.distinct_violations(),
    };
    Measured {
        steps: tso.steps() as f64 / tso.executions().max(1) as f64,
        tso: violations(&tso),
        pso: violations(&pso),
        time: started.elapsed(),
    }
}

/// Measures the program in C.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn measure_c(example: &Example, options: &Options) -> Result<Measured, ReproduceError> {
    use crate::programs::c::{CError, Compilation, Compiled};

    let error = |error: CError| ReproduceError::BadInput(format!("error: {error}"));
    let program =
        Compiled::new(example, Version::Original, Compilation::default()).map_err(error)?;
    let started = Instant::now();
    let (executions, seed) = (options.executions.to_string(), options.seed.to_string());
    let settings = [
        ("STRATEGY", "random"),
        ("EXECUTIONS", &executions),
        ("SEED", &seed),
        ("CONTINUE_AFTER_FAILURE", "on"),
    ];
    let [tso, pso] = [Target::X86, Target::Pso].map(|target| program.check(target, &settings));
    let (tso, pso) = (tso.map_err(error)?, pso.map_err(error)?);
    Ok(Measured {
        steps: tso.steps as f64 / tso.executions.max(1) as f64,
        tso: Violations {
            executions: tso.borderline,
            distinct: tso.distinct,
        },
        pso: Violations {
            executions: pso.borderline,
            distinct: pso.distinct,
        },
        time: started.elapsed(),
    })
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn measure_c(_: &Example, _: &Options) -> Result<Measured, ReproduceError> {
    let message = "error: C programs can be checked on Linux on x86-64 only";
    Err(ReproduceError::BadInput(message.to_owned()))
}

/// A violation that the paper rules out is a contradiction; one that the sample missed is not.
fn compare(example: &Example, line: &BssLine, measured: &Measured, comparison: &mut Comparison) {
    for (model, found, paper) in [
        ("TSO", &measured.tso, line.tso),
        ("PSO", &measured.pso, line.pso),
    ] {
        let difference = format!(
            "{} under {model}: {} executions with violations, {} in the paper",
            example.name, found.executions, paper.executions
        );
        match (found.executions > 0, paper.executions > 0) {
            (true, false) => comparison.contradictions.push(difference),
            (false, true) => comparison.inconclusive.push(difference),
            _ => {}
        }
    }
}

fn cells(example: &Example, line: &BssLine, measured: &Measured) -> Vec<String> {
    let counts = |found: &Violations, paper: &BssFound| {
        [
            grouped(found.executions),
            grouped(paper.executions.into()),
            grouped(found.distinct),
            grouped(paper.distinct.into()),
        ]
    };
    let mut cells = vec![
        example.name.to_owned(),
        format!("{:.0}", measured.steps),
        grouped(line.events.into()),
    ];
    cells.extend(counts(&measured.tso, &line.tso));
    cells.extend(counts(&measured.pso, &line.pso));
    cells.push(seconds(measured.time));
    cells
}

fn json(
    example: &Example,
    line: &BssLine,
    measured: &Measured,
    language: &str,
) -> serde_json::Value {
    let ours =
        |found: &Violations| json!({"executions": found.executions, "distinct": found.distinct});
    let paper =
        |found: BssFound| json!({"executions": found.executions, "distinct": found.distinct});
    json!({
        "schema": "fencepost-bss/1",
        "type": "row",
        "program": example.name,
        "language": language,
        "steps": measured.steps,
        "tso": ours(&measured.tso),
        "pso": ours(&measured.pso),
        "seconds": measured.time.as_secs_f64(),
        "paper": {"events": line.events, "tso": paper(line.tso), "pso": paper(line.pso)},
    })
}
