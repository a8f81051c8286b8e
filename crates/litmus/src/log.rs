//! Logs: the results of many tests as text, as herd7 prints them; and reading such logs again, our
//! own, herd7's or litmus7's.
//!
//! Where herd7 counts executions (`Positive`, `Observation`), we count final states.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::answer::{Answer, Verdict};
use crate::test::{Observable, Proposition, Quantifier, Term, Test};

/// A final state as assignments, such as `0:EAX` to `1`, so that states of different tools can be
/// compared. Brackets around locations are left out.
pub type LoggedState = BTreeMap<String, String>;

/// The entry of a test in a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// The test's name.
    pub test: String,
    /// The model, where the log names one.
    pub model: Option<String>,
    /// The checksum that distinguishes tests with the same name, if the log has it.
    pub hash: Option<String>,
    /// The final states.
    pub states: BTreeSet<LoggedState>,
    /// `Ok`, `No` or `Undef`.
    pub verdict: Option<String>,
    /// `Never`, `Sometimes` or `Always`.
    pub observation: Option<String>,
    /// Whether the log says that the search was incomplete (`Loop`).
    pub is_cut: bool,
    /// Whether the log has fewer states than it claims: it is truncated.
    pub is_damaged: bool,
    /// Whether the states were seen on a processor, so that there may be others.
    pub is_sample: bool,
}

impl LogEntry {
    fn new(test: &str, model: Option<String>) -> Self {
        LogEntry {
            test: test.to_owned(),
            model,
            hash: None,
            states: BTreeSet::new(),
            verdict: None,
            observation: None,
            is_cut: false,
            is_damaged: false,
            is_sample: false,
        }
    }

    /// The entry of a log for this answer.
    pub fn of_answer(answer: &Answer<'_>) -> Self {
        let test = answer.test();
        let shown = answer
            .states
            .iter()
            .map(|state| test.format_state(&state.contents));
        LogEntry {
            hash: test.hash.clone(),
            states: shown.filter_map(|state| parse_state(&state)).collect(),
            verdict: Some(answer.verdict().name().to_owned()),
            observation: Some(answer.observation().name().to_owned()),
            is_cut: answer.cut().is_some(),
            ..LogEntry::new(&test.name, Some(answer.model().name().to_owned()))
        }
    }
}

/// The block of a log that herd7 prints for a test. `seconds` is the time taken.
pub fn block(answer: &Answer<'_>, seconds: f64) -> String {
    let test = answer.test();
    let kind = match test.quantifier {
        Quantifier::Exists | Quantifier::Observed => "Allowed",
        Quantifier::NotExists => "Forbidden",
        Quantifier::ForAll => "Required",
    };
    let mut text = format!(
        "Test {} {kind}\nStates {}\n",
        test.name,
        answer.states.len()
    );
    for state in &answer.states {
        text.push_str(&test.format_state(&state.contents));
        text.push('\n');
    }
    let cut = match answer.cut() {
        Some(_) => "Loop ",
        None => "",
    };
    let (positive, negative) = (answer.positive(), answer.negative());
    let verdict = answer.verdict().name();
    let observation = answer.observation().name();
    let name = &test.name;
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "{cut}{verdict}\nWitnesses\nPositive: {positive} Negative: {negative}\n\
         Condition {condition}\n\
         Observation {name} {observation} {positive} {negative}\n\
         Time {name} {seconds:.2}\n",
        condition = test.condition_text,
    );
    if let Some(hash) = &test.hash {
        let _ = writeln!(text, "Hash={hash}");
    }
    text.push('\n');
    text
}

/// Reads `0:EAX=0; [x]=1;`. `None` if it is no state.
pub fn parse_state(text: &str) -> Option<LoggedState> {
    let mut state = LoggedState::new();
    for assignment in text.split(';') {
        let assignment = assignment.trim();
        if assignment.is_empty() {
            continue;
        }
        let (name, value) = assignment.split_once('=')?;
        let name = name.trim();
        let name = name
            .strip_prefix('[')
            .and_then(|name| name.strip_suffix(']'))
            .unwrap_or(name);
        state.insert(name.to_owned(), decimal(value.trim()));
    }
    Some(state)
}

