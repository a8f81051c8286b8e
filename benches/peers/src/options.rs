//! The command line.

use crate::programs::PROGRAMS;

/// What can be said on the command line.
pub const USAGE: &str = "\
cargo run --release -- [--cap N] [--random N] [--tools LIST] [--only TEXT]

  --cap N       stop exhaustive tools after N executions (default 300000)
  --random N    random executions per program (default 20000)
  --tools LIST  some of loom, shuttle-dfs, shuttle-random, fencepost, with commas (default all)
  --only TEXT   only programs whose name contains this";

/// A tool and how it is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tool {
    /// loom, which is exhaustive.
    Loom,
    /// shuttle's depth-first search.
    ShuttleDfs,
    /// shuttle's random walk.
    ShuttleRandom,
    /// Fencepost.
    Fencepost,
}

impl Tool {
    /// All, in the order of the table.
    pub const ALL: [Tool; 4] = [
        Tool::Loom,
        Tool::ShuttleDfs,
        Tool::ShuttleRandom,
        Tool::Fencepost,
    ];

    /// Its name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Loom => "loom",
            Tool::ShuttleDfs => "shuttle-dfs",
            Tool::ShuttleRandom => "shuttle-random",
            Tool::Fencepost => "fencepost",
        }
    }
}

/// The command line, resolved.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only the usage is wanted.
    pub is_help: bool,
    /// The most executions of an exhaustive tool.
    pub cap: usize,
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
            cap: 300_000,
            random: 20_000,
            tools: Tool::ALL.to_vec(),
            only: String::new(),
            row: None,
        };
        let (mut row_tool, mut row_program) = (None, None);
        while let Some(argument) = arguments.next() {
            if argument == "--help" || argument == "-h" {
                options.is_help = true;
                return Ok(options);
            }
            let value = arguments
                .next()
                .ok_or_else(|| format!("{argument} is unknown, or its value is missing"))?;
            match argument.as_str() {
                "--cap" => options.cap = number(&value)?,
                "--random" => options.random = number(&value)?,
                "--tools" => options.tools = tools(&value)?,
                "--only" => options.only = value,
                "--row" => row_tool = Some(tool(&value)?),
                "--program" => row_program = value.parse().ok(),
                _ => return Err(format!("{argument} is unknown")),
            }
        }
        options.row = row_tool.zip(row_program.filter(|&number| number < PROGRAMS.len()));
        Ok(options)
    }
}

fn number(value: &str) -> Result<usize, String> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("{value} is not a number above 0")),
    }
}

fn tool(name: &str) -> Result<Tool, String> {
    let tool = Tool::ALL.into_iter().find(|tool| tool.name() == name);
    tool.ok_or_else(|| format!("{name} is not a tool"))
}

fn tools(value: &str) -> Result<Vec<Tool>, String> {
    value.split(',').map(tool).collect()
}
