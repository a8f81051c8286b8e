//! Vacuity: claims that hold only because something never happened.
//!
//! An invariant `A -> B` holds vacuously in a model in which `A` is never true, and a model without
//! errors may be one in which nothing happens. So a search counts the points of a model, and
//! the report lists those that were never reached. Branches and arms that were never taken do not
//! make a claim vacuous; they are coverage.

use crate::model::Model;
use crate::model::points::{PointId, PointKind};

/// The points that make a claim vacuous and were never reached, in the order of the file: rules
/// that never fired, antecedents that never held, quantifiers that never had a value, assertions
/// that were never evaluated, invariants and covers that were never true. An invariant is never
/// true if it is within a ruleset without values, or if it fails in every state.
///
/// After an incomplete search, these are the points that were not reached so far.
pub fn vacuous(model: &Model, hits: &[u64]) -> Vec<PointId> {
    let mut found: Vec<PointId> = Vec::new();
    for (index, (point, hits)) in model.points.iter().zip(hits).enumerate() {
        if *hits == 0 && makes_a_claim_empty(point.kind) {
            found.push(PointId(index as u32));
        }
    }
    // Functions are resolved before rules, wherever they are.
    found.sort_by_key(|id| (model.points[id.0 as usize].span, id.0));
    found
}

fn makes_a_claim_empty(kind: PointKind) -> bool {
    match kind {
        PointKind::Rule
        | PointKind::Antecedent
        | PointKind::Quantifier
        | PointKind::Assertion
        | PointKind::Invariant
        | PointKind::Cover => true,
        PointKind::Startstate
        | PointKind::Assumption
        | PointKind::LocalAssumption
        | PointKind::Branch
        | PointKind::Arm => false,
    }
}

#[cfg(test)]
mod tests {
    use super::vacuous;
    use crate::model::points::PointKind;
    use crate::outcome::Verdict;
    use crate::reference::{Options, search};
    use crate::{Limits, Model};

    fn never_seen(text: &str) -> Vec<(PointKind, u32)> {
        let model = Model::read(text.as_bytes(), &[], &Limits::default()).unwrap();
        let report = search(&model, &Options::default());
        assert_eq!(report.verdict, Verdict::NoError);
        let points = vacuous(&model, &report.hits).into_iter();
        let points = points.map(|id| &model.points[id.0 as usize]);
        points
            .map(|point| (point.kind, model.position(point.span).line))
            .collect()
    }

    #[test]
    fn what_never_happened_is_said_in_the_order_of_the_file() {
        let text = "var x: 0..3; m: multiset [2] of 0..1; n: multiset [2] of 0..1;
startstate x := 0; end;
rule \"go\" x < 2 ==>
  x := x + 1; MultiSetAdd(0, n);
  if x = 3 then check(); end;
end;
rule \"again\" x = 2 ==> x := 0; undefine n; end;
rule \"never\" x = 3 ==> x := 0; end;
procedure check();
begin assert x = 0; end;
ruleset i := 2 to 1 do invariant x = i; end;
invariant \"empty\" x = 3 -> x = 0;
invariant \"said\" x = 2 -> x > 0;
invariant forall i := 0 to x - 3 do i = 5 end;
invariant forall i := 0 to x do i < 5 end;
invariant MultiSetCount(e: m, true) = 0;
invariant MultiSetCount(e: n, true) = x;
invariant true -> true;
";
        assert_eq!(
            never_seen(text),
            [
                (PointKind::Rule, 8),
                (PointKind::Assertion, 10),
                (PointKind::Invariant, 11),
                (PointKind::Antecedent, 12),
                (PointKind::Quantifier, 14),
                (PointKind::Quantifier, 16),
            ]
        );
    }

    #[test]
    fn a_search_that_shows_all_it_claims_has_nothing_to_say() {
        let text = "type P: scalarset(2); var x: array [P] of boolean;
            startstate for p: P do x[p] := false; end; end;
            ruleset p: P do rule x[p] := !x[p]; end; end;
            invariant forall p: P do exists q: P do x[p] -> (x[q] | p != q | !x[q]) end end;
            cover exists p: P do x[p] end;";
        assert_eq!(never_seen(text), []);
    }
}
