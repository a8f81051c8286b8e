//! What was found out about fences, for the caller and for people.

use std::fmt;

use fencepost_report::SourcePosition;
use fencepost_report::json::check::PlaceObject;
use fencepost_report::json::fences::{FENCES_SCHEMA, FenceObject, FencesObject, InsteadObject};
use fencepost_report::json::line;
use fencepost_report::text::counted;

use super::FenceStrength;
use crate::check::naming::{SourceFiles, source_position};
use crate::check::outcome::Outcome;
use fencepost_runtime::names::SourceLocation;

/// Which fences a program needs to be store-buffer safe.
#[derive(Clone, Debug)]
pub enum FenceInference {
    /// None: nothing that store buffers could do was found. If the outcome is incomplete, more may be needed.
    NotNeeded(Outcome),
    /// These.
    Needed(FenceSet),
    /// Not known: the program is wrong in other ways, which come first.
    Unknown(Outcome),
}

/// A smallest set of fences that makes a program store-buffer safe.
#[derive(Clone, Debug)]
pub struct FenceSet {
    places: Vec<InferredFence>,
    outcome: Outcome,
    checks: u64,
}

/// Where a fence is missing: before an operation of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InferredFence {
    position: SourcePosition,
    strength: FenceStrength,
    instead: Option<FenceAlternative>,
    is_inside: bool,
}

/// What would do instead of a fence.
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

    /// How strong it has to be.
    pub fn strength(&self) -> FenceStrength {
        self.strength
    }

    /// What would do instead, with the other fences as they are.
    pub fn alternative(&self) -> Option<&FenceAlternative> {
        self.instead.as_ref()
    }

    /// Whether a macro or a function is called at this place that does several operations, and the fence belongs
    /// before each of them, inside of it.
    pub fn is_inside_call(&self) -> bool {
        self.is_inside
    }

    fn fence(&self) -> &'static str {
        match self.strength {
            FenceStrength::Release => "fence(Ordering::Release)",
            FenceStrength::SeqCst => "fence(Ordering::SeqCst)",
        }
    }

    fn object(&self) -> FenceObject {
        let instead = self.instead.as_ref().map(|instead| match instead {
            FenceAlternative::ReleaseWrite => InsteadObject {
                ordering: "Release",
                store: None,
                write: Some(PlaceObject::new(&self.position)),
            },
            FenceAlternative::SeqCstStore(store) => InsteadObject {
                ordering: "SeqCst",
                store: Some(PlaceObject::new(store)),
                write: None,
            },
        });
        FenceObject {
            before: PlaceObject::new(&self.position),
            inside: self.is_inside,
            fence: self.fence(),
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

    /// Where they belong, in the order of the source.
    pub fn fences(&self) -> &[InferredFence] {
        &self.places
    }

    /// What the program comes to with them: verified, or incomplete if not all executions were run.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// How often the program was checked to find them.
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

    /// It as a JSON object, in one line.
    pub fn json(&self) -> String {
        line(&self.object()).trim_end().to_owned()
    }

    pub(in crate::check) fn object(&self) -> FencesObject {
        let (result, outcome) = match self {
            FenceInference::NotNeeded(outcome) => ("not-needed", outcome),
            FenceInference::Needed(set) => ("needed", &set.outcome),
            FenceInference::Unknown(outcome) => ("unknown", outcome),
        };
        let places = self.needed().into_iter().flat_map(FenceSet::fences);
        FencesObject {
            schema: FENCES_SCHEMA,
            kind: "fences",
            result,
            verified: outcome.is_verified(),
            fences: places.map(InferredFence::object).collect(),
        }
    }
}

/// What is said of [`FenceInference::Unknown`].
pub(in crate::check) const NOT_KNOWN: &str =
    "which fences are needed is not known, because something else is wrong";

impl fmt::Display for FenceInference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FenceInference::NotNeeded(outcome) if outcome.is_verified() => {
                write!(f, "no fence is needed\n{outcome}")
            }
            FenceInference::NotNeeded(outcome) => {
                write!(
                    f,
                    "no fence is needed in the executions that were run\n{outcome}"
                )
            }
            FenceInference::Unknown(outcome) => write!(f, "{NOT_KNOWN}\n{outcome}"),
            FenceInference::Needed(set) => set.fmt(f),
        }
    }
}

impl fmt::Display for FenceSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = SourceFiles::default();
        let count = counted(self.places.len() as u64, "fence");
        let (verb, them) = match self.places.len() {
            1 => ("makes", "it"),
            _ => ("make", "them"),
        };
        let what = match self.outcome.is_verified() {
            true => format!("{verb} the program store-buffer safe"),
            false => format!("{verb} all executions that were run store-buffer safe"),
        };
        writeln!(f, "{count} {what}, and no smaller set does:")?;
        for fence in &self.places {
            let SourcePosition { file, line, column } = &fence.position;
            let before = match fence.is_inside {
                true => "before each operation inside of what is called at",
                false => "before",
            };
            writeln!(f, "  {} {before} {file}:{line}:{column}", fence.fence())?;
            if let Some(text) = sources.line(file, *line) {
                writeln!(f, "    {}", text.trim())?;
            }
            match &fence.instead {
                None if self.outcome.is_verified() => {
                    writeln!(f, "    no SeqCst store would do instead")?;
                }
                None => {}
                Some(FenceAlternative::ReleaseWrite) => {
                    writeln!(f, "    or Ordering::Release for this write instead")?;
                }
                Some(FenceAlternative::SeqCstStore(store)) => {
                    let SourcePosition { file, line, column } = store;
                    writeln!(
                        f,
                        "    or Ordering::SeqCst for the store at {file}:{line}:{column} instead"
                    )?;
                }
            }
        }
        write!(f, "with {them}: {}", self.outcome)
    }
}
