//! A letter for each effect and each kind of touch, in checkpoints and in the fingerprints there.

use crate::program::{Condition, Effect, TouchKind};

impl Effect {
    pub(crate) fn letter(self) -> char {
        match self {
            Effect::Read => 'r',
            Effect::Write => 'w',
            Effect::WriteIf(_) => 'c',
            Effect::WriteMultiple => 'm',
            Effect::Update => 'u',
        }
    }

    /// The effect with this letter, and with any condition.
    pub(crate) fn of_letter(letter: char) -> Option<Self> {
        let all = [
            Effect::Read,
            Effect::Write,
            Effect::WriteIf(Condition::Equals(0)),
            Effect::WriteMultiple,
            Effect::Update,
        ];
        all.into_iter().find(|effect| effect.letter() == letter)
    }
}

impl TouchKind {
    pub(crate) fn letter(self) -> char {
        match self {
            TouchKind::Read => 'r',
            TouchKind::Update => 'u',
            TouchKind::Write => 'w',
        }
    }

    /// The kind with this letter.
    pub(crate) fn of_letter(letter: char) -> Option<Self> {
        let all = [TouchKind::Read, TouchKind::Update, TouchKind::Write];
        all.into_iter().find(|kind| kind.letter() == letter)
    }
}
