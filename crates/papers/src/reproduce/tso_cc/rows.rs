//! The searches, with their expected results and the paper's.

use Expected::{Fails, Holds, HoldsBut, HoldsGivenLemmas, Unfinished};

macro_rules! model {
    ($file:literal) => {
        (
            $file,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/models/", $file)),
        )
    };
}

type Source = (&'static str, &'static str);

const TSO_CC: Source = model!("tso-cc.m");
const TSO_LB: Source = model!("tso-lb.m");
const MSI: Source = model!("msi.m");
const MESI: Source = model!("mesi.m");
pub(super) const ANY_NUMBER: Source = model!("any-number.m");

pub(super) const READ: &str = "the specification allows the value that is read";
pub(super) const WAITS: &str = "who waits, waits for something that is on its way";
pub(super) const STORE_BUFFERING: &str = "store buffering: not both processors read the old value";

/// The vacuous claims where something else than the specification is checked: its one assertion.
const SPECIFICATION: usize = 1;

/// The vacuous claims with one concrete cache: two lemmas about pairs, with an antecedent and a
/// count each.
const PAIRS: usize = 4;

/// The expected result of a search.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// No error in this many states, and no vacuous claim.
    Holds(u64),
    /// As `Holds`, with this many vacuous claims, for a known reason.
    HoldsBut(u64, usize),
    /// As `HoldsBut`, provided that the lemmas hold, which another row checks.
    HoldsGivenLemmas(u64, usize),
    /// What fails, and the length of the shortest counterexample.
    Fails(&'static str, usize),
    /// Too large to finish: no error within the limits.
    Unfinished,
}

impl Expected {
    /// The number of vacuous claims if there is no error.
    pub(super) fn vacuous(self) -> usize {
        match self {
            Expected::HoldsBut(_, vacuous) | Expected::HoldsGivenLemmas(_, vacuous) => vacuous,
            Expected::Holds(_) | Expected::Fails(..) | Expected::Unfinished => 0,
        }
    }
}

/// A search, with its expected result and the paper's.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) constants: Vec<(String, i64)>,
    pub(super) expected: Expected,
    pub(super) paper: &'static str,
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

    pub(super) fn command(&self) -> String {
        let mut command = format!("fencepost protocol models/tso-cc/{}", self.source.0);
        for (name, value) in &self.constants {
            command += &format!(" --const {name}={value}");
        }
        command
    }
}

/// A mutant: a bug that a constant of the model switches on.
struct Mutant {
    number: i64,
    /// The number of addresses that it takes to find.
    addresses: i64,
    /// The error, and the length of its trace.
    failure: &'static str,
    steps: usize,
    is_slow: bool,
}

const fn quick(number: i64, addresses: i64, failure: &'static str, steps: usize) -> Mutant {
    Mutant {
        number,
        addresses,
        failure,
        steps,
        is_slow: false,
    }
}

const fn slow(number: i64, addresses: i64, failure: &'static str, steps: usize) -> Mutant {
    Mutant {
        is_slow: true,
        ..quick(number, addresses, failure, steps)
    }
}

const MUTANTS: [Mutant; 28] = [
    quick(1, 2, READ, 17),
    quick(2, 2, READ, 18),
    quick(3, 2, READ, 17),
    quick(4, 1, READ, 11),
    quick(5, 1, READ, 13),
    quick(6, 1, READ, 10),
    quick(7, 1, READ, 10),
    quick(8, 1, READ, 14),
    quick(9, 1, READ, 13),
    quick(10, 1, READ, 17),
    slow(11, 2, READ, 21),
    slow(12, 2, READ, 21),
    slow(13, 2, READ, 23),
    slow(14, 2, READ, 23),
    slow(15, 2, READ, 25),
    slow(16, 2, READ, 21),
    slow(17, 2, READ, 22),
    quick(18, 1, READ, 12),
    quick(19, 2, READ, 17),
    quick(20, 1, "the directory in E does not expect this message", 11),
    quick(21, 1, WAITS, 9),
    quick(22, 1, WAITS, 6),
    quick(23, 1, WAITS, 3),
    quick(24, 1, READ, 11),
    quick(25, 1, "the directory in S does not expect this message", 11),
    slow(26, 2, READ, 21),
    quick(27, 1, "a cache in WS does not expect this message", 5),
    quick(28, 1, "the directory in S does not expect this message", 10),
];

/// All rows; the slow ones only if `is_full`.
pub(super) fn rows(is_full: bool) -> Vec<Row> {
    let mut rows = protocol_rows();
    rows.extend(eager_rows());
    let mutants = MUTANTS.iter().filter(|mutant| is_full || !mutant.is_slow);
    rows.extend(mutants.map(mutant_row));
    if is_full {
        rows.extend(slow_rows());
    }
    rows
}

/// The protocol as it should be, and the checks that tell it from others.
fn protocol_rows() -> Vec<Row> {
    vec![
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
            Holds(40_548),
            "conforms; 3 addresses, 14-15 hours",
        ),
        Row::new(
            "TSO-CC, any number, 2 addresses",
            ANY_NUMBER,
            &[("CACHES", 1), ("ADDRESSES", 2)],
            HoldsGivenLemmas(2_386_387, PAIRS),
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
    ]
}

/// Protocols that keep caches coherent at every write, by every check.
fn eager_rows() -> Vec<Row> {
    let mut rows = Vec::new();
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
    rows
}

fn mutant_row(mutant: &Mutant) -> Row {
    // These bugs were put into the model that the authors published.
    let paper = match mutant.number {
        1 => "published model, none at all: no error",
        4..=6 => "published model: no error",
        _ => "",
    };
    Row::new(
        format!("TSO-CC, mutant {}", mutant.number),
        TSO_CC,
        &[("MUTANT", mutant.number), ("ADDRESSES", mutant.addresses)],
        Fails(mutant.failure, mutant.steps),
        paper,
    )
}

/// The searches that take minutes to hours.
fn slow_rows() -> Vec<Row> {
    let two = [("ADDRESSES", 2)];
    vec![
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
            HoldsBut(2_691_165, SPECIFICATION),
            "",
        ),
        Row::new(
            "TSO-CC against SC, as acquired",
            TSO_CC,
            &[("CHECK", 5), ("ADDRESSES", 2)],
            HoldsBut(2_984_891, SPECIFICATION),
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
            "TSO-CC, 3 caches, 2 addresses",
            TSO_CC,
            &[("CACHES", 3), ("ADDRESSES", 2)],
            Unfinished,
            "conforms",
        ),
        Row::new(
            "TSO-CC, 2 caches, 3 addresses",
            TSO_CC,
            &[("ADDRESSES", 3)],
            Unfinished,
            "conforms",
        ),
        Row::new(
            "TSO-CC, any number, 2 addresses at once",
            ANY_NUMBER,
            &two,
            Unfinished,
            "conforms; 3 addresses, 14-15 hours",
        ),
    ]
}
