//! Statements, functions and rulesets.

use super::{counts, ends_with, holds};

#[test]
fn loops_go_through_their_values_in_order() {
    let declarations = "var n: 0..9999; i: 0..9;";
    holds(
        declarations,
        "n := 0; for k := 1 to 4 do n := n * 10 + k; end;",
        "n = 1234",
    );
    holds(
        declarations,
        "n := 0; for k := 4 to 1 by -1 do n := n * 10 + k; end;",
        "n = 4321",
    );
    holds(
        declarations,
        "n := 0; for k := 1 to 8 by 3 do n := n * 10 + k; end;",
        "n = 147",
    );
    holds(
        declarations,
        "n := 0; i := 3; for k := i to i + 2 do n := n * 10 + k; i := 0; end;",
        "n = 345",
    );
    holds(
        declarations,
        "n := 0; for a: 1..2; b: 3..4 do n := n * 10 + a * b; end;",
        "n = 3468",
    );
    holds(
        declarations,
        "n := 0; i := 5; while i > 2 do n := n * 10 + i; i := i - 1; endwhile;",
        "n = 543 & i = 2",
    );
    holds(
        declarations,
        "n := 7; for k := 2 to 1 do n := 0; end;",
        "n = 7",
    );
}

#[test]
fn the_first_branch_that_fits_is_taken() {
    let declarations = "var x: 0..9; y: 0..9;";
    let start = |x: u8| {
        format!(
            "x := {x}; if x < 3 then y := 1; elsif x < 6 then y := 2; elsif x = 6 then y := 3;
             else y := 4; endif;"
        )
    };
    for (x, y) in [(0, 1), (3, 2), (6, 3), (7, 4)] {
        holds(declarations, &start(x), &format!("y = {y}"));
    }
    let start = |x: u8| {
        format!(
            "y := 0; x := {x}; switch x case 0, 1: y := 1; case 2: case 3: y := 3;
             else y := 9; endswitch;"
        )
    };
    for (x, y) in [(0, 1), (1, 1), (2, 0), (3, 3), (4, 9)] {
        holds(declarations, &start(x), &format!("y = {y}"));
    }
    holds(
        declarations,
        "y := 0; x := 5; switch x case 1: y := 1; end;",
        "y = 0",
    );
}

#[test]
fn an_alias_is_bound_once() {
    let declarations = "var a: array [0..3] of 0..9; i: 0..3; r: record x: 0..9; end;";
    let start = "i := 1; for k: 0..3 do a[k] := k; end;
                 alias e: a[i]; v: i + 5; do i := 2; e := 9; a[3] := v; end;";
    holds(
        declarations,
        start,
        "a[1] = 9 & a[2] = 2 & i = 2 & a[3] = 6",
    );
    let start = "alias q: r do alias x: q.x do x := 4; end; end; i := 0; clear a;";
    holds(declarations, start, "r.x = 4 & a[3] = 0");
}

#[test]
fn an_alias_of_a_constant_is_a_constant() {
    counts(
        "const N: 2; var x: 0..N; startstate x := 0; end;
         alias last: N - 1 do
           ruleset i: 0..last do rule x := i; end; end;
         end;",
        2,
        4,
    );
}

#[test]
fn functions_take_values_and_variables() {
    let declarations = "var x, y: 0..9; r: record a, b: 0..9; end;
        procedure swap(var a: 0..9; var b: 0..9); var t: 0..9; begin t := a; a := b; b := t; end;
        function most(a, b: 0..9): 0..9; begin if a > b then return a; end; return b; end;
        function pair(a: 0..9): record a, b: 0..9; end;
          var p: record a, b: 0..9; end;
        begin p.a := a; p.b := a + 1; return p; end;
        procedure early(); begin if x = 3 then return; end; x := 9; end;";
    let start = "x := 3; y := 5; swap(x, y); r.a := most(x, y); r.b := most(1, 2); swap(r.a, y);";
    holds(declarations, start, "x = 5 & y = 5 & r.a = 3 & r.b = 2");
    holds(
        declarations,
        "r := pair(6); x := 3; early();",
        "r.a = 6 & r.b = 7 & x = 3",
    );
    holds(
        declarations,
        "x := most(most(1, 4), most(3, 2)); early();",
        "x = 9",
    );
}

#[test]
fn a_function_can_have_side_effects_and_be_declared_later() {
    counts(
        "startstate x := 0; y := 0; end;
         rule y := bump() + bump() * 2; x := 0; end;
         function bump(): 0..9; begin x := x + 1; return x; end;
         var x, y: 0..9;",
        // 1 + 2 * 2
        2,
        2,
    );
}

#[test]
fn a_parameter_that_is_not_var_refers_to_what_was_passed() {
    let declarations = "type T: 0..9; R: record v: T; end; var x: T; y: 0..9; z: 0..9; r: R;
        procedure p(v: T); begin x := 7; z := 7; y := v; end;
        procedure q(v: R); begin r.v := 8; y := v.v; end;";
    holds(declarations, "x := 1; p(x);", "y = 7");
    holds(declarations, "r.v := 1; q(r);", "y = 8");
    // What is of another type, or no variable, is passed as a value.
    holds(declarations, "x := 1; p(x + 0);", "y = 1");
    holds(declarations, "z := 1; p(z);", "y = 1 & z = 7");
}

