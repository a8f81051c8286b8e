//! The fonts of the texts in a picture.

use crate::svg::Font;

/// The role of a text, which decides its font.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TextStyle {
    /// The name of a test.
    Title,
    /// The final state, and the cycle.
    Caption,
    /// The name of a thread.
    Thread,
    /// The action of an event.
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

    pub(crate) fn font(self) -> Font {
        Font {
            size: match self {
                TextStyle::Title => 20.0,
                TextStyle::Caption | TextStyle::Thread => 14.0,
                TextStyle::Event => 15.0,
                TextStyle::Instruction | TextStyle::Arrow | TextStyle::Legend => 12.0,
                TextStyle::Remark => 11.0,
            },
            is_bold: matches!(
                self,
                TextStyle::Title | TextStyle::Thread | TextStyle::Event | TextStyle::Arrow
            ),
            is_monospace: !matches!(
                self,
                TextStyle::Title | TextStyle::Legend | TextStyle::Thread
            ),
        }
    }

    /// The size of the font, in pixels.
    pub fn size(self) -> f64 {
        self.font().size
    }

    /// The distance between the lines of a text.
    pub fn line_height(self) -> f64 {
        self.font().line_height()
    }

    /// The largest width of a text.
    pub fn width(self, text: &str) -> f64 {
        self.font().width(text)
    }
}
