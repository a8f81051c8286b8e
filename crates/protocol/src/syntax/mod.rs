//! The Murphi language, from text to a tree.
//!
//! Read in this order: `tree` (the syntax tree), `keywords` and `lexer`, `cursor` (tokens and error
//! recovery), then `types`, `expressions`, `statements` and `rules`, one
//! part of the language each.
//!
//! The parser accepts what CMurphi 5.5 or Rumur accepts. It looks up no names: whether `a..b` is a
//! valid range is checked in `resolve`.

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

/// Parses a whole file. Returns the tree of the correct parts even if there are errors.
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
