//! What a search of a model came to, as text and as JSON.

use crate::support;

use fencepost_protocol::outcome::{Bound, DeadlockRule, Verdict};
use fencepost_protocol::search::{Options, Symmetry};
use fencepost_report::json::protocol as json;
use fencepost_report::protocol::{coverage, report, trace, vacuous_points, verdict};
use serde_json::Value;

use support::protocol::Searched;
use support::{expect, plain};

fn verdict_of(text: &str) -> String {
    plain(&verdict(&Searched::text("model.m", text).checked(), 100))
}

#[test]
fn whole_reports() {
    for name in ["addresses.m", "plain.m"] {
        let searched = Searched::file(name);
        let text = plain(&report(&searched.checked(), true, 100));
        expect(
            &format!("protocol-{}.txt", name.trim_end_matches(".m")),
            &text,
        );
    }
    let fine = "var x: 0..1; startstate x := 0; end; rule \"turn\" x := 1 - x; end;
                invariant x = 1 -> x > 0;";
    let searched = Searched::text("fine.m", fine);
    assert_eq!(
        plain(&report(&searched.checked(), true, 100)),
        "no error: all states were explored

vacuity: none (every rule fired, every antecedent held, every assertion was reached)

summary
  states       2
  rules fired  2
  depth        1
  workers      1
  time         0.05 s
"
    );
}

#[test]
fn faults_are_shown_where_they_are() {
    let start = "var x: 0..3; y: 0..3;\nstartstate x := 0; end;\n";
    let text = verdict_of(&format!("{start}rule \"up\"\n  x := x + 1;\nend;"));
    assert_eq!(
        text,
        "error: 4 is outside of 0..3
 --> model.m:4:3
  |
3 | rule \"up\"
  | --------- in this rule
4 |   x := x + 1;
  |   ^^^^^^^^^^
"
    );
    let text = verdict_of(&format!("{start}rule \"use\" x := y; x := x; end;"));
    assert!(
        text.starts_with("no error"),
        "an undefined variable can be copied: {text}"
    );
    let text = verdict_of(&format!(
        "{start}rule \"use\"\n  x = 0 ==> x := y + 1;\nend;"
    ));
    assert!(text.contains("error: an undefined value is used"), "{text}");
    assert!(
        text.contains("= help: variables are undefined until"),
        "{text}"
    );
    let text = verdict_of(&format!("{start}rule \"g\" y = 1 ==> x := 1; end;"));
    assert!(text.contains("in the guard of this rule"), "{text}");
    let text = verdict_of(&format!("{start}rule x := 0; end; invariant \"i\" y = 0;"));
    assert!(text.contains("while this invariant is checked"), "{text}");
    let text = verdict_of("var x: 0..3; startstate x := 4 - x; end; rule x := 0; end;");
    assert!(text.contains("in this start state"), "{text}");
    let text = verdict_of(&format!("{start}rule x := 0; assert \"never\" x > 0; end;"));
    assert!(
        text.starts_with("error: assertion failed: never\n"),
        "{text}"
    );
    let text = verdict_of(&format!("{start}rule x := 0; error \"stop\"; end;"));
    assert!(text.starts_with("error: stop\n"), "{text}");
    let text = verdict_of(&format!("{start}rule x := 0; end; cover \"two\" x = 2;"));
    assert!(text.contains("this was never true"), "{text}");
}

#[test]
fn a_deadlock_says_what_to_do() {
    let text = "var x: 0..1; startstate x := 0; end; rule x = 0 ==> x := 1; end;";
    let options = Options {
        deadlock: DeadlockRule::Stuttering,
        ..Options::default()
    };
    let searched = Searched::with("model.m", text, &options);
    let shown = plain(&verdict(&searched.checked(), 100));
    assert!(
        shown.starts_with("error: deadlock: no rule leads"),
        "{shown}"
    );
    assert!(
        shown.contains("help: if the model may stop there, use --deadlock off"),
        "{shown}"
    );
}

