//! TSO-CC against TSO-LB (Banks and others, 2017): our own models, searched again, beside what the paper says.
//!
//! The models are not the paper's, so a result is compared with what is known of ours: the number of states where
//! nothing is wrong, what fails after how many steps where something is.

mod kept;
mod rows;

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fencepost_protocol::reference::{Bound, Verdict};
use fencepost_protocol::search::{About, Options, resume, search};
use fencepost_protocol::vacuity::vacuous;
use fencepost_protocol::{Limits, Model};
use fencepost_report::columns::aligned;
use fencepost_report::protocol::bytes;
use fencepost_report::style::{DIM, HEADING, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

use kept::Kept;
use rows::{ANY_NUMBER, Expected, READ, Row, STORE_BUFFERING, WAITS, rows};

use super::tell;
use crate::args::TsoCcArguments;
use crate::commands::protocol::{checkpoint, memory};
use crate::executable;
use crate::exit::{self, Failure};
use crate::interrupt;
use crate::progress::SearchProgress;

/// How a search ended, compared with what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Same,
    Different,
    /// A bound came before the end.
    Unknown,
}

/// How a search ended.
struct Ended<'a> {
    verdict: &'a Verdict,
    described: &'a str,
    states: u64,
    steps: Option<usize>,
    vacuous: usize,
}

impl Ended<'_> {
    fn compared_with(&self, expected: Expected) -> Agreement {
        let is_incomplete = matches!(self.verdict, Verdict::Incomplete(_));
        let holds = *self.verdict == Verdict::NoError && self.vacuous == expected.vacuous();
        let is_same = match expected {
            Expected::Holds(states)
            | Expected::HoldsBut(states, _)
            | Expected::HoldsGivenLemmas(states, _) => holds && self.states == states,
            Expected::Fails(what, after) => {
                self.described.contains(what) && self.steps == Some(after)
            }
            Expected::Unfinished => is_incomplete || holds,
        };
        match self.verdict {
            Verdict::Incomplete(Bound::Stopped) => Agreement::Unknown,
            _ if is_same => Agreement::Same,
            _ if is_incomplete => Agreement::Unknown,
            _ => Agreement::Different,
        }
    }
}

struct Found {
    sizes: String,
    result: String,
    steps: Option<usize>,
    vacuous: usize,
    states: u64,
    depth: u64,
    memory: u64,
    seconds: f64,
    agreement: Agreement,
}

