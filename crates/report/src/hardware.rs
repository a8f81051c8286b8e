//! Runs of litmus tests on the processor: the log, as litmus7 writes it, and what the model says to
//! it.

use std::fmt::Write as _;
use std::time::Duration;

use fencepost_hardware::{Ending, Machine, NotHere, Record, Refusal};
use fencepost_litmus::answer::{Observation, Verdict};
use fencepost_litmus::log::{LogEntry, parse_state};
use fencepost_litmus::test::{Quantifier, Test};
use fencepost_memory::MemoryModel;

use crate::style::{Styled, VIOLATION};
use crate::text::{counted, grouped};

/// How many states that were not seen are listed.
const LISTED: usize = 8;

/// What a model says to what was seen.
#[derive(Clone, Debug)]
pub struct ModelComparison {
    /// The model.
    pub model: MemoryModel,
    /// How many states it allows.
    pub allowed: usize,
    /// Whether these are all.
    pub is_complete: bool,
    /// Allowed states that were not seen.
    pub not_seen: Vec<Vec<u64>>,
    /// States that were seen and are not allowed, and how often.
    pub not_allowed: Vec<(Vec<u64>, u64)>,
}

impl ModelComparison {
    /// Whether something was seen that the model forbids.
    pub fn is_contradiction(&self) -> bool {
        self.is_complete && !self.not_allowed.is_empty()
    }
}

/// What became of a test.
#[derive(Clone, Debug)]
pub struct TestRun<'a> {
    /// The file, as it was given.
    pub file: &'a str,
    /// The test.
    pub test: &'a Test,
    /// What was seen.
    pub record: &'a Record,
    /// How the last run ended.
    pub ending: &'a Ending,
    /// What the models say.
    pub models: &'a [ModelComparison],
}

impl TestRun<'_> {
    /// How often the condition held, and how often not.
    pub fn counts(&self) -> (u64, u64) {
        let mut counts = (0, 0);
        for (state, seen) in &self.record.states {
            match self.test.condition.holds(state) {
                true => counts.0 += seen.count,
                false => counts.1 += seen.count,
            }
        }
        counts
    }

    /// The verdict on what was seen, as litmus7 has it.
    pub fn verdict(&self) -> Verdict {
        let is_ok = match (self.test.quantifier, self.counts()) {
            (_, (0, 0)) => return Verdict::Undefined,
            (Quantifier::Exists | Quantifier::Observed, (positive, _)) => positive > 0,
            (Quantifier::NotExists, (positive, _)) => positive == 0,
            (Quantifier::ForAll, (_, negative)) => negative == 0,
        };
        if is_ok { Verdict::Ok } else { Verdict::No }
    }

    /// How often the condition held.
    pub fn observation(&self) -> Observation {
        match self.counts() {
            (0, 0) => Observation::Undefined,
            (0, _) => Observation::Never,
            (_, 0) => Observation::Always,
            _ => Observation::Sometimes,
        }
    }

    /// Whether a thread faulted although no model that was searched to its end has a fault.
    pub fn is_forbidden_fault(&self) -> bool {
        let is_complete = self.models.iter().all(|comparison| comparison.is_complete);
        matches!(
            self.ending,
            Ending::Fault {
                instruction: Some(_),
                ..
            }
        ) && is_complete
    }

    /// Whether the processor did what a model forbids.
    pub fn is_contradiction(&self) -> bool {
        self.models.iter().any(ModelComparison::is_contradiction) || self.is_forbidden_fault()
    }

    /// The entry of a log.
    pub fn log_entry(&self) -> LogEntry {
        let states = self.record.states.keys();
        let shown = states.map(|state| self.test.format_state(state));
        LogEntry {
            test: self.test.name.clone(),
            model: None,
            hash: self.test.hash.clone(),
            states: shown.filter_map(|state| parse_state(&state)).collect(),
            verdict: Some(self.verdict().name().to_owned()),
            observation: Some(self.observation().name().to_owned()),
            is_cut: false,
            is_damaged: false,
            is_sample: true,
        }
    }
}

