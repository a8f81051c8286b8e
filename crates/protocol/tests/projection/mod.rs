//! The abstract node of models/tso-cc/any-number.m can do all that a third cache can, at one
//! address; and one address can do all that it can do beside another.
//!
//! Every reachable state of tso-cc.m with three caches, seen with any two of them, is a reachable
//! state of any-number.m. So the guards of the abstract node leave nothing out that three caches
//! show, whatever the lemmas are worth. And the comparison would see it: it fails if a rule is
//! taken from the abstract node.
//!
//! With symmetry only one state of each class is found. That is enough: each is seen with every
//! two of its caches, and an image is the least of all states that differ by names only. What
//! takes minutes is ignored unless asked for.

mod states;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use fencepost_protocol::outcome::{DeadlockRule, Verdict};
use fencepost_protocol::reference::{Options, Symmetry, search_and_visit};
use fencepost_protocol::{Limits, Model};

use states::{Reader, State};

/// The text of a model of TSO-CC.
fn source(file: &str) -> String {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tso-cc");
    std::fs::read_to_string(models.join(file)).expect("a model of ours")
}

/// Shows all reachable states, or with symmetry one of each class, and counts them.
fn each_reachable(
    text: &str,
    given: &[(&str, i64)],
    symmetry: Symmetry,
    show: &mut (dyn FnMut(State) + Send),
) -> u64 {
    each_reachable_at(text, given, symmetry, 1, show)
}

/// The same at each of some addresses.
fn each_reachable_at(
    text: &str,
    given: &[(&str, i64)],
    symmetry: Symmetry,
    addresses: usize,
    show: &mut (dyn FnMut(State) + Send),
) -> u64 {
    let given: Vec<(String, i64)> = given.iter().map(|(n, v)| ((*n).into(), *v)).collect();
    let model = match Model::read(text.as_bytes(), &given, &Limits::default()) {
        Ok(model) => model,
        Err(error) => panic!("{}", error.render("model.m")),
    };
    let options = Options {
        symmetry,
        // If something is taken from a model, what is left may end somewhere.
        deadlock: DeadlockRule::Off,
        ..Options::default()
    };
    let readers: Vec<Reader> = (0..addresses).map(|at| Reader::new(&model, at)).collect();
    let report = search_and_visit(&model, &options, &mut |state| {
        readers.iter().for_each(|reader| show(reader.read(state)));
    });
    assert_eq!(report.verdict, Verdict::NoError);
    report.states
}

/// What is seen of tso-cc.m with two caches.
struct Seen {
    /// How many states there are.
    states: u64,
    /// The images, each with a state that it is an image of.
    images: BTreeMap<State, State>,
}

/// What is seen of so many caches with two of them.
fn seen(caches: i64, symmetry: Symmetry) -> Seen {
    let given = [
        ("CACHES", caches),
        ("ADDRESSES", 1),
        ("VALUES", 2),
        ("OTHER_WORDS", 1),
        ("OVERLAP_EVICTIONS", 1),
    ];
    let mut images = BTreeMap::new();
    let states = each_reachable(&source("tso-cc.m"), &given, symmetry, &mut |state| {
        for image in state.images() {
            images.entry(image).or_insert_with(|| state.clone());
        }
    });
    Seen { states, images }
}

/// What is seen of three caches, searched once for all tests.
fn seen_of_three() -> &'static Seen {
    static SEEN: OnceLock<Seen> = OnceLock::new();
    SEEN.get_or_init(|| seen(3, Symmetry::Exhaustive))
}

/// How many states any-number.m has, or a changed text of it, and what they are without the fields
/// that are there for the lemmas only.
fn allowed(text: &str, symmetry: Symmetry) -> (u64, BTreeSet<State>) {
    let given = [("ADDRESSES", 1), ("VALUES", 2), ("OVERLAP_EVICTIONS", 1)];
    let mut images = BTreeSet::new();
    let states = each_reachable(text, &given, symmetry, &mut |state| {
        images.insert(state.image([0, 1]));
    });
    (states, images)
}

/// The images that are not allowed.
fn missed<'s>(seen: &'s Seen, allowed: &BTreeSet<State>) -> Vec<(&'s State, &'s State)> {
    let images = seen.images.iter();
    images
        .filter(|(image, _)| !allowed.contains(image))
        .collect()
}

/// Everything that is seen is allowed.
#[track_caller]
fn is_included(seen: &Seen, allowed: &BTreeSet<State>) {
    let missed = missed(seen, allowed);
    if let Some((image, state)) = missed.first() {
        panic!(
            "any-number.m does not reach {} of {} images. The first is\n{image}\nof\n{state}",
            missed.len(),
            seen.images.len()
        );
    }
}

