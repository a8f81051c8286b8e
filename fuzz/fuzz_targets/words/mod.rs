//! Changes a model word by word and statement by statement, so that many results are models again.

use fencepost_memory::Random;

/// Replacements of numbers: the bounds of ranges and of integer widths.
const NUMBERS: [&str; 20] = [
    "0",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "15",
    "16",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "-1",
];

/// Operators of the same type.
const ALIKE: [&[&str]; 3] = [
    &["+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"],
    &["=", "!=", "<", "<=", ">", ">="],
    &["&", "|", "->"],
];

/// Words that can replace each other.
const EXCHANGEABLE: [&[&str]; 7] = [
    &["forall", "exists"],
    &["clear", "undefine"],
    &["true", "false"],
    &["invariant", "cover", "assume"],
    &["array", "multiset"],
    &["endif", "endfor", "endwhile", "end"],
    &["multisetremovepred", "multisetcount"],
];

/// Replacements of an operand: `@` is the old operand, `%` another one.
const EXPRESSIONS: [&str; 16] = [
    "(@ + %)",
    "(@ - %)",
    "(@ * %)",
    "(@ / %)",
    "(@ % 3)",
    "(@ << %)",
    "(@ >> %)",
    "(-@)",
    "(~@)",
    "(@ & %)",
    "(@ | %)",
    "(!@)",
    "(@ = % ? @ : %)",
    "(isundefined(@) ? % : @)",
    "undefined",
    "(@ -> %)",
];

/// Replacements of a statement: `@` is the old statement, `%` an operand.
const STATEMENTS: [&str; 14] = [
    "if % then @ endif;",
    "if % = % then @ else @ endif;",
    "while % < % do @ endwhile;",
    "for q0 := 0 to % do @ endfor;",
    "for q1 := % to 0 by -1 do @ endfor;",
    "alias q2: % do @ endalias;",
    "switch % case %: @ else @ endswitch;",
    "undefine %; @",
    "clear %; @",
    "% := %; @",
    "@ @",
    "assert %; @",
    "return;",
    "",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Name,
    Number,
    Sign,
    Text,
    Space,
}

/// Random choices.
struct Choices(Random);

impl Choices {
    fn below(&mut self, many: usize) -> usize {
        self.0.below(many as u64) as usize
    }

