//! The parser of litmus files, in the format of herd7, litmus7 and diy7.
//!
//! Read in this order: `lexer` (characters and tokens), `tree` (a file as it is written), then the
//! parts of a file from its top to its end: `header`, `init`, `program` (whose cells are read by
//! `x86`), `condition`; `target` has what they share. Names are not resolved here: `assemble` does
//! that.

mod condition;
mod header;
mod init;
pub(crate) mod lexer;
mod program;
pub(crate) mod target;
pub(crate) mod tree;

use crate::limits::Limits;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::Section;

use lexer::Lexer;
use tree::File;

pub(crate) use program::MAX_ERRORS;

/// Reads a file. Errors that do not keep the rest from being read are collected in `errors`;
/// the file is of use only if there are none.
pub(crate) fn read_file<'s>(
    source: &'s str,
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> Result<File<'s>, SpannedError> {
    let mut lexer = Lexer::new(source, limits.name_bytes);
    let header = header::read_header(&mut lexer)?;
    lexer.section = Section::InitialState;
    let initial = init::read_initial_state(&mut lexer, header.architecture, limits)?;
    lexer.section = Section::Program;
    let columns = program::read_program(&mut lexer, header.architecture, limits, errors)?;
    lexer.section = Section::Condition;
    let ending = condition::read_ending(&mut lexer, limits)?;
    Ok(File {
        architecture: header.architecture,
        name: header.name,
        documentation: header.documentation,
        info: header.info,
        initial,
        columns,
        locations: ending.locations,
        filter: ending.filter,
        quantifier: ending.quantifier,
        condition: ending.condition,
    })
}
