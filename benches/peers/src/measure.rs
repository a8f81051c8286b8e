//! Processor time, and the table.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What a tool did with a program.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// How often the closure was run.
    pub executions: u64,
    /// The processor time that it took.
    pub time: Duration,
    /// Why it ended.
    pub end: End,
}

/// Why a tool ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// There was nothing left to run.
    All,
    /// It was stopped at a number of executions.
    Cap,
    /// It was asked for so many.
    Sample,
}

impl End {
    const ALL: [End; 3] = [End::All, End::Cap, End::Sample];

    fn name(self) -> &'static str {
        match self {
            End::All => "all",
            End::Cap => "cap",
            End::Sample => "sample",
        }
    }
}

/// As one process tells another: executions, nanoseconds, why it ended.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (nanoseconds, end) = (self.time.as_nanos(), self.end.name());
        write!(f, "{} {nanoseconds} {end}", self.executions)
    }
}

impl FromStr for Row {
    type Err = ();

    fn from_str(line: &str) -> Result<Row, ()> {
        let [executions, nanoseconds, end] = line.split(' ').collect::<Vec<_>>()[..] else {
            return Err(());
        };
        let nanoseconds = nanoseconds.parse().map_err(|_| ())?;
        let mut ends = End::ALL.into_iter();
        Ok(Row {
            executions: executions.parse().map_err(|_| ())?,
            time: Duration::from_nanos(nanoseconds),
            end: ends.find(|known| known.name() == end).ok_or(())?,
        })
    }
}

/// The processor time of this process so far.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs a tool and measures it. The tool is given a counter to raise once per execution.
pub fn measure(run: impl FnOnce(Arc<AtomicU64>), end: impl FnOnce(u64) -> End) -> Row {
    let executions = Arc::new(AtomicU64::new(0));
    let start = processor_time();
    run(Arc::clone(&executions));
    let time = processor_time() - start;
    let executions = executions.load(Ordering::Relaxed);
    Row {
        executions,
        time,
        end: end(executions),
    }
}

/// The heading of the table.
pub fn print_header() {
    println!(
        "{:20} {:>8}  {:15} {:>12} {:6} {:>10} {:>13} {:>13}",
        "program", "classes", "tool", "executions", "", "CPU s", "exec/CPU s", "us/execution"
    );
}

/// A line of the table.
pub fn print_row(program: &str, classes: u64, tool: &str, row: &Row) {
    let seconds = row.time.as_secs_f64();
    let end = row.end.name();
    println!(
        "{program:20} {classes:>8}  {tool:15} {:>12} {end:6} {seconds:>10.3} {:>13.0} {:>13.2}",
        row.executions,
        row.executions as f64 / seconds,
        1e6 * seconds / row.executions as f64,
    );
}

/// A line for what was not run.
pub fn print_skipped(program: &str, classes: u64, tool: &str, reason: &str) {
    println!("{program:20} {classes:>8}  {tool:15} {:>12} {reason}", "-");
}
