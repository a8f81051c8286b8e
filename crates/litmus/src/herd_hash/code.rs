//! Instructions as herd7 prints them for the checksum.
//!
//! `X86` has upper-case names and the destination first, with two blanks after `INC`, `DEC` and
//! `CMP`, and without the suffix of a `MOV`. `X86_64` has lower-case names, and operands in the
//! order in which they are written.

use crate::test::Architecture;

/// An instruction, from its text with spaces tidied; jumps go to `target`. `None` if herd7 does not
/// know it.
pub(super) fn instruction(
    architecture: Architecture,
    text: &str,
    target: Option<&str>,
) -> Option<String> {
    let (name, rest) = split_name(text);
    if let "lock" | "LOCK" = name {
        let inner = rest.trim_start_matches([';', ' ']);
        let inner = bare(architecture, inner, target, true)?;
        return Some(match architecture {
            Architecture::X86 => format!("LOCK; {inner}"),
            Architecture::X86_64 => format!("lock; {inner}"),
        });
    }
    bare(architecture, text, target, false)
}

fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric());
    text.split_at(end.unwrap_or(text.len()))
}

fn bare(
    architecture: Architecture,
    text: &str,
    target: Option<&str>,
    is_locked: bool,
) -> Option<String> {
    let (name, rest) = split_name(text);
    let (upper, lower) = (name.to_ascii_uppercase(), name.to_ascii_lowercase());
    if name != upper && name != lower {
        return None;
    }
    let operands = operands(rest.trim());
    match architecture {
        Architecture::X86 => x86(&upper, &operands, target, is_locked),
        Architecture::X86_64 => x86_64(&lower, &operands, target),
    }
}

/// The operands, separated by commas outside of parentheses.
fn operands(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut depth) = (0, 0_usize);
    for (index, character) in text.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(text[begin..index].trim());
                begin = index + 1;
            }
            _ => {}
        }
    }
    if !text.is_empty() {
        parts.push(text[begin..].trim());
    }
    parts
}

fn x86(name: &str, operands: &[&str], target: Option<&str>, is_locked: bool) -> Option<String> {
    let two = |left: String, right: String| format!("{name} {left},{right}");
    Some(match (name, operands) {
        ("MOV" | "MOVB" | "MOVW" | "MOVL" | "MOVQ", [to, from]) => {
            let shown = if is_locked { name } else { "MOV" };
            format!("{shown} {},{}", x86_place(to)?, x86_operand(from)?)
        }
        ("ADD" | "XOR" | "OR", [to, from]) => two(x86_place(to)?, x86_operand(from)?),
        ("CMP", [to, from]) => format!("CMP  {},{}", x86_place(to)?, x86_operand(from)?),
        ("XCHG", [to, from]) => two(x86_place(to)?, x86_place(from)?),
        ("CMPXCHG", [to, from]) => two(x86_place(to)?, x86_register(from)?),
        ("CMOVC", [to, from]) => two(x86_register(to)?, x86_place(from)?),
        ("INC" | "DEC", [to]) => format!("{name}  {}", x86_place(to)?),
        ("SETNB", [to]) => format!("{name} {}", x86_place(to)?),
        ("JMP" | "JE" | "JNE", _) => format!("{name} {}", target?),
        ("LFENCE" | "SFENCE" | "MFENCE", []) => name.to_owned(),
        _ => return None,
    })
}

const X86_REGISTERS: [&str; 8] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI", "EBP", "ESP"];

fn x86_register(text: &str) -> Option<String> {
    let is_known = X86_REGISTERS.contains(&text) || text.strip_prefix('%').is_some_and(is_name);
    is_known.then(|| text.to_owned())
}

fn x86_place(text: &str) -> Option<String> {
    if let Some(register) = x86_register(text) {
        return Some(register);
    }
    let inner = inside(text, '[', ']').or_else(|| inside(text, '(', ')'))?;
    let is_name = text.starts_with('[') && is_name(inner);
    let shown = x86_register(inner).or_else(|| is_name.then(|| inner.to_owned()))?;
    Some(format!("[{shown}]"))
}

