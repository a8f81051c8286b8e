//! Runtime errors.

use super::{NO_DEADLOCK, counts, ends_with, holds, run};
use fencepost_protocol::outcome::{FaultContext, FaultKind, Verdict};
use fencepost_protocol::reference::Options;

/// A rule does this in a state where `x` is 3 and `u` is undefined.
fn fails(statement: &str, message: &str) {
    let text = format!(
        "type P: scalarset(3); E: enum {{idle, busy}};
var x: 0..3; u: 0..3; p: P; e: E; t: array [0..3] of 0..3; s: array [P] of 0..3; b: boolean;
startstate x := 3; clear t; end;
rule {statement} end;"
    );
    ends_with(&text, message);
}

#[test]
fn values_must_fit() {
    fails("x := x + 1;", "line 4, column 6: 4 is outside of 0..3");
    fails("x := -1;", "line 4, column 6: -1 is outside of 0..3");
    fails(
        "x := t[x + 1];",
        "line 4, column 13: index 4 is outside of 0..3",
    );
    fails(
        "t[x - 4] := 1;",
        "line 4, column 8: index -1 is outside of 0..3",
    );
}

#[test]
fn undefined_values_cannot_be_used() {
    fails(
        "x := u + 1;",
        "line 4, column 11: an undefined value is used",
    );
    fails(
        "b := u = 1;",
        "line 4, column 11: an undefined value is used",
    );
    fails(
        "b := e = idle;",
        "line 4, column 11: an undefined value is used",
    );
    fails(
        "if b then x := 0; end;",
        "line 4, column 9: an undefined value is used",
    );
    fails(
        "x := t[u];",
        "line 4, column 13: an undefined value is used",
    );
    fails("x := s[p];", "line 4, column 13: the index is undefined");
    fails(
        "switch e case idle: x := 1; end;",
        "line 4, column 13: an undefined value is used",
    );
    fails(
        "for i := 0 to u do x := i; end;",
        "line 4, column 20: an undefined value is used",
    );
}

#[test]
fn undefined_results_can_be_assigned_but_not_used() {
    let with = |statement: &str| {
        format!(
            "var x: 0..3; b: boolean;
function f(): 0..3; begin return undefined; end;
startstate b := false; end;
rule {statement} end;"
        )
    };
    counts(&with("x := f(); b := isundefined(x);"), 2, 2);
    for statement in [
        "b := f() = 1;",
        "b := f() != f();",
        // The least number stands for undefined in compiled code.
        "b := f() = -9223372036854775807 - 1;",
        "x := b ? 1 : f();",
        "alias a: f() do b := a = 1; end;",
        "switch f() case 1: b := true; else b := false; end;",
        "switch 1 case f(): b := true; else b := false; end;",
    ] {
        let text = with(statement);
        let report = run(&text, &NO_DEADLOCK);
        let Verdict::Fault { fault, .. } = &report.verdict else {
            panic!("{:?}: {text}", report.verdict);
        };
        assert_eq!(fault.kind, FaultKind::Undefined, "{text}");
    }
}

#[test]
fn the_least_number_is_not_undefined() {
    holds(
        "var x: boolean; function f(): 0..3; begin return 1; end;",
        "x := false;",
        "(x ? f() : -9223372036854775807 - 1) < 0 & f() != -9223372036854775807 - 1",
    );
}

#[test]
fn undefined_scalarset_values_can_be_compared() {
    let declarations = "type P: scalarset(3); U: union {P, enum {nobody}};
                        var p, q: P; u: U; n: 0..3;";
    holds(
        declarations,
        "",
        "p = q & u = p & u != nobody & !ismember(u, P)",
    );
    holds(declarations, "for i: P do q := i; end;", "p != q & q = q");
    holds(
        declarations,
        "n := 0; switch u case nobody: n := 1; else n := 2; end;",
        "n = 2",
    );
}

#[test]
fn arithmetic_that_does_not_fit_fails() {
    fails(
        "x := 1 / (x - 3);",
        "line 4, column 11: the result cannot be computed: division by 0",
    );
    fails(
        "x := 9223372036854775807 + x;",
        "line 4, column 11: the result cannot be computed: it does not fit 64 bits",
    );
    // What is not reached does not fail.
    counts(
        "var x: 0..1; startstate x := 0; end; rule if x = 1 then x := 1 / 0; end; end;",
        1,
        1,
    );
}

#[test]
fn errors_and_assertions_stop_the_search() {
    fails("error \"three\";", "line 4, column 6: error: three");
    fails(
        "assert x < 3 \"small\";",
        "line 4, column 6: assertion failed: small",
    );
    fails("assert x < 3;", "line 4, column 6: assertion failed");
    fails(
        "while x = 3 do x := 3; end;",
        "line 4, column 6: the loop exceeds 1000 iterations",
    );
    fails(
        "for i := 0 to 3 by x - 3 do end;",
        "line 4, column 25: the step of the loop is 0",
    );
}

#[test]
fn the_end_of_a_function_is_no_value() {
    ends_with(
        "var x: 0..3;
function f(y: 0..3): 0..3; begin if y < 2 then return y + 1; end; end;
startstate x := 0; end;
rule x := f(x); end;",
        "line 2, column 10: the end of function f is reached without a value",
    );
}

#[test]
fn results_and_arguments_must_fit() {
    let text = "var x: 0..9;
function f(y: 0..3): 0..3; begin return y; end;
startstate x := 2; end;
rule x := f(x); x := x + 1; end;";
    ends_with(text, "line 4, column 13: 4 is outside of 0..3");
    let text = "var x: 0..9;
function f(y: 0..9): 0..3; begin return y; end;
startstate x := 2; end;
rule x := f(x); x := x + 1; end;";
    ends_with(text, "line 4, column 11: 4 is outside of 0..3");
}

#[test]
fn guards_invariants_and_start_states_can_fail() {
    let place = |text: &str| match run(text, &NO_DEADLOCK).verdict {
        Verdict::Fault { at, .. } => at,
        other => panic!("{other:?}"),
    };
    let guard = "var x, u: 0..3; startstate x := 0; end; rule x := 1; end; rule u = 1 ==> end;";
    assert_eq!(place(guard), FaultContext::Guard(1));
    let invariant = "var x, u: 0..3; startstate x := 0; end; rule end; invariant u = 1;";
    assert_eq!(place(invariant), FaultContext::Property(0));
    let start = "var x, u: 0..3; startstate x := u + 1; end; rule end;";
    assert!(matches!(place(start), FaultContext::Startstate(_)));
    // An alias is evaluated before the guard.
    let alias = "var x, u: 0..3; t: array [0..3] of 0..3; startstate x := 0; end;
                 alias y: t[u] do rule false ==> end; end;";
    assert_eq!(place(alias), FaultContext::Guard(0));
}

#[test]
fn loops_can_be_allowed_to_go_on() {
    let text = "var x: 0..5000; startstate x := 0; end;
                rule while x < 5000 do x := x + 1; end; end;";
    let options = Options {
        max_loop_iterations: 5000,
        ..NO_DEADLOCK
    };
    assert_eq!(run(text, &options).verdict, Verdict::NoError);
    assert!(matches!(
        run(text, &NO_DEADLOCK).verdict,
        Verdict::Fault { .. }
    ));
}
