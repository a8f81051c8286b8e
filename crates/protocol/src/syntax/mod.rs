//! The Murphi language, from text to a tree.
//!
//! Read in this order: `tree` (what the text says), `keywords` and `lexer`, `cursor` (the tokens
//! and how to go on after a mistake), then `types`, `expressions`, `statements` and `rules`, one
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
use crate::mistake::{Misread, ModelError};
use crate::syntax::cursor::Parser;
use crate::syntax::tree::File;

/// Reads a whole file. What could be read is returned even if there are mistakes.
pub(crate) fn read_file<'s>(
    source: &'s str,
    limits: &Limits,
    mistakes: &mut Vec<Misread>,
) -> File<'s> {
    let tokens = lexer::tokens(source, limits, mistakes);
    if mistakes.len() >= ModelError::MOST {
        return File::default();
    }
    let nesting = limits.nesting.min(Limits::DEEPEST_NESTING);
    Parser::new(source, tokens, nesting, mistakes).file()
}
