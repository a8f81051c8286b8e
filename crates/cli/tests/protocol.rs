//! `fencepost protocol`: exit codes, messages, limits, traces and JSON.

use crate::support;

use std::path::Path;

use serde_json::Value;

use support::{Scratch, code, run, run_with_input, stderr, stdout};

const FINE: &str = "const N: 3; Fast: true; var x: 0..N; startstate x := 0; end;
rule \"up\" x < N ==> x := x + 1; end; rule \"again\" x = N & Fast ==> x := 0; end;";
const WRONG: &str = "var x: 0..9; startstate x := 0; end;
rule \"up\" x := x + 1; end; invariant \"small\" x < 3;";
/// So many states that no search ends.
const ENDLESS: &str =
    "var x: array [0..19] of 0..9; startstate for i := 0 to 19 do x[i] := 0; end; end;
ruleset i: 0..19 do rule \"up\" x[i] := (x[i] + 1) % 10; end; end;";

/// Runs the command on a model in a file.
fn protocol(name: &str, model: &str, arguments: &[&str]) -> std::process::Output {
    let scratch = Scratch::new(&format!("protocol-{name}"));
    let file = scratch.path("model.m");
    std::fs::write(&file, model).expect("a file");
    let all: Vec<&str> = ["protocol", file.as_str()]
        .into_iter()
        .chain(arguments.iter().copied())
        .collect();
    run(&all)
}

fn last_object(output: &std::process::Output) -> Value {
    let line = stdout(output).lines().last().expect("a line");
    serde_json::from_str(line).expect("JSON")
}

#[test]
fn exit_codes_say_what_was_found() {
    let code_of = |name, model, arguments: &[&str]| code(&protocol(name, model, arguments));
    assert_eq!(code_of("fine", FINE, &[]), 0);
    assert_eq!(code_of("wrong", WRONG, &[]), 1);
    assert_eq!(code_of("broken", "var x", &[]), 2);
    assert_eq!(code_of("states", ENDLESS, &["--max-states", "50"]), 3);
    assert_eq!(code_of("time", ENDLESS, &["--max-time", "50ms"]), 3);
    let stops = "var x: 0..1; startstate x := 0; end; rule x = 0 ==> x := 1; end;";
    assert_eq!(code_of("deadlock", stops, &[]), 1);
    assert_eq!(code_of("stuck", stops, &["--deadlock", "stuck"]), 1);
    assert_eq!(code_of("off", stops, &["--deadlock", "off"]), 0);
    let covers = format!("{FINE} cover \"never\" x > N;");
    assert_eq!(code_of("cover", &covers, &[]), 1);
    // More than a reader takes is a limit, not a mistake.
    let huge = " ".repeat((4 << 20) + 1);
    assert_eq!(code_of("huge", &huge, &[]), 3);
}

#[test]
fn a_limit_says_how_far_it_came() {
    let output = protocol("limit", ENDLESS, &["--max-states", "50"]);
    let text = stdout(&output);
    assert!(
        text.starts_with("incomplete: the search stopped at --max-states\n"),
        "{text}"
    );
    assert!(text.contains("no error in 50 explored states"), "{text}");
    let output = protocol("limit-json", ENDLESS, &["--max-states", "50", "--json"]);
    let object = last_object(&output);
    assert_eq!(object["complete"], false);
    assert_eq!(object["limit"], "max-states");
    assert_eq!(object["states"], 50);
    assert_eq!(object["verdict"], "incomplete: too many states");
}

