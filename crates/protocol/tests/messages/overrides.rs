//! Overridden constants, and limits.

use fencepost_protocol::{Limits, Model, ModelError};

fn read(model: &str, given: &[(&str, i64)]) -> Result<Model, ModelError> {
    let given: Vec<(String, i64)> = given.iter().map(|(n, v)| ((*n).into(), *v)).collect();
    Model::read(model.as_bytes(), &given, &Limits::default())
}

const MODEL: &str = "const N: 3; Fast: true; Home: busy; M: N + 1;
type S: enum {idle, busy};
var x: 0..M;
startstate x := 0; end;
rule x := x % N; end;
";

/// The same without what is declared too late.
fn model() -> String {
    MODEL.replace("Home: busy; ", "")
}

#[test]
fn a_given_value_is_used_in_other_constants() {
    let model = read(&model(), &[("N", 7)]).expect("a model");
    let values: Vec<(&str, i64, bool)> = model
        .constants
        .iter()
        .map(|c| (c.name.as_str(), c.value, c.is_given))
        .collect();
    assert_eq!(
        values,
        [("N", 7, true), ("Fast", 1, false), ("M", 8, false)]
    );
    let model = read(MODEL, &[]);
    let error = model.expect_err("`busy` is declared later");
    assert_eq!(
        error.to_string(),
        "line 1, column 31: name `busy` is not declared, expected a name that is declared above"
    );
}

#[test]
fn an_unknown_constant_is_refused() {
    let error = read(&model(), &[("NN", 7)]).expect_err("there is no NN");
    assert_eq!(
        error.render("model.m"),
        "error: the model has no constant `NN`
 --> model.m:1:1
  |
1 | const N: 3; Fast: true; M: N + 1;
  | ^ did you mean `N`?
  |
  = help: constants are declared in a `const` section"
    );
}

#[test]
fn a_boolean_constant_is_0_or_1() {
    let error = read(&model(), &[("Fast", 2)]).expect_err("no boolean");
    assert_eq!(
        error.render("model.m"),
        "error: the constant is a boolean, and 2 is given for it
 --> model.m:1:13
  |
1 | const N: 3; Fast: true; M: N + 1;
  |             ^^^^ expected 0 for false or 1 for true
  |
  = help: --const sets integer and boolean constants"
    );
    assert!(read(&model(), &[("Fast", 0)]).is_ok());
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = Model::read(b"var x:\n  \xff0..3;", &[], &Limits::default());
    assert_eq!(
        error.expect_err("no text").render("model.m"),
        "error: byte 0xff is not UTF-8
 --> model.m:2:3
  |
2 |   \u{fffd}0..3;
  |   ^ expected UTF-8 text
  |
  = help: convert the file to UTF-8, if it is a Murphi model"
    );
}

#[test]
fn limits_are_errors_of_their_own() {
    let limits = Limits {
        bytes: 10,
        ..Limits::default()
    };
    let error = Model::read(model().as_bytes(), &[], &limits).expect_err("too long");
    assert!(error.is_limit());
    assert_eq!(
        error.to_string(),
        "line 1, column 1: more than 10 bytes of a file, expected at most 10"
    );
    let error = read("var x: 1..0;", &[]).expect_err("empty");
    assert!(!error.is_limit());
}

/// Each of these would overflow the stack of a recursive walk.
#[test]
fn deep_nesting_is_refused() {
    let deep = 100_000;
    let texts = [
        format!("const N: {}1;", "(".repeat(deep)),
        format!("const N: {}1;", "- ".repeat(deep)),
        format!("const N: 1{};", " + 1".repeat(deep)),
        format!("var x: {}0..1;", "array [0..1] of ".repeat(deep)),
        format!("var x: {}", "record x: ".repeat(deep)),
        format!("rule {} end;", "if true then ".repeat(deep)),
        format!("rule x{} := 1; end;", ".x".repeat(deep)),
        format!("{} rule end;", "ruleset i: 0..1 do ".repeat(deep)),
        format!("invariant {}", "forall i: 0..1 do ".repeat(deep)),
        format!("const N: {}", "true ? ".repeat(deep)),
    ];
    for text in texts {
        let error = read(&text, &[]).expect_err("too deep");
        assert!(error.is_limit(), "{}", error);
        let shown = error.to_string();
        assert!(shown.contains("more than 200 levels of nesting"), "{shown}");
    }
}

#[test]
fn types_that_nest_through_names_are_refused() {
    let mut text = String::from("type T0: 0..1;\n");
    for depth in 1..1000 {
        let inner = depth - 1;
        text += &format!("T{depth}: record x: T{inner}; end;\n");
    }
    let error = read(&text, &[]).expect_err("too deep");
    assert!(error.is_limit(), "{error}");
}

#[test]
fn calls_that_nest_too_deeply_are_refused() {
    let mut text = String::from("var x: 0..1; procedure p0(); begin x := 1; end;\n");
    for depth in 1..100 {
        let inner = depth - 1;
        text += &format!("procedure p{depth}(); begin p{inner}(); end;\n");
    }
    text += "startstate x := 0; end; rule p99(); end;";
    let error = read(&text, &[]).expect_err("too deep");
    assert!(error.is_limit(), "{error}");
}

#[test]
fn long_chains_are_not_deep() {
    let text = format!(
        "var x: 0..1; startstate x := 0; end; rule x := 1 - x; end; invariant x < 2{};",
        " & x < 2".repeat(10_000)
    );
    assert!(read(&text, &[]).is_ok());
}

#[test]
fn too_many_instances_are_refused() {
    let text = "var x: 0..1; startstate x := 0; end;
ruleset i: 0..9999; j: 0..9999 do rule x := 1; end; end;";
    let error = read(text, &[]).expect_err("too many");
    assert_eq!(
        error.to_string(),
        "line 2, column 35: more than 16777216 instances of rules, expected at most 16777216"
    );
}

#[test]
fn at_most_twenty_mistakes_are_shown() {
    let text = format!("var x: 0..1;\nrule\n{}end;", "y := 1;\n".repeat(1000));
    let error = read(&text, &[]).expect_err("errors");
    assert_eq!(error.errors.len(), ModelError::MAX);
    let lines: Vec<u32> = error.errors.iter().map(|m| m.position.line).collect();
    assert_eq!(lines, (3..23).collect::<Vec<u32>>());
}

#[test]
fn suggestions_fit_the_place() {
    let text = "type Proc: scalarset(2); Cache: record v: 0..1; end;
var cache: array [Proc] of Cache;
startstate for p: Proc do cache[p].v := 0; end; end;
ruleset p: Proc do rule cach[p].v := 1; end; end;
";
    let error = read(text, &[]).expect_err("`cach` is not declared");
    let rendered = error.render("model.m");
    assert!(rendered.contains("did you mean `cache`?"), "{rendered}");
    let text = text.replace("ruleset", "rulset").replace("cach[", "cache[");
    let error = read(&text, &[]).expect_err("`rulset` is no keyword");
    let rendered = error.render("model.m");
    assert!(rendered.contains("did you mean `ruleset`?"), "{rendered}");
}
