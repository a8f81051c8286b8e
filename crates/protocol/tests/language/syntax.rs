//! Alternative spellings.

use super::counts;

#[test]
fn keywords_can_be_in_any_case() {
    counts(
        "CONST n : 2; TYPE T : 0..n; Var x : T;
         StartState \"begin\" BEGIN x := 0; EndStartstate;
         RuleSet i : T DO RULE \"r\" x < n ==> Begin x := x + 1; ENDRULE; EndRuleset;
         Invariant \"i\" FORALL i : T Do i <= n EndForall;",
        3,
        6,
    );
}

#[test]
fn semicolons_can_be_left_out_where_nothing_else_fits() {
    counts(
        "const N: 1 M: 2
         type T: 0..N U: 0..M
         var x: T y: U
         startstate x := 0; y := 0 end
         rule x = 0 ==> x := 1 end
         rule x = 1 ==> x := 0 end
         invariant x < M",
        2,
        2,
    );
}

#[test]
fn semicolons_can_be_too_many() {
    counts(
        "var x: 0..1;;
         startstate ;; x := 0;; end;;
         rule if x = 0 then ; x := 1;; else x := 0 ; end;; ; end ;;",
        2,
        2,
    );
}

#[test]
fn comments_are_skipped() {
    counts(
        "-- a comment with \"quotes\" and /*
         var /* several
         lines ** */ x: 0..1; -- x
         startstate x := 0; end;
         rule x := 1 /* one */ - /**/ x; end; -- the end",
        2,
        2,
    );
}

#[test]
fn a_colon_can_stand_for_do() {
    counts(
        "var x: 0..1;
         startstate x := 0; end;
         ruleset i: 0..1 : rule
           for k: 0..1 : alias y: x : y := i; end; end;
         end; end;
         invariant forall i: 0..1 : i >= x | true end;",
        2,
        4,
    );
}

#[test]
fn texts_can_stand_on_either_side() {
    counts(
        "var x: 0..1;
         startstate x := 0; end;
         rule assert \"before\" x = 0; assert x = 0 \"after\"; assert x < 2; end;
         invariant x = 0 \"after\";
         assert \"before\" x = 0;",
        1,
        1,
    );
}

#[test]
fn words_that_one_tool_reserves_can_be_names() {
    counts(
        "type choose: enum {union, multiset, cover};
         var assume: choose; in: 0..1; until: array [0..1] of 0..1; real: boolean; next: 0..1;
         startstate assume := union; in := 0; until[0] := 1; real := true; undefine next; end;
         rule assume = union ==> assume := multiset; end;
         rule assume = multiset ==> assume := cover; end;",
        3,
        2,
    );
}

#[test]
fn declarations_rules_and_functions_can_be_mixed() {
    counts(
        "startstate x := 0; end;
         rule step(x); end;
         const N: 3; type T: 0..N-1;
         procedure step(var v: T); begin v := (v + 1) % N; end;
         var x: T;",
        3,
        3,
    );
}

#[test]
fn several_names_can_share_a_declaration() {
    counts(
        "const A, B: 1; type T, U: 0..A; var x, y: T; z: U;
         startstate x := 0; y := 0; z := 0; end;
         procedure set(var p, q: T; v: T); begin p := v; q := v; end;
         rule set(x, y, B); end;
         rule set(y, z, 1 - B); end;",
        3,
        6,
    );
}

#[test]
fn a_function_without_a_result_is_a_procedure() {
    counts(
        "var x: 0..1;
         function set(v: 0..1); begin x := v; end;
         procedure get(): 0..1; begin return x; end;
         startstate set(0); end;
         rule set(1 - get()); end;",
        2,
        2,
    );
}

#[test]
fn an_empty_body_is_one() {
    counts(
        "var x: 0..1; startstate end; rule end; rule isundefined(x) ==> end;",
        1,
        2,
    );
}
