//! Comparing with an earlier log.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::path::Path;

use fencepost_litmus::log::{Difference, LogEntry, parse_log, show_logged};
use fencepost_memory::MemoryModel;
use fencepost_report::json::litmus::{self as json, Explained, read_line};

use crate::exit::Failure;
use crate::files;

/// The most bytes of a log.
const LARGEST_LOG: u64 = 1 << 30;

/// Text and JSON on the states that only one side has.
#[derive(Default)]
pub struct Explanation {
    pub text: String,
    pub objects: Explained,
}

/// How a result of ours and the log came to what differs.
pub type Explain<'e> = &'e dyn Fn(&LogEntry, &Difference) -> Result<Explanation, Failure>;

/// A test, and a model where there is one.
type Key = (String, Option<String>);

/// An earlier log, and the differences from it so far.
pub struct Comparison {
    path: String,
    /// By test, and by model where the log names one. Tests with the same name are distinguished by their
    /// checksums, or compared in order.
    entries: BTreeMap<Key, VecDeque<LogEntry>>,
    /// The models that were asked for.
    models: Vec<String>,
    compared: usize,
    different: usize,
    /// Tests whose only difference is that one side has not seen all that there may be.
    unseen: usize,
    not_in_log: usize,
    seen: std::collections::BTreeSet<String>,
}

impl Comparison {
    /// Reads a log, to compare it with what these models allow or a processor does.
    pub fn read(path: &Path, models: &[MemoryModel]) -> Result<Self, Failure> {
        let bad = |what: String| Failure::BadInput(format!("error: {}: {what}", path.display()));
        let bytes = files::read_up_to(path, LARGEST_LOG).map_err(|error| bad(error.to_string()))?;
        if bytes.len() as u64 > LARGEST_LOG {
            return Err(bad("the log is larger than 1 GiB".into()));
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut entries = parse_log(&text);
        // litmus7 copies tests into its log, with their `{ x=1; }`.
        for line in text
            .lines()
            .filter(|line| line.trim_start().starts_with("{\""))
        {
            entries.extend(Some(read_line(line).ok_or_else(|| {
                bad("a line of JSON is not a result; the log may be truncated".into())
            })?));
        }
        if let Some(damaged) = entries.iter().find(|entry| entry.is_damaged) {
            return Err(bad(format!(
                "the log ends in the middle of `{}`",
                damaged.test
            )));
        }
        if entries.is_empty() {
            return Err(bad(
                "there are no results in the log\n  = help: a log is the output of `fencepost litmus`, herd7 or litmus7"
                    .into(),
            ));
        }
        let mut keyed: BTreeMap<_, VecDeque<_>> = BTreeMap::new();
        for entry in entries {
            let key = (entry.test.clone(), entry.model.clone());
            keyed.entry(key).or_default().push_back(entry);
        }
        Ok(Comparison {
            path: path.display().to_string(),
            entries: keyed,
            models: models.iter().map(|model| model.name().to_owned()).collect(),
            compared: 0,
            different: 0,
            unseen: 0,
            not_in_log: 0,
            seen: Default::default(),
        })
    }

    /// Compares the results of a file, and returns whether one contradicts the log.
    pub fn take<'e>(
        &mut self,
        entries: impl IntoIterator<Item = &'e LogEntry>,
        explain: Explain<'_>,
        is_json: bool,
        output: &mut impl Write,
    ) -> Result<bool, Failure> {
        let mut is_different = false;
        for here in entries {
            let keys = self.keys_of(here);
            self.not_in_log += usize::from(keys.is_empty());
            for key in keys {
                let Some(there) = self
                    .entries
                    .get_mut(&key)
                    .and_then(|entries| next_of(entries, here.hash.as_deref()))
                else {
                    self.not_in_log += 1;
                    continue;
                };
                self.seen.insert(here.test.clone());
                self.compared += 1;
                let Some(difference) = Difference::between(here, &there) else {
                    continue;
                };
                let is_contradiction = difference.is_contradiction(here, &there);
                is_different |= is_contradiction;
                self.different += usize::from(is_contradiction);
                self.unseen += usize::from(!is_contradiction);
                let explanation = explain(here, &difference)?;
                if is_json {
                    let mut named = here.clone();
                    named.model = here.model.clone().or_else(|| there.model.clone());
                    let object = json::difference(
                        &named,
                        &difference,
                        &self.path,
                        is_contradiction,
                        &explanation.objects,
                    );
                    writeln!(output, "{object}")?;
                } else {
                    print(here, &there, &difference, &self.path, output)?;
                    if !explanation.text.is_empty() {
                        write!(output, "\n{}", explanation.text)?;
                    }
                }
            }
        }
        Ok(is_different)
    }

