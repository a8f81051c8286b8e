//! From bytes to a test.

use crate::assemble::assemble;
use crate::limits::Limits;
use crate::parse_error::{Misread, ParseError, Problem};
use crate::syntax::lexer::Lexer;
use crate::syntax::read_file;
use crate::test::Test;

/// Reads a litmus test in the format of herd7, litmus7 and diy7.
///
/// Mistakes in different instructions are all reported; a mistake that leaves open how to go on is the
/// last one.
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Test, ParseError> {
    if bytes.len() > limits.bytes {
        let misread = Problem::limit("bytes of a file", limits.bytes).at(Lexer::new("", 0).here());
        return Err(ParseError {
            mistakes: vec![misread.shown("")],
        });
    }
    let source = match std::str::from_utf8(bytes) {
        Ok(source) => source,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let mut mistakes = Vec::new();
    let result =
        read_file(source, limits, &mut mistakes).and_then(|file| match mistakes.is_empty() {
            true => assemble(file, limits, &mut mistakes).map(Some),
            false => Ok(None),
        });
    match result {
        Ok(Some(test)) if mistakes.is_empty() => return Ok(test),
        Ok(_) => {}
        Err(last) => mistakes.push(last),
    }
    mistakes.sort_by_key(|mistake| mistake.span.position);
    let mistakes = mistakes.into_iter();
    Err(ParseError {
        mistakes: mistakes.map(|mistake| mistake.shown(source)).collect(),
    })
}

/// The line is shown with what is wrong replaced.
fn not_utf8(bytes: &[u8], at: usize) -> ParseError {
    const SHOWN_AFTER: usize = 512;
    let last = bytes.len().min(at + SHOWN_AFTER);
    let rest = String::from_utf8_lossy(&bytes[at..last]);
    let before = String::from_utf8_lossy(&bytes[..at]);
    let shown = format!("{before}{rest}");
    let mut lexer = Lexer::new(&shown, usize::MAX);
    while lexer.here().start < before.len() {
        lexer.take_character();
    }
    let begin = lexer.here();
    lexer.take_character();
    let problem = Problem::NotUtf8 { byte: bytes[at] };
    let misread: Misread = problem.at(lexer.since(begin));
    ParseError {
        mistakes: vec![misread.shown(&shown)],
    }
}
