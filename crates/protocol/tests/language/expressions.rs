//! Operators, quantifiers and how tightly they bind.

use super::{ends_with, holds};

#[test]
fn arithmetic_is_that_of_c() {
    holds("", "", "7 / 2 = 3 & -7 / 2 = -3");
    holds("", "", "7 % 3 = 1 & -7 % 3 = -1 & 7 % -3 = 1");
    holds("", "", "2 + 3 * 4 = 14 & (2 + 3) * 4 = 20");
    holds("", "", "10 - 2 - 3 = 5 & 100 / 5 / 2 = 10");
    holds("", "", "- 2 * 3 = -6 & +4 = 4");
    holds(
        "var x: 0..9;",
        "x := 7;",
        "x / 2 = 3 & x % 4 = 3 & -x = 0 - 7",
    );
}

#[test]
fn bits_are_those_of_64_bit_integers() {
    holds("", "", "(6 & 3) = 2 & (6 | 3) = 7 & (6 ^ 3) = 5 & ~0 = -1");
    holds("", "", "1 << 4 = 16 & -16 >> 2 = -4");
    holds(
        "var x: 0..9;",
        "x := 6;",
        "(x & 3) = 2 & (x | 1) = 7 & x << 1 = 12",
    );
    holds(
        "var x: 0..9;",
        "x := 6;",
        "(x ^ 6) = 0 & x >> 9 = 0 & ~x = -7",
    );
    holds("", "", "0x1F = 31");
}

#[test]
fn not_binds_looser_than_comparisons() {
    holds("var x: 0..3;", "x := 1;", "!x = 2");
    holds("var x: 0..3;", "x := 1;", "!x = 2 & x = 1");
    holds("var b: boolean;", "b := false;", "(!b) = true & !b = true");
}

#[test]
fn and_binds_tighter_than_or_and_both_tighter_than_implication() {
    holds("", "", "true | false & false");
    holds("", "", "false & false -> false");
    holds("", "", "false -> false | false");
    holds("", "", "true ? true : false");
    holds("", "", "(false -> true ? 1 : 2) = 1");
}

#[test]
fn long_operators_bind_looser_than_short_ones() {
    // `a | b && c` is `(a | b) && c`, and so false here.
    holds("", "", "!(true | false && false)");
    holds("", "", "true || false && false");
    holds("", "", "1 == 1 && 1 != 2");
}

#[test]
fn other_spellings_are_read() {
    holds("", "", "∀ i: 0..3 do ∃ j: 0..3 do i ≤ j ∧ ¬(i ≠ i) end end");
    holds("", "", "2 ≥ 1 → 1 ≤ 2 ∨ false");
    holds("var x: 0..3;", "x ≔ 2;", "x − 1 = 1 & x × 1 ÷ 1 = 2");
}

#[test]
fn evaluation_stops_when_the_result_is_known() {
    let declarations = "var x: 0..3; a: array [0..3] of boolean;";
    // `x` is undefined: reading it would be an error.
    holds(declarations, "", "isundefined(x) | x = 1");
    holds(declarations, "", "!(!isundefined(x) & x = 1)");
    holds(declarations, "", "!isundefined(x) -> x = 1");
    holds(declarations, "", "isundefined(x) ? true : x = 1");
    holds(
        declarations,
        "a[1] := true;",
        "exists i := 1 to 3 do a[i] end",
    );
    holds(
        declarations,
        "a[0] := false;",
        "!forall i: 0..3 do a[i] end",
    );
}

#[test]
fn quantifiers_go_through_all_values() {
    let declarations = "type E: enum {a, b, c}; P: scalarset(3); U: union {E, P};
                        var n: array [0..20] of 0..20;";
    let start = "for i: 0..20 do n[i] := i; end;";
    holds(declarations, start, "forall i: 0..20 do n[i] = i end");
    holds(declarations, start, "!exists i: 0..20 do n[i] != i end");
    holds(declarations, start, "exists i: E; j: E do i != j end");
    holds(
        declarations,
        start,
        "forall p: P do exists q: P do p = q end end",
    );
    holds(
        declarations,
        start,
        "forall u: U do ismember(u, E) | ismember(u, P) end",
    );
    holds(
        declarations,
        start,
        "exists i := 9 to 3 by -3 do i = 6 endexists",
    );
    holds(declarations, start, "forall i := 5 to 4 do false endforall");
    holds(
        declarations,
        start,
        "forall b: boolean do b = true | b = false end",
    );
}

#[test]
fn booleans_and_enums_are_values() {
    let declarations = "const Yes: true; First: 1;
        type S: enum {idle, busy}; var s: S; b: Boolean; a: array [S] of array [boolean] of 0..3;";
    let start = "s := busy; b := s = busy & YES_; for i: S do for j: boolean do
                 a[i][j] := i = idle ? 0 : j ? 1 : 2; end; end;";
    let start = start
        .replace("YES_", "Yes")
        .replace("j ? 1 : 2", "(j ? 1 : 2)");
    holds(
        declarations,
        &start,
        "b & a[idle][FALSE] = 0 & a[busy][True] = First & a[s][!b] = 2",
    );
}

#[test]
fn records_and_arrays_are_compared_as_a_whole() {
    let declarations = "type R: record x: 0..3; y: array [0..1] of boolean; end;
                        var r, s: R; t: record x: 0..3; y: array [0..1] of boolean; end;";
    let start = "r.x := 1; r.y[0] := true; s := r; t := r;";
    holds(declarations, start, "r = s & s = t & !(r != s)");
    holds(
        declarations,
        &format!("{start} s.x := 2;"),
        "r != s & r = t",
    );
    // What is undefined is equal to what is undefined.
    holds(declarations, &format!("{start} r.y[1] := true;"), "r != s");
}

#[test]
fn unions_hold_values_of_their_members() {
    let declarations = "type H: enum {home}; P: scalarset(2); N: union {H, P};
        M: union {P, enum {nobody}};
        var n: N; m: M; p: P; a: array [N] of 0..9; h: H;";
    holds(
        declarations,
        "n := home;",
        "n = home & ismember(n, H) & !ismember(n, P)",
    );
    holds(
        declarations,
        "for q: P do p := q; end; n := p; m := p; h := home;",
        "n = p & p = n & n = m & ismember(m, P) & h != n & m != nobody",
    );
    holds(
        declarations,
        "for i: N do a[i] := 1; end; a[home] := 2; for q: P do a[q] := 3; end; p := undefined;",
        "forall i: N do a[i] > 1 end & a[home] = 2",
    );
    // From a union back to its member.
    holds(
        declarations,
        "for q: P do n := q; p := n; end; m := n;",
        "p = n & m = p & !ismember(m, H)",
    );
}

#[test]
fn values_that_a_union_does_not_have_stay_different() {
    let declarations = "type H: enum {home}; N: enum {nobody, nothing}; P: scalarset(2);
        U: union {P, H}; V: union {H, N}; var u: U; v: V; w: V; b: boolean;";
    holds(
        declarations,
        "u := home; v := nobody; w := nothing; b := false;",
        "(b ? u : v) = v & (b ? u : v) != w & (b ? u : v) != u",
    );
}

#[test]
fn a_union_value_that_is_no_member_does_not_fit() {
    ends_with(
        "type H: enum {home}; P: scalarset(2); N: union {H, P};
var n: N; p: P;
startstate n := home; p := n; end;
rule undefine p; end;",
        "line 3, column 23: -1 is outside of 0..1",
    );
}
