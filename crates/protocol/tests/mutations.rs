//! No text makes the parser panic: models with random mutations, from fixed seeds.
//!
//! Mutants that are still models are searched for a while.

use std::time::Duration;

use fencepost_memory::Random;
use fencepost_protocol::reference::{Options, Symmetry, search};
use fencepost_protocol::{Limits, Model};

/// A model with nearly everything that the language has.
const MODEL: &str = r#"-- everything at once
const N: 2; Big: 0x10;
type
  P: scalarset(N); E: enum {idle, busy}; H: enum {home}; U: union {H, P};
  R: record s: E; who: U; n: array [0..N] of -1..Big; end;
  Q: multiset [N] of R;
var
  a: array [P] of R; net: Q; b: boolean; x, y: 0..9;
function most(l, r: 0..9): 0..9;
var t: 0..9;
begin
  if l > r then return l; elsif l = r then return r; else t := r; endif;
  return t;
endfunction;
procedure send(p: P; var q: Q);
var m: R;
begin
  m.s := busy; m.who := p; clear m.n; MultiSetAdd(m, q);
end;
startstate "start" begin
  for p: P do undefine a[p]; a[p].s := idle; end;
  undefine net; b := false; x := 0; y := most(1, 2);
end;
ruleset p: P; i := 0 to N by 1 do
  alias me: a[p]; old: x + i do
    rule "work" me.s = idle & MultiSetCount(k: net, net[k].who = p) = 0 & !isundefined(x) ==>
      me.s := busy; me.who := home; me.n[i] := i; send(p, net);
      x := (old * 2 + 1) % 10;
      while y > 3 do y := y - 1; endwhile;
      assert "range" x < 10 -> y <= 9;
    endrule;
  endalias;
endruleset;
choose k: net do
  rule
    switch net[k].s
    case idle: error "idle";
    case busy:
      for q: P do
        if net[k].who = q & ismember(net[k].who, P) then a[q].s := idle; end;
      end;
      MultiSetRemove(k, net);
    else put "never"; return;
    endswitch;
  end;
endchoose;
rule "swap" b := b ? false : true; y := x & 7 | 1; end;
invariant "ok" forall p: P do a[p].s = busy -> exists q: P do p = q end end;
cover b; assume x >= 0;
"#;

const PIECES: [&str; 48] = [
    "end",
    "endif",
    ";",
    ":",
    ":=",
    "==>",
    "->",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "..",
    ".",
    ",",
    "!",
    "-",
    "--",
    "/*",
    "*/",
    "\"",
    "rule",
    "ruleset",
    "begin",
    "if",
    "then",
    "else",
    "for",
    "do",
    "forall",
    "exists",
    "var",
    "type",
    "const",
    "record",
    "array",
    "of",
    "union",
    "multiset",
    "choose",
    "alias",
    "0",
    "9223372036854775807",
    "x",
    "undefined",
    "§",
    "\u{0}",
];

/// Tokens that can replace each other.
const ALIKE: [&[&str]; 8] = [
    &[" 0", " 1", " 2", " 3", " 9", " 10"],
    &[" = ", " != "],
    &[" < ", " <= ", " > ", " >= ", " = "],
    &[" & ", " | ", " -> "],
    &["true", "false", "b"],
    &["busy", "idle"],
    &[" + ", " - ", " * ", " / ", " % "],
    &[
        "x := 0",
        "y := 1",
        "undefine x",
        "return",
        "assert false",
        "x := y",
        "clear net",
    ],
];

/// The model with a random mutation.
fn changed(random: &mut Random) -> Vec<u8> {
    let mut text = MODEL.to_owned();
    for _ in 0..=random.below(2) {
        let alike = ALIKE[random.below(ALIKE.len() as u64) as usize];
        let mut one = || alike[random.below(alike.len() as u64) as usize];
        let (from, to) = (one(), one());
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        if let Some(at) = places.get(random.below(places.len().max(1) as u64) as usize) {
            text.replace_range(at..&(at + from.len()), to);
        }
    }
    text.into_bytes()
}

