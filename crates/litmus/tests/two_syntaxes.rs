//! Random programs written in both syntaxes: they make the same accesses and end in the same state.

use crate::common;

use common::{read, run};
use fencepost_memory::Random;

/// A random element.
fn pick<'a>(random: &mut Random, from: &[&'a str]) -> &'a str {
    from[random.below(from.len() as u64) as usize]
}

/// An operand in both syntaxes.
type Written = (String, String);

fn register(random: &mut Random) -> Written {
    let name = pick(random, &["eax", "ebx", "ecx", "edx"]);
    (name.to_ascii_uppercase(), format!("%{name}"))
}

fn constant(random: &mut Random) -> Written {
    let number = random.below(5) as i64 - 2;
    (format!("${number}"), format!("${number}"))
}

/// Memory, directly and through registers that hold addresses.
fn memory(random: &mut Random) -> Written {
    let (intel, att) = match random.below(5) {
        0 => ("[x]", "(x)"),
        1 => ("[y]", "[y]"),
        2 => ("[ESI]", "(%rsi)"),
        3 => ("[EDI+4]", "4(%rdi)"),
        _ => ("[EDI+EBP*4]", "(%rdi,%rbp,4)"),
    };
    (intel.to_owned(), att.to_owned())
}

fn any_of(random: &mut Random, choices: &[fn(&mut Random) -> Written]) -> Written {
    choices[random.below(choices.len() as u64) as usize](random)
}

/// An instruction in both syntaxes.
fn instruction(random: &mut Random) -> Written {
    let destination = any_of(random, &[register, memory]);
    let is_memory = destination.0.starts_with('[');
    let source = match is_memory {
        true => any_of(random, &[register, constant]),
        false => any_of(random, &[register, constant, memory]),
    };
    let condition = pick(random, &["e", "ne", "l", "ge", "b", "a", "s", "p", "o"]);
    let lock = match is_memory && random.below(2) == 0 {
        true => "lock ",
        false => "",
    };
    match random.below(7) {
        0 | 1 => two("mov", "", &destination, &source),
        2 => {
            let name = pick(random, &["add", "sub", "and", "or", "xor"]);
            two(name, lock, &destination, &source)
        }
        3 => two(pick(random, &["cmp", "test"]), "", &destination, &source),
        4 => {
            let name = pick(random, &["inc", "dec", "not", "neg"]);
            let mnemonic = format!("{lock}{name}").to_ascii_uppercase();
            let intel = format!("{mnemonic} {}", destination.0);
            (intel, format!("{lock}{name}l {}", destination.1))
        }
        5 => {
            let to = register(random);
            let from = any_of(random, &[register, memory]);
            two(&format!("cmov{condition}"), "", &to, &from)
        }
        _ => {
            let name = pick(random, &["xchg", "xadd", "cmpxchg"]);
            let (place, other) = (memory(random), register(random));
            let lock = if name == "xchg" || random.below(2) == 0 {
                ""
            } else {
                "lock "
            };
            // Either order is read in both syntaxes.
            match random.below(2) {
                0 => two(name, lock, &place, &other),
                _ => two(name, lock, &other, &place),
            }
        }
    }
}

fn two(name: &str, lock: &str, destination: &Written, source: &Written) -> Written {
    // Names of locations are in lower case.
    let mnemonic = format!("{lock}{name}").to_ascii_uppercase();
    let intel = format!("{mnemonic} {},{}", destination.0, source.0);
    (
        intel,
        format!("{lock}{name}l {},{}", source.1, destination.1),
    )
}

#[test]
fn both_syntaxes_mean_the_same() {
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let program: Vec<Written> = (0..8).map(|_| instruction(&mut random)).collect();
        let values: Vec<u64> = (0..4).map(|_| random.below(3)).collect();
        let write = |architecture: &str, prefix: &str, rows: Vec<&str>| {
            let register = |name: &str| match prefix {
                "E" => format!("0:E{}", name.to_ascii_uppercase()),
                _ => format!("0:r{name}"),
            };
            let code: String = rows.iter().map(|row| format!(" {row} ;\n")).collect();
            let observed: Vec<String> = ["ax", "bx", "cx", "dx"].map(register).to_vec();
            let initial: Vec<String> = observed
                .iter()
                .zip(&values)
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            format!(
                "{architecture} test\n{{ x=1; y; int t[3]={{7,8,9}}; {}={}; {}=t; {}=2; {} }}\n P0 ;\n{code}\
                 locations [{}; x; y; t]",
                register("si"),
                "x",
                register("di"),
                register("bp"),
                initial.join("; "),
                observed.join("; "),
            )
        };
        let intel = write(
            "X86",
            "E",
            program.iter().map(|both| both.0.as_str()).collect(),
        );
        let att = write(
            "X86_64",
            "r",
            program.iter().map(|both| both.1.as_str()).collect(),
        );
        let (first, second) = (run(&read(&intel)), run(&read(&att)));
        let (first, second) = (first.expect("no fault"), second.expect("no fault"));
        // 64-bit registers are printed without a sign bit of 32: compare what 32 bits hold.
        let contents = |state: &str| -> Vec<String> {
            let entries = state.split("; ").map(|entry| entry.trim_end_matches(';'));
            let values = entries.filter_map(|entry| entry.split_once('='));
            values
                .map(|(_, value)| match value.parse::<i64>() {
                    Ok(number) => (number as i32).to_string(),
                    Err(_) => value.to_owned(),
                })
                .collect()
        };
        assert_eq!(
            (first.events, contents(&first.state)),
            (second.events, contents(&second.state)),
            "seed {seed}\n{intel}\n{att}"
        );
    }
}
