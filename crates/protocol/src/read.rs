//! From bytes to a model.

use crate::limits::Limits;
use crate::model::Model;
use crate::model_error::ModelError;
use crate::model_error_kind::ModelErrorKind;
use crate::source::Span;
use crate::{resolve, syntax};

/// Errors in different declarations, statements and rules are all reported. Names are looked up
/// only if the whole text could be read.
pub(crate) fn read(
    bytes: &[u8],
    given: &[(String, i64)],
    limits: &Limits,
) -> Result<Model, ModelError> {
    let allowed = limits.bytes.min(Limits::LARGEST_FILE);
    if bytes.len() > allowed {
        let error = ModelErrorKind::limit("bytes of a file", allowed as u64).at(Span::default());
        return Err(crate::model_error::collect(vec![error], ""));
    }
    let source = match std::str::from_utf8(bytes) {
        Ok(source) => source,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut errors = Vec::new();
    let file = syntax::read_file(source, limits, &mut errors);
    if errors.is_empty()
        && let Some(model) = resolve::resolve(source, &file, given, limits, &mut errors)
    {
        return Ok(model);
    }
    Err(crate::model_error::collect(errors, source))
}

/// The line is shown with the invalid bytes replaced.
fn not_utf8(bytes: &[u8], at: usize) -> ModelError {
    const SHOWN_AFTER: usize = 512;
    let last = bytes.len().min(at + SHOWN_AFTER);
    let shown = String::from_utf8_lossy(&bytes[..last]);
    let kind = ModelErrorKind::NotUtf8 { byte: bytes[at] };
    let wide = shown[at..].chars().next().map_or(0, char::len_utf8);
    let error = kind.at(Span::new(at, at + wide));
    crate::model_error::collect(vec![error], &shown)
}