#[test]
fn every_bound_says_what_to_do() {
    let mut searched = Searched::text("model.m", VACUOUS);
    for (bound, words) in [
        (Bound::States, "raise --max-states"),
        (Bound::Time, "raise --max-time"),
        (Bound::Depth, "raise --max-depth"),
        (Bound::Memory, "--compact"),
        (Bound::Stopped, "interrupted"),
        (Bound::Walks, "use --check to explore all states"),
        (Bound::Permutations, "--symmetry fast"),
    ] {
        searched.report.verdict = Verdict::Incomplete(bound);
        let text = plain(&report(&searched.checked(), true, 100));
        assert!(text.starts_with("incomplete: "), "{text}");
        assert!(text.contains(words), "{text}");
        assert!(text.contains("before the search stopped"), "{text}");
    }
}

const VACUOUS: &str = "var x: 0..3; m: multiset [1] of 0..1;
startstate x := 0; end;
rule \"turn\" x := 1 - x; if x = 3 then assert \"deep\" x = 3 -> x > 0; end; end;
rule \"never\" x = 2 ==> x := 0; end;
invariant \"empty\" x = 3 -> x = 0;
invariant MultiSetCount(e: m, true) = 0;
ruleset i := 2 to 1 do invariant \"none\" x = i; end;
";

#[test]
fn what_never_happened_is_listed_with_its_line() {
    let searched = Searched::text("model.m", VACUOUS);
    let found: Vec<(&str, Option<String>, u32)> =
        { vacuous_points(&searched.checked()).into_iter() }
            .map(|each| (each.kind, each.name, each.line))
            .collect();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(
        found,
        [
            ("assertion", named("deep"), 3),
            ("antecedent", named("deep"), 3),
            ("rule", named("never"), 4),
            ("antecedent", named("empty"), 5),
            ("quantifier", named("Invariant 1"), 6),
            ("invariant", named("none"), 7),
        ]
    );
    let text = plain(&report(&searched.checked(), true, 100));
    let section = text.split("\n\n").nth(1).expect("a section");
    assert_eq!(
        section,
        "vacuity: 6 points never reached
  line 3: assertion `deep` was never reached
  line 3: antecedent in `deep` never held: `x = 3`
  line 4: rule `never` never fired
  line 5: antecedent in `empty` never held: `x = 3`
  line 6: quantifier in `Invariant 1` never had a value: `MultiSetCount(e: m, true)`
  line 7: invariant `none` was never true: is its ruleset empty?"
    );
}

#[test]
fn coverage_has_every_point_in_the_order_of_the_file() {
    let searched = Searched::text("model.m", VACUOUS);
    let text = plain(&coverage(&searched.checked(), 100));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "coverage");
    assert_eq!(lines[2], "  2     1      start state  startstate");
    assert_eq!(lines[3], "  3     2      rule         rule \"turn\"");
    assert!(lines[4].starts_with("  3     0      branch"), "{text}");
    assert_eq!(lines.len(), 2 + searched.model.points.len());
}