/// The block of a log for a test. Lines that litmus7 does not have come after its own.
pub fn block(run: &TestRun<'_>, with_parameters: bool) -> String {
    let TestRun { test, record, .. } = run;
    let (kind, condition_holds) = match test.quantifier {
        Quantifier::Exists | Quantifier::Observed => ("Allowed", run.verdict() == Verdict::Ok),
        Quantifier::NotExists => ("Forbidden", run.verdict() == Verdict::Ok),
        Quantifier::ForAll => ("Required", run.verdict() == Verdict::Ok),
    };
    let name = &test.name;
    let mut text = format!(
        "Test {name} {kind}\nHistogram ({} states)\n",
        record.states.len()
    );
    for (state, seen) in &record.states {
        let mark = if test.condition.holds(state) {
            '*'
        } else {
            ':'
        };
        let _ = writeln!(text, "{:<6}{mark}>{}", seen.count, test.format_state(state));
    }
    let (positive, negative) = run.counts();
    let validated = if condition_holds {
        "is validated"
    } else {
        "is NOT validated"
    };
    let _ = write!(
        text,
        "{}\n\nWitnesses\nPositive: {positive}, Negative: {negative}\nCondition {} {validated}\n",
        run.verdict().name(),
        test.condition_text,
    );
    if let Some(hash) = &test.hash {
        let _ = writeln!(text, "Hash={hash}");
    }
    let _ = writeln!(
        text,
        "Observation {name} {} {positive} {negative}\nTime {name} {:.2}",
        run.observation().name(),
        record.time.as_secs_f64(),
    );
    if with_parameters && let Some(parameters) = record.parameters() {
        let _ = writeln!(text, "Parameters {name} {parameters}");
    }
    for comparison in run.models {
        text += &comparison_text(test, comparison);
    }
    if record.executions == 0 && record.skipped > 0 {
        let _ = writeln!(
            text,
            "Nothing seen: in each of {} a thread was late, as on a busy machine; raise --run-time",
            counted(record.skipped, "instance")
        );
    }
    if record.not_kept > 0 {
        let _ = writeln!(
            text,
            "Not counted: {} with further states; only so many different ones are kept",
            counted(record.not_kept, "execution")
        );
    }
    text.push('\n');
    text
}

fn comparison_text(test: &Test, comparison: &ModelComparison) -> String {
    let ModelComparison {
        allowed, not_seen, ..
    } = comparison;
    let model = comparison.model.name();
    let mut text = String::new();
    for (state, count) in &comparison.not_allowed {
        let times = if *count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", grouped(*count))
        };
        let state = test.format_state(state);
        let _ = match comparison.is_complete {
            true => writeln!(
                text,
                "{}, seen {times}: {state}",
                Styled(VIOLATION, format!("FORBIDDEN by {model}"))
            ),
            false => writeln!(
                text,
                "Not found under {model}, whose search is incomplete, and seen {times}: {state}"
            ),
        };
    }
    let mut states = counted(*allowed as u64, "state");
    if !comparison.is_complete {
        states = format!("at least {states}");
    }
    let _ = match not_seen.len() {
        0 if *allowed == 0 => {
            let found = if comparison.is_complete {
                ""
            } else {
                " was found"
            };
            writeln!(text, "Allowed by {model}: no final state{found}")
        }
        0 => writeln!(text, "Allowed by {model}: {states}, all seen"),
        missing => writeln!(
            text,
            "Allowed by {model}: {states}, {missing} of them not seen"
        ),
    };
    for state in not_seen.iter().take(LISTED) {
        let _ = writeln!(text, "  not seen: {}", test.format_state(state));
    }
    if not_seen.len() > LISTED {
        let _ = writeln!(
            text,
            "  and {} more",
            grouped((not_seen.len() - LISTED) as u64)
        );
    }
    text
}

/// The machine, for the end of a log.
pub fn machine(machine: &Machine, seed: u64) -> String {
    format!("Machine: {machine}\nSeed: {seed}\n")
}

/// How a run ended, if not as it should: a message for standard error.
pub fn ending(run: &TestRun<'_>) -> Option<String> {
    let (file, name) = (run.file, &run.test.name);
    let what = match run.ending {
        Ending::Completed | Ending::Stopped => return None,
        Ending::Fault {
            name: signal,
            address,
            instruction,
            ..
        } => {
            let mut text = match instruction {
                Some((thread, instruction)) => {
                    let thread = &run.test.threads[*thread];
                    let instruction = &thread.instructions[*instruction];
                    format!(
                        "`{}` of P{} (line {}) ended in {signal}",
                        instruction.text, thread.number, instruction.position.line
                    )
                }
                None => format!("a thread ended in {signal}"),
            };
            if let Some(address) = address {
                let _ = write!(text, " at address {address:#x}");
            }
            if run.is_forbidden_fault() {
                text += ", which the model does not allow";
            }
            text
        }
        Ending::NoEnd { after } => format!(
            "it did not end: nothing happened for {:.1} s",
            after.as_secs_f64()
        ),
        Ending::Killed { signal } => format!("its process was killed by signal {signal}"),
        Ending::Failed { what } => format!("its process could not {what}"),
        _ => "it ended for a reason that this version does not know".to_owned(),
    };
    let seen = match run.record.executions {
        0 => "nothing was seen before".to_owned(),
        1 => "1 execution was seen before".to_owned(),
        count => format!("{} were seen before", counted(count, "execution")),
    };
    let level = if run.is_forbidden_fault() {
        "error"
    } else {
        "warning"
    };
    Some(format!(
        "{level}: {file}: {name} on the processor: {what}; {seen}"
    ))
}