    /// The entries that a result is compared with: that of its model, or one without a model. What a
    /// processor did is compared with each model that was asked for.
    fn keys_of(&self, here: &LogEntry) -> Vec<Key> {
        let key = |model: Option<&String>| (here.test.clone(), model.cloned());
        let is_there = |key: &Key| self.entries.contains_key(key);
        let one = [key(here.model.as_ref()), key(None)]
            .into_iter()
            .find(is_there);
        match (one, &here.model) {
            (Some(one), _) => vec![one],
            (None, Some(_)) => Vec::new(),
            (None, None) => {
                let all = self.models.iter().map(|model| key(Some(model)));
                all.filter(is_there).collect()
            }
        }
    }

    /// Prints the totals. Returns whether nothing was compared, which counts as a difference.
    pub fn finish(&self, is_json: bool, output: &mut impl Write) -> std::io::Result<bool> {
        let tests = self.entries.keys().map(|(test, _)| test);
        let not_run = tests.filter(|test| !self.seen.contains(*test)).count();
        if is_json {
            let totals = [
                self.compared,
                self.different,
                self.unseen,
                self.not_in_log,
                not_run,
            ];
            writeln!(output, "{}", json::comparison(&self.path, totals))?;
            return Ok(self.compared == 0);
        }
        writeln!(
            output,
            "{} compared with {}: {} differ; {} not in the log, {} only in the log",
            self.compared, self.path, self.different, self.not_in_log, not_run
        )?;
        if self.unseen > 0 {
            writeln!(
                output,
                "{} differ only in what was not seen on a processor, which contradicts nothing",
                self.unseen
            )?;
        }
        Ok(self.compared == 0)
    }
}

/// The entry of a test: if there are several of its name, that with its checksum, or the next. The last
/// one stays, for a test that runs more often than the log has it. What has another checksum is another test.
fn next_of(entries: &mut VecDeque<LogEntry>, hash: Option<&str>) -> Option<LogEntry> {
    let is_same = |entry: &LogEntry| hash.is_some() && entry.hash.as_deref() == hash;
    let is_unknown = |entry: &LogEntry| hash.is_none() || entry.hash.is_none();
    let same = entries.iter().position(is_same);
    let place = same.or_else(|| entries.iter().position(is_unknown))?;
    match entries.len() {
        1 => entries.front().cloned(),
        _ => entries.remove(place),
    }
}

fn print(
    here: &LogEntry,
    there: &LogEntry,
    difference: &Difference,
    log: &str,
    output: &mut impl Write,
) -> std::io::Result<()> {
    let under = match here.model.as_deref() {
        Some(model) => format!("under {model}"),
        None => "on this processor".to_owned(),
    };
    let log = match there.model.as_deref().filter(|_| here.model.is_none()) {
        Some(model) => format!("{log} under {model}"),
        None => log.to_owned(),
    };
    match difference.is_contradiction(here, there) {
        true => writeln!(output, "{} {under} differs from {log}", here.test)?,
        false => writeln!(output, "{} {under} and {log}: not all was seen", here.test)?,
    }
    let is_sample = here.is_sample || there.is_sample;
    if let Some((ours, theirs)) = difference.verdicts.as_ref().filter(|_| !is_sample) {
        writeln!(output, "  verdict {ours}, in the log {theirs}")?;
    }
    for state in &difference.only_here {
        writeln!(output, "  only here:       {}", show_logged(state))?;
    }
    for state in &difference.only_there {
        writeln!(output, "  only in the log: {}", show_logged(state))?;
    }
    Ok(())
}