/// Searches, and prints what came of it.
pub(super) fn run(
    arguments: &TsoCcArguments,
    is_quiet: bool,
    output: &mut impl Write,
) -> Result<u8, Failure> {
    let kept = match &arguments.checkpoint {
        Some(folder) => Some(Kept::new(folder)?),
        None => None,
    };
    let mut rows = rows(arguments.full);
    if let Some(only) = &arguments.only {
        rows.retain(|row| is_named(&row.name, only));
        if rows.is_empty() {
            let message = format!(
                "error: no row has {only:?} in its name\n  = help: names are such as \"TSO-CC, mutant 4\"; some rows are only there with --full"
            );
            return Err(Failure::BadInput(message));
        }
    }
    let heading = [
        "what",
        "sizes",
        "result",
        "expected",
        "states",
        "seconds",
        "memory",
        "the paper",
    ];
    let mut table = vec![heading.map(str::to_owned).to_vec()];
    let mut different = Vec::new();
    let mut unknown = Vec::new();
    for row in &rows {
        let before = kept.as_ref().and_then(|kept| kept.found(row));
        let found = match before {
            Some(found) => {
                tell(is_quiet, &format!("{} (kept)", row.name));
                found
            }
            None => {
                tell(is_quiet, &row.name);
                let found = search_row(row, arguments, kept.as_ref(), is_quiet)?;
                if let Some(kept) = &kept {
                    kept.keep(row, &found);
                }
                found
            }
        };
        let line = format!(
            "{}: {} with {} states; expected: {}",
            row.name,
            found.result,
            grouped(found.states),
            expectation(row.expected)
        );
        match found.agreement {
            Agreement::Same => {}
            Agreement::Different => different.push(line),
            Agreement::Unknown => unknown.push(line),
        }
        if arguments.json {
            writeln!(output, "{}", object(row, &found))?;
        }
        table.push(cells(row, &found));
        if interrupt::was_requested() {
            break;
        }
    }
    if !arguments.json {
        let mut lines = aligned(&table, "").into_iter();
        if let Some(line) = lines.next() {
            writeln!(output, "{}", Styled(HEADING, line))?;
        }
        for line in lines {
            writeln!(output, "{line}")?;
        }
        let count = table.len() - 1;
        let same = count - different.len() - unknown.len();
        writeln!(output, "\n{same} of {count} as expected")?;
        let note = "Sizes are caches × addresses × values. SC, as written: sequential consistency in the order in which the writes \
                    were performed, which asks for more. As acquired: in the order in which the lines came. \
                    Where nothing is wrong, nothing is vacuous either, but for the specification where something else is checked, \
                    and lemmas about pairs of caches where one is enough. \
                    The models are ours; the last column is what the paper says, or what its authors' model says with such a bug.";
        writeln!(output, "{}", Styled(DIM, note))?;
    }
    output.flush()?;
    // Whoever reads standard output has the rows; this is the reason for the exit code.
    if !different.is_empty() {
        let _ = writeln!(
            anstream::stderr(),
            "not as expected:\n  {}",
            different.join("\n  ")
        );
        return Ok(exit::VIOLATION);
    }
    let not_begun = rows.len() + 1 - table.len();
    if not_begun > 0 {
        unknown.push(format!(
            "{} more, which were not begun",
            grouped(not_begun as u64)
        ));
    }
    if !unknown.is_empty() {
        let _ = writeln!(
            anstream::stderr(),
            "not finished:\n  {}",
            unknown.join("\n  ")
        );
        return Ok(exit::LIMIT);
    }
    Ok(exit::NO_VIOLATION)
}

