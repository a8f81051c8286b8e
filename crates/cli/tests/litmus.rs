//! `fencepost litmus`: exit codes, JSON, comparisons, directories, limits and bad input.

use crate::support;

use std::process::Output;

use serde_json::Value;
use support::{Scratch, code, run_with_input};

fn fencepost(arguments: &[&str]) -> Output {
    let output = support::fencepost().arg("litmus").args(arguments).output();
    output.expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn objects(output: &Output) -> Vec<Value> {
    let lines = text(&output.stdout);
    let parse = |line| serde_json::from_str(line).expect("an object per line");
    lines.lines().map(parse).collect()
}

const SB: &str = "X86 SB\n{ }\n P0          | P1          ;\n MOV [x],$1  | MOV [y],$1  ;\n MOV EAX,[y] | MOV EAX,[x] ;\nexists (0:EAX=0 /\\ 1:EAX=0)\n";
const COUNTS_FOR_EVER: &str = "X86 C\n{ }\n P0 ;\n L: INC [x] ;\n JMP L ;\nexists ([x]=1)\n";

#[test]
fn json_has_a_line_per_test_and_model() {
    let output = fencepost(&["--json", "--model", "sc,tso,pso", "litmus/x86-tso"]);
    assert_eq!(code(&output), 0);
    let objects = objects(&output);
    assert_eq!(objects.len(), 3 * 24);
    for object in &objects {
        assert_eq!(object["schema"], "fencepost-litmus/1");
        assert_eq!(object["complete"], true);
        assert!(
            object["file"]
                .as_str()
                .is_some_and(|file| file.starts_with("litmus/x86-tso/"))
        );
        let states = object["states"].as_array().expect("states").len();
        assert_eq!(object["witnesses_checked"].as_u64(), Some(states as u64));
    }
    let n6 = |model| {
        let found = objects
            .iter()
            .find(|o| o["test"] == "n6" && o["model"] == model);
        found.expect("n6").clone()
    };
    assert_eq!(
        (&n6("sc")["verdict"], &n6("tso")["verdict"]),
        (&"No".into(), &"Ok".into())
    );
    assert_eq!(n6("tso")["observation"], "Sometimes");
    assert_eq!(n6("tso")["states"].as_array().map(Vec::len), Some(5));
}

#[test]
fn the_output_does_not_depend_on_the_number_of_workers() {
    let run = |workers| fencepost(&["--json", "--robust", "--workers", workers, "litmus"]).stdout;
    assert_eq!(text(&run("1")), text(&run("4")));
}

#[test]
fn safety_is_decided_for_both_models() {
    let output = fencepost(&["--robust", "--json", "--cross-check", "litmus/basic"]);
    assert_eq!(code(&output), 1);
    let safety = |name: &str| {
        let found = objects(&output)
            .into_iter()
            .find(|object| object["test"] == name);
        let safe = found.expect("the test")["store_buffer_safe"].clone();
        (
            safe["tso"].as_bool().expect("decided"),
            safe["pso"].as_bool().expect("decided"),
        )
    };
    assert_eq!(safety("SB"), (false, false));
    assert_eq!(safety("SB+mfences"), (true, true));
    assert_eq!(safety("SB+xchgs"), (true, true));
    assert_eq!(safety("MP"), (true, false));
    assert_eq!(safety("MP+sfence"), (true, true));
    assert_eq!(safety("peterson"), (false, false));
    assert_eq!(safety("peterson+mfences"), (true, false));
    assert_eq!(safety("spinlock"), (true, false));
    assert_eq!(
        code(&fencepost(&["--robust", "litmus/basic/SB+mfences.litmus"])),
        0
    );
}

#[test]
fn a_verdict_of_no_is_an_answer() {
    assert_eq!(code(&fencepost(&["litmus/basic/MP.litmus"])), 0);
    assert_eq!(
        code(&fencepost(&["--fail-on-no", "litmus/basic/MP.litmus"])),
        1
    );
    assert_eq!(code(&fencepost(&["--fail-on-no", "litmus/x86-tso"])), 0);
}

#[test]
fn a_log_is_the_same_as_itself_in_every_form() {
    let scratch = Scratch::new("litmus-logs");
    for form in ["", "--json"] {
        let mut arguments = vec!["--model", "sc,tso", "litmus/basic"];
        arguments.extend((!form.is_empty()).then_some(form));
        let log = scratch.file(&format!("log{form}"), fencepost(&arguments).stdout);
        let output = fencepost(&["--model", "sc,tso", "--compare", &log, "litmus/basic"]);
        assert_eq!(code(&output), 0, "{}", text(&output.stdout));
        assert!(
            text(&output.stdout).contains("24 compared"),
            "{}",
            text(&output.stdout)
        );
    }
}

#[test]
fn a_log_that_differs_is_told_apart() {
    let scratch = Scratch::new("litmus-differs");
    let log = scratch.file("tso.log", fencepost(&["litmus/basic/SB.litmus"]).stdout);
    let output = fencepost(&["--model", "sc", "--compare", &log, "litmus/basic/SB.litmus"]);
    assert_eq!(code(&output), 1);
    let said = text(&output.stdout);
    assert!(said.contains("verdict No, in the log Ok"), "{said}");
    assert!(
        said.contains("only in the log: 0:EAX=0; 1:EAX=0;"),
        "{said}"
    );
    let nothing = scratch.file("nothing.log", "nothing here\n");
    assert_eq!(
        code(&fencepost(&[
            "--compare",
            &nothing,
            "litmus/basic/SB.litmus"
        ])),
        2
    );
    let other = fencepost(&["--compare", &log, "litmus/basic/MP.litmus"]);
    assert_eq!(code(&other), 1, "nothing could be compared");
}

#[test]
fn tests_come_from_directories_lists_and_standard_input() {
    let scratch = Scratch::new("litmus-files");
    scratch.file("a/one.litmus", SB);
    scratch.file("a/b/two.litmus", SB.replace("X86 SB", "X86 TWO"));
    scratch.file("a/not-a-test.txt", "no");
    let list = scratch.file("a/@all", "# a comment\none.litmus\nb/two.litmus\n");
    for argument in [&scratch.directory(), &list] {
        let output = fencepost(&["--json", argument]);
        let objects = objects(&output);
        let mut names: Vec<_> = objects
            .iter()
            .map(|o| o["test"].as_str().expect("a name"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["SB", "TWO"]);
    }
    let output = run_with_input(&["litmus", "--json", "-"], SB.as_bytes());
    assert_eq!(objects(&output)[0]["observation"], "Sometimes");
}

#[test]
fn one_bad_file_does_not_stop_the_others() {
    let scratch = Scratch::new("litmus-bad");
    scratch.file("bad.litmus", "X86 bad\n{ }\n P0 ;\n MVO [x],$1 ;\n");
    scratch.file("bytes.litmus", b"X86 \xff\n");
    scratch.file(
        "fault.litmus",
        "X86 F\n{ x; 0:EAX=5; }\n P0 ;\n MOV [EAX],$1 ;\nexists ([x]=1)\n",
    );
    scratch.file("good.litmus", SB);
    let output = fencepost(&["--json", &scratch.directory()]);
    assert_eq!(code(&output), 2);
    let objects = objects(&output);
    let errors = objects.iter().filter(|object| object["type"] == "error");
    assert_eq!((objects.len(), errors.count()), (4, 3));
    let said = text(&output.stderr);
    for part in [
        "bad.litmus:4:2",
        "bytes.litmus:1:5",
        "fault.litmus:4:2",
        "4 files, ",
        "; 2 could not be read; 1 could not be answered\n",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert_eq!(code(&fencepost(&["no-such-file.litmus"])), 2);
    assert_eq!(code(&fencepost(&["docs"])), 2, "there are no tests in it");
}

#[test]
fn limits_are_stated_in_the_result_and_in_the_exit_code() {
    let scratch = Scratch::new("litmus-limits");
    let endless = scratch.file("endless.litmus", COUNTS_FOR_EVER);
    for limit in [["--max-states", "100"], ["--max-time", "0.05"]] {
        let output = fencepost(&["--json", limit[0], limit[1], &endless]);
        assert_eq!(code(&output), 3);
        let object = &objects(&output)[0];
        assert_eq!(
            (&object["complete"], &object["verdict"]),
            (&false.into(), &"Undef".into())
        );
        assert_eq!(object["limit"], limit[0].trim_start_matches('-'));
        assert!(text(&output.stderr).contains("is incomplete"));
    }
    let forall = COUNTS_FOR_EVER.replace("exists", "forall");
    let forall = scratch.file("forall.litmus", forall);
    let output = fencepost(&["--max-states", "100", &forall]);
    assert!(
        text(&output.stdout).contains("Loop Undef"),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(
        code(&fencepost(&["--robust", "--max-time", "1", &endless])),
        3
    );
}

#[test]
fn pictures_are_of_one_execution() {
    let scratch = Scratch::new("litmus-pictures");
    let svg = scratch.path("sb.svg");
    let dot = scratch.path("sb.dot");
    let output = fencepost(&["--svg", &svg, "--dot", &dot, "litmus/basic/SB.litmus"]);
    assert_eq!(code(&output), 0);
    let drawn = std::fs::read_to_string(&svg).expect("a picture");
    assert!(
        drawn.starts_with("<svg") && drawn.contains("cycle"),
        "{drawn}"
    );
    assert!(
        std::fs::read_to_string(&dot)
            .expect("a graph")
            .starts_with("digraph")
    );
    let two = fencepost(&[
        "--svg",
        &svg,
        "litmus/basic/SB.litmus",
        "litmus/basic/MP.litmus",
    ]);
    assert_eq!(code(&two), 2);
    let state = [
        "--svg",
        &svg,
        "--state",
        "0:EAX=7",
        "litmus/basic/SB.litmus",
    ];
    let output = fencepost(&state);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("impossible by values"));
    let unknown = ["--witness", "--state", "0:ECX=7", "litmus/basic/SB.litmus"];
    let output = fencepost(&unknown);
    assert_eq!(code(&output), 2);
    assert!(text(&output.stderr).contains("SB does not show `0:ECX`"));
    let nowhere = fencepost(&["--svg", "/no/such/place.svg", "litmus/basic/SB.litmus"]);
    assert_eq!(code(&nowhere), 2);
}

#[test]
fn contradictory_options_are_refused() {
    for arguments in [
        &["--state", "x=1", "litmus/basic/SB.litmus"][..],
        &["--max-time", "-1", "litmus/basic/SB.litmus"],
        &["--max-time", "nan", "litmus/basic/SB.litmus"],
        &["--robust", "--witness", "litmus/basic/SB.litmus"],
        &["--model", "arm", "litmus/basic/SB.litmus"],
        &["--workers", "0", "litmus/basic/SB.litmus"],
        &[],
    ] {
        assert_eq!(code(&fencepost(arguments)), 2, "{arguments:?}");
    }
}

#[test]
fn a_location_that_the_test_does_not_have_is_an_error() {
    let test = SB.replace("0:EAX=0 /\\", "zz=1 /\\");
    let output = run_with_input(&["litmus", "-"], test.as_bytes());
    assert_eq!(code(&output), 2);
    let said = text(&output.stderr);
    assert!(
        said.starts_with("error: the test has no location `zz`\n"),
        "{said}"
    );
    assert!(said.contains("initialize it: `{ zz=0; }`"), "{said}");
    let initialized = test.replace("{ }", "{ zz=0; }");
    let output = run_with_input(&["litmus", "-"], initialized.as_bytes());
    assert_eq!((code(&output), text(&output.stderr).as_str()), (0, ""));
}

#[test]
fn a_loop_that_counts_for_ever_ends_soon() {
    let output = run_with_input(&["litmus", "--json", "-"], COUNTS_FOR_EVER.as_bytes());
    assert_eq!(code(&output), 3);
    assert_eq!(objects(&output)[0]["limit"], "long-loop");
}

#[test]
fn what_is_forbidden_is_shown_as_text_json_and_pictures() {
    let scratch = Scratch::new("litmus-forbidden");
    let svg = scratch.path("forbidden.svg");
    let file = "litmus/basic/SB+mfences.litmus";
    let output = fencepost(&["--witness=condition", "--svg", &svg, file]);
    assert_eq!(code(&output), 0);
    let said = text(&output.stdout);
    let cycle = "a →mfence c →fr d →mfence f →fr a";
    assert!(
        said.contains("Forbidden SB+mfences tso 0:EAX=0; 1:EAX=0;"),
        "{said}"
    );
    assert!(said.contains(&format!("cycle  {cycle}\n")), "{said}");
    assert!(!said.contains("Witness "), "{said}");
    let drawn = std::fs::read_to_string(&svg).expect("a picture");
    assert!(drawn.contains(&format!("cycle: {cycle}")), "{drawn}");
    assert!(drawn.contains("SB+mfences: forbidden under TSO"));

    let output = fencepost(&["--json", "--witness", "--model", "sc,tso,pso", file]);
    for object in objects(&output) {
        assert_eq!(object["witnesses"].as_array().map(Vec::len), Some(3));
        let none = &object["no_witness"];
        assert_eq!(
            (&none["result"], &none["axiom"]),
            (&"forbidden".into(), &"order".into())
        );
        assert_eq!(none["state"], "0:EAX=0; 1:EAX=0;");
        assert_eq!(none["cycle"].as_array().map(Vec::len), Some(4));
    }
    let output = fencepost(&["--json", "--witness", "--state", "0:EAX=7", file]);
    assert_eq!(objects(&output)[0]["no_witness"]["result"], "impossible");
    let output = fencepost(&["--json", file]);
    assert!(objects(&output)[0].get("witnesses").is_none());
}

#[test]
fn a_directory_gets_a_picture_of_each_test_and_model() {
    let scratch = Scratch::new("litmus-directory");
    scratch.file("tests/a/SB.litmus", SB);
    scratch.file("tests/b/SB.litmus", SB);
    scratch.file(
        "tests/none.litmus",
        SB.replace("0:EAX=0 /\\", "0:EAX=9 /\\"),
    );
    let pictures = scratch.path("pictures/");
    let output = fencepost(&[
        "--svg",
        &pictures,
        "--model",
        "sc,tso",
        &scratch.path("tests"),
    ]);
    assert_eq!(code(&output), 0, "{output:?}");
    let entries = std::fs::read_dir(&pictures).expect("a directory");
    let mut names: Vec<_> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .into_string()
                .expect("a name")
        })
        .collect();
    names.sort_unstable();
    assert_eq!(
        names,
        ["SB-2.sc.svg", "SB-2.tso.svg", "SB.sc.svg", "SB.tso.svg"]
    );
    assert!(text(&output.stderr).contains("note: no picture of SB under sc"));
}

#[test]
fn edges_can_be_selected() {
    let scratch = Scratch::new("litmus-edges");
    let names = |edges: &str| {
        let svg = scratch.path("edges.svg");
        let mut arguments = vec!["--svg", &svg, "litmus/basic/peterson.litmus"];
        arguments.extend(
            (!edges.is_empty())
                .then_some(["--edges", edges])
                .into_iter()
                .flatten(),
        );
        assert_eq!(code(&fencepost(&arguments)), 0);
        let drawn = std::fs::read_to_string(&svg).expect("a picture");
        drawn.matches("name arrow").count()
    };
    let (all, cycle, po) = (names(""), names("cycle"), names("po"));
    assert_eq!(cycle, 4);
    assert!(cycle < po && po < all, "{cycle} {po} {all}");
    assert_eq!(names("po,rf,co,fr"), all);
    assert_eq!(
        code(&fencepost(&["--edges", "po", "litmus/basic/SB.litmus"])),
        2
    );
}

#[test]
fn a_comparison_can_be_json() {
    let scratch = Scratch::new("litmus-compare-json");
    let log = scratch.file("tso.log", fencepost(&["litmus/basic/SB.litmus"]).stdout);
    let sc = [
        "--json",
        "--model",
        "sc",
        "--compare",
        &log,
        "litmus/basic/SB.litmus",
    ];
    let output = fencepost(&sc);
    assert_eq!(code(&output), 1);
    let [difference, totals] = &objects(&output)[..] else {
        panic!("two objects: {output:?}");
    };
    assert_eq!(difference["type"], "difference");
    assert_eq!(difference["verdicts"]["log"], "Ok");
    assert_eq!(difference["only_in_log"][0], "0:EAX=0; 1:EAX=0;");
    assert_eq!(
        (&totals["compared"], &totals["different"]),
        (&1.into(), &1.into())
    );
    assert_eq!(
        (&difference["contradiction"], &totals["not_seen"]),
        (&true.into(), &0.into())
    );
    assert_eq!(difference.get("witnesses"), None);
    let same = fencepost(&["--json", "--compare", &log, "litmus/basic/SB.litmus"]);
    assert_eq!((code(&same), objects(&same).len()), (0, 1));
}

#[test]
fn a_comparison_explains_the_states_that_differ() {
    let scratch = Scratch::new("litmus-compare-witness");
    let tso = text(&fencepost(&["litmus/basic/SB.litmus"]).stdout);
    // As if 0:EAX=1; 1:EAX=1; were 0:EAX=7; 1:EAX=1;
    let log = scratch.file(
        "tso.log",
        tso.replace("0:EAX=1; 1:EAX=1;", "0:EAX=7; 1:EAX=1;"),
    );
    let compare = |options: &[&str]| {
        let arguments = ["--witness", "--compare", &log, "litmus/basic/SB.litmus"];
        fencepost(&[options, &arguments].concat())
    };
    let output = compare(&["--model", "sc"]);
    assert_eq!(code(&output), 1);
    let said = text(&output.stdout);
    for block in [
        "\nWitness SB sc 0:EAX=1; 1:EAX=1;\n",
        "\nForbidden SB sc 0:EAX=0; 1:EAX=0;\n",
        "\nImpossible SB sc 0:EAX=7; 1:EAX=1;\n",
    ] {
        assert!(said.contains(block), "{block}: {said}");
    }
    // States that both have are not explained.
    assert!(!said.contains("0:EAX=0; 1:EAX=1;"), "{said}");
    let output = compare(&["--model", "sc", "--json"]);
    let [difference, _] = &objects(&output)[..] else {
        panic!("two objects: {output:?}");
    };
    assert_eq!(difference["witnesses"][0]["state"], "0:EAX=1; 1:EAX=1;");
    let why = |number: usize| &difference["no_witnesses"][number]["result"];
    assert_eq!(
        (why(0), why(1)),
        (&"forbidden".into(), &"impossible".into())
    );
    // From standard input, which can be read only once.
    let arguments = ["litmus", "--witness", "--compare", &log, "-"];
    let output = run_with_input(&arguments, SB.as_bytes());
    assert!(text(&output.stdout).contains("\nImpossible SB tso 0:EAX=7; 1:EAX=1;\n"));
}

#[test]
fn tests_of_one_name_are_compared_by_their_checksums() {
    let scratch = Scratch::new("litmus-compare-hash");
    let other = SB.replace("[y],$1", "[y],$2");
    let (a, b) = (
        scratch.file("a.litmus", SB),
        scratch.file("b.litmus", other),
    );
    let answers = [&b, &a].map(|path| text(&fencepost(&[path]).stdout));
    let log = scratch.file("ba.log", answers.concat());
    let compare = |log: &str| fencepost(&["--compare", log, &a, &b]);
    let output = compare(&log);
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("2 compared"));
    // Without checksums, the order of the log is taken for that of the files.
    let lines = answers.concat();
    let bare: Vec<_> = lines
        .lines()
        .filter(|line| !line.starts_with("Hash="))
        .collect();
    let log = scratch.file("bare.log", bare.join("\n") + "\n");
    assert_eq!(code(&compare(&log)), 1);
}

#[test]
fn a_broken_file_is_an_object_with_json() {
    let broken = SB.replace("exists (", "exist (");
    let output = run_with_input(&["litmus", "--json", "-"], broken.as_bytes());
    assert_eq!(code(&output), 2);
    let [object] = &objects(&output)[..] else {
        panic!("one object: {output:?}");
    };
    assert_eq!(object["schema"], "fencepost-litmus/1");
    assert_eq!(object["type"], "error");
    assert_eq!(object["exit_code"], 2);
    let message = object["message"].as_str().expect("a message");
    assert!(message.contains("did you mean `exists`?"), "{message}");
    assert_eq!(text(&output.stderr).trim_end(), message);
}
