//! Random models: the compiled search and the reference agree on everything they count.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_MODELS` choose others and more.

use crate::both;
use crate::generate;

use both::{compiled, model, search};
use fencepost_protocol::outcome::{Bound, DeadlockRule, Verdict};
use fencepost_protocol::reference::{Options, Symmetry};
use fencepost_protocol::{Limits, Model};
use generate::Generator;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(number) => number.parse().expect("a number"),
        Err(_) => default,
    }
}

fn options(symmetry: Symmetry, deadlock: DeadlockRule) -> Options {
    Options {
        symmetry,
        deadlock,
        max_states: 1500,
        max_loop_iterations: 20,
        ..Options::default()
    }
}

/// Whether a search said something that does not depend on the order in which it went.
fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::NoError => "no error",
        Verdict::Incomplete(Bound::States) => "many states",
        Verdict::Incomplete(_) => "incomplete",
        _ => "error",
    }
}

#[test]
fn both_engines_agree_on_random_models() {
    let seed = number("FENCEPOST_SEED", 1);
    let mut kinds = std::collections::BTreeMap::new();
    for case in 0..number("FENCEPOST_MODELS", 400) {
        let text = Generator::new(seed.wrapping_mul(1 << 32).wrapping_add(case), false).model();
        let deadlock = [
            DeadlockRule::Stuttering,
            DeadlockRule::Stuck,
            DeadlockRule::Off,
        ][case as usize % 3];
        let model = model(&text);
        let report = search(&model, &options(Symmetry::Off, deadlock));
        *kinds.entry(kind(&report.verdict)).or_insert(0) += 1;
        if report.verdict == Verdict::NoError {
            let two = compiled(&model, &options(Symmetry::Off, deadlock), 2);
            let counts = (two.states, two.rules_fired, two.depth, two.hits);
            let of_one = (report.states, report.rules_fired, report.depth, report.hits);
            assert_eq!(counts, of_one, "{text}");
        }
    }
    println!("{kinds:?}");
    assert!(kinds["no error"] > 10 && kinds["error"] > 10, "{kinds:?}");
}

#[test]
fn symmetric_states_are_counted_as_by_trying_all_permutations() {
    let seed = number("FENCEPOST_SEED", 1);
    let mut reduced = 0;
    for case in 0..number("FENCEPOST_MODELS", 400) {
        let text = Generator::new(seed.wrapping_mul(1 << 32).wrapping_add(case), true).model();
        let model = model(&text);
        let options = options(Symmetry::Exhaustive, DeadlockRule::Off);
        let expected = fencepost_protocol::reference::search(&model, &options);
        let found = compiled(&model, &options, 1);
        assert_eq!(kind(&found.verdict), kind(&expected.verdict), "{text}");
        if expected.verdict == Verdict::NoError {
            let counts = (found.states, found.rules_fired, found.depth);
            let wanted = (expected.states, expected.rules_fired, expected.depth);
            assert_eq!(counts, wanted, "{text}");
            let all = compiled(&model, &self::options(Symmetry::Off, DeadlockRule::Off), 1);
            reduced += u64::from(all.states > found.states);
        }
    }
    println!("{reduced} were reduced");
    assert!(reduced > 10);
}

/// Whatever can be read runs alike in both engines, also if it makes no sense.
#[test]
fn both_engines_agree_on_models_with_exchanged_words() {
    let seed = number("FENCEPOST_SEED", 1);
    let (mut read, mut failed) = (0, 0);
    for case in 0..4 * number("FENCEPOST_MODELS", 400) {
        let mut random = seed.wrapping_mul(1 << 40).wrapping_add(case) | 1;
        let mut below = |many: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 11) as usize % many
        };
        let text = Generator::new(case % 50, false).model();
        let mut words: Vec<&str> = text.split_inclusive([' ', '\n', ';', '(', ')']).collect();
        for _ in 0..1 + below(4) {
            let (at, other) = (below(words.len()), below(words.len()));
            match below(4) {
                0 => words.swap(at, other),
                1 => words[at] = words[other],
                2 => {
                    words[at] = ["0 ", "-1 ", "9223372036854775807 ", "x ", "u ", "rec "][below(6)]
                }
                _ => {
                    words.remove(at);
                }
            }
        }
        let text: String = words.concat();
        let Ok(model) = Model::read(text.as_bytes(), &[], &Limits::default()) else {
            continue;
        };
        read += 1;
        let options = Options {
            max_states: 200,
            max_time: Some(std::time::Duration::from_secs(5)),
            ..options(Symmetry::Off, DeadlockRule::Stuttering)
        };
        let report = search(&model, &options);
        failed += u32::from(kind(&report.verdict) == "error");
    }
    println!("{read} could be read, {failed} failed");
    assert!(read > 10 && failed > 5);
}
