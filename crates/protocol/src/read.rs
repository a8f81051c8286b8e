//! From bytes to a model.

use crate::limits::Limits;
use crate::mistake::ModelError;
use crate::model::Model;
use crate::problem::Problem;
use crate::source::Span;
use crate::{resolve, syntax};

/// Mistakes in different declarations, statements and rules are all reported. Names are looked up
/// only if the whole text could be read.
pub(crate) fn read(
    bytes: &[u8],
    given: &[(String, i64)],
    limits: &Limits,
) -> Result<Model, ModelError> {
    let allowed = limits.bytes.min(Limits::LARGEST_FILE);
    if bytes.len() > allowed {
        let misread = Problem::limit("bytes of a file", allowed as u64).at(Span::default());
        return Err(crate::mistake::collect(vec![misread], ""));
    }
    let source = match std::str::from_utf8(bytes) {
        Ok(source) => source,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut mistakes = Vec::new();
    let file = syntax::read_file(source, limits, &mut mistakes);
    if mistakes.is_empty()
        && let Some(model) = resolve::resolve(source, &file, given, limits, &mut mistakes)
    {
        return Ok(model);
    }
    Err(crate::mistake::collect(mistakes, source))
}

/// The line is shown with what is wrong replaced.
fn not_utf8(bytes: &[u8], at: usize) -> ModelError {
    const SHOWN_AFTER: usize = 512;
    let last = bytes.len().min(at + SHOWN_AFTER);
    let shown = String::from_utf8_lossy(&bytes[..last]);
    let problem = Problem::NotUtf8 { byte: bytes[at] };
    let wide = shown[at..].chars().next().map_or(0, char::len_utf8);
    let misread = problem.at(Span::new(at, at + wide));
    crate::mistake::collect(vec![misread], &shown)
}