fn x86_operand(text: &str) -> Option<String> {
    x86_place(text).or_else(|| constant(text))
}

fn x86_64(name: &str, operands: &[&str], target: Option<&str>) -> Option<String> {
    let conditional = |shown: &str| Some(format!("{shown} {}", target?));
    match name {
        "nop" | "nopl" | "nopw" | "endbr64" => return Some("NOP".to_owned()),
        "ret" | "retq" => return Some("ret".to_owned()),
        "mfence" | "sfence" | "lfence" => return Some(name.to_owned()),
        "jlt" => return conditional("jl"),
        "jgt" => return conditional("jg"),
        "jmp" | "je" | "jne" | "jle" | "jge" | "js" | "jns" => return conditional(name),
        _ => {}
    }
    let stem = |stems: &[&str]| {
        stems.iter().any(|stem| {
            let suffix = name.strip_prefix(stem);
            suffix.is_some_and(|suffix| matches!(suffix, "" | "b" | "w" | "l" | "q"))
        })
    };
    let two = |one: String, other: String| format!("{name} {one},{other}");
    Some(match operands {
        [from, to]
            if stem(&["add", "or", "xor", "mov", "cmp"]) || matches!(name, "and" | "shl") =>
        {
            two(operand(from)?, place(to)?)
        }
        [one, other] if stem(&["xchg"]) => two(place(one)?, place(other)?),
        [to, from] if stem(&["cmpxchg"]) => two(place(to)?, register(from)?),
        [to, from] if stem(&["cmovc"]) => two(register(to)?, place(from)?),
        [to] if stem(&["inc", "dec"]) || name == "setnb" => format!("{name} {}", place(to)?),
        _ => return None,
    })
}

fn register(text: &str) -> Option<String> {
    let name = text.strip_prefix('%').unwrap_or(text);
    let lower = name.to_ascii_lowercase();
    if crate::x86::registers::machine(&lower, Architecture::X86_64).is_some() {
        return Some(format!("%{lower}"));
    }
    text.strip_prefix('%')
        .filter(|name| is_name(name))
        .map(|name| format!("%{name}"))
}

fn place(text: &str) -> Option<String> {
    if let Some(register) = register(text) {
        return Some(register);
    }
    let open = text.find(['(', '['])?;
    let (displacement, rest) = text.split_at(open);
    let offset = match displacement {
        "" => 0,
        text => text.parse::<i64>().ok()?,
    };
    let shown_offset = if offset == 0 {
        String::new()
    } else {
        offset.to_string()
    };
    if let Some(inner) = inside(rest, '(', ')') {
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        match parts.as_slice() {
            [base] if register(base).is_some() => {
                return Some(format!("{shown_offset}({})", register(base)?));
            }
            [base, index, factor] => {
                let factor = factor.parse::<i64>().ok()?;
                let factor = if factor == 0 {
                    String::new()
                } else {
                    factor.to_string()
                };
                let (base, index) = (register(base)?, register(index)?);
                return Some(format!("{shown_offset}({base}, {index},{factor})"));
            }
            _ => {}
        }
    }
    let inner = inside(rest, '(', ')').or_else(|| inside(rest, '[', ']'))?;
    match (register(inner), displacement) {
        (Some(register), _) => Some(format!("{shown_offset}({register})")),
        (None, "") if is_name(inner) => Some(format!("({inner})")),
        _ => None,
    }
}

fn operand(text: &str) -> Option<String> {
    place(text).or_else(|| constant(text))
}

/// A decimal number, with or without `$`.
fn constant(text: &str) -> Option<String> {
    let digits = text.strip_prefix('$').unwrap_or(text);
    let number = digits.parse::<i64>().ok()?;
    Some(format!("${number}"))
}

fn inside(text: &str, open: char, close: char) -> Option<&str> {
    Some(text.strip_prefix(open)?.strip_suffix(close)?.trim())
}

fn is_name(text: &str) -> bool {
    let text = text.strip_prefix('_').unwrap_or(text);
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.' | '-');
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(is_part)
}
