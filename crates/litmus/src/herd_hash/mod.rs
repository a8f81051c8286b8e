//! The checksum of a test by which the tools around herd7 tell tests of one name apart (`Hash=` in
//! logs; mcompare7 refuses logs in which the two of a test differ).
//!
//! It is the MD5 of the MD5s of three texts: the initial state, the program and the observed
//! locations, each sorted and printed in a fixed way. Names, conditions and the text between
//! tokens do not count. A test in which something is beyond herd7's language has none: a checksum
//! that herd7 would not compute could only make logs differ that agree.
//!
//! `code` prints instructions.

mod code;

use std::collections::{BTreeMap, BTreeSet};

use crate::syntax::lexer::Span;
use crate::syntax::tree::{Claim, Compared, File, Initial, MemoryRef, RegisterRef, Target, Value};

/// The checksum that the file has, or else the one that herd7 computes for it.
pub(crate) fn of_file(source: &str, file: &File<'_>) -> Option<String> {
    let has_key = |wanted: &str| {
        let mut info = file.info.iter();
        info.find(|(key, _)| key.eq_ignore_ascii_case(wanted))
    };
    if let Some((_, hash)) = has_key("Hash") {
        return Some(hash.clone());
    }
    // These keys are part of the checksum, and for no test of x86.
    if ["MemoryType", "MT", "CacheType"]
        .into_iter()
        .any(|key| has_key(key).is_some())
    {
        return None;
    }
    let texts = [
        initial(source, file)?,
        program(source, file)?,
        observed(file),
    ];
    let digests: Vec<u8> = texts.iter().flat_map(|text| md5::compute(text).0).collect();
    Some(format!("{:x}", md5::compute(digests)))
}

