//! `fencepost reproduce`: rows are zero exactly where the paper's are. The command itself compares.

use std::process::Command;

fn rows(arguments: &[&str]) -> Vec<serde_json::Value> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output = command.arg("reproduce").args(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON in each line")
}

#[test]
fn bss_is_reproduced() {
    let rows = rows(&["bss", "--json"]);
    assert_eq!(rows.len(), 7);
    for row in rows {
        for model in ["tso", "pso"] {
            let is_zero = |value: &serde_json::Value| value[model]["executions"] == 0;
            assert_eq!(is_zero(&row), is_zero(&row["paper"]), "{row}");
        }
    }
}

/// The programs in C have violations where those in Rust have them.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn bss_is_reproduced_in_c() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    let rows = rows(&["bss", "--c", "--json", "--executions", "4000"]);
    assert_eq!(rows.len(), 14);
    for both in rows.chunks(2) {
        let [rust, c] = both else {
            panic!("{both:?}");
        };
        assert_eq!(
            (&rust["language"], &c["language"]),
            (&"rust".into(), &"c".into())
        );
        assert_eq!(rust["program"], c["program"]);
        for model in ["tso", "pso"] {
            let is_zero = |value: &serde_json::Value| value[model]["executions"] == 0;
            assert_eq!(is_zero(c), is_zero(&c["paper"]), "{c}");
            assert_eq!(is_zero(rust), is_zero(c), "{rust}\n{c}");
        }
    }
}

#[test]
fn sober_is_reproduced() {
    let rows = rows(&["sober", "--json", "--max-bound", "2"]);
    assert_eq!(rows.len(), 9);
    for row in rows {
        let is_zero = |value: &serde_json::Value| value["borderline"] == 0;
        assert_eq!(is_zero(&row), is_zero(&row["paper"]), "{row}");
        assert_eq!(row["first_seconds"].is_null(), is_zero(&row), "{row}");
    }
}

#[test]
fn a_table_is_for_people() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output = command
        .args(["reproduce", "sober", "--max-bound", "1", "--quiet"])
        .output();
    let output = output.unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{text}"
    );
    assert!(
        text.starts_with("SOBER, Fig. 4") && text.contains("\ntakequeue"),
        "{text}"
    );
}

/// A sample that is too small is no contradiction.
#[test]
fn what_a_small_sample_misses_is_a_limit() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output = command
        .args(["reproduce", "bss", "--executions", "1", "--quiet"])
        .output();
    let output = output.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("lazylist under PSO: 0 executions"), "{said}");
}

/// What takes seconds; the other searches are tests of the models.
#[test]
fn tso_cc_is_as_expected() {
    let known = [
        ("TSO-CC, 2 caches", 1, None),
        ("TSO-LB", 4, None),
        ("the paper's witness", 4, None),
        ("MESI", 4, None),
        ("mutant 4", 1, Some(11)),
        ("mutant 23", 1, Some(3)),
        ("store buffers", 1, Some(16)),
    ];
    for (only, count, steps) in known {
        let rows = rows(&["tso-cc", "--json", "--only", only]);
        assert_eq!(rows.len(), count, "{only}");
        for row in rows {
            assert_eq!(row["agrees"], true, "{row}");
            assert_eq!(row["vacuous"], 0, "{row}");
            if let Some(steps) = steps {
                assert_eq!(row["steps"], steps, "{row}");
            }
        }
    }
}

#[test]
fn rows_of_tso_cc_that_are_not_there() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    let output = command
        .args(["reproduce", "tso-cc", "--only", "nothing"])
        .output();
    let output = output.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("no row has \"nothing\""), "{said}");
}

#[test]
fn results_of_tso_cc_are_kept() {
    let folder = std::env::temp_dir().join(format!("fencepost-kept-{}", std::process::id()));
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command
            .args([
                "reproduce",
                "tso-cc",
                "--full",
                "--json",
                "--only",
                "mutant 23",
            ])
            .arg("--checkpoint")
            .arg(&folder);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let first = run();
    assert!(!first.1.contains("(cached)"), "{}", first.1);
    // The same to the last digit of the seconds: it was not searched again.
    let second = run();
    assert_eq!(first.0, second.0);
    assert!(second.1.contains("mutant 23 (cached)"), "{}", second.1);
    // What was kept of another model, or is no result at all, is not used.
    let file = folder.join("tso-cc--mutant-23.json");
    let kept = std::fs::read_to_string(&file).unwrap();
    for spoilt in [kept.replace("MUTANT=23", "MUTANT=24"), "{".to_owned()] {
        std::fs::write(&file, spoilt).unwrap();
        assert!(!run().1.contains("(cached)"));
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
