//! Section A.9 of x86-TSO: the verdicts of 24 litmus tests.
//!
//! The column of x86-CC is quoted, not computed: the paper names that model's results, and refers
//! to another paper for its definition (views of memory per processor, and an interpretation of
//! causality), of which it gives too little to run.

use fencepost_litmus::answer::{Observation, Options, answer};
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;
use fencepost_report::style::{DIM, Styled};
use serde_json::json;

use super::{Comparison, Output, ReproduceError, Table};

/// A litmus test of the paper, with the paper's verdicts.
struct PaperTest {
    /// The paper's name; after a slash, the name in the vendor's manual.
    name: &'static str,
    source: &'static str,
    /// The verdict of x86-CC.
    cc: &'static str,
    /// The verdict of x86-TSO.
    tso: &'static str,
    /// The runs on hardware, of 200,000, that had the final state.
    hardware: &'static str,
}

macro_rules! paper_tests {
    ($($name:literal, $file:literal, $cc:literal, $tso:literal, $hardware:literal;)*) => {
        [$(PaperTest {
            name: $name,
            source: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/litmus/", $file, ".litmus"
            )),
            cc: $cc,
            tso: $tso,
            hardware: $hardware,
        }),*]
    };
}

const TESTS: [PaperTest; 24] = paper_tests! {
    "amd10", "amd10", "Allow", "Forbid", "0";
    "amd3", "amd3", "Allow", "Allow", "0";
    "amd5", "amd5", "Allow", "Forbid", "0";
    "amd6", "amd6", "Allow", "Forbid", "0";
    "iwp2.1/amd1", "iwp2.1", "Forbid", "Forbid", "0";
    "iwp2.2/amd2", "iwp2.2", "Forbid", "Forbid", "0";
    "iwp2.3.a/amd4", "iwp2.3.a", "Allow", "Allow", "46";
    "iwp2.3.b", "iwp2.3.b", "Require", "Require", "200000";
    "iwp2.4/amd9", "iwp2.4", "Allow", "Allow", "193";
    "iwp2.5/amd8", "iwp2.5", "Forbid", "Forbid", "0";
    "iwp2.6", "iwp2.6", "Forbid", "Forbid", "0";
    "iwp2.7/amd7", "iwp2.7", "Forbid", "Forbid", "0";
    "iwp2.8.a", "iwp2.8.a", "Forbid", "Forbid", "0";
    "iwp2.8.b", "iwp2.8.b", "Forbid", "Forbid", "0";
    "n1", "n1", "Allow", "Allow", "0";
    "n2", "n2", "Forbid", "Forbid", "0";
    "n3", "n3", "Allow", "Forbid", "0";
    "n4", "n4", "Forbid", "Forbid", "0";
    "n5", "n5", "Forbid", "Forbid", "0";
    "n6", "n6", "Forbid", "Allow", "9";
    "n7", "n7", "Allow", "Allow", "0";
    "n8", "n8", "Allow", "Allow", "130832";
    "rcw-fenced", "rcw-fenced", "Allow", "Forbid", "0";
    "rcw-unfenced", "rcw-unfenced", "Allow", "Allow", "0";
};

const HEADER: [&str; 7] = [
    "test",
    "SC",
    "x86-TSO",
    "PSO",
    "paper: x86-TSO",
    "x86-CC",
    "seen of 200,000",
];

const NOTE: &str = "Our verdicts under SC, x86-TSO and PSO come from the machine and from the axioms; the other columns are \
    quoted from the paper, which does not define x86-CC.";

/// Computes the table. The machine and the axioms both answer every test, and every witness is
/// checked.
pub fn reproduce(output: &mut Output<'_>) -> Result<Comparison, ReproduceError> {
    let mut table = Table::new(false, &HEADER);
    let mut comparison = Comparison::default();
    for paper in &TESTS {
        let verdicts = Verdicts::of(paper)?;
        if verdicts.tso != paper.tso {
            comparison.contradictions.push(format!(
                "{}: {}, in the paper {}",
                paper.name, verdicts.tso, paper.tso
            ));
        }
        output.row(|| json(paper, &verdicts))?;
        table.rows.push(cells(paper, &verdicts));
    }
    if !output.is_json {
        output.table(&table)?;
        let agreeing = TESTS.len() - comparison.contradictions.len();
        let total = TESTS.len();
        writeln!(output.results, "\n{agreeing} of {total} as in the paper")?;
        writeln!(output.results, "{}", Styled(DIM, NOTE))?;
    }
    Ok(comparison)
}

/// Our verdicts, in the paper's words: `Allow`, `Forbid` or `Require`.
struct Verdicts {
    sc: &'static str,
    tso: &'static str,
    pso: &'static str,
}

impl Verdicts {
    fn of(paper: &PaperTest) -> Result<Self, ReproduceError> {
        Ok(Verdicts {
            sc: verdict(paper, &MemoryModel::SC)?,
            tso: verdict(paper, &MemoryModel::TSO)?,
            pso: verdict(paper, &MemoryModel::PSO)?,
        })
    }
}

fn verdict(paper: &PaperTest, model: &MemoryModel) -> Result<&'static str, ReproduceError> {
    let test = parse(paper.source.as_bytes(), &Limits::default())
        .map_err(|error| ReproduceError::internal(paper.name, error.render(paper.name)))?;
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: true,
    };
    let answer = answer(&test, model, &options)
        .map_err(|error| ReproduceError::internal(paper.name, error))?;
    if !answer.is_cross_checked {
        let message = "the enumeration of the axioms did not finish";
        return Err(ReproduceError::internal(paper.name, message));
    }
    // The paper's `Require` is about all executions, the others about one.
    let is_required = test.condition_text.starts_with("forall");
    match answer.observation() {
        Observation::Always if is_required => Ok("Require"),
        Observation::Never => Ok("Forbid"),
        Observation::Always | Observation::Sometimes => Ok("Allow"),
        Observation::Undefined => {
            let message = "the search for final states did not finish";
            Err(ReproduceError::internal(paper.name, message))
        }
    }
}

fn cells(paper: &PaperTest, verdicts: &Verdicts) -> Vec<String> {
    let cells = [
        paper.name,
        verdicts.sc,
        verdicts.tso,
        verdicts.pso,
        paper.tso,
        paper.cc,
        paper.hardware,
    ];
    cells.map(str::to_owned).to_vec()
}

fn json(paper: &PaperTest, verdicts: &Verdicts) -> serde_json::Value {
    json!({
        "schema": "fencepost-reproduce-x86-tso/1",
        "test": paper.name,
        "sc": verdicts.sc,
        "tso": verdicts.tso,
        "pso": verdicts.pso,
        "paper_tso": paper.tso,
        "paper_cc": paper.cc,
        "paper_observed_of_200000": paper.hardware.parse::<u32>().ok(),
        "agrees": verdicts.tso == paper.tso,
    })
}