fn damaged(random: &mut Random) -> Vec<u8> {
    let mut bytes = MODEL.as_bytes().to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() as u64) as usize;
        let length = (random.below(40) as usize).min(bytes.len() - at);
        match random.below(7) {
            0 => bytes[at] = random.below(256) as u8,
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let copy = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() as u64) as usize;
                bytes.splice(to..to, copy);
            }
            3 => bytes.truncate(at.max(1)),
            4 => {
                let piece = PIECES[random.below(PIECES.len() as u64) as usize];
                bytes.splice(at..at, format!(" {piece} ").into_bytes());
            }
            _ => swap_words(random, &mut bytes),
        }
        if bytes.is_empty() {
            bytes.push(b';');
        }
    }
    bytes
}

/// Replaces a word of the model by another one; the result is often a model.
fn swap_words(random: &mut Random, bytes: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .collect();
    if words.is_empty() {
        return;
    }
    let mut word = || words[random.below(words.len() as u64) as usize];
    let (from, to) = (word(), word());
    let start = from.as_ptr() as usize - text.as_ptr() as usize;
    let swapped = format!("{}{to}{}", &text[..start], &text[start + from.len()..]);
    *bytes = swapped.into_bytes();
}

#[test]
fn the_model_itself_is_right() {
    let model = match Model::read(MODEL.as_bytes(), &[], &Limits::default()) {
        Ok(model) => model,
        Err(error) => panic!("{}", error.render("model.m")),
    };
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    let options = Options {
        max_states: 500,
        ..Options::default()
    };
    let report = search(&model, &options);
    assert!(report.states > 20, "{report:?}");
}

#[test]
fn damaged_models_are_refused_or_searched() {
    let (mut refused, mut read) = (0, 0);
    for seed in 0..4000 {
        let mut random = Random::new(seed);
        let bytes = match seed % 4 {
            0 => changed(&mut random),
            _ => damaged(&mut random),
        };
        let model = match Model::read(&bytes, &[], &Limits::default()) {
            Ok(model) => model,
            Err(error) => {
                refused += 1;
                assert!(!error.errors.is_empty(), "seed {seed}");
                for error in &error.errors {
                    let shown = error.render("model.m");
                    let has_label = shown.contains("expected") || shown.contains("did you mean");
                    assert!(has_label, "seed {seed}: {shown}");
                    assert!(shown.contains("help: "), "seed {seed}: {shown}");
                }
                continue;
            }
        };
        read += 1;
        for symmetry in [Symmetry::Off, Symmetry::Exhaustive] {
            let options = Options {
                symmetry,
                max_states: 30,
                max_time: Some(Duration::from_millis(50)),
                ..Options::default()
            };
            let report = search(&model, &options);
            assert!(!report.verdict.describe(&model).is_empty(), "seed {seed}");
            if let Some(trace) = &report.trace {
                assert!(trace.render(&model).starts_with("start: "), "seed {seed}");
            }
        }
    }
    println!("{refused} refused, {read} searched");
    assert!(
        refused > 2000 && read > 500,
        "{refused} refused, {read} read"
    );
}

#[test]
fn tokens_in_any_order_are_refused() {
    for seed in 0..3000 {
        let mut random = Random::new(seed);
        let mut text = String::new();
        for _ in 0..random.below(60) {
            text += PIECES[random.below(PIECES.len() as u64) as usize];
            text.push(' ');
        }
        let result = Model::read(text.as_bytes(), &[], &Limits::default());
        assert!(result.is_err(), "seed {seed}: {text}");
    }
}

#[test]
fn every_beginning_of_the_model_is_refused() {
    let last = MODEL.rfind("cover").expect("the last line");
    for end in 0..last {
        let beginning = &MODEL.as_bytes()[..end];
        if let Err(error) = Model::read(beginning, &[], &Limits::default()) {
            assert!(!error.render("model.m").is_empty());
        }
    }
}
