//! What a user can do wrong with `fencepost cc`, `fencepost run` and the wrappers.

use super::*;

/// A command must fail with exit code 2 and a message that starts with this.
fn refused<S: AsRef<OsStr>>(lab: &Lab, words: &[S], message: &str) {
    let output = lab.output(words);
    assert_eq!(code(&output), 2, "{output:?}");
    // The compiler may repeat what is in a file.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with(message), "{message}: {output:?}");
    assert!(!said.contains("panicked"), "{output:?}");
}

#[test]
fn files_that_are_no_programs() {
    let Some(lab) = Lab::new("bad-files") else {
        return;
    };
    lab.file("notes.txt", "words");
    lab.file("empty.c", "");
    lab.file("folder.c/inner", "");
    let garbage: Vec<u8> = (0..4000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    for name in ["garbage.c", "garbage.o", "garbage"] {
        std::fs::write(lab.path(name), &garbage).unwrap();
    }
    let cc = |file: &'static str, message| refused(&lab, &["fencepost", "cc", file], message);
    cc("missing.c", "error: cannot read missing.c: ");
    cc(
        "folder.c",
        "error: folder.c is a directory; expected a file\n",
    );
    cc("notes.txt", "error: notes.txt: expected a C file (.c), ");
    cc("garbage", "error: garbage: expected a C file (.c), ");
    cc("garbage.c", "garbage.c:");
    cc("", "error: ");
    let output = lab.output(&["fencepost", "cc", "empty.c"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("undefined reference to `main'"),
        "{output:?}"
    );
    let output = lab.output(&["fencepost", "cc", "garbage.o"]);
    assert_eq!(code(&output), 2);
    assert!(
        stderr(&output).contains("garbage.o: file not recognized"),
        "{output:?}"
    );
    let run = |file: &'static str, message| refused(&lab, &["fencepost", "run", file], message);
    run("missing", "error: cannot read missing: ");
    run(
        "folder.c",
        "error: folder.c is a directory; expected a program\n",
    );
    run(
        "garbage",
        "error: garbage: expected an executable for x86-64\nhelp: ",
    );
    run(
        "empty.c",
        "error: empty.c: expected an executable for x86-64\nhelp: ",
    );
}

#[test]
fn options_that_cannot_be() {
    let Some(lab) = Lab::new("bad-options") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    let cc = |options: &str, message| {
        let words: Vec<&str> = options.split(' ').collect();
        refused(
            &lab,
            &[&["fencepost", "cc", "a.c"], &words[..]].concat(),
            message,
        );
    };
    cc(
        "-- -static",
        "error: `-static`: a program to be checked cannot be linked statically",
    );
    cc("-- -c", "error: `-c` among the options of the compiler");
    cc(
        "-- -shared",
        "error: `-shared` among the options of the compiler",
    );
    cc("-- -o x", "error: `-o` among the options of the compiler");
    cc("-- -fsanitize=address", "error: `-fsanitize=address`: ");
    cc(
        "--compiler no-such-compiler",
        "error: cannot run the compiler `no-such-compiler`: ",
    );
    cc(
        "--compiler true",
        "error: `true` is neither gcc nor clang\n",
    );
    cc("--args '", "error: `'`: a quote is not closed\n");
    cc(
        "--output no/such/folder",
        "error: cannot create no/such/folder: ",
    );
    cc("--stack-size 1K", "error: invalid value '1K'");
    cc("--workers 2000", "error: invalid value '2000'");
    cc("--max-steps x", "error: invalid value 'x'");
    cc("--sead 1", "error: unexpected argument '--sead'");
    cc(
        "--store-buffers --confirm",
        "error: the argument '--store-buffers' cannot be used with '--confirm'",
    );
}

#[test]
fn inputs_are_not_overwritten() {
    let Some(lab) = Lab::new("bad-output") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    lab.run(&["fencepost-cc", "a.c", "-o", "a"]);
    refused(
        &lab,
        &["fencepost", "cc", "a.c", "-o", "a.c"],
        "error: a.c is an input, and would be overwritten\n",
    );
    refused(
        &lab,
        &["fencepost", "cc", "a.c", "--output", "./a.c"],
        "error: a.c would be overwritten",
    );
    refused(
        &lab,
        &["fencepost", "run", "--output", "a", "./a"],
        "error: ./a would be overwritten",
    );
    let output = lab.output(&["fencepost-cc", "a.c", "-o", "a.c"]);
    assert_eq!(code(&output), 1);
    assert!(
        stderr(&output).contains("a.c is an input, and would be overwritten"),
        "{output:?}"
    );
    assert!(lab.has("a.c", PROGRAM));
    assert_eq!(code(&lab.output(&["./a"])), 7);
}

#[test]
fn machines_without_a_compiler_or_the_runtime() {
    let Some(lab) = Lab::new("bad-machine") else {
        return;
    };
    lab.file("a.c", PROGRAM);
    lab.file("a.cc", PROGRAM_CXX);
    let without = |words: &[&str], variable: &str, value: &str| {
        let output = lab.command(words).env(variable, value).output().unwrap();
        stderr(&output).to_owned()
    };
    for (file, names) in [("a.c", "cc, gcc, clang"), ("a.cc", "c++, g++, clang++")] {
        let message = without(&["fencepost", "cc", file], "PATH", "/nonexistent");
        assert!(
            message.contains(&format!("looked for {names}\nhelp: install gcc or clang")),
            "{message}"
        );
    }
    let message = without(&["fencepost-cc", "a.c"], "PATH", "");
    assert!(
        message.starts_with("fencepost: error: no C compiler was found in PATH"),
        "{message}"
    );
    for words in [&["fencepost", "cc", "a.c"][..], &["fencepost-cc", "a.c"]] {
        let message = without(words, "FENCEPOST_RUNTIME", "/no/libfencepost_native.so");
        assert!(
            message.contains("error: FENCEPOST_RUNTIME: there is no file /no/libfence"),
            "{message}"
        );
    }
    // What does not link needs no runtime.
    assert_eq!(
        without(&["fencepost-cc", "-c", "a.c"], "FENCEPOST_RUNTIME", "/no"),
        ""
    );
    let own = env!("CARGO_BIN_EXE_fencepost-cc");
    let message = without(&["fencepost-cc", "a.c"], "FENCEPOST_COMPILER", own);
    assert!(
        message.contains("it is one of our own commands"),
        "{message}"
    );
}

#[test]
fn odd_names_are_names() {
    let Some(lab) = Lab::new("odd-names") else {
        return;
    };
    for name in [
        "a b.c",
        "it's.c",
        "quo\"te.c",
        "comma,x.c",
        "$(x).c",
        "-dash.c",
        "@at.c",
        "uml\u{e4}ut.c",
    ] {
        lab.file(name, PROGRAM);
        let path = format!("./{name}");
        let text = lab.run(&["fencepost", "cc", &path]);
        assert!(text.starts_with("report=text\n"), "{text}");
        lab.run(&["fencepost-cc", &path, "-o", &format!("{path}.exe")]);
        assert!(
            lab.run(&["fencepost", "run", &format!("{path}.exe")])
                .starts_with("report=text\n")
        );
    }
    // The runtime library may be in a folder with any name.
    let folder = lab.path("a, 'b");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(
        lab.path("libfencepost_native.so"),
        format!("{folder}/libfencepost_native.so"),
    )
    .unwrap();
    let mut command = lab.command(&["fencepost", "cc", "./a b.c"]);
    succeeded(&command.env("FENCEPOST_RUNTIME", folder).output().unwrap());
}
