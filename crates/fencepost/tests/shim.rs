//! `examples/shim` as its users and its authors build it.

#[path = "support/scratch.rs"]
mod scratch;

use std::process::Output;

use scratch::{cargo, make, printed, read, repository};

const PACKAGE: &str = "fencepost-example-shim";

fn text(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    format!("{stdout}{}", String::from_utf8_lossy(&output.stderr))
}

fn succeeds(arguments: &[&str], is_checking: bool) -> String {
    let output = cargo(arguments, is_checking);
    assert!(output.status.success(), "{}", text(&output));
    text(&output)
}

#[test]
fn the_example_is_checked_and_does_not_depend_on_fencepost() {
    make();
    let tree = [
        "tree",
        "-p",
        PACKAGE,
        "--edges",
        "normal,build,dev",
        "--prefix",
        "none",
    ];
    let without = succeeds(&tree, false);
    // Cargo says so when another one runs.
    let packages = (without.lines()).filter(|line| !line.trim_start().starts_with("Blocking"));
    assert_eq!(packages.count(), 1, "{without}");
    assert!(succeeds(&tree, true).contains("\nfencepost v"));

    let tests = ["test", "-p", PACKAGE, "--tests"];
    let ran = succeeds(&tests, false);
    assert!(
        ran.contains("test many_values_arrive_in_order ... ok"),
        "{ran}"
    );
    assert!(!ran.contains("warning"), "{ran}");
    let ran = succeeds(&tests, true);
    assert!(
        ran.contains("test what_is_sent_is_received ... ok"),
        "{ran}"
    );
    assert!(
        ran.contains("test a_full_queue_takes_nothing ... ok"),
        "{ran}"
    );
    assert!(!ran.contains("warning"), "{ran}");

    let broken = [
        "test",
        "-p",
        PACKAGE,
        "--test",
        "check",
        "--features",
        "broken",
    ];
    let broken = cargo(&broken, true);
    assert!(!broken.status.success());
    let reports = printed(&broken);
    let report = &reports["what_is_sent_is_received"];
    let headline = report.lines().next().expect("a headline");
    assert!(
        headline.starts_with("error: not store-buffer safe"),
        "{report}"
    );
    let page = read(&repository().join("docs/checking/your-crate.md"));
    assert!(page.contains(&format!("\n{headline}\n")), "{headline}");
}