impl Test {
    /// The proposition that a final state has these contents.
    ///
    /// # Errors
    /// A name or a content that the test does not print.
    pub fn proposition_of(&self, state: &LoggedState) -> Result<Proposition, String> {
        let mut parts = Vec::new();
        for (name, content) in state {
            let bare = |printed: &str| {
                let inner = printed
                    .strip_prefix('[')
                    .and_then(|name| name.strip_suffix(']'));
                inner.unwrap_or(printed).to_owned()
            };
            let index = self
                .observed
                .iter()
                .position(|observable| match observable {
                    Observable::Register { name: printed, .. }
                    | Observable::Cell { name: printed, .. } => bare(printed) == *name,
                });
            let index = index.ok_or_else(|| name.clone())?;
            let mask = self.observed_width(&self.observed[index]).mask();
            let mut cells = self.cells.iter();
            let number = match content.parse::<u64>() {
                Ok(number) => Some(number),
                Err(_) => content.parse::<i64>().ok().map(|number| number as u64),
            };
            let number = number.or_else(|| {
                let cell = cells.find(|cell| cell.name == *content);
                cell.map(|cell| cell.address)
            });
            let number = number.ok_or_else(|| format!("{name}={content}"))?;
            parts.push(Proposition::Equal(
                Term::Observed(index),
                Term::Constant(number & mask),
            ));
        }
        Ok(Proposition::And(parts))
    }
}

/// A number as we print it; other tools can print it in hexadecimal.
fn decimal(value: &str) -> String {
    let digits = value
        .strip_prefix("0x")
        .or_else(|| value.strip_prefix("0X"));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map_or_else(|| value.to_owned(), |number| number.to_string())
}

/// Prints a state that was read.
pub fn show_logged(state: &LoggedState) -> String {
    let mut text = String::new();
    for (name, value) in state {
        let _ = write!(text, "{name}={value}; ");
    }
    text.trim_end().to_owned()
}

/// Reads a log. Lines that are of no interest are passed over, as the tools around herd7 do.
pub fn parse_log(text: &str) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    let mut model = None;
    let mut states_to_come = 0usize;
    for line in text.lines() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("Model ") {
            model = Some(name.trim().to_owned());
            continue;
        }
        if let Some(rest) = line.strip_prefix("Test ") {
            let name = rest.split_whitespace().next().unwrap_or("");
            entries.push(LogEntry::new(name, model.clone()));
            states_to_come = 0;
            continue;
        }
        let Some(entry) = entries.last_mut() else {
            continue;
        };
        if let Some(count) = line.strip_prefix("States ") {
            states_to_come = count.trim().parse().unwrap_or(0);
        } else if let Some(rest) = line.strip_prefix("Histogram (") {
            let count = rest.split_whitespace().next();
            states_to_come = count.and_then(|count| count.parse().ok()).unwrap_or(0);
            entry.is_sample = true;
        } else if states_to_come > 0 {
            states_to_come -= 1;
            entry.states.extend(parse_state(without_count(line)));
        } else if let Some(rest) = line.strip_prefix("Observation ") {
            entry.observation = rest.split_whitespace().nth(1).map(str::to_owned);
        } else if let Some(hash) = line.strip_prefix("Hash=") {
            // litmus7 copies the next test with its own after this one's results.
            entry.hash.get_or_insert_with(|| hash.trim().to_owned());
        } else {
            let (is_cut, verdict) = match line.strip_prefix("Loop ") {
                Some(verdict) => (true, verdict),
                None => (false, line),
            };
            let known = [Verdict::Ok, Verdict::No, Verdict::Undefined].map(Verdict::name);
            if known.contains(&verdict) {
                entry.verdict = Some(verdict.to_owned());
                entry.is_cut = is_cut;
            }
        }
    }
    if let Some(entry) = entries.last_mut() {
        entry.is_damaged = states_to_come > 0;
    }
    entries
}

/// litmus7 puts before a state how often it was seen: `22    *>0:EAX=0;`.
fn without_count(line: &str) -> &str {
    line.split_once('>').map_or(line, |(_, state)| state)
}

/// A difference between the result of a test and a log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// States that only we have.
    pub only_here: Vec<LoggedState>,
    /// States that only the log has.
    pub only_there: Vec<LoggedState>,
    /// Our verdict and the log's, if both have one and they differ.
    pub verdicts: Option<(String, String)>,
}

impl Difference {
    /// How two entries differ; `None` if they do not.
    pub fn between(here: &LogEntry, there: &LogEntry) -> Option<Difference> {
        let only = |one: &BTreeSet<LoggedState>, two: &BTreeSet<LoggedState>| {
            one.difference(two).cloned().collect()
        };
        let verdicts = match (&here.verdict, &there.verdict) {
            (Some(one), Some(two)) if one != two => Some((one.clone(), two.clone())),
            _ => None,
        };
        let difference = Difference {
            only_here: only(&here.states, &there.states),
            only_there: only(&there.states, &here.states),
            verdicts,
        };
        (difference != Difference::default()).then_some(difference)
    }

