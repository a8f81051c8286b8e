//! `fencepost demo`: what Fencepost does, on three bundled traces.

use std::io::Write;

use fencepost_memory::machine::emits_non_sc_trace;
use fencepost_memory::{Access, StraightLine};
use fencepost_monitor::{Monitor, RelaxedOrder, Watcher};
use fencepost_report::columns::aligned;
use fencepost_report::style::{GOOD, HEADING, Styled, VIOLATION};
use fencepost_report::{Naming, text};
use fencepost_trace::{Names, TraceReader};

use crate::exit::{self, Failure};
use crate::names::TraceNames;

struct Bundled {
    title: &'static str,
    path: &'static str,
    trace: &'static str,
    unsafe_: bool,
}

const BUNDLED: [Bundled; 3] = [
    Bundled {
        title: "Store buffering (SOBER, Fig. 1(b))",
        path: "traces/store-buffering.trace",
        trace: include_str!("../../../../traces/store-buffering.trace"),
        unsafe_: true,
    },
    Bundled {
        title: "n6: a load that reads its own store early (x86-TSO, section 2.2)",
        path: "traces/n6.trace",
        trace: include_str!("../../../../traces/n6.trace"),
        unsafe_: true,
    },
    Bundled {
        title: "Store buffering with fences",
        path: "traces/store-buffering-fenced.trace",
        trace: include_str!("../../../../traces/store-buffering-fenced.trace"),
        unsafe_: false,
    },
];

/// Runs the demonstration.
pub fn run() -> Result<u8, Failure> {
    let mut output = anstream::AutoStream::auto(std::io::stdout());
    for bundled in &BUNDLED {
        let (names, accesses) = read(bundled)?;
        let names = TraceNames(&names);
        writeln!(output, "{}\n", Styled(HEADING, bundled.title))?;
        for line in columns(&accesses, &names) {
            writeln!(output, "{line}")?;
        }
        writeln!(output)?;
        match bundled.unsafe_ {
            true => show_violation(bundled, &accesses, &names, &mut output)?,
            false => show_safety(&accesses, &mut output)?,
        }
        writeln!(output)?;
    }
    output.flush()?;
    Ok(exit::NO_VIOLATION)
}

fn read(bundled: &Bundled) -> Result<(Names, Vec<Access>), Failure> {
    let broken = |error| Failure::Internal(format!("the bundled {}: {error}", bundled.path));
    let mut reader = TraceReader::open(bundled.trace.as_bytes()).map_err(broken)?;
    let accesses = reader.read_to_end().map_err(broken)?;
    Ok((reader.into_names(), accesses))
}

/// The interleaving with one column per thread.
fn columns(accesses: &[Access], names: &dyn Naming) -> Vec<String> {
    let threads = StraightLine::of_accesses(accesses).threads.len();
    let thread = |number: usize| fencepost_memory::ThreadId(number as u32);
    let mut rows = vec![
        (0..threads)
            .map(|t| names.thread(thread(t)))
            .collect::<Vec<_>>(),
    ];
    for access in accesses {
        let mut row = vec![String::new(); threads];
        row[access.thread.index()] = names.operation(access);
        rows.push(row);
    }
    aligned(&rows, "    ")
}

fn show_violation(
    bundled: &Bundled,
    accesses: &[Access],
    names: &dyn Naming,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let mut watcher = Watcher::new(RelaxedOrder::tso());
    for &access in accesses {
        let violation = watcher.observe(access);
        let violation = violation.map_err(|error| Failure::Limit(error.to_string()))?;
        let Some(violation) = violation else { continue };
        let explained = watcher.explain(&violation);
        if let Err(error) = &explained {
            return Err(Failure::Internal(error.to_string()));
        }
        let finding = text::finding(1, &violation, &explained, names);
        write!(output, "{finding}")?;
        writeln!(
            output,
            "\n  replay: fencepost monitor {} --model tso",
            bundled.path
        )?;
        return Ok(());
    }
    Err(Failure::Internal(format!(
        "no violation in the bundled {}",
        bundled.path
    )))
}

/// Monitors every interleaving of the program, and asks the machine too.
fn show_safety(accesses: &[Access], output: &mut impl Write) -> Result<(), Failure> {
    let program = StraightLine::of_accesses(accesses);
    let mut watcher = Watcher::new(RelaxedOrder::tso());
    let model = watcher.monitor().model();
    let (mut interleavings, mut violations) = (0, 0);
    program.for_each_interleaving(|accesses| {
        watcher.reset();
        interleavings += 1;
        for &access in accesses {
            violations += u64::from(!matches!(watcher.observe(access), Ok(None)));
        }
    });
    if violations > 0 {
        writeln!(output, "{}", Styled(VIOLATION, "a violation was found"))?;
        return Err(Failure::Internal(
            "the fenced program shows a violation".into(),
        ));
    }
    writeln!(
        output,
        "{}: none of the program's {interleavings} interleavings shows a violation,\nso every \
         execution under {} is sequentially consistent.",
        Styled(GOOD, "store-buffer safe"),
        text::model_title(&model)
    )?;
    if emits_non_sc_trace(&model, &program).is_some() {
        return Err(Failure::Internal(
            "the machine has an execution that is not SC".into(),
        ));
    }
    writeln!(
        output,
        "The store-buffer machine, run in every possible way, agrees."
    )?;
    Ok(())
}
