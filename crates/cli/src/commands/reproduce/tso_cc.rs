//! TSO-CC against TSO-LB (Banks and others, 2017): our own models, searched again, beside what the paper says.
//!
//! The models are not the paper's, so a result is compared with what is known of ours: the number of states where
//! nothing is wrong, what fails after how many steps where something is.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use fencepost_protocol::reference::Verdict;
use fencepost_protocol::search::{Options, Report, resume, search};
use fencepost_protocol::vacuity::vacuous;
use fencepost_protocol::{Limits, Model};
use fencepost_report::columns::aligned;
use fencepost_report::protocol::bytes;
use fencepost_report::style::{DIM, HEADING, Styled};
use fencepost_report::text::grouped;
use serde_json::json;

use super::tell;
use crate::args::TsoCcArguments;
use crate::commands::protocol::{checkpoint, memory};
use crate::exit::{self, Failure};
use crate::interrupt;
use crate::progress::SearchProgress;

macro_rules! model {
    ($file:literal) => {
        (
            $file,
            include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../models/tso-cc/",
                $file
            )),
        )
    };
}

type Source = (&'static str, &'static str);

const TSO_CC: Source = model!("tso-cc.m");
const TSO_LB: Source = model!("tso-lb.m");
const MSI: Source = model!("msi.m");
const MESI: Source = model!("mesi.m");
const ANY_NUMBER: Source = model!("any-number.m");

const READ: &str = "the specification allows the value that is read";
const WAITS: &str = "who waits, waits for something that is on its way";
const STORE_BUFFERING: &str = "store buffering: not both processors read the old value";

/// What is known of a search.
#[derive(Clone, Copy)]
enum Expected {
    /// All states, so many, nothing wrong and nothing vacuous.
    Holds(u64),
    /// As `Holds`, by a check of the model instead of the specification, whose one assertion is never reached.
    HoldsWithoutSpecification(u64),
    /// What fails, and after how many steps.
    Fails(&'static str, usize),
    /// Too large to end; nothing is wrong as far as it goes.
    Unfinished,
}

impl Expected {
    /// How many claims are vacuous where nothing is wrong.
    fn vacuous(self) -> usize {
        match self {
            Expected::HoldsWithoutSpecification(_) => 1,
            Expected::Holds(_) | Expected::Fails(..) | Expected::Unfinished => 0,
        }
    }
}

/// A search, and what the paper says of it.
struct Row {
    name: String,
    source: Source,
    constants: Vec<(String, i64)>,
    expected: Expected,
    paper: &'static str,
}

impl Row {
    fn new(
        name: impl Into<String>,
        source: Source,
        constants: &[(&str, i64)],
        expected: Expected,
        paper: &'static str,
    ) -> Self {
        let constants = constants
            .iter()
            .map(|(name, value)| ((*name).into(), *value));
        Row {
            name: name.into(),
            source,
            constants: constants.collect(),
            expected,
            paper,
        }
    }

