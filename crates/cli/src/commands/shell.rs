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

/// Prints the manual page.
pub fn manual(command: clap::Command) -> Result<u8, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<u8, Failure> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()?;
    Ok(exit::NO_VIOLATION)
}