/// Why a test was not run.
pub fn refusal(file: &str, test: &Test, refusal: &Refusal) -> String {
    let name = &test.name;
    match refusal {
        Refusal::NoSuchInstruction {
            thread,
            instruction,
            why,
        } => {
            let thread = &test.threads[*thread];
            let place = &thread.instructions[*instruction];
            format!(
                "error: {file}: {name} cannot be run: the processor has no instruction `{}` (P{}, line {}): {why}",
                place.text, thread.number, place.position.line
            )
        }
        Refusal::TooManyRegisters { thread } => format!(
            "error: {file}: {name} cannot be run: P{} uses more than the 16 registers of the processor",
            test.threads[*thread].number
        ),
        other => format!("error: {file}: {name} cannot be run: {other}"),
    }
}

/// Why nothing can be run here.
pub fn not_here(reason: &NotHere) -> String {
    let help = match reason {
        NotHere::Platform { .. } => {
            "without --run, the command answers what the model allows on any machine"
        }
        NotHere::Counter => "run it where /proc/cpuinfo lists `constant_tsc`",
        _ => "without --run, the command answers what the model allows",
    };
    format!("error: {reason}\nhelp: {help}")
}

/// What all tests came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunTotals {
    /// Tests that were run.
    pub tests: u64,
    /// Tests whose allowed states were all seen.
    pub all_seen: u64,
    /// Tests with allowed states that were not seen.
    pub some_not_seen: u64,
    /// Tests with what a model forbids.
    pub contradictions: u64,
    /// Tests whose runs ended early.
    pub ended_early: u64,
    /// Tests that could not be run.
    pub refused: u64,
    /// Executions.
    pub executions: u64,
}

