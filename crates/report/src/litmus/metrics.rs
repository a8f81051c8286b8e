//! How large text is. Fonts differ; these widths are enough for the wide ones.

use unicode_width::UnicodeWidthStr;

pub use crate::markup::wrapped;

/// What a text is, which decides how it looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextStyle {
    /// The name of a test.
    Title,
    /// The final state, and the cycle.
    Caption,
    /// The name of a thread.
    Thread,
    /// What an event does.
    Event,
    /// The text of an instruction.
    Instruction,
    /// A remark on an event.
    Remark,
    /// The name of a relation at an arrow.
    Arrow,
    /// The legend.
    Legend,
}

impl TextStyle {
    /// All of them.
    pub const ALL: [TextStyle; 8] = [
        TextStyle::Title,
        TextStyle::Caption,
        TextStyle::Thread,
        TextStyle::Event,
        TextStyle::Instruction,
        TextStyle::Remark,
        TextStyle::Arrow,
        TextStyle::Legend,
    ];

    /// The size of the font, in pixels.
    pub fn size(self) -> f64 {
        match self {
            TextStyle::Title => 20.0,
            TextStyle::Caption | TextStyle::Thread => 14.0,
            TextStyle::Event => 15.0,
            TextStyle::Instruction | TextStyle::Arrow | TextStyle::Legend => 12.0,
            TextStyle::Remark => 11.0,
        }
    }

    /// How far the lines of a text are apart.
    pub fn line_height(self) -> f64 {
        (self.size() * 1.3).round()
    }

    /// Whether the font has letters of one width.
    pub fn is_monospace(self) -> bool {
        !matches!(
            self,
            TextStyle::Title | TextStyle::Legend | TextStyle::Thread
        )
    }

    /// Whether it is bold.
    pub fn is_bold(self) -> bool {
        matches!(
            self,
            TextStyle::Title | TextStyle::Thread | TextStyle::Event | TextStyle::Arrow
        )
    }

    /// How wide a text is, at most.
    pub fn width(self, text: &str) -> f64 {
        let letter = match (self.is_monospace(), self.is_bold()) {
            (true, _) => 0.62,
            (false, true) => 0.72,
            (false, false) => 0.59,
        };
        text.width() as f64 * self.size() * letter
    }
}
