//! The Murphi language, from text to a tree.
//!
//! Read in this order: `tree` (what the text says), `keywords` and `lexer`, `cursor` (the tokens
//! and how to go on after an error), then `types`, `expressions`, `statements` and `rules`, one
//! part of the language each.
//!
//! What is read is what CMurphi 5.5 and Rumur accept; where they differ, both are accepted. Nothing here looks up a
//! name, so whether `a..b` is a good range is not asked here.

pub(crate) mod cursor;
mod expressions;
pub(crate) mod keywords;
pub(crate) mod lexer;
mod rules;
mod statements;
pub(crate) mod tree;
mod types;

use crate::limits::Limits;
use crate::model_error::{ModelError, SpannedError};
use crate::syntax::cursor::Parser;
use crate::syntax::tree::File;

/// Reads a whole file. What could be read is returned even if there are errors.
pub(crate) fn read_file<'s>(
    source: &'s str,
    limits: &Limits,
    errors: &mut Vec<SpannedError>,
) -> File<'s> {
    let tokens = lexer::tokens(source, limits, errors);
    if errors.len() >= ModelError::MAX {
        return File::default();
    }
    let nesting = limits.nesting.min(Limits::DEEPEST_NESTING);
    Parser::new(source, tokens, nesting, errors).file()
}