    /// Whether the two cannot both be right: one has a state that the other, which claims to have
    /// all, has not. What was not seen on a processor may be possible all the same.
    pub fn is_contradiction(&self, here: &LogEntry, there: &LogEntry) -> bool {
        match (here.is_sample, there.is_sample) {
            (false, false) => true,
            (false, true) => !here.is_cut && !self.only_there.is_empty(),
            (true, false) => !there.is_cut && !self.only_here.is_empty(),
            (true, true) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> LoggedState {
        parse_state(text).expect("a state")
    }

    #[test]
    fn a_log_of_herd_is_read() {
        let log = "Test SB Allowed\nStates 2\n0:EAX=0; 1:EAX=0;\n0:EAX=1; [x]=1;\nOk\nWitnesses\n\
                   Positive: 1 Negative: 3\nCondition exists (0:EAX=0)\n\
                   Observation SB Sometimes 1 3\nTime SB 0.01\nHash=abc\n\n\
                   Test LOOP Required\nStates 0\nLoop No\n";
        let entries = parse_log(log);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].test, "SB");
        let states = [state("0:EAX=0; 1:EAX=0;"), state("0:EAX=1; x=1;")];
        assert_eq!(entries[0].states, BTreeSet::from(states));
        assert_eq!(entries[0].verdict.as_deref(), Some("Ok"));
        assert_eq!(entries[0].observation.as_deref(), Some("Sometimes"));
        assert_eq!(entries[0].hash.as_deref(), Some("abc"));
        assert!(entries[1].is_cut && entries[1].verdict.as_deref() == Some("No"));
    }

    #[test]
    fn a_log_of_litmus_is_read() {
        let log = "Test SB Allowed\nHistogram (2 states)\n22    *>0:EAX=0; 1:EAX=0;\n\
                   499   :>0:EAX=1; 1:EAX=0;\nOk\n\nWitnesses\nPositive: 22, Negative: 499\n\
                   Condition exists (0:EAX=0 /\\ 1:EAX=0) is validated\n\
                   Observation SB Sometimes 22 499\n";
        let entries = parse_log(log);
        let states = [state("0:EAX=0; 1:EAX=0"), state("0:EAX=1; 1:EAX=0")];
        assert_eq!(entries[0].states, BTreeSet::from(states));
        assert_eq!(entries[0].verdict.as_deref(), Some("Ok"));
        assert!(entries[0].is_sample);
    }

    #[test]
    fn what_was_not_seen_is_no_contradiction() {
        let of = |states: &[&str], is_sample: bool| LogEntry {
            states: states.iter().map(|text| state(text)).collect(),
            is_sample,
            ..LogEntry::new("T", None)
        };
        let contradicts = |here: &LogEntry, there: &LogEntry| {
            let difference = Difference::between(here, there).expect("they differ");
            difference.is_contradiction(here, there)
        };
        let (two, one) = (["x=1", "x=2"], ["x=1"]);
        assert!(contradicts(&of(&two, false), &of(&one, false)));
        // The processor has not shown a state that the model allows.
        assert!(!contradicts(&of(&two, false), &of(&one, true)));
        assert!(!contradicts(&of(&one, true), &of(&two, false)));
        // The processor has shown a state that the model forbids.
        assert!(contradicts(&of(&one, false), &of(&two, true)));
        assert!(contradicts(&of(&two, true), &of(&one, false)));
        assert!(!contradicts(&of(&two, true), &of(&one, true)));
        // The model's search has not ended.
        let cut = LogEntry {
            is_cut: true,
            ..of(&one, false)
        };
        assert!(!contradicts(&cut, &of(&two, true)));
    }

    #[test]
    fn entries_differ_by_states_and_verdicts() {
        let of = |states: &[&str], verdict: &str| LogEntry {
            states: states.iter().map(|text| state(text)).collect(),
            verdict: Some(verdict.to_owned()),
            ..LogEntry::new("T", None)
        };
        assert_eq!(
            Difference::between(&of(&["x=1"], "Ok"), &of(&["[x]=1;"], "Ok")),
            None
        );
        let difference =
            Difference::between(&of(&["x=1", "x=2"], "Ok"), &of(&["x=1", "x=3"], "No"));
        let difference = difference.expect("they differ");
        assert_eq!(difference.only_here, [state("x=2")]);
        assert_eq!(difference.only_there, [state("x=3")]);
        assert_eq!(
            difference.verdicts,
            Some(("Ok".to_owned(), "No".to_owned()))
        );
    }
}
