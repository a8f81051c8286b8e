//! The `fencepost` command.
//!
//! `args` defines the command line and resolves it; each file in `commands` is one command;
//! `demo_programs` is what `demo` checks. `exit` has the exit codes, `files` reads inputs and
//! writes results, `progress` shows progress, `interrupt` handles Ctrl-C. Everything else is in the
//! libraries.

mod args;
mod commands;
mod demo_programs;
mod executable;
mod exit;
mod files;
mod interrupt;
mod names;
mod progress;

use std::io::Write;
use std::process::ExitCode;

use args::{Arguments, Color, Command};
use exit::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::of_process();
    anstream::ColorChoice::write_global(match arguments.display.color {
        Color::Auto => anstream::ColorChoice::Auto,
        Color::Always => anstream::ColorChoice::Always,
        Color::Never => anstream::ColorChoice::Never,
    });
    interrupt::listen();
    let result = match arguments.command {
        Command::Demo => commands::demo::run(),
        Command::Monitor(monitor) => commands::monitor::run(&monitor, arguments.display.quiet),
        Command::Trace(trace) => commands::trace::run(&trace, arguments.display.quiet),
        Command::Example(example) => commands::example::run(&example, arguments.display.quiet),
        Command::Cc(cc) => commands::cc::run(&cc, &arguments.display),
        Command::Run(run) => commands::run::run(&run, &arguments.display),
        Command::Litmus(litmus) => commands::litmus::run(&litmus, arguments.display.quiet),
        Command::Protocol(protocol) => commands::protocol::run(&protocol, arguments.display.quiet),
        Command::Reproduce(table) => commands::reproduce::run(&table, arguments.display.quiet),
        Command::Completions { shell } => commands::shell::completions(shell),
        Command::Man { command } => commands::shell::manual(&command),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !matches!(failure, Failure::ClosedOutput(_)) {
                // If standard error is closed, the exit code still tells.
                let _ = writeln!(anstream::stderr(), "{failure}");
            }
            ExitCode::from(failure.exit_code())
        }
    }
}
