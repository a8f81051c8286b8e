//! `examples/real`: published crates, fetched by `cargo` and checked as they are.

#[path = "support/scratch.rs"]
mod scratch;

use std::path::Path;

use scratch::{cargo_in, repository};

#[test]
fn published_crates_are_verified() {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real");
    let mut command = cargo_in(&repository().join("examples/real"), &target);
    let output = command.args(["test", "--locked", "--tests"]).output();
    let output = output.expect("cargo runs");
    let ran = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{ran}{said}");
    for test in [
        "a_value_comes_out_once",
        "values_come_out_in_order",
        "everything_happens",
        "no_token_is_lost",
    ] {
        assert!(ran.contains(&format!("test {test} ... ok")), "{ran}");
    }
    assert!(!said.contains("warning"), "{said}");
}
