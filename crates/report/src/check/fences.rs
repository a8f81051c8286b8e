//! Inferred fences as text.

use std::fmt::Write;

use super::FenceOrdering;
use crate::language::ProgramLanguage;
use crate::source::SourcePosition;
use crate::text::counted;

/// A fence that a program needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NeededFence {
    /// The ordering of the fence.
    pub fence: FenceOrdering,
    /// The operation before which the fence belongs.
    pub before: SourcePosition,
    /// The line of that operation, if its source is available.
    pub source_line: Option<String>,
    /// Whether the fence belongs before each operation inside the macro or function that is called
    /// there.
    pub is_inside_call: bool,
    /// A stronger ordering that replaces the fence.
    pub alternative: Option<FenceReplacement>,
}

/// A stronger ordering that replaces a fence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FenceReplacement {
    /// `Ordering::SeqCst` for the store at this location.
    SeqCstStore(SourcePosition),
    /// `Ordering::Release` for the write after the fence.
    ReleaseWrite,
}

/// A set of fences that makes a program store-buffer safe. With them, every execution was explored
/// if it `is_verified`. The summary of the check with the fences follows.
pub fn needed_fences(
    fences: &[NeededFence],
    is_verified: bool,
    language: ProgramLanguage,
) -> String {
    let count = counted(fences.len() as u64, "fence");
    let (verb, them) = match fences.len() {
        1 => ("makes", "it"),
        _ => ("make", "them"),
    };
    let program = match is_verified {
        true => "the program",
        false => "all explored executions",
    };
    let mut text =
        format!("{count} {verb} {program} store-buffer safe, and no smaller set does:\n");
    for needed in fences {
        let place = match needed.is_inside_call {
            true => "before each operation inside the call at",
            false => "before",
        };
        let before = &needed.before;
        let fence = language.fence(needed.fence, Some(&before.file));
        let _ = writeln!(text, "  {fence} {place} {before}");
        if let Some(line) = &needed.source_line {
            let _ = writeln!(text, "    {}", line.trim());
        }
        let _ = match &needed.alternative {
            None if is_verified => {
                let ordering = language.short_ordering(FenceOrdering::SeqCst);
                writeln!(text, "    no {ordering} store can replace it")
            }
            None => Ok(()),
            Some(FenceReplacement::ReleaseWrite) => {
                let ordering = language.ordering(FenceOrdering::Release, Some(&before.file));
                writeln!(text, "    or use {ordering} for this write")
            }
            Some(FenceReplacement::SeqCstStore(store)) => {
                let ordering = language.ordering(FenceOrdering::SeqCst, Some(&store.file));
                writeln!(text, "    or use {ordering} for the store at {store}")
            }
        };
    }
    let _ = write!(text, "with {them}: ");
    text
}

/// The line for a program that needs no fence.
pub fn no_fence_needed(is_verified: bool) -> &'static str {
    match is_verified {
        true => "no fence is needed",
        false => "no fence is needed in the explored executions",
    }
}

/// The line for a program that fails in other ways.
pub const FENCES_UNKNOWN: &str =
    "fences are not inferred, because the program fails without store buffers: fix that first";
