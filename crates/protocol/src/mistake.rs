//! Mistakes in a model: what, where, what was expected, and how to mend it.

use std::fmt;

use crate::excerpt::Excerpt;
use crate::problem::Problem;
use crate::source::{Position, Span};

/// What is wrong with a model: at least one mistake, in the order of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelError {
    /// The mistakes. At most [`ModelError::MOST`] are collected.
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
        let (start, end) = (self.span.start as usize, self.span.end as usize);
        let start = start.min(source.len());
        Mistake {
            position: Position::of(source, self.span.start),
            excerpt: Excerpt::around(source, start, end.clamp(start, source.len())),
            problem: *self.problem,
        }
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
        self.render_as("error", path)
    }

    /// As [`Mistake::render`], as a warning.
    pub fn render_warning(&self, path: &str) -> String {
        self.render_as("warning", path)
    }

    fn render_as(&self, severity: &str, path: &str) -> String {
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
            "{severity}: {problem}\n\
             {gutter}--> {path}:{line}:{column}\n\
             {gutter} |\n\
             {number} | {text}\n\
             {gutter} | {indent}{caret} expected {expected}\n\
             {gutter} |\n\
             {gutter} = help: {hint}"
        )
    }
}

impl ModelError {
    /// More mistakes than this are not collected.
    pub const MOST: usize = 20;

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

    /// Whether a limit was reached: then nothing is known about the model.
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

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ModelError {}