#[test]
fn local_names_hide_outer_ones() {
    let declarations = "const N: 2; var x: 0..9; y: 0..9;
        procedure p(x: 0..9); const N: 5; type T: 0..N; var y: T; begin y := x; set(y + N); end;
        procedure set(v: 0..20); begin y := v - 1; end;";
    holds(declarations, "x := 1; p(3);", "x = 1 & y = 7 & N = 2");
}

#[test]
fn clear_and_undefine_reach_all_parts() {
    let declarations = "type E: enum {a, b};
        var r: record n: 3..9; e: E; b: boolean; t: array [0..1] of -2..2; end; u: 0..1;";
    holds(
        declarations,
        "clear r;",
        "r.n = 3 & r.e = a & !r.b & r.t[0] = -2 & r.t[1] = -2 & isundefined(u)",
    );
    holds(
        declarations,
        "clear r; undefine r.t; r.n := undefined;",
        "isundefined(r.t[0]) & isundefined(r.t[1]) & isundefined(r.n) & r.e = a",
    );
    // Copies of undefined values are undefined.
    holds(
        declarations,
        "clear r; u := 1; undefine r.n; r.t[0] := r.n;",
        "isundefined(r.t[0])",
    );
}

#[test]
fn rulesets_have_an_instance_for_each_combination() {
    // Each of the 2 * 3 instances is enabled in each of the 4 states.
    counts(
        "type E: enum {a, b}; var x: 0..3;
         startstate x := 0; end;
         ruleset e: E; i := 1 to 3 do
           rule x := i; end;
         endruleset;",
        4,
        24,
    );
    // The inner ruleset's values do not depend on the outer one's; guards do.
    counts(
        "var x: 0..3;
         startstate x := 0; end;
         ruleset i: 0..3 do
           ruleset j: 0..3 do
             alias k: i do
               rule k = x & j = k + 1 ==> x := j; end;
             end;
           end;
         end;",
        4,
        3,
    );
}

#[test]
fn start_states_can_be_several() {
    counts(
        "var x: 0..9;
         ruleset i: 0..3 do startstate \"many\" x := i * 2; end; end;
         startstate var y: 0..9; begin y := 6; x := y; end;
         rule x := x; end;",
        4,
        4,
    );
}

#[test]
fn rules_with_the_least_priority_go_first() {
    counts(
        "var x: 0..3;
         startstate x := 0; end;
         rule 1 \"late\" x := 3; end;
         rule 0 \"early\" x < 2 ==> x := x + 1; end;",
        4,
        // 0 and 1: early; 2: late; 3: late.
        4,
    );
}

#[test]
fn undefined_parts_make_different_states() {
    counts(
        "var x: 0..1; y: 0..1;
         startstate x := 0; end;
         rule y := 0; end;
         rule y := 1; end;
         rule undefine y; end;",
        3,
        9,
    );
}

#[test]
fn rules_that_change_nothing_are_fired_too() {
    counts(
        "var x: 0..2;
         startstate x := 0; end;
         rule \"up\" x < 2 ==> x := x + 1; end;
         rule \"stay\" x := x; end;
         rule \"print\" put \"x is \"; put x; put x + 1; end;",
        3,
        2 + 3 + 3,
    );
}

#[test]
fn what_guards_change_is_undone() {
    // The alias changes `x` also where the multiset has no elements, so that no guard is looked at.
    ends_with(
        "var x: 0..3; net: multiset [1] of 0..1; b: boolean;
         function bump(): boolean; begin x := 3; return true; end;
         startstate x := 0; b := false; end;
         alias a: bump() do choose n: net do rule a & net[n] = 1 ==> b := b; end; end; end;
         rule \"flip\" b := !b; if x = 0 & b then error \"boom\"; end; end;",
        "line 5, column 49: error: boom",
    );
}

#[test]
fn the_least_number_of_all_is_not_undefined() {
    ends_with(
        "var x: 0..5; b: boolean;
         function f(): 0..5; begin return -9223372036854775807 - (b ? 0 : 1); end;
         startstate x := 0; b := false; end;
         rule x := f(); end;",
        "line 4, column 20: -9223372036854775808 is outside of 0..5",
    );
}

#[test]
fn aliases_around_rules_do_not_change_the_state_of_others() {
    // The alias is evaluated, although the rule within has no instance.
    counts(
        "var x: 0..3; bag: multiset [1] of 0..1;
function change(): boolean; begin x := 1; return true; end;
startstate x := 0; end;
alias a: change() do choose c: bag do rule a ==> x := 3; end; end; end;
rule x = 1 ==> x := 2; end;",
        1,
        0,
    );
}
