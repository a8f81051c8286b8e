//! Messages with source snippets, as compilers show them: the one place that draws them.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use crate::excerpt::Excerpt;

/// The severity of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// An error.
    Error,
    /// A warning.
    Warning,
}

impl Severity {
    fn level(self) -> Level<'static> {
        match self {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        }
    }
}

/// A labelled range of a source text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label<'a> {
    /// The range, in bytes.
    pub span: Range<usize>,
    /// The text under the range. It may be empty.
    pub text: &'a str,
    /// Whether the message is about this range, and not about its context.
    pub is_primary: bool,
}

impl<'a> Label<'a> {
    fn annotation(&self) -> Annotation<'a> {
        let kind = match self.is_primary {
            true => AnnotationKind::Primary,
            false => AnnotationKind::Context,
        };
        let annotation = kind.span(self.span.clone());
        match self.text.is_empty() {
            true => annotation,
            false => annotation.label(self.text),
        }
    }
}

/// A source text with labels. Only lines with labels and their surroundings are shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelledSource<'a> {
    /// The name of the file.
    pub path: &'a str,
    /// The text.
    pub text: &'a str,
    /// The number of the first line of the text.
    pub first_line: usize,
    /// The labels.
    pub labels: Vec<Label<'a>>,
}

/// An error with its sources, in colour. `width` is the width of the terminal.
pub fn render_error(
    title: &str,
    sources: &[LabelledSource<'_>],
    help: Option<&str>,
    width: usize,
) -> String {
    let mut group = Group::with_title(Level::ERROR.primary_title(title));
    for source in sources {
        let snippet = Snippet::source(source.text)
            .line_start(source.first_line)
            .path(source.path);
        let labels = source.labels.iter().map(Label::annotation);
        group = group.element(snippet.annotations(labels));
    }
    if let Some(help) = help {
        group = group.element(Level::HELP.message(help));
    }
    let mut text = Renderer::styled().term_width(width).render(&[group]);
    text.push('\n');
    text
}

/// A message about one line of a file of which only an excerpt is known, without colour.
pub(crate) fn render_excerpt(
    (severity, title): (Severity, &str),
    (path, line, column): (&str, u64, u64),
    excerpt: &Excerpt,
    label: &str,
    help: &str,
) -> String {
    let byte = |index: usize| {
        let mut starts = excerpt.text.char_indices();
        starts.nth(index).map_or(excerpt.text.len(), |(at, _)| at)
    };
    let end = excerpt.caret_at + excerpt.caret_width;
    let span = byte(excerpt.caret_at)..byte(end);
    let annotation = AnnotationKind::Primary.span(span).label(label);
    let snippet = Snippet::source(excerpt.text.as_str())
        .line_start(line as usize)
        .path(path);
    let group = Group::with_title(severity.level().primary_title(title))
        .element(snippet.annotation(annotation))
        .element(Level::HELP.message(help));
    let text = Renderer::plain().term_width(WIDEST).render(&[group]);
    // A long line is cut, so that columns of the excerpt are not those of the file.
    let drawn = format!(":{line}:{}\n", excerpt.caret_at + 1);
    text.replacen(&drawn, &format!(":{line}:{column}\n"), 1)
}

/// Excerpts are short, and are not shortened again.
const WIDEST: usize = 1000;