/// The summary, for standard error.
pub fn totals(totals: &RunTotals, time: Duration) -> String {
    let mut text = format!(
        "{} on the processor, {} in {:.1} s\n  all allowed states seen: {}; some not seen: {}; ",
        counted(totals.tests, "test"),
        counted(totals.executions, "execution"),
        time.as_secs_f64(),
        grouped(totals.all_seen),
        grouped(totals.some_not_seen),
    );
    match totals.contradictions {
        0 => text += "nothing forbidden was seen",
        count => {
            let _ = write!(
                text,
                "{}: {}",
                Styled(VIOLATION, "forbidden states seen"),
                counted(count, "test")
            );
        }
    }
    for (count, what) in [
        (totals.ended_early, "ended early"),
        (totals.refused, "cannot be run"),
    ] {
        if count > 0 {
            let _ = write!(text, "; {}: {}", what, grouped(count));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_hardware::Seen;
    use fencepost_litmus::log::parse_log;
    use fencepost_litmus::{Limits, parse};

    fn test(condition: &str) -> Test {
        let source = format!(
            "X86 SB\nHash=abc\n{{ }}\n P0 | P1 ;\n MOV [x],$1 | MOV [y],$1 ;\n MOV EAX,[y] | MOV EAX,[x] ;\n{condition}"
        );
        parse(source.as_bytes(), &Limits::default())
            .unwrap_or_else(|error| panic!("{}", error.render("test")))
    }

    fn record(counts: &[([u64; 2], u64)]) -> Record {
        let mut record = Record::default();
        for (state, count) in counts {
            let seen = Seen {
                count: *count,
                first: Duration::ZERO,
            };
            record.states.insert(state.to_vec(), seen);
            record.executions += count;
        }
        record
    }

    fn comparison(not_seen: &[[u64; 2]], not_allowed: &[([u64; 2], u64)]) -> ModelComparison {
        ModelComparison {
            model: MemoryModel::TSO,
            allowed: 4,
            is_complete: true,
            not_seen: not_seen.iter().map(|state| state.to_vec()).collect(),
            not_allowed: not_allowed
                .iter()
                .map(|(state, count)| (state.to_vec(), *count))
                .collect(),
        }
    }

    #[test]
    fn a_block_is_as_litmus_writes_it() {
        let test = test("exists (0:EAX=0 /\\ 1:EAX=0)");
        let record = record(&[([0, 0], 22), ([1, 0], 1_234_567)]);
        let models = [comparison(&[[0, 1], [1, 1]], &[])];
        let run = TestRun {
            file: "SB.litmus",
            test: &test,
            record: &record,
            ending: &Ending::Completed,
            models: &models,
        };
        let hash = test.hash.clone().expect("herd7 reads it");
        assert_eq!(
            block(&run, false).replace(&hash, "HASH"),
            "Test SB Allowed\nHistogram (2 states)\n22    *>0:EAX=0; 1:EAX=0;\n1234567:>0:EAX=1; 1:EAX=0;\nOk\n\n\
             Witnesses\nPositive: 22, Negative: 1234567\nCondition exists (0:EAX=0 /\\ 1:EAX=0) is validated\n\
             Hash=HASH\nObservation SB Sometimes 22 1234567\nTime SB 0.00\n\
             Allowed by tso: 4 states, 2 of them not seen\n  not seen: 0:EAX=0; 1:EAX=1;\n  not seen: 0:EAX=1; 1:EAX=1;\n\n"
        );
        let entries = parse_log(&block(&run, true));
        assert_eq!(entries, [run.log_entry()]);
        assert_eq!(ending(&run), None);
        assert!(!run.is_contradiction());
    }

    #[test]
    fn what_is_forbidden_stands_out() {
        let test = test("~exists (0:EAX=0 /\\ 1:EAX=0)");
        let record = record(&[([0, 0], 3)]);
        let mut models = [comparison(&[], &[([0, 0], 3)])];
        let run = TestRun {
            file: "SB.litmus",
            test: &test,
            record: &record,
            ending: &Ending::Completed,
            models: &models,
        };
        let text = anstream::adapter::strip_str(&block(&run, false)).to_string();
        assert!(text.contains("Test SB Forbidden"), "{text}");
        assert!(text.contains("\nNo\n"), "{text}");
        assert!(
            text.contains("\nFORBIDDEN by tso, seen 3 times: 0:EAX=0; 1:EAX=0;\n"),
            "{text}"
        );
        assert!(run.is_contradiction());
        // An incomplete search forbids nothing.
        models[0].is_complete = false;
        let run = TestRun {
            models: &models,
            file: "SB.litmus",
            test: &test,
            record: &record,
            ending: &Ending::Completed,
        };
        assert!(!run.is_contradiction());
        assert!(block(&run, false).contains("whose search is incomplete"));
        assert!(block(&run, false).contains("\nAllowed by tso: at least 4 states, all seen\n"));
    }

    #[test]
    fn a_model_without_final_states_has_not_shown_all() {
        let mut model = comparison(&[], &[]);
        model.allowed = 0;
        let test = test("");
        assert_eq!(
            comparison_text(&test, &model),
            "Allowed by tso: no final state\n"
        );
        model.is_complete = false;
        assert_eq!(
            comparison_text(&test, &model),
            "Allowed by tso: no final state was found\n"
        );
    }

    #[test]
    fn a_run_without_an_execution_says_why() {
        let test = test("");
        let mut record = Record::default();
        record.skipped = 2000;
        let run = TestRun {
            file: "SB.litmus",
            test: &test,
            record: &record,
            ending: &Ending::Completed,
            models: &[],
        };
        let text = block(&run, false);
        assert!(
            text.contains("\nNothing seen: in each of 2,000 instances a thread was late"),
            "{text}"
        );
    }

    #[test]
    fn endings_are_named() {
        let test = test("");
        let record = record(&[([0, 0], 1)]);
        let say = |ending: Ending| {
            let run = TestRun {
                file: "t.litmus",
                test: &test,
                record: &record,
                ending: &ending,
                models: &[],
            };
            super::ending(&run).unwrap_or_default()
        };
        let fault = Ending::Fault {
            signal: 11,
            name: "SIGSEGV",
            address: Some(0x10),
            instruction: Some((1, 0)),
        };
        assert_eq!(
            say(fault),
            "error: t.litmus: SB on the processor: `MOV [y],$1` of P1 (line 5) ended in SIGSEGV at address 0x10, \
             which the model does not allow; 1 execution was seen before"
        );
        assert_eq!(
            say(Ending::NoEnd {
                after: Duration::from_millis(1500)
            }),
            "warning: t.litmus: SB on the processor: it did not end: nothing happened for 1.5 s; 1 execution was seen before"
        );
        assert!(say(Ending::Killed { signal: 9 }).contains("was killed by signal 9"));
        assert!(
            say(Ending::Failed {
                what: "start its threads"
            })
            .contains("could not start its threads")
        );
    }
}
