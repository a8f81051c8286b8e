//! `XCHG`, `XADD` and `CMPXCHG` as operations, after Intel's manual, volume 2.
//!
//! - `XCHG` with memory is locked, with or without the prefix.
//! - `CMPXCHG` always writes: if the comparison fails, the value that it has read. With `LOCK` no
//!   thread can observe whether it does, and here it does not.

use crate::code::{Computation, FlagCondition, FlagTest, Operand as Input, Operation, Part, Width};
use crate::parse_error::SpannedError;

use super::instruction::WrittenInstruction;
use super::lowering::{Lowering, To};
use super::registers::{ACCUMULATOR, Which};

impl<'s> Lowering<'_, 's> {
    pub(super) fn exchange(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), SpannedError> {
        let (other, other_part) = self.source_register(instruction)?;
        let held = self.registers.temporary(0, instruction.span)?;
        let held_part = Part::Low(width);
        let (other_value, held_value) = (
            Input::Register(other, other_part),
            Input::Register(held, held_part),
        );
        match to {
            To::Register(register, part) => {
                self.move_to((held, held_part), Input::Register(register, part), width);
                self.move_to((register, part), other_value, width);
                self.move_to((other, other_part), held_value, width);
            }
            To::Memory(at) => {
                self.begin(true);
                self.load(held, at, width);
                self.store(at, other_value, width);
                self.move_to((other, other_part), held_value, width);
                self.end(true);
            }
        }
        Ok(())
    }

    pub(super) fn exchange_add(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), SpannedError> {
        let (other, other_part) = self.source_register(instruction)?;
        let sum = self.registers.temporary(1, instruction.span)?;
        let part = Part::Low(width);
        let (other_value, sum_value) = (
            Input::Register(other, other_part),
            Input::Register(sum, part),
        );
        let is_locked = instruction.is_locked;
        match to {
            To::Register(register, register_part) => {
                let held = Input::Register(register, register_part);
                self.compute(
                    Computation::Add,
                    width,
                    Some((sum, part)),
                    held,
                    other_value,
                );
                self.move_to((other, other_part), held, width);
                self.move_to((register, register_part), sum_value, width);
            }
            To::Memory(at) => {
                let held = self.registers.temporary(0, instruction.span)?;
                let held_value = Input::Register(held, part);
                self.begin(is_locked);
                self.load(held, at, width);
                self.compute(
                    Computation::Add,
                    width,
                    Some((sum, part)),
                    held_value,
                    other_value,
                );
                self.store(at, sum_value, width);
                self.move_to((other, other_part), held_value, width);
                self.end(is_locked);
            }
        }
        Ok(())
    }

    pub(super) fn compare_exchange(
        &mut self,
        instruction: &WrittenInstruction<'s>,
        to: To,
        width: Width,
    ) -> Result<(), SpannedError> {
        const DIFFERENT: FlagCondition = FlagCondition {
            test: FlagTest::Equal,
            negated: true,
        };
        let (new, new_part) = self.source_register(instruction)?;
        let new_value = Input::Register(new, new_part);
        let part = Part::Low(width);
        let span = instruction.span;
        let expected = self.registers.number(Which::Machine(ACCUMULATOR), span)?;
        let expected_value = Input::Register(expected, part);
        let is_locked = instruction.is_locked;
        if matches!(to, To::Memory(_)) {
            self.begin(is_locked);
        }
        let held_value = self.content(&to, width, span)?;
        self.compute(
            Computation::Subtract,
            width,
            None,
            expected_value,
            held_value,
        );
        let branch = self.operations.len();
        self.operations.push(Operation::JumpIf(DIFFERENT, 0));
        match to {
            To::Register(register, part) => self.move_to((register, part), new_value, width),
            To::Memory(at) => self.store(at, new_value, width),
        }
        let over = self.operations.len();
        self.operations.push(Operation::Jump(0));
        self.operations[branch] = Operation::JumpIf(DIFFERENT, over as u32 + 1);
        if let To::Memory(at) = to {
            if !is_locked {
                self.store(at, held_value, width);
            }
        }
        self.move_to((expected, part), held_value, width);
        self.operations[over] = Operation::Jump(self.operations.len() as u32);
        if matches!(to, To::Memory(_)) {
            self.end(is_locked);
        }
        Ok(())
    }
}
