//! The same programs in Fencepost, in loom and in shuttle: how many executions each of them
//! needs, how fast they are, and how much memory they take. No time is asserted.
//!
//! - [`programs`]: the programs, and how many classes of executions they have
//! - [`bodies`]: the programs as closures, once for each tool's threads and atomics
//! - [`tools`]: the tools and their settings; [`ours`], [`loom_rows`], [`shuttle_rows`] run them
//! - [`measure`]: one measurement, in a process of its own
//! - [`results`], [`table`]: all of them, medians and ratios, as text and as JSON
//! - [`machine`]: where it was measured
//! - [`options`]: the command line

mod bodies;
mod loom_rows;
mod machine;
mod measure;
mod options;
mod ours;
mod programs;
mod results;
mod shuttle_rows;
mod table;
mod tools;

use std::process::ExitCode;

use machine::Machine;
use options::{Options, USAGE};
use programs::PROGRAMS;
use results::{Cell, Row};

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if options.is_help {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if let Some((tool, number)) = options.row {
        let measurement = measure::measure(tool, number, &options);
        println!("{}", serde_json::json!(measurement));
        return ExitCode::SUCCESS;
    }
    let before = Machine::now();
    let rows = measure_all(&options);
    let after = Machine::now();
    match options.is_json {
        true => println!("{:#}", table::to_json(&rows, &options, &before, &after)),
        false => table::print(&rows, &options, &before, &after),
    }
    match rows
        .iter()
        .flat_map(|row| &row.cells)
        .any(|cell| cell.failure.is_some())
    {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}

/// Measures in rounds, so that noise of the machine hits all alike. Every other round goes through
/// the tools from the last to the first.
fn measure_all(options: &Options) -> Vec<Row> {
    let mut rows: Vec<(usize, Row)> = PROGRAMS
        .into_iter()
        .enumerate()
        .filter(|(_, program)| program.to_string().contains(&options.only))
        .map(|(number, program)| {
            let tools = options.tools.iter();
            let cells = tools
                .filter(|tool| tool.can_run(program))
                .map(|&tool| Cell {
                    tool,
                    measurements: Vec::new(),
                    failure: None,
                });
            let cells = cells.collect();
            (number, Row { program, cells })
        })
        .collect();
    for round in 0..options.rounds {
        eprintln!("round {} of {}", round + 1, options.rounds);
        for (number, row) in &mut rows {
            let mut cells: Vec<&mut Cell> = row.cells.iter_mut().collect();
            if round % 2 == 1 {
                cells.reverse();
            }
            for cell in cells {
                if cell.is_stopped() || cell.failure.is_some() {
                    continue;
                }
                match measure::measure_in_process(cell.tool, *number, options) {
                    Ok(measurement) => cell.measurements.push((round, measurement)),
                    Err(failure) => cell.failure = Some(failure),
                }
            }
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}
