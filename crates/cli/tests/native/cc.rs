//! `fencepost cc`.

use super::*;

#[test]
fn a_file_is_compiled_and_checked() {
    let Some(lab) = Lab::new("cc") else { return };
    lab.file("queue.c", PROGRAM);
    let text = lab.run(&["fencepost", "cc", "queue.c"]);
    assert!(text.starts_with("report=text\nargument=queue\n"), "{text}");
    assert!(
        text.contains("\nFENCEPOST_COMMAND=FENCEPOST_RUNTIME="),
        "{text}"
    );
    assert!(text.contains(".so fencepost cc queue.c\n"), "{text}");
    assert!(text.contains("\nLD_BIND_NOW=1\n"), "{text}");
    // Nothing is left behind.
    assert!(!lab.exists("a.out") && !lab.exists("queue.o") && !lab.exists("queue"));
}

#[test]
fn options_are_variables() {
    let Some(lab) = Lab::new("cc-options") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    for (options, variables) in [
        (
            "--target pso --strategy pct --seed 4",
            "TARGET=pso STRATEGY=pct SEED=4",
        ),
        (
            "--preemption-bound 3 --executions 12",
            "PREEMPTION_BOUND=3 EXECUTIONS=12",
        ),
        ("--races allow --confirm", "RACES=allow CONFIRM=on"),
        (
            "--infer-fences --leak-check off",
            "INFER_FENCES=on LEAK_CHECK=off",
        ),
        (
            "--insert-fence a.c:3:2 --insert-fence a.c:4=release",
            "INSERT_FENCE=a.c:3:2,a.c:4=release",
        ),
        (
            "--store-buffers --spin-bound 9 --stack-size 64K",
            "STORE_BUFFERS=on SPIN_BOUND=9 STACK_SIZE=65536",
        ),
        (
            "--continue-after-failure -j 2 -q",
            "CONTINUE_AFTER_FAILURE=on WORKERS=2 PROGRESS=off",
        ),
        (
            "--workers all --max-executions 5 -q",
            "WORKERS=all MAX_EXECUTIONS=5 PROGRESS=off",
        ),
        (
            "--max-steps 7 --max-time 1.5m -q",
            "MAX_STEPS=7 MAX_TIME=90s PROGRESS=off",
        ),
        ("--max-time 250ms", "MAX_TIME=0.25s"),
        (
            "--replay 0x5.1.0 --checkpoint p.cp",
            "REPLAY=0x5.1.0 CHECKPOINT=p.cp",
        ),
        ("--json", "NATIVE=json"),
    ] {
        let mut words = vec!["fencepost", "cc", "a.c"];
        words.extend(options.split(' '));
        let text = lab.run(&words);
        let names = ["COMMAND", "RUNTIME", "WATCHED"].map(|name| format!("FENCEPOST_{name}="));
        let mut set: Vec<&str> = lines(&text, "FENCEPOST_");
        set.retain(|line| !names.iter().any(|name| line.starts_with(name.as_str())));
        let mut expected: Vec<String> = variables
            .split(' ')
            .map(|v| format!("FENCEPOST_{v}"))
            .collect();
        if !variables.contains("NATIVE") {
            expected.push("FENCEPOST_NATIVE=text".to_owned());
        }
        expected.sort();
        set.sort_unstable();
        assert_eq!(set, expected, "{options}");
    }
    for (color, expected) in [
        ("always", "\nCLICOLOR_FORCE=1\n"),
        ("never", "\nNO_COLOR=1\n"),
    ] {
        let text = lab.run(&["fencepost", "--color", color, "cc", "a.c"]);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_program_gets_its_arguments() {
    let Some(lab) = Lab::new("cc-arguments") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    let text = lab.run(&[
        "fencepost",
        "cc",
        "a.c",
        "--args",
        "-x 'b c'",
        "--arg",
        "d e",
        "--arg",
        "--seed",
    ]);
    let arguments = lines(&text, "argument=");
    assert_eq!(
        arguments[1..],
        [
            "argument=-x",
            "argument=b c",
            "argument=d e",
            "argument=--seed"
        ]
    );
}

#[test]
fn the_command_line_can_be_repeated() {
    let Some(lab) = Lab::new("cc-repeat") else {
        return;
    };
    lab.file("a b's.c", PROGRAM);
    let mut command = lab.command(&[
        "fencepost",
        "cc",
        "a b's.c",
        "--replay",
        "1.2",
        "--seed=3",
        "--",
        "-O2",
    ]);
    let output = command
        .env("FENCEPOST_SEED", "4")
        .env("FENCEPOST_TARGET", "pso")
        .output()
        .unwrap();
    let text = succeeded(&output);
    let line = lines(&text, "FENCEPOST_COMMAND=")[0];
    let expected = r"FENCEPOST_TARGET=pso fencepost cc 'a b'\''s.c' --seed=3 {replay} -- -O2";
    assert!(line.ends_with(expected), "{line}");
    assert!(
        line.starts_with("FENCEPOST_COMMAND=FENCEPOST_RUNTIME="),
        "{line}"
    );
    // What is set otherwise stays.
    assert_eq!(lines(&text, "FENCEPOST_TARGET="), ["FENCEPOST_TARGET=pso"]);
    assert_eq!(lines(&text, "FENCEPOST_SEED="), ["FENCEPOST_SEED=3"]);
}

#[test]
fn c_and_cpp_files_make_one_program_with_either_compiler() {
    let Some(lab) = Lab::new("cc-mixed") else {
        return;
    };
    // `class` is a name in C only; `main` needs the library of C++.
    lab.file(
        "half.c",
        "int class = 1; int half(int value) { return value / 2; }",
    );
    let main = PROGRAM_CXX.replace(
        "int main() {",
        "extern \"C\" int half(int);\nint main() { half(4);",
    );
    lab.file("main.cpp", &main);
    for (c, cxx) in compilers() {
        for compiler in [c, cxx] {
            let executable = format!("program-{compiler}");
            let words = [
                "fencepost",
                "cc",
                "--compiler",
                compiler,
                "main.cpp",
                "half.c",
                "-o",
                &executable,
            ];
            let words = [&words[..], &["--", "-O1", "-Wall", "-Werror", "-lm"]].concat();
            lab.run(&words);
            // Without a check it is an ordinary program.
            assert_eq!(lab.run(&[lab.path(&executable)]), "ran C++\n");
            assert!(lab.has(&executable, "__tsan_func_entry"));
        }
    }
}

#[test]
fn compilers_are_taken_from_the_usual_variables() {
    let Some(lab) = Lab::new("cc-variables") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    for variable in ["CC", "FENCEPOST_COMPILER"] {
        let mut command = lab.command(&["fencepost", "cc", "a.c"]);
        let output = command.env(variable, "no-such-cc -m64").output().unwrap();
        assert_eq!(code(&output), 2);
        let message = stderr(&output);
        assert!(
            message.starts_with("error: cannot run the compiler `no-such-cc -m64`: "),
            "{message}"
        );
    }
    // It would call itself for ever.
    let mut command = lab.command(&["fencepost", "cc", "a.c"]);
    succeeded(
        &command
            .env("CC", env!("CARGO_BIN_EXE_fencepost-cc"))
            .output()
            .unwrap(),
    );
}

#[test]
fn objects_and_libraries_are_linked() {
    let Some(lab) = Lab::new("cc-objects") else {
        return;
    };
    lab.file(
        "main.c",
        "int one(void), two(void); int main(void) { return one() + two(); }",
    );
    lab.file("one.c", "int one(void) { return 1; }");
    lab.file("two.c", "int two(void) { return 2; }");
    lab.run(&["fencepost-cc", "-c", "one.c", "two.c"]);
    lab.run(&["ar", "rc", "libtwo.a", "two.o"]);
    lab.run(&["fencepost", "cc", "main.c", "one.o", "libtwo.a"]);
    lab.run(&["fencepost", "cc", "main.c", "-ltwo", "--", "-L.", "one.o"]);
    lab.run(&["gcc", "-c", "one.c"]);
    let output = lab.output(&["fencepost", "cc", "main.c", "one.o", "two.o"]);
    assert_eq!(code(&output), 0);
    let note =
        "note: one.o was not compiled with fencepost-cc: the check does not see its accesses\n";
    assert!(stderr(&output).contains(note), "{output:?}");
    assert!(!stderr(&output).contains("two.o"), "{output:?}");
}

#[test]
fn what_the_compiler_says_is_shown() {
    let Some(lab) = Lab::new("cc-error") else {
        return;
    };
    lab.file("wrong.c", "int main(void) { return nothing; }\n");
    let output = lab.output(&["fencepost", "cc", "wrong.c"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(
        stderr(&output).starts_with("wrong.c: In function"),
        "{output:?}"
    );
    assert!(!stderr(&output).contains("fencepost"), "{output:?}");
    let output = lab.output(&["fencepost", "cc", "--json", "wrong.c"]);
    let object: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((code(&output), object["exit_code"].as_u64()), (2, Some(2)));
    assert_eq!(object["schema"], "fencepost-check/1");
}

#[test]
fn the_result_can_go_to_a_file() {
    let Some(lab) = Lab::new("cc-output") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    assert_eq!(
        lab.run(&["fencepost", "cc", "a.c", "--output", "result"]),
        ""
    );
    assert!(lab.has("result", "report=text\n"));
}

/// The functions of the runtime library have names of the C library. In the command they would take their place.
#[test]
fn the_command_has_no_runtime_in_it_but_beside_it() {
    let command = Path::new(env!("CARGO_BIN_EXE_fencepost"));
    for command in [command, Path::new(env!("CARGO_BIN_EXE_fencepost-cc"))] {
        let bytes = std::fs::read(command).unwrap();
        assert!(!bytes.windows(12).any(|window| window == b"__tsan_read4"));
    }
    let library = command
        .with_file_name("deps")
        .join("libfencepost_native.so");
    assert!(library.is_file(), "{}", library.display());
}
