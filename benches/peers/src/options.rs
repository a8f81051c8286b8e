//! The command line.

use std::time::Duration;

use crate::programs::PROGRAMS;
use crate::tools::Tool;

/// The usage.
pub const USAGE: &str = "\
cargo run --release --manifest-path benches/peers/Cargo.toml -- [OPTIONS]

  --quick       3 short rounds, and 300 ms until any tool is stopped: less than a minute in all
  --json        every measurement as JSON, instead of the table
  --rounds N    measure everything N times, in turns (default 5)
  --budget MS   stop a tool after so many milliseconds (default 3000; six times that
                for Fencepost)
  --random N    random executions per program (default 10000)
  --tools LIST  only these, with commas: fencepost, fencepost-no-monitor, fencepost-pso,
                fencepost-bound, fencepost-two-workers, fencepost-random,
                fencepost-random-no-monitor, loom, loom-bound, shuttle-dfs, shuttle-random
  --only TEXT   only programs whose name contains this";

/// The preemption bound of those tools that are used with one.
pub const BOUND: usize = 2;

/// The command line, resolved.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only the usage is wanted.
    pub is_help: bool,
    /// Less time and fewer rounds.
    pub is_quick: bool,
    /// JSON is wanted.
    pub is_json: bool,
    /// How often everything is measured.
    pub rounds: usize,
    /// After which time a tool is stopped.
    pub budget: Duration,
    /// The executions of a random tool.
    pub random: usize,
    /// Which tools are run.
    pub tools: Vec<Tool>,
    /// Only programs whose name contains this.
    pub only: String,
    /// Only this tool with the program of this number, for the process that measures all.
    pub row: Option<(Tool, usize)>,
}

impl Options {
    /// Reads the arguments. The error is a message.
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            is_help: false,
            is_quick: false,
            is_json: false,
            rounds: 0,
            budget: Duration::ZERO,
            random: 0,
            tools: Tool::ALL.to_vec(),
            only: String::new(),
            row: None,
        };
        let (mut rounds, mut budget, mut random) = (None, None, None);
        let (mut row_tool, mut row_program) = (None, None);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--help" | "-h" => {
                    options.is_help = true;
                    return Ok(options);
                }
                "--quick" => options.is_quick = true,
                "--json" => options.is_json = true,
                _ => {
                    let value = arguments
                        .next()
                        .ok_or_else(|| format!("{argument} is unknown, or its value is missing"))?;
                    match argument.as_str() {
                        "--rounds" => rounds = Some(number(&value)?),
                        "--budget" => budget = Some(number(&value)?),
                        "--random" => random = Some(number(&value)?),
                        "--tools" => options.tools = tools(&value)?,
                        "--only" => options.only = value,
                        "--row" => row_tool = Some(tool(&value)?),
                        "--program" => row_program = Some(program(&value)?),
                        _ => return Err(format!("{argument} is unknown")),
                    }
                }
            }
        }
        let (usual_rounds, usual_budget, usual_random) = match options.is_quick {
            true => (3, 300, 2_000),
            false => (5, 3_000, 10_000),
        };
        options.rounds = rounds.unwrap_or(usual_rounds);
        options.budget = Duration::from_millis(budget.unwrap_or(usual_budget) as u64);
        options.random = random.unwrap_or(usual_random);
        options.row = row_tool.zip(row_program);
        Ok(options)
    }

    /// The arguments for a process that measures one row.
    pub fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            "--budget".to_string(),
            self.budget.as_millis().to_string(),
            "--random".to_string(),
            self.random.to_string(),
        ];
        if self.is_quick {
            arguments.push("--quick".to_string());
        }
        arguments
    }
}

fn number(value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{value} is not a number above 0")),
    }
}

fn program(value: &str) -> Result<usize, String> {
    let number = value.parse().ok();
    let known = number.filter(|&number| number < PROGRAMS.len());
    known.ok_or_else(|| format!("{value} is not the number of a program"))
}

fn tool(name: &str) -> Result<Tool, String> {
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
    tool.ok_or_else(|| format!("{name} is not a tool"))
}

fn tools(value: &str) -> Result<Vec<Tool>, String> {
    value.split(',').map(tool).collect()
}