#[test]
fn the_abstract_node_does_all_that_a_third_cache_does() {
    let seen = seen_of_three();
    let (states, allowed) = allowed(&source("any-number.m"), Symmetry::Exhaustive);
    is_included(seen, &allowed);
    assert_eq!((seen.states, seen.images.len()), (58_001, 15_582));
    assert_eq!((states, allowed.len()), (40_548, 32_314));
}

#[test]
#[ignore = "takes minutes"]
fn symmetry_leaves_no_image_out() {
    let all = seen(3, Symmetry::Off);
    assert_eq!(all.states, 686_412);
    assert!(all.images.keys().eq(seen_of_three().images.keys()));
    let text = source("any-number.m");
    let (states, without) = allowed(&text, Symmetry::Off);
    assert_eq!(states, 147_980);
    assert_eq!(without, allowed(&text, Symmetry::Exhaustive).1);
}

/// What is taken from the abstract node, and how many images are missed then.
const TAKEN: [(&[&str], usize); 11] = [
    (&["another cache writes"], 5304),
    (&["another cache sends GetS"], 1718),
    (&["another cache sends GetX"], 6865),
    (&["the owner is another cache and sends PutE"], 378),
    (&["the owner is another cache and sends Data"], 2021),
    (
        &["the owner before is another cache and sends Data or PutE"],
        177,
    ),
    (&["another cache sends AckC"], 7989),
    (&["another cache sends DataS"], 502),
    (&["another cache sends DataX"], 1613),
    // A reader that has acknowledged is forgotten, and then all is as if it had never read. So
    // there is another way to each state behind AckRO, as long as nothing else is taken.
    (&["the last other reader sends AckRO"], 0),
    (
        &[
            "another cache sends GetX",
            "the last other reader sends AckRO",
        ],
        6947,
    ),
];

/// The names of the rules of the abstract node, in the order of the file.
fn rules_of_other(text: &str) -> Vec<&str> {
    let (_, rules) = text
        .split_once("-- What other caches do.")
        .expect("the rules of the abstract node");
    let (rules, _) = rules
        .split_once("-- Non-interference lemmas")
        .expect("the lemmas behind them");
    let rules = rules.split("rule \"").skip(1);
    rules
        .map(|rule| rule.split_once('"').expect("a name").0)
        .collect()
}

/// The text with a rule that is never enabled.
fn without(text: &str, rule: &str) -> String {
    let name = format!("rule \"{rule}\"");
    assert_eq!(text.matches(&name).count(), 1, "{rule}");
    let (before, after) = text.split_once(&name).expect("the rule");
    let (guard, body) = after.split_once("==>").expect("a guard");
    assert!(!guard.contains("rule"), "{rule} has no guard");
    format!("{before}{name} false & ({guard}) ==>{body}")
}

/// How many images are missed without some rules.
fn missed_without(rules: &[&str]) -> usize {
    let text = source("any-number.m");
    let text = rules.iter().fold(text, |text, rule| without(&text, rule));
    let (_, allowed) = allowed(&text, Symmetry::Exhaustive);
    missed(seen_of_three(), &allowed).len()
}

#[test]
fn every_rule_of_the_abstract_node_is_missed() {
    let text = source("any-number.m");
    let all: BTreeSet<&str> = rules_of_other(&text).into_iter().collect();
    let taken = TAKEN.iter().flat_map(|(rules, _)| rules.iter().copied());
    assert_eq!(taken.collect::<BTreeSet<_>>(), all);
    // Two at a time.
    let found: Vec<usize> = std::thread::scope(|scope| {
        let halves = TAKEN.chunks(TAKEN.len().div_ceil(2)).map(|half| {
            let missed = half.iter().map(|(rules, _)| missed_without(rules));
            scope.spawn(move || missed.collect::<Vec<_>>())
        });
        let halves: Vec<_> = halves.collect();
        let found = halves.into_iter().flat_map(|half| half.join());
        found.flatten().collect()
    });
    assert_eq!(found, TAKEN.map(|(_, expected)| expected));
}

/// What happens at an address happens without the other addresses, too. So the lemmas, each of
/// which is about one address, need not be checked with several.
#[test]
fn an_address_among_two_does_what_one_alone_does() {
    let of = |addresses: usize| {
        let given = [
            ("CACHES", 2),
            ("ADDRESSES", addresses as i64),
            ("VALUES", 1),
        ];
        let mut images = BTreeSet::new();
        let mut add = |state: State| {
            images.insert(state.without_specification().image([0, 1]));
        };
        let text = source("tso-cc.m");
        let symmetry = Symmetry::Exhaustive;
        let states = each_reachable_at(&text, &given, symmetry, addresses, &mut add);
        (states, images)
    };
    let (one, two) = (of(1), of(2));
    assert_eq!(two.0, 114_190);
    assert!(one.0 < two.0);
    // All that one address does, it does while the other rests.
    assert_eq!(one.1, two.1);
}

