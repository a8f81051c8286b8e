//! Random litmus tests, as text in both syntaxes.
//!
//! For comparing engines, readers and other tools: every kind of instruction occurs, every register
//! that is used and every location is observed, so a difference anywhere shows. All jumps go
//! forward, so every thread ends. A location is accessed in one width only, and a pointer register
//! keeps its pointer. The same seed gives the same text for ever.
//!
//! `thread` chooses instructions and writes them in the syntax; `text` puts the file together.

mod text;
mod thread;

use fencepost_memory::Random;

use crate::code::Width;
use crate::test::Architecture;
use thread::ThreadWriter;

/// How large a random test is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The syntax.
    pub architecture: Architecture,
    /// How many threads.
    pub threads: usize,
    /// How many instructions each has, not counting jumps.
    pub instructions: usize,
    /// How many locations there are: at most 8.
    pub locations: usize,
}

const LOCATION_NAMES: [&str; 8] = ["x", "y", "z", "a", "b", "c", "d", "e"];

/// A random test.
pub fn random_test(random: &mut Random, name: &str, shape: &Shape) -> String {
    let count = shape.locations.clamp(1, LOCATION_NAMES.len());
    let locations: Vec<Location> = (0..count)
        .map(|index| Location {
            name: LOCATION_NAMES[index],
            width: random_width(random, shape.architecture),
            initial: random.below(3),
        })
        .collect();
    let threads: Vec<ThreadWriter> = (0..shape.threads)
        .map(|_| thread::write_thread(random, shape, &locations))
        .collect();
    text::render(name, shape.architecture, &locations, &threads)
}

struct Location {
    name: &'static str,
    width: Width,
    initial: u64,
}

/// `X86` has declarations of locations too, but its programs are of four bytes.
fn random_width(random: &mut Random, architecture: Architecture) -> Width {
    match architecture {
        Architecture::X86 => Width::Long,
        Architecture::X86_64 => match random.below(8) {
            0 => Width::Byte,
            1 => Width::Word,
            2..5 => Width::Quad,
            _ => Width::Long,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_a_test() {
        let shape = Shape {
            architecture: Architecture::X86,
            threads: 2,
            instructions: 4,
            locations: 2,
        };
        let text = |seed| random_test(&mut Random::new(seed), "random", &shape);
        assert_eq!(text(5), text(5));
        assert_ne!(text(5), text(6));
    }

    #[test]
    fn every_kind_of_instruction_occurs_in_both_syntaxes() {
        for architecture in [Architecture::X86, Architecture::X86_64] {
            let shape = Shape {
                architecture,
                threads: 3,
                instructions: 8,
                locations: 3,
            };
            let text: String = (0..200)
                .map(|seed| random_test(&mut Random::new(seed), "random", &shape))
                .collect();
            let text = text.to_uppercase();
            let names = "MOV ADD SUB AND OR XOR INC DEC NOT NEG XCHG XADD CMPXCHG CMP TEST MFENCE \
                         SFENCE LFENCE NOP LOCK JE SETE CMOVE";
            for name in names.split(' ') {
                let begins = |word: &str| word.starts_with(name);
                assert!(text.split_whitespace().any(begins), "no {name}");
            }
        }
    }
}
