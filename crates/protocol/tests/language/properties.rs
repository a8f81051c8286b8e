//! Invariants, assumptions, covers, deadlocks and what is counted.

use fencepost_protocol::model::points::PointKind;
use fencepost_protocol::outcome::{Bound, DeadlockRule, Verdict};
use fencepost_protocol::reference::{Options, search};

use super::{NO_DEADLOCK, counts, ends_with, model, run};

const COUNTER: &str = "var x: 0..3;
startstate x := 0; end;
rule \"up\" x < 3 ==> x := x + 1; end;
";

fn with(more: &str) -> String {
    format!("{COUNTER}{more}")
}

#[test]
fn an_invariant_fails_in_the_first_state_that_breaks_it() {
    ends_with(
        &with("invariant \"small\" x < 2;"),
        "invariant failed: small",
    );
    ends_with(
        &with("invariant x < 9; invariant x < 2;"),
        "invariant failed: Invariant 1",
    );
    ends_with(
        &with("ruleset i: 2..3 do invariant \"not\" x != i; end;"),
        "invariant failed: not, i:2",
    );
    let report = run(&with("invariant x < 2;"), &NO_DEADLOCK);
    assert_eq!((report.states, report.depth), (3, 2));
}

#[test]
fn states_that_break_an_assumption_are_dropped() {
    counts(&with("assume x < 2;"), 2, 2);
    counts(&with("assume \"never\" x > 0;"), 0, 0);
    counts(
        "var x: 0..3; startstate x := 0; end; rule x := x + 1; assume x < 3; end;",
        3,
        2,
    );
}

#[test]
fn assumptions_do_not_change_the_state_of_each_other() {
    counts(
        "var x: 0..3;
function next(): boolean; begin x := (x + 1) % 4; return true; end;
startstate x := 0; end;
rule x := (x + 1) % 4; end;
assume next();
assume x < 2;",
        2,
        2,
    );
}

#[test]
fn an_assumption_in_a_function_ends_the_rule() {
    counts(
        "var x: 0..3;
function few(): boolean; begin assume x < 2; return true; end;
startstate x := 0; end;
rule x := (x + 1) % 4; if few() then x := x; end; end;",
        2,
        1,
    );
}

#[test]
fn a_cover_must_be_true_once() {
    counts(&with("cover x = 3;"), 4, 3);
    ends_with(&with("cover \"four\" x = 2 + 2;"), "cover never true: four");
    ends_with(
        &with("rule x = 1 ==> cover x = 1; cover x = 2; end;"),
        "cover never true: line 4",
    );
}

#[test]
fn deadlocks_are_states_that_are_not_left() {
    let options = |deadlock| Options {
        deadlock,
        ..NO_DEADLOCK
    };
    let verdict = |text: &str, deadlock| run(text, &options(deadlock)).verdict;
    // In the last state nothing is enabled.
    assert_eq!(
        verdict(COUNTER, DeadlockRule::Stuttering),
        Verdict::Deadlock
    );
    assert_eq!(verdict(COUNTER, DeadlockRule::Stuck), Verdict::Deadlock);
    assert_eq!(verdict(COUNTER, DeadlockRule::Off), Verdict::NoError);
    // In the last state one rule is enabled, and changes nothing.
    let stutters = with("rule \"stay\" x := x; end;");
    assert_eq!(
        verdict(&stutters, DeadlockRule::Stuttering),
        Verdict::Deadlock
    );
    assert_eq!(verdict(&stutters, DeadlockRule::Stuck), Verdict::NoError);
    let goes_on = with("rule \"again\" x := 0; end;");
    assert_eq!(
        verdict(&goes_on, DeadlockRule::Stuttering),
        Verdict::NoError
    );
}

#[test]
fn bounds_are_said() {
    let options = Options {
        max_states: 3,
        ..NO_DEADLOCK
    };
    let report = run(COUNTER, &options);
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::States));
    assert_eq!(report.states, 3);
    let options = Options {
        max_time: Some(std::time::Duration::from_millis(20)),
        ..NO_DEADLOCK
    };
    let endless = "var x: 0..3; startstate x := 0; end;
                   rule for i := 0 to 1000000000000 do x := 1; end; end;";
    let report = run(endless, &options);
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::Time));
}

