//! What all pictures share: the SVG document, sheets of elements, fonts and the measure of text.
//!
//! A picture is one file that needs nothing else: no scripts, no fonts, and no identifiers that
//! could clash where several pictures are on one page. Its colours follow the reader's colour
//! scheme; a viewer that does not know colour schemes shows the light one.

use unicode_width::UnicodeWidthStr;

/// The parts of an SVG document.
pub(crate) struct Document<'a> {
    /// The class of the root, to which the style sheet applies.
    pub class: &'a str,
    /// The title, for assistive technology.
    pub title: &'a str,
    /// The picture in words, for assistive technology.
    pub description: &'a str,
    /// The style sheet.
    pub style: &'a str,
    /// The width of the picture.
    pub width: f64,
    /// The height of the picture.
    pub height: f64,
}

impl Document<'_> {
    /// The document with these elements on its paper.
    pub(crate) fn with(&self, elements: &str) -> String {
        let (width, height) = (number(self.width), number(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"{}\" role=\"img\" \
             width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             <title>{}</title>\n<desc>{}</desc>\n<style>\n{}</style>\n\
             <rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>\n{elements}</svg>\n",
            self.class,
            escaped(self.title),
            escaped(self.description),
            self.style,
        )
    }
}

/// Elements, and their height together.
#[derive(Default)]
pub(crate) struct Sheet {
    /// The elements, as SVG.
    pub elements: String,
    /// The height of all elements.
    pub height: f64,
}

impl Sheet {
    /// The elements at a place of the document.
    pub(crate) fn group(&self, left: f64, top: f64) -> String {
        let place = format!("translate({} {})", number(left), number(top));
        format!("<g transform=\"{place}\">\n{}</g>\n", self.elements)
    }
}

/// A rectangle: left, top, width and height, with rounded corners.
pub(crate) fn rectangle(class: &str, [left, top, width, height]: [f64; 4], round: u32) -> String {
    format!(
        "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{round}\"/>\n",
        number(left),
        number(top),
        number(width),
        number(height)
    )
}

/// Rules for both colour schemes.
pub(crate) fn in_both_schemes(light: &str, dark: &str) -> String {
    format!("{light}@media (prefers-color-scheme:dark){{\n{dark}}}\n")
}

/// A font that readers are likely to have, by its properties.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Font {
    /// The size, in pixels.
    pub size: f64,
    /// Whether the letters are bold.
    pub is_bold: bool,
    /// Whether all letters have one width.
    pub is_monospace: bool,
}

impl Font {
    /// The font as style sheets name it.
    pub(crate) fn css(self) -> String {
        let family = match self.is_monospace {
            true => "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace",
            false => "system-ui,'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif",
        };
        let weight = if self.is_bold { "600" } else { "400" };
        format!("{weight} {}px {family}", number(self.size))
    }

    /// The distance between the lines of a text.
    pub(crate) fn line_height(self) -> f64 {
        (self.size * 1.3).round()
    }

    /// From the top of a line to its baseline.
    #[cfg(feature = "protocol")]
    pub(crate) fn baseline(self) -> f64 {
        (self.line_height() * 0.76).round()
    }

    /// The largest width of a text. Fonts differ; this is enough for the wide ones.
    pub(crate) fn width(self, text: &str) -> f64 {
        let letter = match (self.is_monospace, self.is_bold) {
            (true, _) => 0.62,
            (false, true) => 0.72,
            (false, false) => 0.6,
        };
        text.width() as f64 * self.size * letter
    }

    /// The number of columns that fit a width.
    pub(crate) fn columns_in(self, width: f64) -> usize {
        (width / self.width("m")).floor().max(8.0) as usize
    }
}

/// A coordinate with at most one digit after the point.
pub(crate) fn number(value: f64) -> String {
    let tenths = (value * 10.0).round() as i64;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        _ => format!("{}", tenths as f64 / 10.0),
    }
}

/// Text escaped for XML. Characters that XML excludes become replacement characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' => out.push(letter),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A text as lines of at most `most` columns. Lines end after a space or a comma if there is one,
/// or between the parts of a long name.
pub(crate) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    let words = text.split_inclusive([' ', ',']);
    let pieces = words.flat_map(|word| match word.trim_end().width() > most {
        true => word.split_inclusive(['.', ']', '/']).collect(),
        false => vec![word],
    });
    for piece in pieces {
        if !line.is_empty() && line.width() + piece.trim_end().width() > most {
            lines.push(std::mem::take(&mut line));
        }
        for letter in piece.chars() {
            line.push(letter);
            if line.trim_end().width() > most {
                line.pop();
                lines.push(std::mem::take(&mut line));
                line.push(letter);
            }
        }
    }
    lines.push(line);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn long_texts_break_at_spaces_and_commas_or_where_they_must() {
        assert_eq!(wrapped("MOV [x],$1", 20), ["MOV [x],$1"]);
        assert_eq!(wrapped("MOV [x],$1", 9), ["MOV [x],", "$1"]);
        assert_eq!(wrapped("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrapped("変変変", 4), ["変変", "変"]);
        assert_eq!(wrapped("a b.cdef.gh", 6), ["a b.", "cdef.", "gh"]);
        assert!(wrapped("", 4).is_empty());
    }
}