    fn command(&self) -> String {
        let mut command = format!("fencepost protocol models/tso-cc/{}", self.source.0);
        for (name, value) in &self.constants {
            command += &format!(" --const {name}={value}");
        }
        command
    }
}

/// The bugs: number, how many addresses they need, what fails, steps, and whether they are long to find.
const MUTANTS: [(i64, i64, &str, usize, bool); 28] = [
    (1, 2, READ, 17, false),
    (2, 2, READ, 18, false),
    (3, 2, READ, 17, false),
    (4, 1, READ, 11, false),
    (5, 1, READ, 13, false),
    (6, 1, READ, 10, false),
    (7, 1, READ, 10, false),
    (8, 1, READ, 14, false),
    (9, 1, READ, 13, false),
    (10, 1, READ, 17, false),
    (11, 2, READ, 21, true),
    (12, 2, READ, 21, true),
    (13, 2, READ, 23, true),
    (14, 2, READ, 23, true),
    (15, 2, READ, 25, true),
    (16, 2, READ, 21, true),
    (17, 2, READ, 22, true),
    (18, 1, READ, 12, false),
    (19, 2, READ, 17, false),
    (
        20,
        1,
        "the directory in E does not expect this message",
        11,
        false,
    ),
    (21, 1, WAITS, 9, false),
    (22, 1, WAITS, 6, false),
    (23, 1, WAITS, 3, false),
    (24, 1, READ, 11, false),
    (
        25,
        1,
        "the directory in S does not expect this message",
        11,
        false,
    ),
    (26, 2, READ, 21, true),
    (
        27,
        1,
        "a cache in WS does not expect this message",
        5,
        false,
    ),
    (
        28,
        1,
        "the directory in S does not expect this message",
        10,
        false,
    ),
];

/// What is searched; the long searches only if all are asked for.
fn rows(is_full: bool) -> Vec<Row> {
    use Expected::{Fails, Holds, HoldsWithoutSpecification, Unfinished};
    let mut rows = vec![
        Row::new("TSO-CC, 2 caches", TSO_CC, &[], Holds(1688), "conforms"),
        Row::new(
            "TSO-CC, 3 caches",
            TSO_CC,
            &[("CACHES", 3)],
            Holds(58_001),
            "conforms",
        ),
        Row::new(
            "TSO-CC, any number",
            ANY_NUMBER,
            &[],
            Holds(37_347),
            "conforms; 3 addresses, 14-15 hours",
        ),
        Row::new("TSO-LB itself", TSO_LB, &[], Holds(32), ""),
        Row::new(
            "TSO-LB, the paper's witness",
            TSO_LB,
            &[("CHECK", 1)],
            Fails(READ, 4),
            "the check that is used",
        ),
        Row::new(
            "TSO-CC, the paper's witness",
            TSO_CC,
            &[("CHECK", 1)],
            Fails(READ, 12),
            "conforms, by this check",
        ),
        Row::new(
            "TSO-CC against SC, as written",
            TSO_CC,
            &[("CHECK", 2), ("ADDRESSES", 2)],
            Fails(READ, 13),
            "a protocol for TSO",
        ),
        Row::new(
            "TSO-CC with store buffers, against SC",
            TSO_CC,
            &[("CHECK", 4), ("ADDRESSES", 2), ("STORE_BUFFER", 1)],
            Fails(STORE_BUFFERING, 16),
            "a protocol for TSO",
        ),
    ];
    let eager = [
        (MSI, "MSI", [619, 673, 619, 289]),
        (MESI, "MESI", [919, 952, 919, 452]),
    ];
    let checks = [
        "TSO-LB",
        "the paper's witness",
        "SC, as written",
        "atomic memory",
    ];
    for (source, name, states) in eager {
        for ((check, against), states) in (0..).zip(checks).zip(states) {
            let name = format!("{name} against {against}");
            rows.push(Row::new(
                name,
                source,
                &[("CHECK", check)],
                Holds(states),
                "",
            ));
        }
    }
    for (mutant, addresses, what, steps, is_long) in MUTANTS {
        if is_long && !is_full {
            continue;
        }
        // These bugs were put into the model that the authors published.
        let paper = match mutant {
            1 | 4 | 5 | 6 => "published model: no error",
            _ => "",
        };
        let name = format!("TSO-CC, mutant {mutant}");
        let given = [("MUTANT", mutant), ("ADDRESSES", addresses)];
        rows.push(Row::new(name, TSO_CC, &given, Fails(what, steps), paper));
    }
    if is_full {
        let two = [("ADDRESSES", 2)];
        rows.extend([
            Row::new("MSI, 2 addresses", MSI, &two, Holds(869_760), ""),
            Row::new("MESI, 2 addresses", MESI, &two, Holds(2_373_676), ""),
            Row::new(
                "TSO-CC, 2 addresses",
                TSO_CC,
                &two,
                Holds(5_548_063),
                "conforms",
            ),
            Row::new(
                "TSO-CC, store buffering",
                TSO_CC,
                &[("CHECK", 4), ("ADDRESSES", 2)],
                HoldsWithoutSpecification(2_691_165),
                "",
            ),
            Row::new(
                "TSO-CC against SC, as acquired",
                TSO_CC,
                &[("CHECK", 5), ("ADDRESSES", 2)],
                HoldsWithoutSpecification(2_984_891),
                "",
            ),
            Row::new(
                "TSO-CC with store buffers, 2 addresses",
                TSO_CC,
                &[("ADDRESSES", 2), ("STORE_BUFFER", 1)],
                Holds(10_831_398),
                "",
            ),
            Row::new(
                "TSO-CC with store buffers, stale data kept",
                TSO_CC,
                &[("ADDRESSES", 2), ("STORE_BUFFER", 2)],
                Fails(READ, 22),
                "",
            ),
            Row::new(
                "TSO-CC, any number, 2 addresses",
                ANY_NUMBER,
                &two,
                Unfinished,
                "conforms; 3 addresses, 14-15 hours",
            ),
        ]);
    }
    rows
}

/// How a search ended, compared with what is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agreement {
    Same,
    Different,
    /// A bound came before the end.
    Unknown,
}

