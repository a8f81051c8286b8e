//! Mistakes with their places, and how they are shown.

use std::fmt;

use crate::excerpt::Excerpt;
use crate::position::Position;

/// What is wrong, in words: its `Display` says what was found.
pub trait Describe: fmt::Display {
    /// What was expected instead.
    fn expected(&self) -> String;

    /// How to mend it.
    fn hint(&self) -> String;

    /// Whether it is a limit that was reached, and no mistake.
    fn is_limit(&self) -> bool;
}

/// Something about a line, to be shown as compilers do.
pub struct Shown<'a> {
    /// `error` or `warning`.
    pub severity: &'a str,
    /// What it is.
    pub what: &'a dyn fmt::Display,
    /// The line, from 1.
    pub line: u64,
    /// The column, from 1.
    pub column: u64,
    /// The line itself.
    pub excerpt: &'a Excerpt,
    /// What stands beside the caret.
    pub label: &'a str,
    /// What to do.
    pub help: &'a str,
}

impl Shown<'_> {
    /// With the line and a caret below it.
    pub fn render(&self, path: &str) -> String {
        let Shown {
            severity,
            what,
            line,
            column,
            excerpt,
            label,
            help,
        } = self;
        let Excerpt {
            text,
            caret_at,
            caret_width,
        } = excerpt;
        let gutter = " ".repeat(line.to_string().len());
        let (indent, caret) = (" ".repeat(*caret_at), "^".repeat(*caret_width));
        format!(
            "{severity}: {what}\n\
             {gutter}--> {path}:{line}:{column}\n\
             {gutter} |\n\
             {line} | {text}\n\
             {gutter} | {indent}{caret} {label}\n\
             {gutter} |\n\
             {gutter} = help: {help}"
        )
    }
}

/// A mistake, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake<P> {
    /// Where it is.
    pub position: Position,
    /// The line itself, shortened around the column if it is long.
    pub excerpt: Excerpt,
    /// What is wrong.
    pub problem: P,
}

impl<P: Describe> Mistake<P> {
    /// A mistake in the bytes from `start` to `end` of `source`, at `position`.
    pub fn new(source: &str, position: Position, start: usize, end: usize, problem: P) -> Self {
        let start = start.min(source.len());
        Mistake {
            position,
            excerpt: Excerpt::around(source, start, end.clamp(start, source.len())),
            problem,
        }
    }

    /// The mistake with the offending line and a caret below it, as compilers show it.
    pub fn render(&self, path: &str) -> String {
        self.render_as("error", path)
    }

    /// As [`Mistake::render`], as a warning.
    pub fn render_warning(&self, path: &str) -> String {
        self.render_as("warning", path)
    }

    fn render_as(&self, severity: &str, path: &str) -> String {
        let shown = Shown {
            severity,
            what: &self.problem,
            line: self.position.line.into(),
            column: self.position.column.into(),
            excerpt: &self.excerpt,
            label: &format!("expected {}", self.problem.expected()),
            help: &self.problem.hint(),
        };
        shown.render(path)
    }
}

impl<P: Describe> fmt::Display for Mistake<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        let (problem, expected) = (&self.problem, self.problem.expected());
        write!(
            f,
            "line {line}, column {column}: {problem}, expected {expected}"
        )
    }
}

/// What is wrong with a file: at least one mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistakes<P> {
    /// The mistakes, in the order of the file. About [`Mistakes::MOST`] are collected at most.
    pub mistakes: Vec<Mistake<P>>,
}

impl<P> Mistakes<P> {
    /// Who reads a file need not collect more mistakes than this.
    pub const MOST: usize = 20;
}

impl<P: Describe> Mistakes<P> {
    /// Whether a limit was reached: then nothing is known about the file.
    pub fn is_limit(&self) -> bool {
        let mut problems = self.mistakes.iter().map(|mistake| &mistake.problem);
        problems.any(Describe::is_limit)
    }

    /// All mistakes with their lines, as compilers show them.
    pub fn render(&self, path: &str) -> String {
        let rendered: Vec<String> = self.mistakes.iter().map(|m| m.render(path)).collect();
        rendered.join("\n\n")
    }
}

impl<P: Describe> fmt::Display for Mistakes<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl<P: Describe + fmt::Debug> std::error::Error for Mistakes<P> {}
