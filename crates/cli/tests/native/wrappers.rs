//! `fencepost-cc` and `fencepost-cxx` in place of compilers.

use std::io::Write;
use std::process::Stdio;

use super::*;

/// A wrapper with this compiler.
fn with(lab: &Lab, compiler: (&str, &str), words: &[&str]) -> Output {
    let mut command = lab.command(words);
    command
        .env("FENCEPOST_COMPILER", compiler.0)
        .env("FENCEPOST_COMPILER_CXX", compiler.1);
    command.output().unwrap()
}

#[test]
fn programs_run_as_without_it_and_can_be_checked() {
    let Some(lab) = Lab::new("wrap") else { return };
    lab.file("a.c", PROGRAM);
    lab.file("b.cpp", PROGRAM_CXX);
    let flags = ["-O2", "-Wall", "-Wextra", "-Werror"];
    for compiler in compilers() {
        for words in [
            &["fencepost-cc", "a.c"][..],
            &["fencepost-cc", "-x", "c", "a.c", "-lm", "-std=c11", "-L."],
        ] {
            succeeded(&with(&lab, compiler, &[words, &flags].concat()));
            let output = lab.output(&["./a.out"]);
            assert_eq!(
                (code(&output), stdout(&output)),
                (7, "ran with 1: ./a.out\n")
            );
            assert!(
                lab.run(&["fencepost", "run", "./a.out"])
                    .starts_with("report=text\n")
            );
        }
        succeeded(&with(
            &lab,
            compiler,
            &[&["fencepost-cxx", "b.cpp", "-o", "b"], &flags[..]].concat(),
        ));
        assert_eq!(lab.run(&["./b"]), "ran C++\n");
        std::fs::remove_file(lab.path("a.out")).unwrap();
    }
}

#[test]
fn each_step_gets_what_it_needs() {
    let Some(lab) = Lab::new("wrap-steps") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    for compiler in compilers() {
        succeeded(&with(&lab, compiler, &["fencepost-cc", "-S", "a.c"]));
        for text in [
            "__tsan_volatile_write4",
            "__tsan_volatile_read4",
            "__tsan_write4",
            ".debug_line",
        ] {
            assert!(lab.has("a.s", text), "{compiler:?}: {text}");
        }
        succeeded(&with(
            &lab,
            compiler,
            &["fencepost-cc", "-g0", "-fno-sanitize=all", "-c", "a.c"],
        ));
        assert!(lab.has("a.o", "__tsan_volatile_write4") && lab.has("a.o", ".debug_info"));
        succeeded(&with(
            &lab,
            compiler,
            &["fencepost-cc", "-fsanitize=thread", "-s", "a.o", "-o", "a"],
        ));
        let text = lab.run(&["readelf", "-d", "a"]);
        let needed = lines(&text, " ")
            .into_iter()
            .filter(|line| line.contains("(NEEDED)"));
        let needed: Vec<&str> = needed
            .filter_map(|line| line.split(['[', ']']).nth(1))
            .collect();
        assert_eq!(needed[0], lab.path("libfencepost_native.so"));
        assert!(
            !needed.iter().any(|name| name.contains("tsan")),
            "{needed:?}"
        );
        assert!(text.contains("BIND_NOW") && text.contains("PIE"), "{text}");
        assert!(lab.has("a", ".debug_info"));
        let text = succeeded(&with(&lab, compiler, &["fencepost-cc", "-E", "a.c"]));
        assert!(text.contains("volatile int visible;"), "{text}");
    }
}

#[test]
fn fences_are_instrumented_without_a_warning() {
    let Some(lab) = Lab::new("wrap-fences") else {
        return;
    };
    lab.file(
        "a.c",
        "void fence(int order) { __atomic_thread_fence(order); }",
    );
    for compiler in compilers() {
        succeeded(&with(
            &lab,
            compiler,
            &["fencepost-cc", "-Wall", "-Werror", "-c", "a.c"],
        ));
        assert!(lab.has("a.o", "__tsan_atomic_thread_fence"), "{compiler:?}");
    }
}

