//! What is searched, what is known of it, and what the paper says.

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
pub(super) const ANY_NUMBER: Source = model!("any-number.m");

pub(super) const READ: &str = "the specification allows the value that is read";
pub(super) const WAITS: &str = "who waits, waits for something that is on its way";
pub(super) const STORE_BUFFERING: &str = "store buffering: not both processors read the old value";

/// Vacuous where something else than the specification is checked: its one assertion.
const SPECIFICATION: usize = 1;

/// Vacuous with one concrete cache: two lemmas about pairs, with a left side and a count each.
const PAIRS: usize = 4;

/// What is known of a search.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// All states, so many, nothing wrong and nothing vacuous.
    Holds(u64),
    /// As `Holds`, but so many claims are vacuous, for a reason that is known.
    HoldsBut(u64, usize),
    /// As `HoldsBut`, if the lemmas hold that another row checks.
    HoldsGivenLemmas(u64, usize),
    /// What fails, and after how many steps.
    Fails(&'static str, usize),
    /// Too large to end; nothing is wrong as far as it goes.
    Unfinished,
}

impl Expected {
    /// How many claims are vacuous where nothing is wrong.
    pub(super) fn vacuous(self) -> usize {
        match self {
            Expected::HoldsBut(_, vacuous) | Expected::HoldsGivenLemmas(_, vacuous) => vacuous,
            Expected::Holds(_) | Expected::Fails(..) | Expected::Unfinished => 0,
        }
    }
}

/// A search, and what the paper says of it.
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
pub(super) fn rows(is_full: bool) -> Vec<Row> {
    use Expected::{Fails, Holds, HoldsBut, HoldsGivenLemmas, Unfinished};
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
            1 => "published model, none at all: no error",
            4..=6 => "published model: no error",
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
        ]);
    }
    rows
}