/// The text behind the specification, which is about all addresses, line by line without comments;
/// each with the function or procedure that it is in.
fn lines_of_protocol(text: &str) -> Vec<(String, &str)> {
    let (_, text) = text
        .split_once("-- End of the specification.")
        .expect("the specification");
    let mut routine = String::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = line.split("--").next().unwrap_or_default();
        let mut words = line.split([' ', '(']);
        match words.next() {
            Some("function" | "procedure") => routine = words.next().expect("a name").into(),
            Some("end;") => routine.clear(),
            _ => {}
        }
        lines.push((routine.clone(), line));
    }
    lines
}

/// Where a word stands as a whole: the routine, or the line outside of routines.
fn uses_of(text: &str, word: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut uses = Vec::new();
    for (routine, line) in lines_of_protocol(text) {
        let is_used = line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        });
        let is_declared = line.starts_with("function") || line.starts_with("procedure");
        if is_used && !is_declared {
            uses.push(match routine.as_str() {
                "" => line.trim().to_owned(),
                routine => routine.to_owned(),
            });
        }
    }
    uses
}

/// What is wrong with the argument for two addresses in the text of any-number.m. An address comes
/// from a parameter, a message, a ruleset, or from going through all of them. The argument allows
/// that a processor waits, that shared lines are dropped, and no more.
fn meetings(text: &str) -> Vec<String> {
    let allowed: [(&str, &[&str]); 7] = [
        // Whoever goes through all addresses, or through all copies of memory.
        (
            "Address",
            &[
                "is_missing",
                "is_evicting",
                "invalidate_other_shared",
                "for a: Address do",
                "ruleset p: Cache; a: Address do",
                "ruleset a: Address do",
                "ruleset o: Cache; a: Address do",
                "forall p: Cache do forall a: Address do",
                "forall a: Address do",
            ],
        ),
        (
            "possible",
            &["for q: Cache do insert(global, possible[q]); end;"],
        ),
        // Whoever asks those.
        ("is_missing", &["may_access", "may_evict"]),
        ("is_evicting", &["may_access", "may_evict"]),
        (
            "may_access",
            &[
                "(may_access(p) | has_bug(26)) & (state = E | state = M | state = S | state = SRO)",
                "rule \"read miss\" may_access(p) & (state = I | state = S) ==>",
                "rule \"write hit\" may_access(p) & (state = E | state = M | has_bug(25) & state = S) ==>",
                "rule \"write miss\" may_access(p) & (state = I | state = S | state = SRO) ==>",
            ],
        ),
        (
            "may_evict",
            &[
                "rule \"evict\" may_evict(p) & (state = S | state = SRO | state = E | state = M) ==>",
            ],
        ),
        // One message at a time.
        ("choose", &["choose i: network do"]),
    ];
    let mut found = Vec::new();
    for (word, allowed) in allowed {
        let uses = uses_of(text, word);
        if uses != allowed {
            found.push(format!("{word}: {uses:?}"));
        }
    }
    // The global memory is asked for at one address.
    for (_, line) in lines_of_protocol(text) {
        let asked = line
            .replace("global[a]", "")
            .replace("insert(global, possible[q])", "");
        if asked.contains("global") {
            found.push(line.to_owned());
        }
    }
    // What is counted in the network, or taken from it, is so at one address.
    let (_, protocol) = text.split_once("-- End of the specification.").expect("it");
    for counted in protocol.split("MultiSetCount(i: network").skip(1) {
        let condition = counted.split(['>', ';']).next().unwrap_or_default();
        if !condition.contains("network[i].addr = a") || condition.contains('|') {
            found.push(condition.to_owned());
        }
    }
    for line in protocol.lines() {
        if line.contains(".addr !=") || line.contains("MultiSetRemovePred") {
            found.push(line.to_owned());
        }
    }
    found
}

#[test]
fn addresses_meet_only_where_a_processor_waits_or_drops_a_line() {
    let text = source("any-number.m");
    assert_eq!(meetings(&text), Vec::<String>::new());
    // Bugs that both runs of the proof pass: what is sent depends on another address.
    let right = "has_bug(5) ? directory[a].val : line.val";
    assert_eq!(text.matches(right).count(), 1);
    let others = [
        "exists b: Address do b != a & cache[p][b].state = S end",
        "exists b: Address; q: Cache do b != a & cache[q][b].state = S end",
        "is_missing(p)",
        "is_evicting(p)",
        "!may_access(p)",
        "!may_evict(p)",
        "MultiSetCount(i: network, network[i].mtype = GetS) > 0",
        "MultiSetCount(i: network, network[i].addr = a | network[i].mtype = GetS) > 0",
        "MultiSetCount(i: possible[p], true) > 1",
        "is_same(global, memory_of(p))",
    ];
    for other in others {
        let wrong = format!("({other}) ? directory[a].val : line.val");
        let found = meetings(&text.replace(right, &wrong));
        assert!(!found.is_empty(), "{other}");
    }
}