/// A location as herd7 orders and prints it: registers by thread and name, symbolic registers
/// without a thread, then memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum HerdLocation<'s> {
    Register(u64, &'s str),
    Symbolic(&'s str),
    Memory(&'s str),
}

impl<'s> HerdLocation<'s> {
    fn of_register(reference: &RegisterRef<'s>) -> Self {
        match reference.thread {
            Some(thread) => HerdLocation::Register(thread, reference.name),
            None => HerdLocation::Symbolic(reference.name),
        }
    }

    fn text(&self) -> String {
        match self {
            HerdLocation::Register(thread, name) => format!("{thread}:{name}"),
            HerdLocation::Symbolic(name) | HerdLocation::Memory(name) => (*name).to_owned(),
        }
    }
}

fn initial(source: &str, file: &File<'_>) -> Option<String> {
    let mut entries = BTreeMap::new();
    for entry in &file.initial {
        let place = match &entry.target {
            Target::Register(reference) => HerdLocation::of_register(reference),
            Target::Memory(reference) => HerdLocation::Memory(reference.name),
        };
        let text = initial_entry(source, entry, &place.text())?;
        // herd7 refuses a second entry.
        if entries.insert(place, text).is_some() {
            return None;
        }
    }
    let texts: Vec<String> = entries.into_values().collect();
    Some(texts.join("; "))
}

fn initial_entry(source: &str, entry: &Initial<'_>, place: &str) -> Option<String> {
    let words = entry.type_at.map(|span| text_of(source, span));
    // herd7's types are one word.
    if words.is_some_and(|words| words.contains(char::is_whitespace)) {
        return None;
    }
    if let Some(length) = entry.length {
        return Some(format!("{} {place}[{length}]", words?));
    }
    let value = match entry.values.first() {
        None => "0".to_owned(),
        Some(Value::Number(_, span)) => number(text_of(source, *span))?,
        Some(Value::Address(reference)) => address(reference),
    };
    let is_pointer = entry.declared.is_some_and(|declared| declared.is_pointer);
    let takes_address = entry.values.first().is_some_and(|value| match value {
        Value::Address(reference) => source[..reference.span.start].trim_end().ends_with('&'),
        Value::Number(..) => false,
    });
    Some(match (words, is_pointer) {
        (Some(word), true) => format!("{word} *{place}={value}"),
        (Some(word), false) => format!("{word} {place}={value}"),
        (None, false) if !takes_address => format!("{place}={value}"),
        (None, _) => format!("*{place}={value}"),
    })
}

fn text_of(source: &str, span: Span) -> &str {
    &source[span.start..span.end]
}

/// A number of herd7's: it is kept as it is written.
fn number(text: &str) -> Option<String> {
    let is_one_token = !text.contains(|c: char| c.is_whitespace() || c == '_');
    is_one_token.then(|| text.to_owned())
}

fn address(reference: &MemoryRef<'_>) -> String {
    match reference.index {
        None | Some(0) => reference.name.to_owned(),
        Some(index) => format!("{}+{index}", reference.name),
    }
}

/// The table of instructions, in columns of one width. A label has a line of its own.
fn program(source: &str, file: &File<'_>) -> Option<String> {
    let labels: BTreeSet<&str> = file
        .columns
        .iter()
        .flat_map(|column| {
            let defined = column.labels.iter().map(|(name, ..)| *name);
            let used = column.instructions.iter();
            defined.chain(used.filter_map(|instruction| Some(instruction.target?.0)))
        })
        .collect();
    let labels: BTreeMap<&str, String> = labels
        .into_iter()
        .enumerate()
        .map(|(number, label)| (label, format!("L{number:02}")))
        .collect();
    let mut columns: Vec<Vec<String>> = Vec::new();
    for column in &file.columns {
        let mut lines = Vec::new();
        for (index, instruction) in column.instructions.iter().enumerate() {
            let here = column.labels.iter().filter(|(_, next, _)| *next == index);
            lines.extend(here.map(|(name, ..)| format!("{}:", labels[name])));
            let text = instruction.text(source);
            let target = instruction.target.map(|(label, _)| labels[label].as_str());
            lines.push(code::instruction(file.architecture, &text, target)?);
        }
        let end = column.instructions.len();
        let here = column.labels.iter().filter(|(_, next, _)| *next == end);
        lines.extend(here.map(|(name, ..)| format!("{}:", labels[name])));
        columns.push(lines);
    }
    Some(table(&columns))
}

fn table(columns: &[Vec<String>]) -> String {
    let widths = columns
        .iter()
        .map(|lines| lines.iter().map(String::len).max());
    let widths: Vec<usize> = widths.map(|width| width.unwrap_or(0)).collect();
    let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    for row in 0..rows {
        let cells = columns.iter().zip(&widths).map(|(lines, &width)| {
            let cell = lines.get(row).map_or("", String::as_str);
            format!(" {cell:width$} ")
        });
        let cells: Vec<String> = cells.collect();
        text += &cells.join("|");
        text += ";\n";
    }
    text
}

/// The locations of `locations` and of the condition: whole ones first, then elements of arrays.
fn observed(file: &File<'_>) -> String {
    let mut found = BTreeSet::new();
    for target in &file.locations {
        found.insert(observable(target));
    }
    collect(&file.condition, &mut found);
    let texts: Vec<String> = found
        .into_iter()
        .map(|(index, place)| match index {
            None => place.text(),
            Some(index) => format!("{}[{index}]", place.text()),
        })
        .collect();
    texts.join("; ")
}

/// An element of an array by its index after everything that is none, by name and then by index.
type Observed<'s> = (Option<u64>, HerdLocation<'s>);

fn observable<'s>(target: &Target<'s>) -> Observed<'s> {
    match target {
        Target::Register(reference) => (None, HerdLocation::of_register(reference)),
        Target::Memory(reference) => (reference.index, HerdLocation::Memory(reference.name)),
    }
}

/// The recursion is as deep as the proposition, whose depth is limited.
fn collect<'s>(claim: &Claim<'s>, found: &mut BTreeSet<Observed<'s>>) {
    match claim {
        Claim::Constant(_) => {}
        Claim::Equal(left, right) => {
            found.insert(observable(left));
            if let Compared::Content(right) = right {
                found.insert(observable(right));
            }
        }
        Claim::Not(inner) => collect(inner, found),
        Claim::And(parts) | Claim::Or(parts) => {
            for part in parts {
                collect(part, found);
            }
        }
        Claim::Implies(left, right) => {
            collect(left, found);
            collect(right, found);
        }
    }
}
