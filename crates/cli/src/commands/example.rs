//! `fencepost example`: one of the programs in `crates/papers`, checked and reported as a test
//! would.

use std::io::Write;

use fencepost::{Checker, FenceInference, Outcome, Target};
use fencepost_papers::{EXAMPLES, Example, Verdict, Version};
use fencepost_report::columns::aligned;
use fencepost_report::style::{DIM, Styled};

use crate::args::{ExampleArguments, ExampleTarget};
use crate::exit::{self, Failure};
use crate::files::ResultStream;

/// Checks a program, or lists them.
pub fn run(arguments: &ExampleArguments, is_quiet: bool) -> Result<u8, Failure> {
    let mut output = ResultStream::open(arguments.result.file.output.as_deref(), [])?;
    let code = match &arguments.name {
        None => list(arguments.result.json, &mut output)?,
        Some(name) => {
            let example = EXAMPLES.iter().find(|example| example.name == *name);
            let example = example
                .ok_or_else(|| Failure::BadInput(format!("error: unknown example `{name}`")))?;
            show(example, arguments, is_quiet, &mut output)?
        }
    };
    output.flush()?;
    Ok(code)
}

fn list(is_json: bool, output: &mut impl Write) -> Result<u8, Failure> {
    let verdict = |verdict| match verdict {
        Verdict::Safe => "safe",
        Verdict::Unsafe => "not safe",
    };
    if is_json {
        for example in &EXAMPLES {
            let line = serde_json::json!({
                "schema": "fencepost-examples/1",
                "type": "example",
                "name": example.name,
                "title": example.title,
                "file": example.source_file,
                "tso": verdict(example.tso),
                "pso": verdict(example.pso),
            });
            writeln!(output, "{line}")?;
        }
        return Ok(exit::NO_VIOLATION);
    }
    let mut rows = vec![
        ["name", "x86", "PSO", "what it is"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for example in &EXAMPLES {
        let row = [
            example.name,
            verdict(example.tso),
            verdict(example.pso),
            example.title,
        ];
        rows.push(row.map(str::to_owned).to_vec());
    }
    let lines = aligned(&rows, "");
    writeln!(output, "{}", Styled(DIM, &lines[0]))?;
    for line in &lines[1..] {
        writeln!(output, "{line}")?;
    }
    writeln!(
        output,
        "\nThese are the papers' verdicts on the original versions. To check one:"
    )?;
    writeln!(output, "  fencepost example dekker --confirm")?;
    Ok(exit::NO_VIOLATION)
}

fn show(
    example: &Example,
    arguments: &ExampleArguments,
    is_quiet: bool,
    output: &mut impl Write,
) -> Result<u8, Failure> {
    if arguments.source {
        write!(output, "{}", example.source_text)?;
        return Ok(exit::NO_VIOLATION);
    }
    let target = match arguments.target {
        ExampleTarget::X86 => Target::X86,
        ExampleTarget::Pso => Target::Pso,
    };
    let version = match arguments.fixed {
        true => Version::Fixed,
        false => Version::Original,
    };
    let mut checker = Checker::new()
        .without_environment()
        .source(example.source_file, example.source_text)
        .target(target)
        .confirm(arguments.confirm)
        .store_buffers(arguments.store_buffers);
    if is_quiet {
        checker = checker.progress(false);
    }
    if let Some(workers) = arguments.workers.workers {
        checker = checker.workers(usize::from(workers));
    }
    if let Some(time) = arguments.max_time.max_time {
        checker = checker.max_time(time);
    }
    if let Some(executions) = arguments.max_executions {
        checker = checker.max_executions(executions);
    }
    let program = example.program;
    if arguments.infer_fences {
        let fences = checker.run_fence_inference(move || program(version));
        return show_fences(&fences, arguments.result.json, output);
    }
    let outcome = checker.run(move || program(version));
    match arguments.result.json {
        true => writeln!(output, "{}", outcome.json())?,
        false => writeln!(output, "{}", outcome.report().trim_end())?,
    }
    Ok(match outcome {
        Outcome::Verified(_) => exit::NO_VIOLATION,
        Outcome::ProgramError(_) | Outcome::NotStoreBufferSafe(_) => exit::VIOLATION,
        // An incomplete check must not look like a proof.
        _ => exit::LIMIT,
    })
}

fn show_fences(
    fences: &FenceInference,
    is_json: bool,
    output: &mut impl Write,
) -> Result<u8, Failure> {
    match is_json {
        true => writeln!(output, "{}", fences.json().trim_end())?,
        false => writeln!(output, "{}", fences.to_string().trim_end())?,
    }
    Ok(match fences {
        FenceInference::NotNeeded(_) => exit::NO_VIOLATION,
        FenceInference::Needed(_) => exit::VIOLATION,
        _ => exit::LIMIT,
    })
}
