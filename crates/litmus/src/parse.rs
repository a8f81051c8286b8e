//! From bytes to a test.

use crate::assemble::assemble;
use crate::limits::Limits;
use crate::parse_error::{ParseError, SpannedError};
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::{Lexer, Span};
use crate::syntax::read_file;
use crate::test::Test;

/// How much of a file is searched for the excerpt of an error, if it is not UTF-8.
const SHOWN: usize = 512;

/// Reads a litmus test in the format of herd7, litmus7 and diy7.
///
/// Errors in different instructions are all reported; an error that leaves open how to go on is the
/// last one.
///
/// ```
/// use fencepost_litmus::{Limits, parse};
///
/// let source = b"X86 SB
/// { x=0; y=0; }
///  P0          | P1          ;
///  MOV [x],$1  | MOV [y],$1  ;
///  MOV EAX,[y] | MOV EAX,[x] ;
/// exists (0:EAX=0 /\\ 1:EAX=0)";
/// let test = parse(source, &Limits::default())?;
/// assert_eq!(test.threads.len(), 2);
/// assert_eq!(test.condition_text, "exists (0:EAX=0 /\\ 1:EAX=0)");
/// assert_eq!(test.format_state(&[0, 1]), "0:EAX=0; 1:EAX=1;");
/// # Ok::<(), fencepost_litmus::ParseError>(())
/// ```
pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Test, ParseError> {
    // Positions are numbers of 32 bits.
    let most_bytes = limits.bytes.min(u32::MAX as usize);
    if bytes.len() > most_bytes {
        let begin = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN)]);
        let error = ParseErrorKind::limit("bytes in the file", most_bytes).at(Span::START);
        return Err(ParseError {
            errors: vec![error.with_source(&begin)],
        });
    }
    const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let source = match std::str::from_utf8(bytes) {
        Ok(source) => source,
        Err(error) => return Err(not_utf8(bytes, error.valid_up_to())),
    };
    let mut errors = Vec::new();
    let result = read_file(source, limits, &mut errors).and_then(|file| match errors.is_empty() {
        true => assemble(source, file, limits, &mut errors).map(Some),
        false => Ok(None),
    });
    match result {
        Ok(Some(test)) if errors.is_empty() => return Ok(test),
        Ok(_) => {}
        Err(last) => errors.push(last),
    }
    errors.sort_by_key(|error| error.span.position);
    let errors = errors.into_iter();
    Err(ParseError {
        errors: errors.map(|error| error.with_source(source)).collect(),
    })
}

/// The line is shown with what is wrong replaced.
fn not_utf8(bytes: &[u8], at: usize) -> ParseError {
    let last = bytes.len().min(at + SHOWN);
    let rest = String::from_utf8_lossy(&bytes[at..last]);
    let before = String::from_utf8_lossy(&bytes[..at]);
    let shown = format!("{before}{rest}");
    let mut lexer = Lexer::new(&shown, usize::MAX);
    while lexer.here().start < before.len() {
        lexer.take_character();
    }
    let begin = lexer.here();
    lexer.take_character();
    let kind = ParseErrorKind::NotUtf8 { byte: bytes[at] };
    let error: SpannedError = kind.at(lexer.since(begin));
    ParseError {
        errors: vec![error.with_source(&shown)],
    }
}
