//! `fencepost completions` and `fencepost man`.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::args::Arguments;
use crate::exit::{self, Failure};

/// Prints the completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fencepost", &mut script);
    print(&script)
}

/// Prints the manual page of `fencepost`, or of one of its commands.
pub fn manual(words: &[String]) -> Result<u8, Failure> {
    let mut command = Arguments::command();
    command.build();
    let mut name = command.get_name().to_string();
    for word in words {
        let Some(inner) = command.find_subcommand(word) else {
            let message = format!("error: `{name}` has no command `{word}`");
            return Err(Failure::BadInput(message));
        };
        name = format!("{name}-{word}");
        command = inner.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .title(name)
        .render(&mut page)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<u8, Failure> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()?;
    Ok(exit::NO_VIOLATION)
}
