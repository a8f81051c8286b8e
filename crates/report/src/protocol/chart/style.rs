//! The fonts and colours of a chart.

use crate::svg::{Font, in_both_schemes};

/// The role of a text, which decides its font.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TextStyle {
    /// The file and the verdict.
    Title,
    /// The name of a node.
    Node,
    /// The number of a step.
    Number,
    /// The rule of a step.
    Rule,
    /// The kind of a message.
    Message,
    /// The details of a message.
    Details,
    /// A change.
    Note,
    /// The verdict, at the end.
    Verdict,
    /// The legend.
    Legend,
}

impl TextStyle {
    pub(super) const ALL: [TextStyle; 9] = [
        TextStyle::Title,
        TextStyle::Node,
        TextStyle::Number,
        TextStyle::Rule,
        TextStyle::Message,
        TextStyle::Details,
        TextStyle::Note,
        TextStyle::Verdict,
        TextStyle::Legend,
    ];

    pub(super) fn class(self) -> &'static str {
        match self {
            TextStyle::Title => "title",
            TextStyle::Node => "node",
            TextStyle::Number => "number",
            TextStyle::Rule => "rule",
            TextStyle::Message => "message",
            TextStyle::Details => "details",
            TextStyle::Note => "note",
            TextStyle::Verdict => "verdict",
            TextStyle::Legend => "legend",
        }
    }

    pub(super) fn font(self) -> Font {
        Font {
            size: match self {
                TextStyle::Title => 18.0,
                TextStyle::Node | TextStyle::Verdict => 14.0,
                TextStyle::Message | TextStyle::Rule => 13.0,
                TextStyle::Number | TextStyle::Note | TextStyle::Legend => 12.0,
                TextStyle::Details => 11.0,
            },
            is_bold: matches!(
                self,
                TextStyle::Title | TextStyle::Node | TextStyle::Message | TextStyle::Verdict
            ),
            is_monospace: matches!(
                self,
                TextStyle::Note | TextStyle::Details | TextStyle::Message
            ),
        }
    }

    pub(super) fn line_height(self) -> f64 {
        self.font().line_height()
    }

    /// From the top of a line to its baseline.
    pub(super) fn baseline(self) -> f64 {
        self.font().baseline()
    }

    /// The largest width of a text.
    pub(super) fn width(self, text: &str) -> f64 {
        self.font().width(text)
    }

    /// The number of columns that fit a width.
    pub(super) fn columns_in(self, width: f64) -> usize {
        self.font().columns_in(width)
    }
}

/// The style sheet.
pub(super) fn style_sheet() -> String {
    let mut css = String::new();
    for style in TextStyle::ALL {
        let font = style.font().css();
        css += &format!(".fencepost-chart .{}{{font:{font}}}\n", style.class());
    }
    css += ".fencepost-chart .life{stroke-width:1.2;stroke-dasharray:2 4}\n\
            .fencepost-chart .arrow{fill:none;stroke-width:1.7;stroke-linejoin:round}\n\
            .fencepost-chart .lost{stroke-dasharray:6 4}\n\
            .fencepost-chart .box,.fencepost-chart .head-box,.fencepost-chart .failed{stroke-width:1.2}\n";
    css + &in_both_schemes(&colours(&LIGHT), &colours(&DARK))
}

/// Paper, band, box, border, text, faint text, messages, errors, behind errors.
const LIGHT: [&str; 9] = [
    "#ffffff", "#f5f6f9", "#fffdf2", "#8a919e", "#16191f", "#5d6470", "#1560bd", "#b3151f",
    "#fdecec",
];
const DARK: [&str; 9] = [
    "#15181d", "#1b1f26", "#2a2b26", "#7d8593", "#eceff4", "#a3abb8", "#7ab7ff", "#ff8a86",
    "#3a1d20",
];

fn colours(scheme: &[&str; 9]) -> String {
    let [
        paper,
        band,
        node,
        border,
        text,
        faint,
        message,
        error,
        behind,
    ] = *scheme;
    format!(
        ".fencepost-chart .paper,.fencepost-chart .plate{{fill:{paper}}}\n\
         .fencepost-chart .band,.fencepost-chart .band-plate{{fill:{band}}}\n\
         .fencepost-chart .life{{stroke:{border}}}\n\
         .fencepost-chart .box{{fill:{node};stroke:{border}}}\n\
         .fencepost-chart .head-box{{fill:{paper};stroke:{text}}}\n\
         .fencepost-chart .failed{{fill:{behind};stroke:{error}}}\n\
         .fencepost-chart text{{fill:{text}}}\n\
         .fencepost-chart .number,.fencepost-chart .legend,.fencepost-chart .details{{fill:{faint}}}\n\
         .fencepost-chart .arrow{{stroke:{message}}}\n\
         .fencepost-chart .head,.fencepost-chart .message{{fill:{message}}}\n\
         .fencepost-chart .ring{{fill:{paper};stroke:{message}}}\n\
         .fencepost-chart .verdict{{fill:{error}}}\n"
    )
}