/// Whether the text is in the name. `mutant 2` is not in `mutant 20`.
fn is_named(name: &str, text: &str) -> bool {
    let (name, text) = (name.to_lowercase(), text.to_lowercase());
    let mut rests = name
        .match_indices(&text)
        .map(|(at, _)| &name[at + text.len()..]);
    rests.any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

fn search_row(
    row: &Row,
    arguments: &TsoCcArguments,
    kept: Option<&Kept>,
    is_quiet: bool,
) -> Result<Found, Failure> {
    let internal = |what: String| Failure::Internal(format!("error: {}: {what}", row.name));
    let model = Model::read(row.source.1.as_bytes(), &row.constants, &Limits::default())
        .map_err(|error| internal(error.render(row.source.0)))?;
    // Only searches that do not end are worth a file and a bound.
    let is_bounded = matches!(row.expected, Expected::Unfinished);
    let path = kept.filter(|_| is_bounded).map(|kept| kept.search_of(row));
    let path = path.as_deref();
    let options = Options {
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        memory: memory::default_bound(),
        time: is_bounded.then_some(arguments.max_time),
        saved_every: path.map(|_| Duration::from_secs(600)),
        made_by: path.map_or(0, |_| executable::checksum()),
        ..Options::default()
    };
    let progress = SearchProgress::new(is_quiet);
    let saving = checkpoint::Saving::new(&progress, path);
    let started = Instant::now();
    let kept_search = path.filter(|path| path.exists());
    let mut report = match kept_search {
        Some(path) => resume(&model, &options, &saving, &mut checkpoint::open(path)?),
        None => search(&model, &options, &saving),
    };
    if let (Some(path), Err(refusal)) = (kept_search, &report)
        && matches!(refusal.about, About::Saved | About::Room)
    {
        let _ = writeln!(
            anstream::stderr(),
            "warning: {} is not gone on with, and is searched anew: {refusal}",
            path.display()
        );
        report = match refusal.about {
            // Another time there may be room for it, so what was found is not written over.
            About::Room => search(&model, &options, &progress),
            _ => search(&model, &options, &saving),
        };
    }
    let seconds = started.elapsed().as_secs_f64();
    tell_saved(path, &saving.outcome());
    let report = report.map_err(|refusal| internal(refusal.to_string()))?;
    let steps = report
        .trace
        .as_ref()
        .map(|trace| trace.steps.len() + usize::from(trace.failed.is_some()));
    let described = report.verdict.describe(&model);
    let never = match report.verdict {
        Verdict::NoError => vacuous(&model, &report.hits).len(),
        _ => 0,
    };
    let known = row.expected.vacuous();
    let ended = Ended {
        verdict: &report.verdict,
        described: &described,
        states: report.states,
        steps,
        vacuous: never,
    };
    let agreement = ended.compared_with(row.expected);
    let result = match (&report.verdict, steps) {
        (Verdict::NoError, _) if never > known => {
            format!("holds, but {never} claims are vacuous")
        }
        (Verdict::NoError, _) => holds(row.expected).to_owned(),
        (Verdict::Incomplete(_), _) => {
            format!("no error up to {} steps", report.covered.unwrap_or(0))
        }
        (_, Some(steps)) => format!("{} after {steps} steps", short(&described)),
        (_, None) => short(&described),
    };
    let mut sizes = ["CACHES", "ADDRESSES", "VALUES"].map(|name| size(&model, name));
    // The concrete caches there stand for any number.
    if row.source.0 == ANY_NUMBER.0 {
        sizes[0] = "any".to_owned();
    }
    Ok(Found {
        sizes: sizes.join("×"),
        result,
        steps,
        vacuous: never,
        states: report.states,
        depth: report.depth,
        memory: report.memory,
        seconds,
        agreement,
    })
}

/// What a constant is in the end, given or not.
fn size(model: &Model, name: &str) -> String {
    let mut constants = model.constants.iter();
    let constant = constants.find(|constant| constant.name == name);
    constant.map_or("?".to_owned(), |constant| constant.value.to_string())
}

fn tell_saved(path: Option<&Path>, saved: &checkpoint::Outcome) {
    let Some(path) = path.map(Path::display) else {
        return;
    };
    // Where standard error is closed, nobody waits for it.
    let _ = match (&saved.error, saved.states) {
        (Some(error), _) => writeln!(
            anstream::stderr(),
            "warning: the search could not be saved in {path}: {error}"
        ),
        (None, Some(states)) => writeln!(
            anstream::stderr(),
            "saved with {states} states in {path}; the same command goes on with it"
        ),
        (None, None) => Ok(()),
    };
}

/// A verdict in few words: most are about a read.
fn short(described: &str) -> String {
    if described.contains(READ) {
        return "a wrong read".to_owned();
    }
    if described.contains(WAITS) {
        return "waits for nothing".to_owned();
    }
    if described.contains(STORE_BUFFERING) {
        return "store buffering".to_owned();
    }
    let words = described.rsplit(": ").next().unwrap_or(described);
    words
        .trim_end_matches(" does not expect this message")
        .to_owned()
        + if words.ends_with("expect this message") {
            ": unexpected"
        } else {
            ""
        }
}

/// How it is said that nothing is wrong.
fn holds(expected: Expected) -> &'static str {
    match expected {
        Expected::HoldsGivenLemmas(..) => "holds, given the lemmas",
        _ => "holds",
    }
}

