//! The program table: a row of threads, then rows of instructions.

use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::test::Architecture;
use crate::x86::instruction::read_cell;
use crate::x86::mnemonics::find;
use fencepost_diagnostics::nearest;

use super::lexer::{Lexer, Span, Token};
use super::target::thread_number;
use super::tree::Column;

/// More errors than these are not collected.
pub(crate) const MAX_ERRORS: usize = 20;

/// Reads up to the word that follows the table. Errors within an instruction are collected in
/// `errors`, since the rows after them can still be read.
pub(super) fn read_program<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> Result<Vec<Column<'s>>, SpannedError> {
    let mut columns = read_threads(lexer, limits)?;
    while !at_end_of_program(lexer)? {
        read_row(lexer, architecture, limits, &mut columns, errors)?;
        if errors.len() >= MAX_ERRORS {
            if let Some(last) = errors.pop() {
                return Err(last);
            }
        }
    }
    Ok(columns)
}

/// The end of the table: `exists` and the like, or the end of the file.
fn at_end_of_program(lexer: &Lexer<'_>) -> Result<bool, SpannedError> {
    let mut ahead = *lexer;
    // A wrong character is an error of the row that it is in.
    let Ok((token, _)) = ahead.next() else {
        return Ok(false);
    };
    Ok(match token {
        Token::End | Token::Mark("~" | "(") => true,
        Token::Name(
            "exists" | "forall" | "final" | "observed" | "Observed" | "locations" | "filter",
        ) => !matches!(ahead.next(), Ok((Token::Mark(":"), _))),
        // A misspelled `exists`, which is an error of the condition.
        Token::Name(name) if find(&name.to_ascii_uppercase()).is_none() => {
            nearest(name, ["exists", "forall"]).is_some()
                && matches!(ahead.next(), Ok((Token::Mark("("), _)))
        }
        _ => false,
    })
}

fn read_threads<'s>(
    lexer: &mut Lexer<'s>,
    limits: &Limits,
) -> Result<Vec<Column<'s>>, SpannedError> {
    const WANTED: &str = "the threads of the program, such as `P0 | P1 ;`";
    lexer.take_mark(";")?;
    let mut columns: Vec<Column<'s>> = Vec::new();
    let mut seen = rustc_hash::FxHashSet::default();
    loop {
        let (token, span) = lexer.next()?;
        let thread = match token {
            Token::Name(name) => thread_number(name),
            _ => None,
        };
        let Some(thread) = thread else {
            return Err(lexer.unexpected(span, WANTED));
        };
        let Ok(number) = u32::try_from(thread) else {
            return Err(lexer.unexpected(span, "a number of at most 32 bits"));
        };
        if columns.len() == limits.threads {
            return Err(ParseErrorKind::limit("threads", limits.threads).at(span));
        }
        if !seen.insert(number) {
            return Err(ParseErrorKind::DuplicateThread { number }.at(span));
        }
        columns.push(Column {
            number,
            labels: Vec::new(),
            instructions: Vec::new(),
        });
        // The kind of the thread, which matters to other tools.
        if lexer.take_mark(":")? {
            let (token, span) = lexer.next()?;
            if !matches!(token, Token::Name(_)) {
                return Err(lexer.unexpected(span, "a word"));
            }
        }
        match lexer.next()? {
            (Token::Mark("|"), _) => {}
            (Token::Mark(";"), _) => return Ok(columns),
            (_, span) => return Err(lexer.unexpected(span, "`|` or `;`")),
        }
    }
}

fn read_row<'s>(
    lexer: &mut Lexer<'s>,
    architecture: Architecture,
    limits: &Limits,
    columns: &mut [Column<'s>],
    errors: &mut Vec<SpannedError>,
) -> Result<(), SpannedError> {
    let threads = columns.len();
    let mut cells = 0;
    loop {
        let begin = lexer.here();
        let Some(column) = columns.get_mut(cells) else {
            let (_, span) = lexer.peek()?;
            return Err(row_length(cells + 1, threads, span));
        };
        cells += 1;
        if let Err(error) = read_cell(lexer, architecture, column) {
            if error.kind.is_last() {
                return Err(error);
            }
            errors.push(error);
            skip_cell(lexer);
        }
        if column.instructions.len() > limits.instructions {
            let kind = ParseErrorKind::limit("instructions in a thread", limits.instructions);
            return Err(kind.at(begin));
        }
        match lexer.next()? {
            (Token::Mark("|"), _) => {}
            (Token::Mark(";"), span) => {
                return match cells == threads {
                    true => Ok(()),
                    false => Err(row_length(cells, threads, span)),
                };
            }
            (_, span) => return Err(lexer.unexpected(span, "`|` or `;` after an instruction")),
        }
    }
}

fn row_length(found: usize, threads: usize, span: Span) -> SpannedError {
    ParseErrorKind::RowLength { found, threads }.at(span)
}

/// Goes to what ends the cell.
fn skip_cell(lexer: &mut Lexer<'_>) {
    loop {
        match lexer.peek() {
            Ok((Token::Mark("|" | ";") | Token::End, _)) => return,
            _ => {
                let before = lexer.here().start;
                let _ = lexer.next();
                if lexer.here().start == before {
                    return;
                }
            }
        }
    }
}