struct Found {
    sizes: String,
    result: String,
    steps: Option<usize>,
    vacuous: usize,
    report: Report,
    seconds: f64,
    agreement: Agreement,
}

/// Searches, and prints what came of it.
pub(super) fn run(
    arguments: &TsoCcArguments,
    is_quiet: bool,
    output: &mut impl Write,
) -> Result<u8, Failure> {
    if let Some(path) = &arguments.checkpoint {
        checkpoint::check(path)?;
    }
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
        tell(is_quiet, &row.name);
        let found = found(row, arguments, is_quiet)?;
        let line = format!(
            "{}: {}, not {}",
            row.name,
            found.result,
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
                    Where nothing is wrong, nothing is vacuous either, but for the specification where something else is checked. \
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
    if !unknown.is_empty() || interrupt::was_requested() {
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

fn found(row: &Row, arguments: &TsoCcArguments, is_quiet: bool) -> Result<Found, Failure> {
    let internal = |what: String| Failure::Internal(format!("error: {}: {what}", row.name));
    let model = Model::read(row.source.1.as_bytes(), &row.constants, &Limits::default())
        .map_err(|error| internal(error.render(row.source.0)))?;
    // Only the search that does not end is worth a file and a bound.
    let is_bounded = matches!(row.expected, Expected::Unfinished);
    let path = arguments.checkpoint.as_deref().filter(|_| is_bounded);
    let options = Options {
        workers: std::thread::available_parallelism().map_or(1, usize::from),
        memory: memory::default_bound(),
        time: is_bounded.then_some(arguments.max_time),
        saved_every: path.map(|_| Duration::from_secs(600)),
        ..Options::default()
    };
    let progress = SearchProgress::new(is_quiet);
    let saving = checkpoint::Saving::new(&progress, path);
    let started = Instant::now();
    let report = match path.filter(|path| path.exists()) {
        Some(path) => resume(&model, &options, &saving, &mut checkpoint::open(path)?),
        None => search(&model, &options, &saving),
    };
    let seconds = started.elapsed().as_secs_f64();
    tell_saved(path, &saving.outcome());
    let report = report.map_err(|refusal| match path {
        Some(_) => Failure::BadInput(format!("error: {refusal}")),
        None => internal(refusal.to_string()),
    })?;
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
    let agreement = match (&report.verdict, row.expected) {
        (
            Verdict::NoError,
            Expected::Holds(states) | Expected::HoldsWithoutSpecification(states),
        ) if states == report.states && never == known => Agreement::Same,
        (Verdict::NoError | Verdict::Incomplete(_), Expected::Unfinished) => Agreement::Same,
        (Verdict::Incomplete(_), _) => Agreement::Unknown,
        (_, Expected::Fails(what, after)) if described.contains(what) && steps == Some(after) => {
            Agreement::Same
        }
        _ => Agreement::Different,
    };
    let result = match (&report.verdict, steps) {
        (Verdict::NoError, _) if never > known => {
            format!("holds, but {never} claims are vacuous")
        }
        (Verdict::NoError, _) => "holds".to_owned(),
        (Verdict::Incomplete(_), _) => format!("no error up to {} steps", report.depth),
        (_, Some(steps)) => format!("{} after {steps} steps", short(&described)),
        (_, None) => short(&described),
    };
    let mut sizes = ["CACHES", "ADDRESSES", "VALUES"].map(|name| size(&model, name));
    // The two concrete caches there stand for any number.
    if row.source.0 == ANY_NUMBER.0 {
        sizes[0] = "any".to_owned();
    }
    Ok(Found {
        sizes: sizes.join("×"),
        result,
        steps,
        vacuous: never,
        report,
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

fn expectation(expected: Expected) -> String {
    match expected {
        Expected::Holds(states) | Expected::HoldsWithoutSpecification(states) => {
            format!("holds, {} states", grouped(states))
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
        grouped(found.report.states),
        format!("{:.1}", found.seconds),
        bytes(found.report.memory),
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
        "states": found.report.states,
        "depth": found.report.depth,
        "seconds": found.seconds,
        "memory": found.report.memory,
        "paper": row.paper,
    })
}
