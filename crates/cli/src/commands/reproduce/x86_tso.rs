//! Section A.9 of x86-TSO: what the paper says of its 24 litmus tests, and what we find.
//!
//! The column of x86-CC is quoted, not computed: the paper names that model's results, and refers to another paper
//! for its definition (views of memory per processor, and an interpretation of causality), of which it gives too
//! little to run.

use std::io::Write;

use fencepost_litmus::answer::{Observation, Options, answer};
use fencepost_litmus::{Limits, machine, parse};
use fencepost_memory::MemoryModel;
use fencepost_report::columns::aligned;
use fencepost_report::style::{DIM, HEADING, Styled};
use serde_json::json;

use super::Differences;
use crate::args::X86TsoArguments;
use crate::exit::Failure;

/// A line of the table.
struct PaperTest {
    /// As the paper has it, with its other name.
    name: &'static str,
    source: &'static str,
    cc: &'static str,
    tso: &'static str,
    hardware: &'static str,
}

macro_rules! paper_tests {
    ($($name:literal, $file:literal, $cc:literal, $tso:literal, $hardware:literal;)*) => {
        [$(PaperTest {
            name: $name,
            source: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../litmus/x86-tso/", $file, ".litmus"
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

/// Prints the table. Every test is found by the machine and by the axioms, and every witness checked.
pub(super) fn run(
    arguments: &X86TsoArguments,
    output: &mut impl Write,
) -> Result<Differences, Failure> {
    let mut differences = Differences::default();
    let mut rows = vec![
        [
            "test",
            "SC",
            "x86-TSO",
            "PSO",
            "paper: x86-TSO",
            "x86-CC",
            "seen of 200,000",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    for paper in &TESTS {
        let models = [MemoryModel::SC, MemoryModel::TSO, MemoryModel::PSO];
        let mut found = Vec::new();
        for model in &models {
            found.push(verdict(paper, model)?);
        }
        if found[1] != paper.tso {
            let (name, ours, theirs) = (paper.name, found[1], paper.tso);
            differences
                .wrong
                .push(format!("{name}: {ours}, in the paper {theirs}"));
        }
        if arguments.json {
            let line = json!({
                "schema": "fencepost-reproduce-x86-tso/1",
                "test": paper.name,
                "sc": found[0],
                "tso": found[1],
                "pso": found[2],
                "paper_tso": paper.tso,
                "paper_cc": paper.cc,
                "paper_observed_of_200000": paper.hardware.parse::<u32>().ok(),
                "agrees": found[1] == paper.tso,
            });
            writeln!(output, "{line}")?;
        }
        let cells = [
            paper.name,
            found[0],
            found[1],
            found[2],
            paper.tso,
            paper.cc,
            paper.hardware,
        ];
        rows.push(cells.map(str::to_owned).to_vec());
    }
    if !arguments.json {
        let mut lines = aligned(&rows, "").into_iter();
        if let Some(heading) = lines.next() {
            writeln!(output, "{}", Styled(HEADING, heading))?;
        }
        for line in lines {
            writeln!(output, "{line}")?;
        }
        let agreeing = TESTS.len() - differences.wrong.len();
        let note = "SC, x86-TSO and PSO are found by the machine and by the axioms; the rest is quoted from the paper. The \
                    paper does not define x86-CC.";
        writeln!(output, "\n{agreeing} of {} as in the paper", TESTS.len())?;
        writeln!(output, "{}", Styled(DIM, note))?;
    }
    Ok(differences)
}

fn verdict(paper: &PaperTest, model: &MemoryModel) -> Result<&'static str, Failure> {
    let internal = |what: String| Failure::Internal(format!("error: {}: {what}", paper.name));
    let test = parse(paper.source.as_bytes(), &Limits::default())
        .map_err(|error| internal(error.render(paper.name)))?;
    let options = Options {
        limits: machine::Limits::default(),
        cross_check: true,
    };
    let answer = answer(&test, model, &options).map_err(|error| internal(error.to_string()))?;
    if !answer.is_cross_checked {
        return Err(internal("the axioms did not come to an end".into()));
    }
    // The paper's `Require` is about all executions, the others about one.
    let is_required = test.condition_text.starts_with("forall");
    Ok(match answer.observation() {
        Observation::Always if is_required => "Require",
        Observation::Never => "Forbid",
        Observation::Always | Observation::Sometimes => "Allow",
        Observation::Undefined => return Err(internal("it was cut short".into())),
    })
}
