//! TSO-CC against TSO-LB (Banks and others, 2017): our own models, beside the paper's results.
//!
//! The models are not the paper's, so a search is compared with the known result of ours: the
//! number of states where nothing fails, or the error and the length of its trace. `rows` lists the
//! searches with their expected results, `cache` stores results between runs, and this file
//! searches and prints.

mod cache;
mod rows;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fencepost_protocol::outcome::{Bound, Verdict};
use fencepost_protocol::search::SearchOutcome;
use fencepost_protocol::vacuity::vacuous;
use fencepost_protocol::{Limits, Model};
use fencepost_report::protocol::bytes;
use fencepost_report::style::{DIM, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

use cache::ResultCache;
use rows::{ANY_NUMBER, Expected, READ, Row, STORE_BUFFERING, WAITS, rows};

use super::{Comparison, Output, ReproduceError, Table};

const HEADER: [&str; 8] = [
    "what",
    "sizes",
    "result",
    "expected",
    "states",
    "seconds",
    "memory",
    "the paper",
];

const NOTE: &str = "Sizes are caches × addresses × values. SC, as written: sequential consistency in the order in which \
    the writes were performed, which is stronger. As acquired: in the order in which the lines were acquired. Where \
    nothing fails, no claim is vacuous, except for the specification where something else is checked, and lemmas about \
    pairs of caches where there is one. The models are ours; the last column is what the paper says, or what its \
    authors' model says with such a bug.";

/// The options of the reproduction.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to run the searches that take minutes to hours, too.
    pub is_full: bool,
    /// Searches only rows with this text in their names.
    pub only: Option<String>,
    /// The most time for each search that is too large to finish.
    pub max_time: Option<Duration>,
    /// Keeps results and unfinished searches in this folder, and uses those that it finds there.
    pub cache: Option<PathBuf>,
    /// Identifies the build: results and searches of another one are not used.
    pub build: u64,
}

/// Runs the searches.
pub trait Searcher {
    /// Searches all states of the model, for at most `max_time`. If there is a `checkpoint`,
    /// resumes from it if it exists, and saves to it when the search ends early.
    fn search(
        &self,
        model: &Model,
        max_time: Option<Duration>,
        checkpoint: Option<&Path>,
    ) -> Result<SearchOutcome, ReproduceError>;

    /// Whether the user interrupted the reproduction.
    fn is_interrupted(&self) -> bool;
}

/// Searches the rows and prints them.
pub fn reproduce(
    options: &Options,
    searcher: &dyn Searcher,
    output: &mut Output<'_>,
) -> Result<Comparison, ReproduceError> {
    let cache = match &options.cache {
        Some(folder) => Some(ResultCache::open(folder, options.build)?),
        None => None,
    };
    let rows = selected(options)?;
    let mut table = Table::new(false, &HEADER);
    let mut comparison = Comparison::default();
    for row in &rows {
        let result = result_of(row, options, searcher, cache.as_ref(), output)?;
        compare(row, &result, &mut comparison);
        output.row(|| json(row, &result))?;
        table.rows.push(cells(row, &result));
        if searcher.is_interrupted() {
            break;
        }
    }
    let searched = table.rows.len() - 1;
    if !output.is_json {
        output.table(&table)?;
        let differing = comparison.contradictions.len() + comparison.inconclusive.len();
        let same = searched - differing;
        writeln!(output.results, "\n{same} of {searched} as expected")?;
        writeln!(output.results, "{}", Styled(DIM, NOTE))?;
    }
    let not_started = rows.len() - searched;
    if not_started > 0 {
        comparison
            .inconclusive
            .push(format!("{} more, not started", grouped(not_started as u64)));
    }
    Ok(comparison)
}

fn selected(options: &Options) -> Result<Vec<Row>, ReproduceError> {
    let mut rows = rows(options.is_full);
    if let Some(only) = &options.only {
        rows.retain(|row| is_named(&row.name, only));
        if rows.is_empty() {
            let message = format!(
                "error: no row has {only:?} in its name\n  = help: a name is like \"TSO-CC, mutant 4\"; some rows exist only with --full"
            );
            return Err(ReproduceError::BadInput(message));
        }
    }
    Ok(rows)
}

/// Whether the text is in the name. `mutant 2` is not in `mutant 20`.
fn is_named(name: &str, text: &str) -> bool {
    let (name, text) = (name.to_lowercase(), text.to_lowercase());
    let mut rests = name
        .match_indices(&text)
        .map(|(at, _)| &name[at + text.len()..]);
    rests.any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// The result of a row, from the cache or from a search.
fn result_of(
    row: &Row,
    options: &Options,
    searcher: &dyn Searcher,
    cache: Option<&ResultCache>,
    output: &Output<'_>,
) -> Result<RowResult, ReproduceError> {
    if let Some(result) = cache.and_then(|cache| cache.get(row)) {
        output.console.announce(&format!("{} (cached)", row.name));
        return Ok(result);
    }
    output.console.announce(&row.name);
    let result = search(row, options.max_time, searcher, cache)?;
    if let Some(cache) = cache
        && let Err(warning) = cache.put(row, &result)
    {
        output.console.warn(&warning);
    }
    Ok(result)
}

fn search(
    row: &Row,
    max_time: Option<Duration>,
    searcher: &dyn Searcher,
    cache: Option<&ResultCache>,
) -> Result<RowResult, ReproduceError> {
    let model = Model::read(row.source.1.as_bytes(), &row.constants, &Limits::default())
        .map_err(|error| ReproduceError::internal(&row.name, error.render(row.source.0)))?;
    // Only searches that are too large to finish need a file and a time limit.
    let is_bounded = matches!(row.expected, Expected::Unfinished);
    let checkpoint = cache
        .filter(|_| is_bounded)
        .map(|cache| cache.checkpoint_of(row));
    let max_time = max_time.filter(|_| is_bounded);
    let started = Instant::now();
    let report = searcher.search(&model, max_time, checkpoint.as_deref())?;
    Ok(RowResult::new(row, &model, &report, started.elapsed()))
}

/// How a search compares with its expected result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Same,
    Different,
    /// A limit stopped the search before the end.
    Unknown,
}

