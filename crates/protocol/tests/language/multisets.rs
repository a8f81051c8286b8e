//! Multisets.

use super::{counts, ends_with, holds};

#[test]
fn elements_have_no_order() {
    // States: {}, {0}, {1}, {0,0}, {0,1}, {1,1}. Two rules are enabled in each but the full ones;
    // adding to them is not enabled.
    counts(
        "var m: multiset [2] of 0..1;
         startstate undefine m; end;
         ruleset v: 0..1 do
           rule MultiSetCount(i: m, true) < 2 ==> var e: 0..1; begin e := v; MultiSetAdd(e, m); end;
         end;",
        6,
        6,
    );
}

#[test]
fn each_element_is_chosen_by_itself() {
    // Three equal elements: three instances lead to the same state, then two, then one.
    counts(
        "var m: multiset [3] of 0..1;
         startstate for i: 1..3 do MultiSetAdd(1, m); end; end;
         choose e: m do
           rule m[e] = 1 ==> MultiSetRemove(e, m); end;
         endchoose;",
        4,
        3 + 2 + 1,
    );
}

#[test]
fn elements_are_counted_changed_and_removed() {
    let declarations = "type M: record kind: enum {a, b}; v: 0..9; end;
        var m: multiset [4] of M; e: M; n: 0..9;
        procedure put_(k: 0..1; w: 0..9); var f: M;
        begin f.kind := k = 0 ? a : b; f.v := w; MultiSetAdd(f, m); end;";
    let start = "put_(0, 1); put_(1, 2); put_(0, 3); e.v := 5; MultiSetAdd(e, m);
                 n := MultiSetCount(i: m, !isundefined(m[i].kind) & m[i].kind = a);";
    holds(
        declarations,
        start,
        "n = 2 & MultiSetCount(i: m, true) = 4 & MultiSetCount(i: m, m[i].v > 2) = 2",
    );
    let start = format!("{start} MultiSetRemovePred(i: m, m[i].v != 2);");
    holds(
        declarations,
        &start,
        "MultiSetCount(i: m, m[i].kind = b & m[i].v = 2) = 1 & MultiSetCount(i: m, true) = 1",
    );
    let start = format!("{start} clear m;");
    holds(declarations, &start, "MultiSetCount(i: m, true) = 0");
}

#[test]
fn nested_choices_go_through_pairs() {
    // Elements 0, 1, 2: each pair (i, j) of elements, 9 of them; only i = j is left out by the
    // guard, and the state never changes.
    counts(
        "var m: multiset [3] of 0..2;
         startstate for v: 0..2 do MultiSetAdd(v, m); end; end;
         choose i: m do choose j: m do
           rule i != j ==> end;
         end; end;",
        1,
        6,
    );
}

#[test]
fn multisets_can_be_parts() {
    counts(
        "type P: 0..1;
         var net: array [P] of record q: multiset [1] of P; end;
         startstate for p: P do undefine net[p].q; end; end;
         ruleset p: P do
           rule \"send\" MultiSetCount(i: net[1 - p].q, true) = 0 ==>
             MultiSetAdd(p, net[1 - p].q); end;
           choose i: net[p].q do
             rule \"receive\" MultiSetRemove(i, net[p].q); end;
           end;
         end;",
        // Each of the two queues is full or empty, and one rule is enabled for each.
        4,
        8,
    );
}

#[test]
fn a_full_multiset_takes_no_more() {
    ends_with(
        "var m: multiset [1] of 0..1;
startstate MultiSetAdd(0, m); end;
rule MultiSetAdd(1, m); end;",
        "line 3, column 6: the multiset is full with 1 elements",
    );
}

#[test]
fn a_removed_element_is_gone() {
    ends_with(
        "var m: multiset [1] of 0..1; x: 0..1;
startstate MultiSetAdd(0, m); end;
choose i: m do rule MultiSetRemove(i, m); x := m[i]; end; end;",
        "line 3, column 48: the element was removed from the multiset",
    );
}