#[test]
fn questions_are_answered_by_the_compiler() {
    let Some(lab) = Lab::new("wrap-questions") else {
        return;
    };
    for compiler in compilers() {
        for question in [
            "--version",
            "-dumpmachine",
            "-print-file-name=crt1.o",
            "-v",
            "-dumpversion",
        ] {
            let ours = with(&lab, compiler, &["fencepost-cc", question]);
            let output = lab.output(&[compiler.0, question]);
            assert_eq!(
                (code(&ours), &ours.stdout),
                (code(&output), &output.stdout),
                "{question}"
            );
        }
        let ours = with(&lab, compiler, &["fencepost-cc"]);
        assert_eq!(ours.stderr, lab.output(&[compiler.0]).stderr);
        assert_eq!(code(&ours), 1);
    }
}

#[test]
fn errors_are_those_of_the_compiler() {
    let Some(lab) = Lab::new("wrap-errors") else {
        return;
    };
    lab.file("a.c", "int main(void) { return nothing; }");
    for compiler in compilers() {
        for words in [&["-c", "a.c"][..], &["a.c", "-o", "a"]] {
            let ours = with(&lab, compiler, &[&["fencepost-cc"], words].concat());
            let output = lab.output(&[&[compiler.0], words].concat());
            assert_eq!((code(&ours), stderr(&ours)), (1, stderr(&output)));
        }
        let ours = with(&lab, compiler, &["fencepost-cc", "-static", "a.c"]);
        assert_eq!(code(&ours), 1);
        assert!(
            stderr(&ours).starts_with("fencepost: error: `-static`: "),
            "{ours:?}"
        );
    }
}

