//! Mistakes in a model: what, where, what was expected, and how to mend it.

use fencepost_mistake::{Describe, Position};

use crate::problem::Problem;
use crate::source::Span;

/// What is wrong with a model: at least one mistake, in the order of the file.
pub type ModelError = fencepost_mistake::Mistakes<Problem>;

/// A mistake, with its place.
pub type Mistake = fencepost_mistake::Mistake<Problem>;

/// A mistake while the source is at hand.
#[derive(Clone, Debug)]
pub(crate) struct Misread {
    pub span: Span,
    pub problem: Box<Problem>,
}

impl Misread {
    /// With the line that it is in.
    pub fn shown(self, source: &str) -> Mistake {
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let position = Position::of(source, start);
        Mistake::new(source, position, start, end, *self.problem)
    }
}

impl Problem {
    pub(crate) fn at(self, span: Span) -> Misread {
        Misread {
            span,
            problem: Box::new(self),
        }
    }
}

impl Describe for Problem {
    fn expected(&self) -> String {
        Problem::expected(self)
    }

    fn hint(&self) -> String {
        Problem::hint(self)
    }

    fn is_limit(&self) -> bool {
        Problem::is_limit(self)
    }
}

/// The mistakes in the order of the file, each once.
pub(crate) fn collect(mut mistakes: Vec<Misread>, source: &str) -> ModelError {
    mistakes.sort_by_key(|mistake| mistake.span);
    let is_end = |m: &Misread| matches!(*m.problem, Problem::UnexpectedEnd { .. });
    // What is missing at the end of the file is missing once for each block that is open.
    mistakes.dedup_by(|later, earlier| {
        let same = later.problem == earlier.problem || is_end(later) && is_end(earlier);
        later.span == earlier.span && same
    });
    mistakes.truncate(ModelError::MOST);
    let mistakes = mistakes.into_iter();
    ModelError {
        mistakes: mistakes.map(|mistake| mistake.shown(source)).collect(),
    }
}
