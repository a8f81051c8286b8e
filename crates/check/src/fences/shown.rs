//! The result of fence inference: typed, as text and as JSON.

use std::fmt;

use fencepost_report::check::FenceOrdering;
use fencepost_report::check::fences::{
    FENCES_UNKNOWN, FenceReplacement, NeededFence, needed_fences, no_fence_needed,
};
use fencepost_report::json::check::PlaceObject;
use fencepost_report::json::fences::{FENCES_SCHEMA, FenceObject, FencesObject, InsteadObject};
use fencepost_report::json::line;
use fencepost_report::{ProgramLanguage, SourcePosition};

use super::FenceStrength;
use crate::naming::{SourceFiles, source_position};
use crate::outcome::Outcome;
use fencepost_runtime::SourceLocation;

/// Which fences a program needs to be store-buffer safe.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum FenceInference {
    /// No store-buffer violation was found. If the outcome is incomplete, fences may be needed nevertheless.
    NotNeeded(Outcome),
    /// The program needs these fences.
    Needed(FenceSet),
    /// Unknown, because the program fails in other ways. Fix these first.
    Unknown(Outcome),
}

/// A smallest set of fences that makes a program store-buffer safe.
#[derive(Clone, Debug)]
pub struct FenceSet {
    places: Vec<InferredFence>,
    outcome: Outcome,
    checks: u64,
}

/// A missing fence, which belongs before an operation of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InferredFence {
    position: SourcePosition,
    strength: FenceStrength,
    instead: Option<FenceAlternative>,
    is_inside: bool,
}

/// A stronger ordering that replaces a fence.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum FenceAlternative {
    /// `Ordering::SeqCst` for the store at this place.
    SeqCstStore(SourcePosition),
    /// `Ordering::Release` for the write after the fence.
    ReleaseWrite,
}

impl InferredFence {
    pub(super) fn new(
        location: SourceLocation,
        strength: FenceStrength,
        instead: Option<FenceAlternative>,
        is_inside: bool,
    ) -> Self {
        InferredFence {
            position: source_position(location),
            strength,
            instead,
            is_inside,
        }
    }

    pub(super) fn key(&self) -> (String, u32, u32) {
        let SourcePosition { file, line, column } = &self.position;
        (file.clone(), *line, *column)
    }

    /// The operation before which the fence belongs: file, line and column.
    pub fn position(&self) -> &SourcePosition {
        &self.position
    }

    /// The strength that the fence needs.
    pub fn strength(&self) -> FenceStrength {
        self.strength
    }

    /// A stronger ordering that replaces this fence, if the other fences stay.
    pub fn alternative(&self) -> Option<&FenceAlternative> {
        self.instead.as_ref()
    }

    /// Whether the position is a call of a macro or function with several operations, and the fence belongs
    /// before each of them, inside the call.
    pub fn is_inside_call(&self) -> bool {
        self.is_inside
    }

    fn ordering(&self) -> FenceOrdering {
        match self.strength {
            FenceStrength::Release => FenceOrdering::Release,
            FenceStrength::SeqCst => FenceOrdering::SeqCst,
        }
    }

    /// The fence as reports show it.
    fn needed(&self, sources: &SourceFiles) -> NeededFence {
        let SourcePosition { file, line, .. } = &self.position;
        let alternative = self.instead.as_ref().map(|instead| match instead {
            FenceAlternative::ReleaseWrite => FenceReplacement::ReleaseWrite,
            FenceAlternative::SeqCstStore(store) => FenceReplacement::SeqCstStore(store.clone()),
        });
        NeededFence {
            fence: self.ordering(),
            before: self.position.clone(),
            source_line: sources.line(file, *line),
            is_inside_call: self.is_inside,
            alternative,
        }
    }

    fn object(&self, language: ProgramLanguage) -> FenceObject {
        let ordering = |ordering: FenceOrdering| match language {
            ProgramLanguage::Rust => ordering.name(),
            ProgramLanguage::C => language.ordering(ordering, None),
        };
        let instead = self.instead.as_ref().map(|instead| match instead {
            FenceAlternative::ReleaseWrite => InsteadObject {
                ordering: ordering(FenceOrdering::Release),
                store: None,
                write: Some(PlaceObject::new(&self.position)),
            },
            FenceAlternative::SeqCstStore(store) => InsteadObject {
                ordering: ordering(FenceOrdering::SeqCst),
                store: Some(PlaceObject::new(store)),
                write: None,
            },
        });
        FenceObject {
            before: PlaceObject::new(&self.position),
            inside: self.is_inside,
            fence: language.fence(self.ordering(), Some(&self.position.file)),
            instead,
        }
    }
}

impl FenceSet {
    pub(super) fn new(places: Vec<InferredFence>, outcome: Outcome, checks: u64) -> Self {
        FenceSet {
            places,
            outcome,
            checks,
        }
    }

    /// The fences, in source order.
    pub fn fences(&self) -> &[InferredFence] {
        &self.places
    }

    /// The outcome with the fences: verified, or incomplete if not all executions were explored.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The number of checks that the inference needed.
    pub fn checks(&self) -> u64 {
        self.checks
    }
}

impl FenceInference {
    /// The set, if one is needed and was found.
    pub fn needed(&self) -> Option<&FenceSet> {
        match self {
            FenceInference::Needed(set) => Some(set),
            FenceInference::NotNeeded(_) | FenceInference::Unknown(_) => None,
        }
    }

    /// The result as a JSON object, in one line.
    pub fn json(&self) -> String {
        line(&self.object()).trim_end().to_owned()
    }

    pub(crate) fn object(&self) -> FencesObject {
        let (result, outcome) = match self {
            FenceInference::NotNeeded(outcome) => ("not-needed", outcome),
            FenceInference::Needed(set) => ("needed", &set.outcome),
            FenceInference::Unknown(outcome) => ("unknown", outcome),
        };
        let places = self.needed().into_iter().flat_map(FenceSet::fences);
        let language = outcome.details().showing.language();
        FencesObject {
            schema: FENCES_SCHEMA,
            kind: "fences",
            result,
            verified: outcome.is_verified(),
            fences: places.map(|fence| fence.object(language)).collect(),
        }
    }
}

impl fmt::Display for FenceInference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FenceInference::NotNeeded(outcome) => {
                write!(f, "{}\n{outcome}", no_fence_needed(outcome.is_verified()))
            }
            FenceInference::Unknown(outcome) => write!(f, "{FENCES_UNKNOWN}\n{outcome}"),
            FenceInference::Needed(set) => set.fmt(f),
        }
    }
}

impl fmt::Display for FenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let showing = &self.outcome.details().showing;
        let (sources, language) = (showing.sources(), showing.language());
        let fences = self.places.iter().map(|fence| fence.needed(sources));
        let fences: Vec<NeededFence> = fences.collect();
        f.write_str(&needed_fences(
            &fences,
            self.outcome.is_verified(),
            language,
        ))?;
        write!(f, "{}", self.outcome)
    }
}
