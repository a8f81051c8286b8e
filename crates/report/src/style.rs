//! The few styles of the text output. The caller's stream strips them where there is no
//! colour.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// For the word `violation`.
pub const VIOLATION: Style = AnsiColor::Red.on_default().bold();
/// For the word `error`.
pub const ERROR: Style = VIOLATION;
/// For good news.
pub const SUCCESS: Style = AnsiColor::Green.on_default().bold();
/// For headings.
pub const HEADING: Style = Style::new().bold();
/// For the word `help`.
pub const HELP: Style = AnsiColor::BrightCyan.on_default().bold();
/// For the word `incomplete`.
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// For what is less important.
pub const DIM: Style = Style::new().dimmed();

/// Text in a style.
pub struct Styled<T>(pub Style, pub T);

impl<T: fmt::Display> fmt::Display for Styled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Styled(style, text) = self;
        write!(f, "{style}{text}{style:#}")
    }
}
