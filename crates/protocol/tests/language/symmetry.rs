//! Symmetry reduction.

use fencepost_protocol::outcome::{Bound, Verdict};
use fencepost_protocol::reference::{Options, Symmetry};
use fencepost_protocol::search;

use super::{NO_DEADLOCK, run};

#[track_caller]
fn classes(text: &str, states: u64, symmetric: u64) {
    let report = run(text, &NO_DEADLOCK);
    assert_eq!((report.verdict, report.states), (Verdict::NoError, states));
    let options = Options {
        symmetry: Symmetry::Exhaustive,
        ..NO_DEADLOCK
    };
    let report = run(text, &options);
    assert_eq!(
        (report.verdict, report.states),
        (Verdict::NoError, symmetric)
    );
}

#[test]
fn flags_of_processes_are_a_number() {
    // Sets of 4 processes: 16, or 5 by how many are in.
    classes(
        "type P: scalarset(4); var a: array [P] of boolean;
         startstate for p: P do a[p] := false; end; end;
         ruleset p: P do rule a[p] := !a[p]; end; end;",
        16,
        5,
    );
}

#[test]
fn pointers_between_processes_are_graphs() {
    // Functions from 3 elements to themselves or to undefined: 4^3. Up to renaming, these are the
    // partial functions on 3 unlabelled points.
    classes(
        "type P: scalarset(3); var next: array [P] of P;
         startstate undefine next; end;
         ruleset p: P; q: P do rule next[p] := q; end; end;",
        64,
        16,
    );
}

#[test]
fn values_within_elements_of_one_byte_are_permuted() {
    // Two values, each in an array of one or in a record of one field: 4, and 2 by whether they
    // are the same.
    for element in ["array [A] of V", "record x: V; end"] {
        let part = if element.starts_with("record") {
            ".x"
        } else {
            "[a]"
        };
        let text = format!(
            "type P: scalarset(2); A: scalarset(1); V: scalarset(2);
             var w: array [P] of {element};
             ruleset v: V do startstate for p: P; a: A do w[p]{part} := v; end; end; end;
             ruleset p: P; a: A; v: V do rule w[p]{part} := v; end; end;"
        );
        classes(&text, 4, 2);
    }
}

#[test]
fn two_scalarsets_are_permuted_each_by_itself() {
    // 2 by 2 matrices of booleans: 16, up to swapping rows and columns 7.
    classes(
        "type R: scalarset(2); C: scalarset(2);
         var m: array [R] of array [C] of boolean;
         startstate for r: R; c: C do m[r][c] := false; end; end;
         ruleset r: R; c: C do rule m[r][c] := !m[r][c]; end; end;",
        16,
        7,
    );
}

#[test]
fn unions_and_multisets_are_permuted_too() {
    // Multisets of at most 2 values of {home, P1, P2, P3}: 1 + 4 + 10. Up to renaming: none; home,
    // P; home twice, home and P, P twice, two different P.
    classes(
        "type P: scalarset(3); N: union {enum {home}, P}; var m: multiset [2] of N;
         startstate undefine m; end;
         ruleset n: N do rule MultiSetCount(i: m, true) < 2 ==> MultiSetAdd(n, m); end; end;",
        15,
        7,
    );
    // Arrays over the union: home is not permuted.
    classes(
        "type P: scalarset(2); N: union {enum {home}, P}; var a: array [N] of boolean;
         startstate for n: N do a[n] := false; end; end;
         ruleset n: N do rule a[n] := !a[n]; end; end;",
        8,
        6,
    );
}

#[test]
fn a_state_is_left_also_for_a_permutation_of_it() {
    let text = "type P: scalarset(2); var p: P;
                startstate for q: P do p := q; end; end;
                ruleset q: P do rule p := q; end; end;";
    let options = Options {
        symmetry: Symmetry::Exhaustive,
        ..Options::default()
    };
    let report = run(text, &options);
    assert_eq!(report.verdict, Verdict::NoError, "no deadlock");
    assert_eq!((report.states, report.rules_fired), (1, 2));
}

#[test]
fn too_many_permutations_are_said() {
    // By the reference only: the compiled search does not try them all.
    let text = "type P: scalarset(12); var p: P; startstate undefine p; end;
                ruleset q: P do rule p := q; end; end;";
    let options = Options {
        symmetry: Symmetry::Exhaustive,
        ..NO_DEADLOCK
    };
    assert_eq!(
        fencepost_protocol::reference::search(&super::model(text), &options).verdict,
        Verdict::Incomplete(Bound::Permutations)
    );
}

/// A loop over a scalarset that depends on the order of its values is no reason to miss an error.
#[test]
fn what_is_not_symmetric_is_said() {
    let text = "type S: scalarset(3); var l: S; x: array [S] of 0..2;
        startstate for i: S do x[i] := 0; end; end;
        ruleset i: S do rule \"mark\" x[i] < 2 ==> x[i] := x[i] + 1; end; end;
        rule \"last wins\" for i: S do l := i; end; end;
        invariant isundefined(l) | x[l] < 2;";
    let model = super::model(text);
    for symmetry in [search::Symmetry::Fast, search::Symmetry::Full] {
        let options = search::Options {
            symmetry,
            ..search::Options::default()
        };
        let refusal = search::search(&model, &options, &()).expect_err("not symmetric");
        assert!(refusal.message.contains("not symmetric"), "{refusal}");
    }
    let options = search::Options {
        symmetry: search::Symmetry::Off,
        ..search::Options::default()
    };
    let report = search::search(&model, &options, &()).expect("can be searched");
    assert!(matches!(report.verdict, Verdict::InvariantFailed(_)));
}