/// The part of a search's report that is compared.
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

/// The result of a row, as it is printed and cached.
struct RowResult {
    sizes: String,
    result: String,
    /// The length of the counterexample.
    steps: Option<usize>,
    vacuous: usize,
    states: u64,
    depth: u64,
    memory: u64,
    seconds: f64,
    agreement: Agreement,
}

impl RowResult {
    fn new(row: &Row, model: &Model, report: &SearchOutcome, time: Duration) -> Self {
        let steps = report
            .trace
            .as_ref()
            .map(|trace| trace.steps.len() + usize::from(trace.failed.is_some()));
        let described = report.verdict.describe(model);
        let vacuous = match report.verdict {
            Verdict::NoError => vacuous(model, &report.hits).len(),
            _ => 0,
        };
        let ended = Ended {
            verdict: &report.verdict,
            described: &described,
            states: report.states,
            steps,
            vacuous,
        };
        let result = match (&report.verdict, steps) {
            (Verdict::NoError, _) if vacuous > row.expected.vacuous() => {
                format!("holds, but {vacuous} claims are vacuous")
            }
            (Verdict::NoError, _) => holds(row.expected).to_owned(),
            (Verdict::Incomplete(_), _) => {
                format!("no error up to {} steps", report.covered.unwrap_or(0))
            }
            (_, Some(steps)) => format!("{} after {steps} steps", short(&described)),
            (_, None) => short(&described),
        };
        RowResult {
            sizes: sizes(row, model),
            result,
            steps,
            vacuous,
            states: report.states,
            depth: report.depth,
            memory: report.memory,
            seconds: time.as_secs_f64(),
            agreement: ended.compared_with(row.expected),
        }
    }
}

/// Caches × addresses × values.
fn sizes(row: &Row, model: &Model) -> String {
    let mut sizes = ["CACHES", "ADDRESSES", "VALUES"].map(|name| constant(model, name));
    // The concrete caches there stand for any number.
    if row.source.0 == ANY_NUMBER.0 {
        sizes[0] = "any".to_owned();
    }
    sizes.join("×")
}

/// The value of a constant, whether it was set for the row or is the model's own.
fn constant(model: &Model, name: &str) -> String {
    let mut constants = model.constants.iter();
    let constant = constants.find(|constant| constant.name == name);
    constant.map_or("?".to_owned(), |constant| constant.value.to_string())
}

/// Shortens the description of a verdict for the table.
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
    match words.strip_suffix(" does not expect this message") {
        Some(receiver) => format!("{receiver}: unexpected"),
        None => words.to_owned(),
    }
}

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
        Expected::Unfinished => "no error within the limits".to_owned(),
    }
}

fn compare(row: &Row, result: &RowResult, comparison: &mut Comparison) {
    let line = format!(
        "{}: {} with {} states; expected: {}",
        row.name,
        result.result,
        grouped(result.states),
        expectation(row.expected)
    );
    match result.agreement {
        Agreement::Same => {}
        Agreement::Different => comparison.contradictions.push(line),
        Agreement::Unknown => comparison.inconclusive.push(line),
    }
}

fn cells(row: &Row, result: &RowResult) -> Vec<String> {
    vec![
        row.name.clone(),
        result.sizes.clone(),
        result.result.clone(),
        expectation(row.expected),
        grouped(result.states),
        format!("{:.1}", result.seconds),
        bytes(result.memory),
        row.paper.to_owned(),
    ]
}

fn json(row: &Row, result: &RowResult) -> serde_json::Value {
    json!({
        "schema": "fencepost-reproduce-tso-cc/1",
        "type": "row",
        "what": row.name,
        "sizes": result.sizes,
        "command": row.command(),
        "result": result.result,
        "steps": result.steps,
        "vacuous": result.vacuous,
        "expected": expectation(row.expected),
        "agrees": match result.agreement {
            Agreement::Same => Some(true),
            Agreement::Different => Some(false),
            Agreement::Unknown => None,
        },
        "states": result.states,
        "depth": result.depth,
        "seconds": result.seconds,
        "memory": result.memory,
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
    fn a_row_that_holds_has_its_states_and_vacuous_claims() {
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
    fn a_row_that_fails_does_so_after_its_steps() {
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
    fn an_unfinished_row_may_finish() {
        let expected = Expected::Unfinished;
        let [time, stopped] = [Bound::Time, Bound::Stopped].map(Verdict::Incomplete);
        assert_eq!(compared(&time, 0, expected), Same);
        assert_eq!(compared(&stopped, 0, expected), Unknown);
        assert_eq!(compared(&Verdict::NoError, 0, expected), Same);
        assert_eq!(compared(&Verdict::NoError, 1, expected), Different);
        assert_eq!(compared(&Verdict::Deadlock, 0, expected), Different);
    }
}