    fn one<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// The text after one to four changes; none if there is nothing to change.
pub fn change(text: &str, seed: u64) -> Option<String> {
    let mut random = Choices(Random::new(seed));
    let mut text = text.to_owned();
    for _ in 0..[1, 1, 1, 2, 2, 4][random.below(6)] {
        text = change_once(&text, &mut random)?;
    }
    Some(text)
}

fn change_once(text: &str, random: &mut Choices) -> Option<String> {
    let mut words = words(text);
    let solid: Vec<usize> = (0..words.len())
        .filter(|at| words[*at].0 != Kind::Space)
        .collect();
    if solid.len() < 2 {
        return None;
    }
    let at = solid[random.below(solid.len())];
    let (kind, word) = words[at];
    let made;
    match random.below(12) {
        // Another word of its kind.
        0..4 => {
            let other = match kind {
                Kind::Number => random.one(&NUMBERS),
                Kind::Sign => {
                    let sets: Vec<_> = ALIKE.iter().filter(|set| set.contains(&word)).collect();
                    match sets.len() {
                        0 => another(&words, kind, random)?,
                        many => {
                            let set = random.below(many);
                            random.one(sets[set])
                        }
                    }
                }
                _ => {
                    let lower = word.to_ascii_lowercase();
                    let set = EXCHANGEABLE.iter().find(|set| set.contains(&&*lower));
                    match set {
                        Some(set) => random.one(set),
                        None => another(&words, kind, random)?,
                    }
                }
            };
            words[at].1 = other;
        }
        // An operand becomes an expression.
        4..7 => {
            let operands: Vec<usize> = solid
                .into_iter()
                .filter(|at| matches!(words[*at].0, Kind::Name | Kind::Number))
                .collect();
            if operands.is_empty() {
                return None;
            }
            let at = operands[random.below(operands.len())];
            let end = end_of_place(&words, at);
            let operand: String = words[at..end].iter().map(|(_, word)| *word).collect();
            made = fill(random.one(&EXPRESSIONS), &operand, &words, random)?;
            words.splice(at..end, [(Kind::Text, &*made)]);
        }
        // A statement is wrapped, repeated or left out.
        7..9 => {
            let (begin, end) = statement(&words, random)?;
            let old: String = words[begin..end].iter().map(|(_, word)| *word).collect();
            made = fill(random.one(&STATEMENTS), &old, &words, random)?;
            words.splice(begin..end, [(Kind::Text, &*made)]);
        }
        // A statement goes to where another is.
        9 => {
            let (begin, end) = statement(&words, random)?;
            let moved = words[begin..end].to_vec();
            let (at, _) = statement(&words, random)?;
            words.splice(at..at, moved);
        }
        10 => {
            words.remove(at);
        }
        _ => {
            let other = another(&words, kind, random)?;
            words.insert(at, (Kind::Space, " "));
            words.insert(at, (kind, other));
        }
    }
    Some(words.into_iter().map(|(_, word)| word).collect())
}

/// A pattern, filled in.
fn fill(pattern: &str, old: &str, words: &[(Kind, &str)], random: &mut Choices) -> Option<String> {
    let mut made = String::from(" ");
    for sign in pattern.chars() {
        match sign {
            '@' => made += old,
            '%' if pattern.ends_with("% 3)") => made.push('%'),
            '%' => made += &operand(words, random)?,
            sign => made.push(sign),
        }
    }
    made.push(' ');
    Some(made)
}

/// A number, or a variable that is read or written somewhere.
fn operand(words: &[(Kind, &str)], random: &mut Choices) -> Option<String> {
    if random.below(4) == 0 {
        return Some(random.one(&NUMBERS).to_owned());
    }
    let names: Vec<usize> = (0..words.len())
        .filter(|at| words[*at].0 == Kind::Name)
        .collect();
    if names.is_empty() {
        return None;
    }
    let at = names[random.below(names.len())];
    let end = end_of_place(words, at);
    Some(words[at..end].iter().map(|(_, word)| *word).collect())
}

/// The end of the variable, number or call that begins here: after its fields, indices and arguments.
fn end_of_place(words: &[(Kind, &str)], at: usize) -> usize {
    let mut end = at + 1;
    if words[at].0 != Kind::Name {
        return end;
    }
    loop {
        match words.get(end) {
            Some((Kind::Sign, ".")) if words.get(end + 1).is_some_and(|w| w.0 == Kind::Name) => {
                end += 2;
            }
            Some((Kind::Sign, "[" | "(")) => {
                let mut open = 0;
                let closed = words[end..].iter().position(|(_, word)| {
                    match *word {
                        "[" | "(" => open += 1,
                        "]" | ")" => open -= 1,
                        _ => {}
                    }
                    open == 0
                });
                match closed {
                    Some(closed) => end += closed + 1,
                    None => return end,
                }
            }
            _ => return end,
        }
    }
}

/// The text between two semicolons, with the second one.
fn statement(words: &[(Kind, &str)], random: &mut Choices) -> Option<(usize, usize)> {
    const BEFORE: [&str; 8] = [";", "begin", "==>", "then", "else", "do", ":", "case"];
    let ends: Vec<usize> = (0..words.len()).filter(|at| words[*at].1 == ";").collect();
    if ends.is_empty() {
        return None;
    }
    let end = ends[random.below(ends.len())];
    let before = words[..end]
        .iter()
        .rposition(|(_, word)| BEFORE.contains(&&*word.to_ascii_lowercase()));
    Some((before.map_or(0, |before| before + 1), end + 1))
}

/// A word of a kind from anywhere.
fn another<'a>(words: &[(Kind, &'a str)], kind: Kind, random: &mut Choices) -> Option<&'a str> {
    let found: Vec<&str> = words
        .iter()
        .filter(|(other, _)| *other == kind)
        .map(|(_, word)| *word)
        .collect();
    match found.is_empty() {
        true => None,
        false => Some(random.one(&found)),
    }
}

fn words(text: &str) -> Vec<(Kind, &str)> {
    const LONG_SIGNS: [&str; 9] = ["==>", ":=", "!=", "<=", ">=", "->", "<<", ">>", ".."];
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let until = |is_in: &dyn Fn(char) -> bool| rest.find(|c| !is_in(c)).unwrap_or(rest.len());
        let (kind, length) = if rest.starts_with("--") {
            (Kind::Space, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Space, rest.find("*/").map_or(rest.len(), |at| at + 2))
        } else if first.is_whitespace() {
            (Kind::Space, until(&char::is_whitespace))
        } else if first.is_ascii_digit() {
            (Kind::Number, until(&|c| c.is_ascii_alphanumeric()))
        } else if first.is_alphabetic() || first == '_' {
            (Kind::Name, until(&|c| c.is_alphanumeric() || c == '_'))
        } else if first == '"' {
            (
                Kind::Text,
                rest[1..].find('"').map_or(rest.len(), |at| at + 2),
            )
        } else {
            let long = LONG_SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Kind::Sign, long.map_or(first.len_utf8(), |sign| sign.len()))
        };
        let (word, after) = rest.split_at(length);
        words.push((kind, word));
        rest = after;
    }
    words
}
