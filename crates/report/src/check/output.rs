//! What the program has printed in the execution of a finding.

use serde::Serialize;

use super::finding::titled;
use crate::json::check::CHECK_SCHEMA;
use crate::json::line;
use crate::style::{HEADING, Styled};

/// The output as a section of a report, with each line indented. Control characters are shown, not obeyed.
pub fn program_output(text: &str) -> String {
    let mut section = String::from("\n");
    section.push_str(&titled(
        Styled(HEADING, "output of the program"),
        "in the execution of the first failure",
    ));
    for line in text.lines() {
        section.push_str("  ");
        section.extend(line.chars().flat_map(|character| {
            let is_shown = !character.is_control() || character == '\t';
            let escaped = (!is_shown).then(|| character.escape_default());
            escaped
                .into_iter()
                .flatten()
                .chain(is_shown.then_some(character))
        }));
        section.push('\n');
    }
    section
}

/// The output as a JSON object, in one line.
pub fn program_output_json(text: &str) -> String {
    #[derive(Serialize)]
    struct OutputObject<'a> {
        schema: &'static str,
        #[serde(rename = "type")]
        kind: &'static str,
        text: &'a str,
    }
    line(&OutputObject {
        schema: CHECK_SCHEMA,
        kind: "output",
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_indented_and_harmless() {
        let text = program_output("one\n\x1b[31mtwo\ttabs");
        assert!(
            text.ends_with("\n  one\n  \\u{1b}[31mtwo\ttabs\n"),
            "{text:?}"
        );
        let json = program_output_json("a\n\"b\"");
        assert!(
            json.contains(r#""type":"output","text":"a\n\"b\"""#),
            "{json}"
        );
    }
}
