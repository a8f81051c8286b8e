//! Mistakes in a litmus file.

use fencepost_mistake::Describe;

use crate::problem::Problem;
use crate::syntax::lexer::Span;

/// What is wrong with a file: at least one mistake.
pub type ParseError = fencepost_mistake::Mistakes<Problem>;

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
        let Span {
            position,
            start,
            end,
        } = self.span;
        Mistake::new(source, position, start, end, *self.problem)
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
