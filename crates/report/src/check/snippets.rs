//! Locations in the source, with labels under them, as compilers show them.

use std::borrow::Cow;
use std::fmt::Write;
use std::ops::Range;

use fencepost_diagnostics::{Label, LabelledSource, render_error};

use super::underline::underline;
use super::words::tidy;
use crate::source::{SourcePosition, Sources};
use crate::style::{DIM, HEADING, Styled};

/// A location and its label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// The location, if it is known.
    pub position: Option<SourcePosition>,
    /// The name of the location otherwise.
    pub place: Option<String>,
    /// The label.
    pub label: String,
    /// Whether the headline is about this location.
    pub is_primary: bool,
}

impl Mark {
    fn file(&self) -> Option<&str> {
        self.position
            .as_ref()
            .map(|position| position.file.as_str())
    }

    /// The file, if a line of it is known. Otherwise the name may be that of a function.
    fn file_with_line(&self) -> Option<&str> {
        let has_line = self.position.as_ref().is_some_and(|place| place.line > 0);
        self.file().filter(|_| has_line)
    }
}

/// The largest number of locations that are shown.
const MAX_MARKS: usize = 12;

/// An error: its headline, and the locations under it. Locations whose source line is not available
/// are listed.
pub(super) fn error(headline: &str, marks: &[Mark], sources: &dyn Sources, width: usize) -> String {
    let shown = &marks[..marks.len().min(MAX_MARKS)];
    let files = Files::new(shown, sources);
    let labelled = files.excerpts.iter().map(|(file, excerpt)| LabelledSource {
        path: file,
        text: excerpt.text.as_ref(),
        first_line: excerpt.first_line,
        labels: (shown.iter().filter(|mark| mark.file() == Some(file)))
            .filter_map(|mark| excerpt.label(mark))
            .collect(),
    });
    let labelled: Vec<LabelledSource<'_>> = labelled
        .filter(|source| !source.labels.is_empty())
        .collect();
    let mut text = render_error(headline, &labelled, None, width);
    for mark in shown {
        let remark = match files.excerpt(mark) {
            None => "",
            Some(excerpt) if excerpt.label(mark).is_none() => " (the file has no such line)",
            Some(_) => continue,
        };
        let place = match (&mark.position, &mark.place) {
            (Some(position), _) => tidy(&position.to_string(), WIDEST_PLACE),
            (None, Some(place)) => tidy(place, WIDEST_PLACE),
            (None, None) => "somewhere".to_string(),
        };
        let arrow = Styled(DIM, "-->");
        let place = Styled(HEADING, place);
        let _ = writeln!(text, "  {arrow} {place}{remark}: {}", mark.label);
    }
    if marks.len() > MAX_MARKS {
        let _ = writeln!(text, "  … and {} more places", marks.len() - MAX_MARKS);
    }
    text
}

/// The widest name of a place.
const WIDEST_PLACE: usize = 120;

/// The source files of some marks, in the order of the marks.
struct Files<'a> {
    excerpts: Vec<(&'a str, SourceLines<'a>)>,
}

impl<'a> Files<'a> {
    /// The files whose text is available.
    fn new(marks: &'a [Mark], sources: &'a dyn Sources) -> Self {
        let mut excerpts: Vec<(&str, SourceLines<'_>)> = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for file in marks.iter().filter_map(Mark::file_with_line) {
            if seen.contains(&file) {
                continue;
            }
            seen.push(file);
            if let Some(text) = sources.text(file) {
                let here = marks.iter().filter(|mark| mark.file() == Some(file));
                let positions = here.filter_map(|mark| mark.position.as_ref());
                excerpts.push((file, SourceLines::new(text, positions.map(|p| p.line))));
            }
        }
        Files { excerpts }
    }

    fn excerpt(&self, mark: &Mark) -> Option<&SourceLines<'a>> {
        let file = mark.file_with_line()?;
        let mut all = self.excerpts.iter();
        all.find(|(name, _)| *name == file)
            .map(|(_, excerpt)| excerpt)
    }
}

/// The lines of a file from the first to the last one that is needed.
struct SourceLines<'a> {
    text: Cow<'a, str>,
    first_line: usize,
    /// The range of each line, without its line end.
    lines: Vec<Range<usize>>,
}

impl<'a> SourceLines<'a> {
    fn new(file: Cow<'a, str>, lines: impl Iterator<Item = u32>) -> Self {
        let wanted: Vec<usize> = lines.map(|line| line as usize).collect();
        let first_line = wanted.iter().copied().min().unwrap_or(1).max(1);
        let last_line = wanted.iter().copied().max().unwrap_or(0);
        let mut lines = Vec::new();
        let (mut start, mut end) = (None, 0);
        for (index, line) in file.split_inclusive('\n').enumerate().take(last_line) {
            if index + 1 >= first_line {
                let begin = end - *start.get_or_insert(end);
                let content = line.trim_end_matches(['\r', '\n']);
                lines.push(begin..begin + content.len());
            }
            end += line.len();
        }
        let bytes = start.unwrap_or(end)..end;
        let text = match file {
            Cow::Borrowed(text) => Cow::Borrowed(&text[bytes]),
            Cow::Owned(text) => Cow::Owned(text[bytes].to_string()),
        };
        SourceLines {
            text,
            first_line,
            lines,
        }
    }

    /// The label of a mark in this text, if its line is there.
    fn label<'m>(&self, mark: &'m Mark) -> Option<Label<'m>> {
        let position = mark.position.as_ref()?;
        let index = (position.line as usize).checked_sub(self.first_line)?;
        let line = self.lines.get(index)?;
        let underlined = underline(&self.text[line.clone()], position.column);
        let span = line.start + underlined.start..line.start + underlined.end;
        Some(Label {
            span,
            text: &mark.label,
            is_primary: mark.is_primary,
        })
    }
}
