//! The registers that a thread has.

use rustc_hash::FxHashMap;

use crate::code::Register;
use crate::parse_error::SpannedError;
use crate::parse_error_kind::ParseErrorKind;
use crate::syntax::lexer::Span;

use super::registers::Which;

/// The registers of a thread, numbered as they are met.
#[derive(Clone, Debug, Default)]
pub(crate) struct RegisterFile<'s> {
    numbers: FxHashMap<Which<'s>, Register>,
    /// Which each is; the flags and temporary ones are none.
    pub which: Vec<Option<Which<'s>>>,
    temporary: [Option<Register>; 2],
}

/// The maximum number of registers: that of the index type, less one.
const MOST_REGISTERS: usize = 255;

impl<'s> RegisterFile<'s> {
    /// Only the flags.
    pub fn new() -> Self {
        RegisterFile {
            which: vec![None],
            ..RegisterFile::default()
        }
    }

    fn add(&mut self, which: Option<Which<'s>>, span: Span) -> Result<Register, SpannedError> {
        if self.which.len() == MOST_REGISTERS {
            return Err(ParseErrorKind::limit("registers in a thread", MOST_REGISTERS).at(span));
        }
        self.which.push(which);
        Ok(Register((self.which.len() - 1) as u8))
    }

    /// The number of a register, which it gets if it has none.
    pub fn number(&mut self, which: Which<'s>, span: Span) -> Result<Register, SpannedError> {
        if let Some(number) = self.numbers.get(&which) {
            return Ok(*number);
        }
        let number = self.add(Some(which), span)?;
        self.numbers.insert(which, number);
        Ok(number)
    }

    /// Whether an instruction uses it.
    pub fn has(&self, which: Which<'s>) -> bool {
        self.numbers.contains_key(&which)
    }

    /// A register for a value within an instruction.
    pub fn temporary(&mut self, which: usize, span: Span) -> Result<Register, SpannedError> {
        if let Some(number) = self.temporary[which] {
            return Ok(number);
        }
        let number = self.add(None, span)?;
        self.temporary[which] = Some(number);
        Ok(number)
    }
}
