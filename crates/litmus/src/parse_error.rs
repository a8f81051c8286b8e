//! Mistakes in a litmus file, with their places, and how they are shown.

use std::fmt;

use crate::excerpt::Excerpt;
use crate::problem::Problem;
use crate::syntax::lexer::Span;
use crate::test::Position;

/// What is wrong with a file: at least one mistake, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The mistakes. At most 20 are collected.
    pub mistakes: Vec<Mistake>,
}

/// A mistake, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Where it is.
    pub position: Position,
    /// The line itself, shortened around the column if it is long.
    pub excerpt: Excerpt,
    /// What is wrong.
    pub problem: Problem,
}

/// A mistake while the source is at hand.
#[derive(Clone, Debug)]
pub(crate) struct Misread {
    pub span: Span,
    pub problem: Box<Problem>,
}

impl Misread {
    /// With the line that it is in.
    pub fn shown(self, source: &str) -> Mistake {
        Mistake {
            position: self.span.position,
            excerpt: Excerpt::around(source, self.span.start, self.span.end),
            problem: *self.problem,
        }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        let (problem, expected) = (&self.problem, self.problem.expected());
        write!(
            f,
            "line {line}, column {column}: {problem}, expected {expected}"
        )
    }
}

impl Mistake {
    /// The mistake with the offending line and a caret below it, as compilers show it.
    pub fn render(&self, path: &str) -> String {
        let Position { line, column } = self.position;
        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let Excerpt {
            text,
            caret_at,
            caret_width,
        } = &self.excerpt;
        let (indent, caret) = (" ".repeat(*caret_at), "^".repeat(*caret_width));
        let problem = &self.problem;
        let (expected, hint) = (problem.expected(), problem.hint());
        format!(
            "error: {problem}\n\
             {gutter}--> {path}:{line}:{column}\n\
             {gutter} |\n\
             {number} | {text}\n\
             {gutter} | {indent}{caret} expected {expected}\n\
             {gutter} |\n\
             {gutter} = help: {hint}"
        )
    }
}

impl ParseError {
    /// Whether a limit was reached: then nothing is known about the test.
    pub fn is_limit(&self) -> bool {
        self.mistakes
            .iter()
            .any(|mistake| mistake.problem.is_limit())
    }

    /// All mistakes with their lines, as compilers show them.
    pub fn render(&self, path: &str) -> String {
        let rendered: Vec<String> = self.mistakes.iter().map(|m| m.render(path)).collect();
        rendered.join("\n\n")
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ParseError {}
