//! Large and hostile files are read, or refused, in time and memory that grow with the file.

use std::time::Instant;

use fencepost_protocol::{Limits, Model};

const PARTS: usize = 60_000;

/// Quadratic work on any of these takes minutes.
fn texts() -> Vec<(&'static str, String)> {
    let many = |part: &dyn Fn(usize) -> String| (0..PARTS).map(part).collect::<String>();
    let model = |body: String| {
        format!("var x: 0..3; startstate x := 0; end; rule {body} end; invariant x < 9;")
    };
    vec![
        (
            "branches",
            model(many(&|_| "if x = 1 then x := 2; end; ".into())),
        ),
        ("unknown names", model(many(&|i| format!("y{i} := 2; ")))),
        ("variables", {
            let variables = many(&|i| format!("v{i}: 0..3; "));
            format!("var {variables} startstate v0 := 0; end; rule v0 := 1; end;")
        }),
        (
            "duplicates",
            format!("var {}", many(&|_| "v: 0..3; ".into())),
        ),
        ("unknown beside many names", {
            let variables = many(&|i| format!("v{i}: 0..3; "));
            let uses = many(&|i| format!("w{i} := 0; "));
            format!("var {variables} startstate v0 := 0; end; rule {uses} end;")
        }),
        ("fields", {
            let fields = many(&|i| format!("f{i}: 0..3; "));
            let uses = many(&|i| format!("r.f{i} := 0; "));
            format!("var r: record {fields} end; startstate {uses} end; rule end;")
        }),
        (
            "duplicate fields",
            format!("var r: record {} end;", many(&|_| "f: 0..3; ".into())),
        ),
        ("enum members", {
            let members = many(&|i| format!("m{i}, "));
            format!("type E: enum {{{members}}}; var e: E; startstate e := m7; end; rule end;")
        }),
        ("unions", {
            let members = (0..3000).map(|i| format!("m{i}, ")).collect::<String>();
            let unions = many(&|i| format!("U{i}: union {{E, F}}; V{i}: union {{E, G}}; "));
            let uses = (0..PARTS / 4).map(|i| format!("exists u: U{i}; v: V{i} do u = v end & "));
            format!(
                "type E: enum {{{members}}}; F: enum {{f}}; G: enum {{g}}; {unions}
                 var x: 0..3; startstate end; rule end; invariant {} true;",
                uses.collect::<String>()
            )
        }),
        ("aliases around rules", {
            let aliases = many(&|i| format!("a{i}: x; "));
            let rules = many(&|_| "rule x := 1; end; ".into());
            format!("var x: 0..3; startstate end; alias {aliases} do {rules} end;")
        }),
        ("functions", {
            let functions = many(&|i| format!("procedure p{i}(); begin end; "));
            format!("var x: 0..3; {functions} startstate end; rule p7(); end;")
        }),
        ("locals", {
            let locals = many(&|i| format!("l{i}: array [0..999] of 0..1; "));
            format!("var x: 0..3; startstate end; rule var {locals} begin end;")
        }),
        ("unfinished ifs", "rule if x then ".repeat(PARTS)),
        ("missing semicolons", model(many(&|_| "x := 1 ".into()))),
        ("brackets", format!("const N: {}", "[(".repeat(PARTS))),
        ("quotes", "\"".repeat(PARTS)),
        ("characters", "§ ".repeat(PARTS)),
        ("one word", "x".repeat(PARTS * 10)),
        ("comments", "/**/".repeat(PARTS)),
        ("guards", "rule a ==> ".repeat(PARTS)),
        ("rules without an arrow", "rule a := 1; end; ".repeat(PARTS)),
        ("ends", "end; ".repeat(PARTS)),
    ]
}

#[test]
fn large_files_are_read_or_refused() {
    for (name, text) in texts() {
        let begin = Instant::now();
        let result = Model::read(text.as_bytes(), &[], &Limits::default());
        let shown = match &result {
            Ok(model) => format!("{} points", model.points.len()),
            Err(error) => error.errors[0].to_string(),
        };
        println!(
            "{name}: {} bytes, {:.2?}: {shown}",
            text.len(),
            begin.elapsed()
        );
    }
}