fn expectation(expected: Expected) -> String {
    match expected {
        Expected::Holds(states)
        | Expected::HoldsBut(states, _)
        | Expected::HoldsGivenLemmas(states, _) => {
            format!("{}, {} states", holds(expected), grouped(states))
        }
        Expected::Fails(what, steps) => format!("{} after {steps} steps", short(what)),
        Expected::Unfinished => "no error as far as it goes".to_owned(),
    }
}

fn cells(row: &Row, found: &Found) -> Vec<String> {
    vec![
        row.name.clone(),
        found.sizes.clone(),
        found.result.clone(),
        expectation(row.expected),
        grouped(found.states),
        format!("{:.1}", found.seconds),
        bytes(found.memory),
        row.paper.to_owned(),
    ]
}

fn object(row: &Row, found: &Found) -> serde_json::Value {
    json!({
        "schema": "fencepost-reproduce-tso-cc/1",
        "type": "row",
        "what": row.name,
        "sizes": found.sizes,
        "command": row.command(),
        "result": found.result,
        "steps": found.steps,
        "vacuous": found.vacuous,
        "expected": expectation(row.expected),
        "agrees": match found.agreement {
            Agreement::Same => Some(true),
            Agreement::Different => Some(false),
            Agreement::Unknown => None,
        },
        "states": found.states,
        "depth": found.depth,
        "seconds": found.seconds,
        "memory": found.memory,
        "paper": row.paper,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use Agreement::{Different, Same, Unknown};

    fn compared(verdict: &Verdict, vacuous: usize, expected: Expected) -> Agreement {
        let (described, steps) = match verdict {
            Verdict::Deadlock => ("deadlock", Some(3)),
            _ => ("", None),
        };
        let ended = Ended {
            verdict,
            described,
            states: 10,
            steps,
            vacuous,
        };
        ended.compared_with(expected)
    }

    #[test]
    fn what_holds_holds_with_these_states_and_these_vacuous_claims() {
        type OfStates = fn(u64) -> Expected;
        let holds: [(OfStates, usize); 3] = [
            (Expected::Holds, 0),
            (|states| Expected::HoldsBut(states, 1), 1),
            (|states| Expected::HoldsGivenLemmas(states, 4), 4),
        ];
        for (expected, vacuous) in holds {
            let no_error = &Verdict::NoError;
            assert_eq!(compared(no_error, vacuous, expected(10)), Same);
            assert_eq!(compared(no_error, vacuous, expected(11)), Different);
            assert_eq!(compared(no_error, vacuous + 1, expected(10)), Different);
            assert_eq!(compared(&Verdict::Deadlock, 0, expected(10)), Different);
            let limit = Verdict::Incomplete(Bound::Memory);
            assert_eq!(compared(&limit, 0, expected(10)), Unknown);
        }
    }

    #[test]
    fn what_fails_fails_with_this_after_these_steps() {
        let deadlock = &Verdict::Deadlock;
        let fails = Expected::Fails;
        assert_eq!(compared(deadlock, 0, fails("deadlock", 3)), Same);
        assert_eq!(compared(deadlock, 0, fails("deadlock", 4)), Different);
        assert_eq!(compared(deadlock, 0, fails("read", 3)), Different);
        assert_eq!(compared(&Verdict::NoError, 0, fails("read", 3)), Different);
        let limit = Verdict::Incomplete(Bound::Time);
        assert_eq!(compared(&limit, 0, fails("deadlock", 3)), Unknown);
    }

    #[test]
    fn what_does_not_end_may_end_or_not() {
        let expected = Expected::Unfinished;
        let [time, stopped] = [Bound::Time, Bound::Stopped].map(Verdict::Incomplete);
        assert_eq!(compared(&time, 0, expected), Same);
        assert_eq!(compared(&stopped, 0, expected), Unknown);
        assert_eq!(compared(&Verdict::NoError, 0, expected), Same);
        assert_eq!(compared(&Verdict::NoError, 1, expected), Different);
        assert_eq!(compared(&Verdict::Deadlock, 0, expected), Different);
    }
}