#[test]
fn long_values_and_long_traces_are_cut() {
    let text = "type P: 0..99; var a: array [P] of 0..9; n: 0..500;
        startstate for p: P do a[p] := p % 10; end; n := 0; end;
        rule \"up\" n := n + 1; for p: P do a[p] := (a[p] + 1) % 10; end; end;
        invariant n < 300;";
    let searched = Searched::text("model.m", text);
    let way = searched.report.trace.as_ref().expect("an error");
    let text = plain(&trace(&searched.model, way, 80));
    assert!(text.contains("… and 76 more of a"), "{text}");
    assert!(text.contains("more changes\n"), "{text}");
    assert!(text.contains("… 100 steps omitted"), "{text}");
    assert!(
        text.contains("\n 20. up") && !text.contains("\n 21. up"),
        "{text}"
    );
    assert!(
        !text.contains("\n120. up") && text.contains("\n121. up"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn a_summary_has_the_numbers_and_what_failed() {
    let searched = Searched::file("addresses.m");
    let line = json::summary(&searched.checked(), true, "1.2.3");
    let object: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(object["schema"], "fencepost-protocol/1");
    assert_eq!(object["type"], "summary");
    assert_eq!(object["verdict"], "invariant failed: not two answers");
    assert_eq!(object["failed"]["kind"], "invariant");
    assert_eq!(object["failed"]["name"], "not two answers");
    assert_eq!(object["failed"]["line"], 62);
    assert_eq!(object["complete"], false);
    assert_eq!(object["depth"], 5);
    assert_eq!(object["constants"]["Count"], 3);
    assert_eq!(object["trace_length"], 5);
    assert_eq!(object["omission"], Value::Null);
    assert_eq!(object["version"], "1.2.3");
    let points = object["coverage"].as_array().expect("a list").len();
    assert_eq!(points, searched.model.points.len());

    let searched = Searched::text("model.m", VACUOUS);
    let object: Value =
        serde_json::from_str(&json::summary(&searched.checked(), false, "1")).expect("JSON");
    assert_eq!(object["verdict"], "no error");
    assert_eq!(
        (&object["complete"], &object["failed"]),
        (&Value::Bool(true), &Value::Null)
    );
    assert_eq!(object["coverage"], Value::Null);
    assert_eq!(object["vacuous"][2]["kind"], "rule");
    assert_eq!(object["vacuous"][2]["name"], "never");
    assert_eq!(object["vacuous"][2]["line"], 4);
}

#[test]
fn a_trace_has_changes_and_whole_states() {
    let options = Options {
        deadlock: DeadlockRule::Off,
        symmetry: Symmetry::Off,
        ..Options::default()
    };
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/addresses.m");
    let text = std::fs::read_to_string(path).expect("a model");
    let searched = Searched::with("addresses.m", &text, &options);
    let line = json::trace(&searched.checked()).expect("an error");
    let object: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!(object["type"], "trace");
    assert_eq!(object["start"]["startstate"], "quiet");
    assert_eq!(object["start"]["state"]["seen"]["Proc_1"], false);
    assert_eq!(object["start"]["state"]["net"], serde_json::json!([]));
    let steps = object["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 5);
    assert_eq!(steps[0]["rule"], "ask all");
    assert_eq!(steps[0]["line"], 27);
    let second = &steps[1];
    assert_eq!(second["parameters"]["p"], "Proc_1");
    assert_eq!(
        second["parameters"]["m"],
        "{mtype: Ask, src: Memory, dst: Proc_1}"
    );
    let net = &second["changes"][0];
    assert_eq!(net["place"], "net");
    assert_eq!(net["removed"][0]["mtype"], "Ask");
    assert_eq!(net["added"][0]["val"], 0);
    assert_eq!(net["removed"][0]["val"], Value::Null);
    assert_eq!(second["changes"][1]["place"], "seen[Proc_1]");
    assert_eq!(second["changes"][1]["after"], true);
    assert_eq!(second["state"]["answers"], 0);
    assert!(json::trace(&Searched::text("model.m", VACUOUS).checked()).is_none());
}

#[test]
fn names_cannot_change_a_terminal() {
    let text = "var x: 0..3; startstate \"s\u{1b}[2J\" x := 0; end;
        rule \"a\u{1b}[31m\" x := x + 1; end; rule \"n\u{7}\" x = 9 ==> x := 0; end;
        invariant \"i\u{1b}[31m\" x < 2;";
    let searched = Searched::text("model.m", text);
    let all = report(&searched.checked(), true, 100) + &coverage(&searched.checked(), 100);
    // Only our own styles are left, and those are complete.
    let all = plain(&all);
    assert!(!all.contains(['\u{1b}', '\u{7}']), "{all:?}");
    assert!(all.contains("1. a\u{fffd}[31m"), "{all}");
    assert!(all.contains("rule `n\u{fffd}` never fired"), "{all}");
}

#[test]
fn a_start_state_that_fails_leaves_no_vacuity() {
    let model = "var x: 0..3; startstate x := 5; end;
rule x = 1 ==> x := 2; end;
invariant \"i\" x < 3;";
    let searched = Searched::text("model.m", model);
    assert_eq!(vacuous_points(&searched.checked()), []);
    let text = plain(&report(&searched.checked(), true, 100));
    assert!(!text.contains("vacuity"), "{text}");
    assert!(!text.contains("\n\n\n"), "{text}");
}