#[test]
fn inputs_come_from_files_lists_and_pipes() {
    let Some(lab) = Lab::new("wrap-inputs") else {
        return;
    };
    lab.file(
        "main.c",
        "int one(void); int main(void) { return one() == ONE ? 0 : 1; }",
    );
    lab.file("one.c", "int one(void) { return ONE; }");
    lab.file("list", "'-DONE=(1 + 0)' main.c \"one.c\"\n-o \"with list\"");
    for compiler in compilers() {
        succeeded(&with(&lab, compiler, &["fencepost-cc", "@list"]));
        lab.run(&["./with list"]);
        let mut command = lab.command(&[
            "fencepost-cc",
            "-o",
            "piped",
            "-DONE=1",
            "one.c",
            "-x",
            "c",
            "-",
        ]);
        command
            .env("FENCEPOST_COMPILER", compiler.0)
            .stdin(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let text = std::fs::read(lab.path("main.c")).unwrap();
        child.stdin.take().unwrap().write_all(&text).unwrap();
        assert!(child.wait().unwrap().success());
        lab.run(&["./piped"]);
        // For clang, more than the kernel takes in a command line. gcc hands all of them to its own commands, in one variable.
        let count = match compiler.0.contains("clang") {
            true => 200_000,
            false => 2_000,
        };
        let many: String = (0..count)
            .map(|n| format!("-DNAME_OF_A_MACRO_{n}=1\n"))
            .collect();
        lab.file("many", &many);
        succeeded(&with(
            &lab,
            compiler,
            &[
                "fencepost-cc",
                "@many",
                "-DONE=1",
                "main.c",
                "one.c",
                "-o",
                "many.exe",
            ],
        ));
        lab.run(&["./many.exe"]);
    }
}

#[test]
fn shared_libraries_and_objects_of_objects_are_made() {
    let Some(lab) = Lab::new("wrap-shared") else {
        return;
    };
    lab.file("one.c", "int one; int *first(void) { one++; return &one; }");
    lab.file(
        "main.c",
        "int *first(void); int main(void) { return *first() - 1; }",
    );
    for compiler in compilers() {
        succeeded(&with(
            &lab,
            compiler,
            &[
                "fencepost-cc",
                "-shared",
                "-fPIC",
                "one.c",
                "-o",
                "libone.so",
            ],
        ));
        let main = [
            "fencepost-cc",
            "main.c",
            "-L.",
            "-lone",
            "-Wl,-rpath,.",
            "-o",
            "main",
        ];
        succeeded(&with(&lab, compiler, &main));
        lab.run(&["./main"]);
        succeeded(&with(
            &lab,
            compiler,
            &["fencepost-cc", "-r", "-nostdlib", "one.c", "-o", "both.o"],
        ));
        assert!(lab.has("both.o", "__tsan_write4"));
        succeeded(&with(
            &lab,
            compiler,
            &["fencepost-cc", "main.c", "both.o", "-o", "main"],
        ));
        lab.run(&["./main"]);
    }
}

#[test]
fn dependencies_are_written_where_they_are_without_it() {
    let Some(lab) = Lab::new("wrap-dependencies") else {
        return;
    };
    lab.file("a.c", "#include \"a.h\"\nint main(void) { return A; }");
    lab.file("a.h", "#define A 0\n");
    for compiler in compilers() {
        for (words, file, target) in [
            ("-MMD a.c -o prog", "prog.d", "prog:"),
            ("-MMD -MF deps a.c -o prog", "deps", "prog:"),
            ("-MMD -MT other a.c -o prog", "prog.d", "other:"),
            ("-MMD -c a.c -o b.o", "b.d", "b.o:"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            succeeded(&with(
                &lab,
                compiler,
                &[&["fencepost-cc"], &words[..]].concat(),
            ));
            let ours = std::fs::read_to_string(lab.path(file)).unwrap();
            assert_eq!(ours.trim_end(), format!("{target} a.c a.h"), "{words:?}");
            std::fs::remove_file(lab.path(file)).unwrap();
            lab.run(&[&[compiler.0], &words[..]].concat());
            assert_eq!(
                std::fs::read_to_string(lab.path(file)).unwrap(),
                ours,
                "{words:?}"
            );
        }
    }
}

#[test]
fn under_a_name_with_plus_signs_it_compiles_cpp() {
    let Some(lab) = Lab::new("wrap-name") else {
        return;
    };
    lab.file("b.cpp", PROGRAM_CXX);
    let link = lab.path("fencepost-c++");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_fencepost-cc"), &link).unwrap();
    lab.run(&[&link, "b.cpp", "-o", "b"]);
    assert_eq!(lab.run(&["./b"]), "ran C++\n");
}

/// Copies an example into the lab.
fn copy(lab: &Lab, example: &str) {
    let from = root().join("examples").join(example);
    lab.run(&[
        OsStr::new("cp"),
        OsStr::new("-r"),
        from.as_os_str(),
        OsStr::new("."),
    ]);
}

#[test]
fn a_project_with_a_makefile() {
    let Some(lab) = Lab::new("make").filter(|_| is_there("make")) else {
        return;
    };
    copy(&lab, "c-make");
    for compiler in compilers() {
        let cc = format!("CC={}", env!("CARGO_BIN_EXE_fencepost-cc"));
        succeeded(&with(
            &lab,
            compiler,
            &["make", "-s", "-C", "c-make", "clean", "ring", &cc],
        ));
        lab.run(&["c-make/ring"]);
        assert!(
            lab.run(&["fencepost", "run", "c-make/ring"])
                .starts_with("report=text\n")
        );
    }
}

#[test]
fn a_project_with_cmake() {
    let Some(lab) = Lab::new("cmake").filter(|_| is_there("cmake")) else {
        return;
    };
    copy(&lab, "c-cmake");
    for compiler in compilers() {
        let build = format!("build-{}", compiler.0);
        let cxx = format!(
            "-DCMAKE_CXX_COMPILER={}",
            env!("CARGO_BIN_EXE_fencepost-cxx")
        );
        let output = with(
            &lab,
            compiler,
            &["cmake", "-S", "c-cmake", "-B", &build, &cxx],
        );
        assert_eq!(code(&output), 0, "{output:?}");
        let output = with(&lab, compiler, &["cmake", "--build", &build]);
        assert_eq!((code(&output), stderr(&output)), (0, ""), "{output:?}");
        lab.run(&[lab.path(&format!("{build}/spinlock"))]);
        assert!(
            lab.run(&["fencepost", "run", &format!("{build}/spinlock")])
                .starts_with("report=text\n")
        );
    }
}
