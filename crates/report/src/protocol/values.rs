//! Values as text, on one line.

use fencepost_protocol::model::types::{TypeId, TypeKind, Types};
use fencepost_protocol::outcome::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Whether nothing in it has a value.
pub(crate) fn is_blank(value: &Value) -> bool {
    match value {
        Value::Undefined => true,
        Value::Simple(_) => false,
        Value::Parts(parts) => parts.iter().all(is_blank),
        Value::Elements(elements) => elements.iter().all(Option::is_none),
    }
}

/// A value on one line. Fields without a value are left out: messages have many, and those that are
/// there are what matters.
pub(crate) fn compact(types: &Types, id: TypeId, value: &Value) -> String {
    match (value, &types[id].kind) {
        (Value::Simple(value), _) => types.show(id, *value),
        (Value::Elements(elements), TypeKind::Multiset { element, .. }) => {
            let present = elements.iter().flatten();
            match bag(types, *element, present).as_slice() {
                [] => "empty".into(),
                shown => format!("{{| {} |}}", shown.join(", ")),
            }
        }
        (value, _) if is_blank(value) => "undefined".into(),
        (Value::Parts(parts), TypeKind::Record(fields)) => {
            let mut shown = Vec::new();
            for (part, field) in parts.iter().zip(fields) {
                if !is_blank(part) {
                    let part = compact(types, field.type_id, part);
                    shown.push(format!("{}: {part}", field.name));
                }
            }
            format!("{{{}}}", shown.join(", "))
        }
        (Value::Parts(parts), TypeKind::Array { index, element }) => match parts.as_slice() {
            [first, rest @ ..] if !rest.is_empty() && rest.iter().all(|each| each == first) => {
                format!("[all: {}]", compact(types, *element, first))
            }
            _ => {
                let mut shown = Vec::new();
                for (key, part) in keys(types, *index).zip(parts) {
                    let part = compact(types, *element, part);
                    shown.push(format!("{}: {part}", types.show(*index, key)));
                }
                format!("[{}]", shown.join(", "))
            }
        },
        _ => "undefined".into(),
    }
}

/// The values of the index of an array.
pub(crate) fn keys(types: &Types, index: TypeId) -> impl Iterator<Item = i64> {
    let (low, high) = types[index].bounds().unwrap_or((0, -1));
    low..=high
}

/// Elements of a multiset, equal ones together.
pub(crate) fn bag<'v>(
    types: &Types,
    element: TypeId,
    elements: impl Iterator<Item = &'v Value>,
) -> Vec<String> {
    let mut counted: Vec<(String, usize)> = Vec::new();
    for each in elements {
        let shown = compact(types, element, each);
        match counted.iter_mut().find(|(other, _)| *other == shown) {
            Some((_, count)) => *count += 1,
            None => counted.push((shown, 1)),
        }
    }
    let shown = counted.into_iter().map(|(shown, count)| match count {
        1 => shown,
        _ => format!("{shown} ×{count}"),
    });
    shown.collect()
}

/// Text without what would change a terminal: names of rules may have any characters.
pub(crate) fn printable(text: &str) -> String {
    let shown = |letter: char| match letter.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => letter,
    };
    text.chars().map(shown).collect()
}

/// At most so many columns of a text.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let text = printable(text);
    if text.width() <= most {
        return text;
    }
    let mut short = String::new();
    let mut width = 1;
    for letter in text.chars() {
        width += letter.width().unwrap_or(0);
        if width > most {
            break;
        }
        short.push(letter);
    }
    short.push('…');
    short
}
