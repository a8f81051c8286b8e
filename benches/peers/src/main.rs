//! The same programs in loom, in shuttle and in Fencepost: how many executions each of them
//! needs, and how fast they are.
//!
//! - [`programs`]: the programs, and how many classes of executions they have
//! - [`bodies`]: the programs as closures, once for each tool's threads and atomics
//! - [`loom_rows`], [`shuttle_rows`], [`ours`]: running them
//! - [`measure`]: processor time
//! - [`options`]: the command line

mod bodies;
mod loom_rows;
mod measure;
mod options;
mod ours;
mod programs;
mod shuttle_rows;

use std::process::{Command, ExitCode, Stdio};

use measure::{Row, print_header, print_row, print_skipped};
use options::{Options, Tool, USAGE};
use programs::{PROGRAMS, Program};

const HOW_THEY_COUNT: &str = "\
An execution is one run of the program's closure, counted at its beginning. `classes` are the
sequentially consistent executions that differ in what was read from where or in the order of
writes; a tool that tells them all apart cannot do with fewer.

loom       exhaustive, under its own C11 model: it also runs executions that are not
           sequentially consistent, and it may run a class more than once. At most 5 threads
           with the main one.
shuttle    dfs: every interleaving of the steps that it sees, beginnings and ends of threads
           among them. random: so many runs, with repetitions; it proves nothing.
fencepost  exhaustive: every class once.

Each row is measured in a process of its own. Time is its processor time, not that of the clock
on the wall. `all` says that the tool ended by itself, `cap` that it was stopped at the given
number of executions.
";

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
        return print_result(run(tool, PROGRAMS[number], &options));
    }
    println!("{HOW_THEY_COUNT}");
    print_header();
    for (number, program) in PROGRAMS.into_iter().enumerate() {
        let name = program.to_string();
        if !name.contains(&options.only) {
            continue;
        }
        for &tool in &options.tools {
            match run_in_process(tool, number, &options) {
                Ok(row) => print_row(&name, program.classes(), tool.name(), &row),
                Err(reason) => print_skipped(&name, program.classes(), tool.name(), &reason),
            }
        }
    }
    ExitCode::SUCCESS
}

fn run(tool: Tool, program: Program, options: &Options) -> Result<Row, &'static str> {
    match tool {
        Tool::Loom => loom_rows::run(program, options),
        Tool::ShuttleDfs => Ok(shuttle_rows::run_dfs(program, options)),
        Tool::ShuttleRandom => Ok(shuttle_rows::run_random(program, options)),
        Tool::Fencepost => ours::run(program, options),
    }
}

/// Tells the process that measures all.
fn print_result(result: Result<Row, &str>) -> ExitCode {
    match result {
        Ok(row) => println!("{row}"),
        Err(reason) => println!("{reason}"),
    }
    ExitCode::SUCCESS
}

/// Measures in a process of its own, since the tools install panic hooks and keep stacks.
fn run_in_process(tool: Tool, number: usize, options: &Options) -> Result<Row, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--row", tool.name(), "--program", &number.to_string()])
        .args(["--cap", &options.cap.to_string()])
        .args(["--random", &options.random.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().last().unwrap_or_default();
    line.parse().map_err(|()| match output.status.success() {
        true => line.to_string(),
        false => format!("failed: {}", output.status),
    })
}
