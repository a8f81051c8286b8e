//! Traces.

use std::time::Duration;

use fencepost_protocol::reference::{Options, Symmetry, search};

use super::{NO_DEADLOCK, both, model};

#[test]
fn a_trace_is_shortest_and_shows_what_changes() {
    let model = model(
        "type P: scalarset(2); S: enum {idle, busy};
var s: array [P] of S; n: 0..9; m: multiset [2] of P;
startstate \"all idle\" for p: P do s[p] := idle; end; n := 0; end;
rule \"slow\" n < 9 ==> n := n + 1; end;
ruleset p: P do
  rule \"start\" s[p] = idle ==> s[p] := busy; MultiSetAdd(p, m); end;
  rule \"stop\" s[p] = busy & MultiSetCount(i: m, true) = 2 ==>
    s[p] := idle; MultiSetRemovePred(i: m, m[i] = p); assert n < 1; n := 9; end;
end;
invariant \"not all busy\" n < 9 | exists p: P do s[p] = idle end;
",
    );
    let report = search(&model, &Options::default());
    let trace = report.trace.expect("a trace");
    assert_eq!(
        trace.render(&model),
        "start: all idle
  s[P_1]: idle
  s[P_2]: idle
  n: 0
rule: slow
  n: 1
rule: start, p:P_1
  s[P_1]: busy
  m{0}: P_1
rule: start, p:P_2
  s[P_2]: busy
  m{1}: P_2
rule: stop, p:P_1
"
    );
    assert_eq!(
        report.verdict.describe(&model),
        "line 8, column 55: assertion failed"
    );
    let symmetric = Options {
        symmetry: Symmetry::Exhaustive,
        ..Options::default()
    };
    let report = search(&model, &symmetric);
    let trace = report.trace.expect("a trace");
    assert_eq!(trace.steps.len(), 3, "{}", trace.render(&model));
    assert!(trace.failed.is_some());
}

#[test]
fn elements_that_are_gone_are_said() {
    let model = model(
        "var m: multiset [2] of 0..1;
startstate \"one\" MultiSetAdd(1, m); end;
choose i: m do rule \"take\" MultiSetRemove(i, m); end; end;
",
    );
    let report = search(&model, &Options::default());
    assert_eq!(report.verdict.describe(&model), "deadlock");
    assert_eq!(
        report.trace.expect("a trace").render(&model),
        "start: one\n  m{0}: 1\nrule: take, i:0\n  m{0} is gone\n"
    );
}

#[test]
fn a_fault_in_an_assumption_has_a_trace_with_the_rule_before_it() {
    let model = model(
        "var x: 0..3;
startstate \"start\" x := 0; end;
rule \"step\" x < 3 ==> x := x + 1; end;
assume 6 / (2 - x) > 0;
",
    );
    let report = both::search(&model, &NO_DEADLOCK);
    assert_eq!(
        report.verdict.describe(&model),
        "line 4, column 8: the result cannot be computed: division by 0"
    );
    let compiled = both::compiled(&model, &NO_DEADLOCK, 1);
    for trace in [report.trace, compiled.trace] {
        assert_eq!(
            trace.expect("a trace").render(&model),
            "start: start\n  x: 0\nrule: step\n  x: 1\nrule: step\n"
        );
    }
}

#[test]
fn what_was_found_in_time_has_a_trace() {
    // Time is looked at every 16,384 steps. Making the start state takes more than half of that,
    // and it is made again for the trace.
    let model = model(
        "var x: 0..3;
startstate \"start\" x := 0; for i := 1 to 3000 do x := 0; end; end;
rule x := 1 - x; end;
invariant x > 0;
",
    );
    let options = Options {
        max_time: Some(Duration::ZERO),
        ..Options::default()
    };
    let report = search(&model, &options);
    assert_eq!(
        report.verdict.describe(&model),
        "invariant failed: Invariant 0"
    );
    let trace = report.trace.expect("a trace");
    assert_eq!(trace.render(&model), "start: start\n  x: 0\n");
}
