//! Warnings.

use fencepost_protocol::{Limits, Model};

fn warnings(model: &str) -> String {
    let model = Model::read(model.as_bytes(), &[], &Limits::default()).expect("a model");
    let warnings = model.warnings.iter();
    let shown: Vec<String> = warnings.map(|w| w.render_warning("model.m")).collect();
    shown.join("\n\n")
}

#[test]
fn a_function_that_may_not_return() {
    let shown = warnings(
        "var x: 0..3;
function f(y: 0..3): boolean;
begin
  if y = 1 then return true; end;
end;
function g(y: 0..3): boolean;
begin
  switch y
  case 0, 1: return true;
  case 2: return false;
  case 3: error \"three\";
  end;
end;
function h(y: 0..3): boolean;
begin
  if y = 1 then return true; else return false; end;
end;
startstate x := 0; end;
rule f(x) & g(x) & h(x) ==> x := 1; end;
",
    );
    assert_eq!(
        shown,
        "warning: the end of function `f` may be reached
 --> model.m:5:1
  |
5 | end;
  | ^^^ expected a `return` on every path
  |
  = help: a call that gets there stops the search with an error"
    );
}

#[test]
fn constants_that_do_not_fit() {
    let shown = warnings(
        "const N: 3;
var a: array [0..N] of 0..N;
startstate clear a; end;
rule a[0] := N + 1; a[N + 1] := 0; end;
",
    );
    assert_eq!(
        shown,
        "warning: 4 does not fit an integer of 0..3
 --> model.m:4:14
  |
4 | rule a[0] := N + 1; a[N + 1] := 0; end;
  |              ^^^^^ expected a value that fits
  |
  = help: the assignment would fail whenever it is reached

warning: index 4 is outside of the array
 --> model.m:4:23
  |
4 | rule a[0] := N + 1; a[N + 1] := 0; end;
  |                       ^^^^^ expected a number from 0 to 3
  |
  = help: this access would fail whenever it is reached"
    );
}

#[test]
fn scalarsets_that_are_cleared() {
    let shown = warnings(
        "type P: scalarset(2);
var a: array [P] of boolean; p: P; m: multiset [2] of P;
startstate clear a; clear m; clear p; end;
rule undefine p; end;
",
    );
    assert_eq!(
        shown,
        "warning: `clear` gives scalarset values their first value
 --> model.m:3:30
  |
3 | startstate clear a; clear m; clear p; end;
  |                              ^^^^^^^ expected `undefine`, or a value
  |
  = help: scalarset values are interchangeable, and choosing the first one breaks the symmetry: a search with symmetry reduction may miss states"
    );
}
