//! Strict little readers of XML and DOT: they panic on what is not well-formed.

/// An element as it was opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub depth: usize,
}

impl Element {
    pub fn has_class(&self, class: &str) -> bool {
        let classes = self.attributes.iter().filter(|(name, _)| name == "class");
        let mut names = classes.flat_map(|(_, value)| value.split(' '));
        names.any(|name| name == class)
    }
}

fn is_name(text: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || "-_:.".contains(c);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(letters)
}

/// Text without markup: no `<`, and `&` only in entities that XML knows.
fn check_text(text: &str) {
    assert!(!text.contains('<'), "{text}");
    for part in text.split('&').skip(1) {
        let known = ["amp;", "lt;", "gt;", "quot;"];
        assert!(
            known.iter().any(|entity| part.starts_with(entity)),
            "&{part}"
        );
    }
    let is_allowed = |c: char| c == '\n' || c == '\t' || (!c.is_control() && c < '\u{fffe}');
    assert!(text.chars().all(is_allowed), "{text:?}");
}

/// The elements of a document, in order.
pub fn elements(document: &str) -> Vec<Element> {
    let mut found = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = document;
    while let Some(start) = rest.find('<') {
        check_text(&rest[..start]);
        assert!(start == 0 || !open.is_empty() || rest[..start].trim().is_empty());
        let end = rest.find('>').expect("a tag ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let (name, mut attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(is_name(name), "{tag}");
        let mut element = Element {
            name: name.into(),
            attributes: Vec::new(),
            depth: open.len(),
        };
        while !attributes.trim().is_empty() {
            let (name, value) = attributes.split_once("=\"").expect("name=\"value\"");
            let (value, more) = value.split_once('"').expect("a value ends");
            let name = name.trim();
            assert!(is_name(name), "{tag}");
            check_text(value);
            assert!(!element.attributes.iter().any(|(known, _)| known == name));
            element.attributes.push((name.into(), value.into()));
            assert!(more.is_empty() || more.starts_with(' '), "{tag}");
            attributes = more;
        }
        found.push(element);
        if !is_closed {
            open.push(name.into());
        }
    }
    assert!(rest.trim().is_empty() && open.is_empty());
    assert_eq!(found.iter().filter(|element| element.depth == 0).count(), 1);
    found
}

/// A statement of a DOT file, as its words: names, strings (with their quotes) and signs.
pub type Statement = Vec<String>;

/// The statements of a DOT file. Brackets and quotes must match.
pub fn dot_statements(text: &str) -> Vec<Statement> {
    let mut words: Vec<String> = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            letter if letter.is_whitespace() => {}
            '"' => {
                let mut word = String::from('"');
                loop {
                    let letter = letters.next().expect("a string ends");
                    word.push(letter);
                    match letter {
                        '"' => break,
                        '\\' => word.push(letters.next().expect("an escape ends")),
                        letter => assert!(!letter.is_control(), "{word:?}"),
                    }
                }
                words.push(word);
            }
            '{' | '}' | '[' | ']' | '=' | ',' | ';' => words.push(letter.into()),
            '-' => {
                assert_eq!(letters.next(), Some('>'));
                words.push("->".into());
            }
            _ => {
                let mut word = String::from(letter);
                while let Some(next) = letters.next_if(|c| c.is_alphanumeric() || "._".contains(*c))
                {
                    word.push(next);
                }
                assert!(
                    word.chars()
                        .all(|c| c.is_alphanumeric() || "._".contains(c))
                );
                words.push(word);
            }
        }
    }
    let mut depth = 0i32;
    let mut statements = vec![Vec::new()];
    for word in words {
        depth += match word.as_str() {
            "{" | "[" => 1,
            "}" | "]" => -1,
            _ => 0,
        };
        assert!(depth >= 0);
        match word.as_str() {
            ";" | "{" | "}" => statements.push(Vec::new()),
            _ => statements.last_mut().expect("there is one").push(word),
        }
    }
    assert_eq!(depth, 0);
    statements.retain(|statement| !statement.is_empty());
    statements
}