#[test]
fn constants_are_given_by_name() {
    let output = protocol("const", FINE, &["--const", "N=7", "--json"]);
    assert_eq!(last_object(&output)["states"], 8);
    assert_eq!(last_object(&output)["constants"]["N"], 7);
    let output = protocol("const-bool", FINE, &["--const", "Fast=false"]);
    assert_eq!(code(&output), 1, "a deadlock: nothing leads on");
    for (name, arguments, words) in [
        (
            "unknown",
            &["--const", "NN=7"][..],
            "error: --const NN: the model has no such constant\n  = help: did you mean `N`? its constants are N, Fast",
        ),
        (
            "unlike",
            &["--const", "NODES=7"],
            "error: --const NODES: the model has no such constant\n  = help: its constants are N, Fast",
        ),
        (
            "integer",
            &["--const", "N=true"],
            "error: `N` is an integer, and `true` is given for it",
        ),
        ("range", &["--const", "N=-7"], "error: "),
        ("number", &["--const", "N=x"], "found `x`"),
        ("form", &["--const", "N"], "such as N=3"),
        (
            "twice",
            &["--const", "N=1", "--const", "N=2"],
            "two values, 1 and 2",
        ),
        (
            "boolean",
            &["--const", "Fast=2"],
            "the constant is a boolean",
        ),
    ] {
        let output = protocol(&format!("const-{name}"), FINE, arguments);
        assert_eq!(code(&output), 2, "{name}");
        assert!(
            stderr(&output).contains(words),
            "{name}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn files_that_cannot_be_read_are_said() {
    let output = run(&["protocol", "no-such-file.m"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).starts_with("error: cannot read no-such-file.m: No such file"),
        "{}",
        stderr(&output)
    );
    let output = run(&["protocol", "docs"]);
    assert_eq!(code(&output), 2);
    assert_eq!(
        stderr(&output),
        "error: cannot read docs: it is a directory\n  = help: name one model, such as docs/model.m\n"
    );
    let output = run_with_input(&["protocol", "-"], b"var x\xff");
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("expected UTF-8 text"),
        "{}",
        stderr(&output)
    );
    let output = run_with_input(&["protocol", "-"], b"");
    assert_eq!(code(&output), 2);
    let output = run_with_input(&["protocol", "-"], FINE.as_bytes());
    assert_eq!(code(&output), 0);
    assert!(
        stdout(&output).starts_with("no error"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn bad_usage_is_refused() {
    for arguments in [
        &["--dfs", "--simulate"][..],
        &["--seed", "3"],
        &["--walks", "0", "--simulate"],
        &["--compact", "--simulate"],
        &["--symmetry", "some"],
        &["--max-time", "3y"],
        &["--max-memory", "4X"],
        &["--max-states", "0"],
        &["--workers", "0"],
        &["--trace", "png"],
        &["--json", "--trace", "svg"],
        &["--while-rounds", "0"],
    ] {
        let output = protocol("usage", FINE, arguments);
        assert_eq!(code(&output), 2, "{arguments:?}");
        assert!(!stderr(&output).is_empty(), "{arguments:?}");
    }
}

#[test]
fn an_error_with_json_is_an_object_too() {
    let output = run(&["protocol", "no-such-file.m", "--json"]);
    let object = last_object(&output);
    assert_eq!(object["type"], "error");
    assert_eq!(object["schema"], "fencepost-protocol/1");
    assert_eq!(object["exit_code"], 2);
}

#[test]
fn json_has_the_trace_and_then_the_summary() {
    let output = protocol("json", WRONG, &["--json"]);
    assert_eq!(code(&output), 1);
    let lines: Vec<Value> = { stdout(&output).lines() }
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(
        (&lines[0]["type"], &lines[1]["type"]),
        (&"trace".into(), &"summary".into())
    );
    assert_eq!(lines[0]["steps"][2]["changes"][0]["after"], 3);
    let summary = &lines[1];
    assert_eq!(summary["verdict"], "invariant failed: small");
    assert_eq!(
        (&summary["states"], &summary["rules_fired"]),
        (&4.into(), &3.into())
    );
    for field in [
        "depth", "workers", "seconds", "complete", "vacuous", "memory", "omission",
    ] {
        assert!(summary.get(field).is_some(), "{field}");
    }
    let output = protocol("json-fine", FINE, &["--json"]);
    assert_eq!(stdout(&output).lines().count(), 1);
    assert_eq!(last_object(&output)["verdict"], "no error");
}

#[test]
fn traces_go_where_they_are_asked_for() {
    let scratch = Scratch::new("protocol-traces");
    let model = scratch.path("model.m");
    std::fs::write(&model, WRONG).expect("a file");
    let written = |name: &str, arguments: &[&str]| {
        let file = scratch.path(name);
        let all = [&["protocol", &model, "-o", &file], arguments].concat();
        let output = run(&all);
        assert_eq!(code(&output), 1);
        assert!(!stdout(&output).contains("2. up"), "the trace is elsewhere");
        assert!(stdout(&output).contains("invariant failed: small"));
        std::fs::read_to_string(&file).expect("it was written")
    };
    assert!(written("way.svg", &[]).starts_with("<svg "));
    assert!(written("way.json", &[]).starts_with("{\"schema\""));
    assert!(written("way.txt", &[]).starts_with("start Startstate 0"));
    assert!(written("way", &["--trace", "svg"]).starts_with("<svg "));
    // Without a file the trace alone is on standard output.
    let output = run(&["protocol", &model, "--trace", "svg"]);
    assert!(stdout(&output).starts_with("<svg ") && stdout(&output).ends_with("</svg>\n"));
    assert!(stderr(&output).contains("invariant failed: small"));
    let output = run(&["protocol", &model, "--trace", "json"]);
    assert_eq!(last_object(&output)["type"], "trace");

    let output = run(&["protocol", &model, "-o", "/no/such/place.svg"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("cannot write /no/such/place.svg"));
    std::fs::write(&model, FINE).expect("a file");
    let file = scratch.path("none.svg");
    let output = run(&["protocol", &model, "-o", &file]);
    assert_eq!(code(&output), 0);
    assert!(
        stderr(&output).contains("was not written"),
        "{}",
        stderr(&output)
    );
    assert!(!Path::new(&file).exists());
}

#[test]
fn the_replay_command_has_what_matters() {
    let arguments = [
        "--deadlock",
        "off",
        "--symmetry",
        "off",
        "--while-rounds",
        "9",
        "--workers",
        "1",
    ];
    let output = protocol("replay", WRONG, &arguments);
    let last = stdout(&output).lines().last().expect("lines").to_owned();
    assert!(
        last.ends_with("model.m --symmetry off --deadlock off --while-rounds 9 --workers 1"),
        "{last}"
    );
}

#[test]
fn coverage_counts_rules_and_branches() {
    let model = "var x: 0..1; startstate x := 0; end;
rule \"turn\" if x = 0 then x := 1; else x := 0; end; end;";
    let output = protocol("coverage", model, &["--coverage"]);
    let text = stdout(&output);
    let section = text.split_once("coverage\n").expect("a section").1;
    let counts: Vec<Vec<&str>> = { section.lines().skip(1) }
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    assert_eq!(
        counts,
        [
            ["1", "1", "start"],
            ["2", "2", "rule"],
            ["2", "1", "branch"],
            ["2", "1", "branch"]
        ]
    );
    let output = protocol("coverage-json", model, &["--coverage", "--json"]);
    assert_eq!(last_object(&output)["coverage"][1]["times"], 2);
}

#[test]
fn warnings_do_not_change_the_result() {
    let model = "var x: 0..1; startstate x := 0; end;
function f(): 0..1; begin if x = 0 then return 1; end; end;
rule x := 1 - x; end;";
    let output = protocol("warnings", model, &[]);
    assert_eq!(code(&output), 0);
    assert!(
        stderr(&output).starts_with("warning: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn models_of_the_guide_have_their_verdicts() {
    for (model, expected, states) in [
        ("first.m", 0, 3),
        ("second.m", 1, 5),
        ("directory-race.m", 1, 85),
        ("directory.m", 0, 152),
    ] {
        let file = format!("docs/protocols/models/{model}");
        let output = run(&["protocol", &file, "--json", "--workers", "1"]);
        assert_eq!(code(&output), expected, "{model}");
        if expected == 0 {
            assert_eq!(last_object(&output)["states"], states, "{model}");
        }
    }
}

/// A counter with as many states as it is told.
const COUNTER: &str = "const N: 1000; var x: 0..N; startstate x := 0; end;
rule \"up\" x < N ==> x := x + 1; end; rule \"again\" x = N ==> x := 0; end;";

#[test]
fn searches_that_are_not_complete_never_exit_with_0() {
    for (name, arguments, limit) in [
        ("depth", &["--max-depth", "10"][..], "max-depth"),
        ("memory", &["--max-memory", "1K"], "max-memory"),
    ] {
        let all = [arguments, &["--json"]].concat();
        let output = protocol(&format!("incomplete-{name}"), COUNTER, &all);
        assert_eq!(code(&output), 3, "{name}");
        assert_eq!(last_object(&output)["limit"], limit);
        assert_eq!(last_object(&output)["complete"], false);
    }
}

#[test]
fn random_walks_are_no_proof() {
    let output = protocol("walks", COUNTER, &["--simulate", "--walks", "3", "--json"]);
    assert_eq!(code(&output), 3);
    assert_eq!(last_object(&output)["limit"], "walks");
    assert_eq!(last_object(&output)["complete"], false);
}

#[test]
fn orders_find_the_same_and_walks_repeat() {
    let wrong = format!("{COUNTER} invariant \"small\" x < 500;");
    for arguments in [&["--dfs"][..], &["--compact"], &["--workers", "2"]] {
        let output = protocol("orders", &wrong, &[arguments, &["--json"]].concat());
        assert_eq!(code(&output), 1, "{arguments:?}");
        assert_eq!(last_object(&output)["verdict"], "invariant failed: small");
    }
    let walk = [
        "--simulate",
        "--seed",
        "7",
        "--walks",
        "5",
        "--workers",
        "1",
        "--trace",
        "json",
    ];
    let (one, other) = (
        protocol("walk", &wrong, &walk),
        protocol("walk", &wrong, &walk),
    );
    assert_eq!(code(&one), 1);
    assert_eq!(stdout(&one), stdout(&other));
}

#[test]
fn compaction_says_what_may_be_missed() {
    let output = protocol("compact", COUNTER, &["--compact", "--json"]);
    assert_eq!(code(&output), 0);
    assert!(
        last_object(&output)["omission"]
            .as_f64()
            .is_some_and(|p| p < 1e-6)
    );
    let output = protocol("compact-text", COUNTER, &["--compact"]);
    assert!(stdout(&output).contains("states were missed with a probability of at most"));
}

#[test]
fn a_search_is_saved_and_goes_on() {
    let scratch = Scratch::new("protocol-checkpoint");
    let (file, saved) = (scratch.path("model.m"), scratch.path("search.saved"));
    let model = ENDLESS.replace("19", "4");
    std::fs::write(&file, &model).expect("a file");
    let (file, saved) = (file.as_str(), saved.as_str());
    // With several threads there may be some states more.
    let bound = ["--workers", "1", "--max-states", "5000"];
    let cut = run(&[&["protocol", file, "--checkpoint", saved][..], &bound].concat());
    assert_eq!(code(&cut), 3);
    let command =
        format!("fencepost protocol {file} --workers 1 --resume {saved} --checkpoint {saved}");
    let told = format!("saved 5,000 states; resume with: {command}");
    assert!(stderr(&cut).contains(&told), "{}", stderr(&cut));
    let rest = run(&["protocol", file, "--json", "--resume", saved]);
    let object = last_object(&rest);
    assert_eq!(object["verdict"], "no error");
    assert_eq!(object["states"], 100_000);
    assert_eq!(object["rules_fired"], 500_000);
    assert_eq!(code(&rest), 0);

    let other = run(&["protocol", file, "--resume", saved, "--deadlock", "off"]);
    assert_eq!(code(&other), 2);
    assert!(
        stderr(&other).contains("other constants or options"),
        "{}",
        stderr(&other)
    );
    std::fs::write(saved, "not a search").expect("a file");
    let damaged = run(&["protocol", file, "--resume", saved]);
    assert_eq!(code(&damaged), 2);
    assert!(
        stderr(&damaged).contains("cannot resume"),
        "{}",
        stderr(&damaged)
    );
    let nowhere = run(&["protocol", file, "--checkpoint", "/no/such/folder/search"]);
    assert_eq!(code(&nowhere), 2);
}

#[test]
fn the_command_that_resumes_is_quoted() {
    let scratch = Scratch::new("protocol-quoted");
    let (file, saved) = (scratch.path("model.m"), scratch.path("my search"));
    std::fs::write(&file, ENDLESS).expect("a file");
    let bound = ["--workers", "1", "--max-states", "500"];
    let cut = run(&[&["protocol", &file, "--checkpoint", &saved][..], &bound].concat());
    assert_eq!(code(&cut), 3);
    let told = format!("--resume '{saved}' --checkpoint '{saved}'\n");
    assert!(stderr(&cut).contains(&told), "{}", stderr(&cut));
}

/// A search of this model would not end.
#[test]
fn files_that_cannot_be_written_are_refused_before_the_search() {
    let assert_refused = |option: &str, path: &str, why: &str| {
        let output = protocol("refused", ENDLESS, &[option, path, "--max-time", "1m"]);
        assert_eq!(code(&output), 2, "{}", stdout(&output));
        assert_eq!(stdout(&output), "");
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    let missing = "expected a file name in an existing directory";
    assert_refused("--output", "/no/such/folder/trace.txt", missing);
    assert_refused("--checkpoint", "/no/such/folder/search", missing);
    #[cfg(unix)]
    for option in ["--checkpoint", "--resume"] {
        let device = "/dev/zero: expected a regular file, found a device";
        assert_refused(option, "/dev/zero", device);
    }
}

/// Files may not become large here, and a checkpoint is.
#[cfg(unix)]
#[test]
fn a_checkpoint_that_cannot_be_written_is_in_the_result() {
    let scratch = Scratch::new("protocol-full");
    let (file, saved) = (scratch.path("model.m"), scratch.path("search.saved"));
    std::fs::write(&file, ENDLESS).expect("a file");
    let limited = |options: &[&str]| {
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
        let output = std::process::Command::new("sh")
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_fencepost")])
            .args(["protocol", &file, "--checkpoint", &saved])
            .args(["--workers", "1", "--max-states", "5000"])
            .args(options)
            .env("NO_COLOR", "1")
            .output()
            .expect("the command starts");
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        let warning = format!("warning: cannot write the checkpoint {saved}: ");
        assert_eq!(stderr(&output).matches(&warning).count(), 1);
        assert!(!stderr(&output).contains("resume with"));
        output
    };
    let output = limited(&["--json"]);
    let error = last_object(&output)["checkpoint_error"].clone();
    let error = error.as_str().expect("an error").to_owned();
    let output = limited(&[]);
    let row = format!("not written: {error}");
    assert!(stdout(&output).contains(&row), "{}", stdout(&output));
    assert!(!Path::new(&saved).exists());
}