#[test]
fn what_happens_is_counted() {
    let model = model(
        "type S: enum {idle, busy, gone}; var s: S; x: 0..3;
startstate \"start\" s := idle; x := 0; end;
rule \"work\" s = idle ==>
  s := busy;
  if x = 0 then x := 1; elsif x = 1 then x := 2; else x := 3; end;
end;
rule \"rest\" s = busy ==>
  switch x case 1: s := idle; case 2, 3: s := idle; else s := gone; end;
  assert \"never gone\" s = gone -> x = 0;
end;
rule \"never\" s = gone ==> s := idle; end;
invariant \"vacuous\" s = gone -> x = 3;
invariant \"not vacuous\" s = busy -> x > 0;
",
    );
    let report = search(&model, &Options::default());
    assert_eq!(report.verdict, Verdict::NoError);
    // (idle, 0) (busy, 1) (idle, 1) (busy, 2) (idle, 2) (busy, 3) (idle, 3)
    assert_eq!((report.states, report.rules_fired, report.depth), (7, 7, 6));
    let hits: Vec<(PointKind, u32, u64)> = model
        .points
        .iter()
        .zip(&report.hits)
        .map(|(point, hits)| (point.kind, model.position(point.span).line, *hits))
        .collect();
    assert_eq!(
        hits,
        [
            (PointKind::Startstate, 2, 1),
            (PointKind::Rule, 3, 4),
            (PointKind::Branch, 5, 1),
            (PointKind::Branch, 5, 1),
            (PointKind::Branch, 5, 2),
            (PointKind::Rule, 7, 3),
            (PointKind::Arm, 8, 1),
            (PointKind::Arm, 8, 2),
            (PointKind::Arm, 8, 0),
            (PointKind::Assertion, 9, 3),
            (PointKind::Antecedent, 9, 0),
            (PointKind::Rule, 11, 0),
            (PointKind::Invariant, 12, 7),
            (PointKind::Antecedent, 12, 0),
            (PointKind::Invariant, 13, 7),
            (PointKind::Antecedent, 13, 3),
        ]
    );
}

#[test]
fn quantifiers_are_counted_where_they_may_be_empty() {
    let model = model(
        "var x: 0..2; m: multiset [3] of boolean;
startstate x := 0; end;
rule x < 2 ==>
  x := x + 1; MultiSetAdd(true, m);
  assert exists i := 1 to x do i = x end;
end;
rule exists i := 1 to x do x = 2 end ==> x := 0; undefine m; end;
invariant forall i := 1 to x; j := i + 1 to x do i < j end;
invariant forall b: boolean do b | !b end;
invariant MultiSetCount(e: m, m[e]) = x;
",
    );
    let report = search(&model, &Options::default());
    assert_eq!(report.verdict, Verdict::NoError);
    assert_eq!(report.states, 3);
    let points = model.points.iter().zip(&report.hits);
    let hits: Vec<(u32, u64)> = points
        .filter(|(point, _)| point.kind == PointKind::Quantifier)
        .map(|(point, hits)| (model.position(point.span).line, *hits))
        .collect();
    // Guards are not counted, nor are quantifiers over types. For x = 2, `j` has a value for the
    // first `i` only.
    assert_eq!(hits, [(5, 2), (8, 2), (8, 1), (10, 2)]);
}

#[test]
fn sizes_of_types_are_known() {
    let model = model(
        "type E: enum {idle, busy, gone}; P: scalarset(4); U: union {E, P};
         R: record e: E; p: P; n: array [0..9] of 1..100; end; M: multiset [2] of U;
         var r: R; m: M; b: boolean; w: -9223372036854775807..9223372036854775807;
         startstate end; rule end;",
    );
    let size = |name: &str| {
        let found = model
            .types
            .iter()
            .find(|(_, t)| t.name.as_deref() == Some(name));
        let (_, found) = found.expect("the type");
        (found.cardinality(), found.cells, found.bits)
    };
    // One more value for undefined: 4, 5 and 8 values.
    assert_eq!(size("E"), (Some(3), 1, 2));
    assert_eq!(size("P"), (Some(4), 1, 3));
    assert_eq!(size("U"), (Some(7), 1, 3));
    assert_eq!(size("R"), (None, 12, 2 + 3 + 10 * 7));
    assert_eq!(size("M"), (None, 4, 2 * (3 + 1)));
    assert_eq!(model.state_bits(), 75 + 8 + 2 + 64);
}
