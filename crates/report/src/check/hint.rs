//! Where a fence is missing.
//!
//! Only what [`fence_gaps`] says rules the cycle out. The other ways that are named do the
//! same to the model: they turn each pair whose order is not kept into one whose order is.

use std::fmt::Write;

use fencepost_memory::{Buffering, MemoryModel, Operation};
use fencepost_monitor::{Finding, Placed};

use super::story::access;
use super::words::{Words, list};
use crate::names::Naming;
use crate::repair::{FenceGap, fence_gaps};
use crate::source::SourcePosition;

/// Where fences rule a cycle out, and what else does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Hint {
    /// Full fences in all of these gaps do.
    pub gaps: Vec<FenceGap>,
    /// What does too.
    pub alternative: Option<Alternative>,
}

/// Another way than fences.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alternative {
    /// `Ordering::SeqCst` for the store before each gap.
    SeqCstStores,
    /// `Ordering::Release` for the write after each gap.
    ReleaseWrites,
}

impl Alternative {
    /// What it changes at a gap.
    fn write(self, gap: &FenceGap) -> &Placed {
        match self {
            Alternative::SeqCstStores => &gap.after,
            Alternative::ReleaseWrites => &gap.before,
        }
    }

    fn ordering(self) -> &'static str {
        match self {
            Alternative::SeqCstStores => "SeqCst",
            Alternative::ReleaseWrites => "Release",
        }
    }
}

impl Hint {
    pub(super) fn new(finding: &Finding, words: &Words<'_>) -> Self {
        let gaps = fence_gaps(finding);
        // Who calls `lock` or `clone` has no ordering to change.
        let can_be_written = |alternative: &Alternative| {
            let mut writes = gaps.iter().map(|gap| alternative.write(gap));
            writes.all(|write| has_ordering(write, words))
        };
        let alternative = alternative(finding.violation.model, &gaps).filter(can_be_written);
        Hint { gaps, alternative }
    }

    /// The hint as a sentence and further lines. It is for one cycle; `all_fences` is how to come by what rules out
    /// all of them.
    pub(super) fn text(&self, words: &Words<'_>, all_fences: Option<&str>) -> String {
        let file = self.file(words);
        let mut places: Vec<(String, Vec<String>)> = Vec::new();
        for gap in &self.gaps {
            let text = gap_text(gap, file.is_some(), words);
            let thread = words.thread(gap.after.thread());
            match places.iter_mut().find(|(known, _)| *known == text) {
                Some((_, threads)) => threads.push(thread),
                None => places.push((text, vec![thread])),
            }
        }
        let of_file = file
            .as_ref()
            .map_or(String::new(), |file| format!(" of {file}"));
        let mut text = match places.as_slice() {
            [(place, threads)] => format!(
                "`fence(Ordering::SeqCst)` {place}{of_file} ({}) rules this cycle out",
                list(threads)
            ),
            places => {
                let lines = places
                    .iter()
                    .map(|(place, threads)| format!("\n  {place} ({})", list(threads)));
                let lines: String = lines.collect();
                format!(
                    "`fence(Ordering::SeqCst)` in each of these places{of_file} rules this cycle out:{lines}"
                )
            }
        };
        if let Some(alternative) = self.alternative {
            text += &self.alternative_text(alternative, file.is_some(), words);
        }
        text += "\ncheck again after the change: there may be other cycles";
        if let Some(how) = all_fences {
            let _ = write!(text, "\n{how}");
        }
        text
    }

    fn alternative_text(
        &self,
        alternative: Alternative,
        is_in_file: bool,
        words: &Words<'_>,
    ) -> String {
        // A line may have several writes, and a write be of several threads.
        let mut writes: Vec<(String, Option<SourcePosition>)> = Vec::new();
        for gap in &self.gaps {
            let write = alternative.write(gap);
            let position = position(write, words);
            let text = match (is_in_file, &position) {
                (true, Some(position)) => position.line.to_string(),
                _ => place(write, words),
            };
            if !writes.contains(&(text.clone(), position.clone())) {
                writes.push((text, position));
            }
        }
        let mut places: Vec<String> = Vec::new();
        for (text, _) in &writes {
            if !places.contains(text) {
                places.push(text.clone());
            }
        }
        let are_stores = self.gaps.iter().all(|gap| is_store(alternative.write(gap)));
        let noun = if are_stores { "store" } else { "write" };
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let at = match is_in_file {
            true => format!("in line{}", plural(places.len())),
            false => "at".to_string(),
        };
        format!(
            "\nso does `Ordering::{}` for the {noun}{} {at} {}",
            alternative.ordering(),
            plural(writes.len()),
            list(&places)
        )
    }

    /// The file in which all gaps are, if that is one.
    fn file(&self, words: &Words<'_>) -> Option<String> {
        let ends = self.gaps.iter().flat_map(|gap| [&gap.after, &gap.before]);
        let mut files = ends.map(|end| position(end, words).map(|position| position.file));
        let first = files.next()??;
        files
            .all(|file| file.as_ref() == Some(&first))
            .then_some(first)
    }
}

/// Where a gap is. If it is in the file that all gaps are in, the file is left out, and " of" it can
/// follow.
fn gap_text(gap: &FenceGap, is_in_file: bool, words: &Words<'_>) -> String {
    let lines = position(&gap.after, words).zip(position(&gap.before, words));
    match lines.filter(|_| is_in_file) {
        Some((after, before)) if after.line == before.line => format!(
            "between the {} and the {} in line {}",
            access(&gap.after, words),
            access(&gap.before, words),
            after.line
        ),
        Some((after, before)) if after.line < before.line => {
            format!("between lines {} and {}", after.line, before.line)
        }
        // The next round of a loop, or another function.
        Some((after, before)) => {
            format!("after line {} and before line {}", after.line, before.line)
        }
        None => format!(
            "after {} and before {}",
            place(&gap.after, words),
            place(&gap.before, words)
        ),
    }
}

fn alternative(model: MemoryModel, gaps: &[FenceGap]) -> Option<Alternative> {
    let operations = |gap: &FenceGap| (gap.after.event.operation(), gap.before.event.operation());
    let is_plain_store = |gap: &FenceGap| is_store(&gap.after);
    let is_kept_by_barrier = |gap: &FenceGap| {
        let (after, before) = operations(gap);
        let writes = matches!(before, Operation::Store(_) | Operation::Interlocked(_));
        writes && model.keeps(after, before, true)
    };
    match model.buffering() {
        // On x86 a SeqCst store is a store with a full fence.
        Buffering::Fifo if gaps.iter().all(is_plain_store) => Some(Alternative::SeqCstStores),
        Buffering::PerAddress if gaps.iter().all(is_kept_by_barrier) => {
            Some(Alternative::ReleaseWrites)
        }
        _ => None,
    }
}

fn is_store(placed: &Placed) -> bool {
    matches!(placed.event.operation(), Operation::Store(_))
}

fn has_ordering(placed: &Placed, words: &Words<'_>) -> bool {
    let address = placed.event.access.operation.address();
    address.is_some_and(|address| words.has_ordering(address))
}

fn position(placed: &Placed, words: &Words<'_>) -> Option<SourcePosition> {
    let location = placed.event.access.location;
    location.and_then(|location| words.position(location))
}

/// Where an event is: file and line, or else what it is.
fn place(placed: &Placed, words: &Words<'_>) -> String {
    let access = &placed.event.access;
    match position(placed, words) {
        Some(position) => format!("{}:{}", position.file, position.line),
        None => words
            .source(access)
            .unwrap_or_else(|| format!("`{}`", words.event(placed))),
    }
}
