//! What a check sees of memory: what functions of the C library access, atomic accesses to freed memory, accesses that race on
//! purpose, and accesses of several sizes. With each compiler, with and without optimisation.

use super::reports::Programs;
use super::{compilers, succeeded};
use crate::support::{code, stderr, stdout};

const WAYS: [&str; 2] = ["-O0", "-O2"];

/// Two threads: `second` runs the first body, and `main` the second one in between.
fn two_threads(declarations: &str, second: &str, main: &str, after: &str) -> String {
    format!(
        "#include <assert.h>\n#include <pthread.h>\n#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\n\
         {declarations}\n\
         static void *second(void *unused) {{\n{second}\nreturn unused;\n}}\n\
         int main(void) {{\npthread_t thread;\npthread_create(&thread, NULL, second, NULL);\n{main}\n\
         pthread_join(thread, NULL);\n{after}\nreturn 0;\n}}\n"
    )
}

/// Checks a program in each way. The exit code, and a part of what is said.
fn expect(name: &str, text: &str, options: &[&str], expected: (i32, &str)) {
    let Some(programs) = Programs::new(name) else {
        return;
    };
    for (compiler, _) in compilers() {
        for level in WAYS {
            let mut words = vec!["--compiler", compiler];
            words.extend(options);
            words.extend(["--", "-w", level]);
            let output = programs.check("program.c", text, &words);
            let said = format!("{}{}", stdout(&output), stderr(&output));
            assert_eq!(code(&output), expected.0, "{compiler} {level}: {said}");
            assert!(said.contains(expected.1), "{compiler} {level}: {said}");
        }
    }
}

#[test]
fn functions_of_the_c_library_race() {
    let shared = "static char shared[64]; static char *volatile kept;";
    for (name, second, main) in [
        (
            "memcpy",
            "char own[12]; memcpy(own, shared, 12); kept = strdup(own);free(kept);",
            "memset(shared, 1, 20);",
        ),
        (
            "strcpy",
            "volatile size_t length = strlen(shared);",
            "strcpy(shared, \"text\");",
        ),
        ("plain", "shared[3] = 1;", "memmove(shared + 1, shared, 8);"),
        (
            "compared",
            "volatile int order = strcmp(shared, \"a\");",
            "shared[0] = 'a';",
        ),
    ] {
        let text = two_threads(shared, second, main, "");
        expect(
            &format!("library-{name}"),
            &text,
            &[],
            (1, "error: data race on `shared["),
        );
    }
    // Only up to where they differ.
    let text = two_threads(
        "static char shared[8] = \"abc\";",
        "volatile int order = strcmp(shared, \"ax\");",
        "shared[2] = 'a';",
        "",
    );
    expect("library-other", &text, &[], (0, "verified"));
}

#[test]
fn functions_of_the_c_library_go_beyond_blocks() {
    let text = two_threads(
        "static char *volatile block; static volatile int size = 5;",
        "",
        "block = malloc(size); strcpy(block, \"hello\"); free(block);",
        "",
    );
    expect(
        "beyond",
        &text,
        &[],
        (1, "error: out of bounds: main writes 6 bytes"),
    );
    let text = two_threads(
        "static char *volatile block; static volatile int size = 6;",
        "",
        "block = malloc(size); strcpy(block, \"hello\"); free(block);",
        "",
    );
    expect("within", &text, &[], (0, "verified"));
}

#[test]
fn atomic_accesses_to_freed_memory_are_found() {
    let text = two_threads(
        "static int *volatile word;",
        "",
        "word = malloc(4); __atomic_store_n(word, 3, __ATOMIC_RELAXED); free(word);\n\
         __atomic_fetch_add(word, 1, __ATOMIC_RELAXED);",
        "",
    );
    expect(
        "freed",
        &text,
        &[],
        (1, "error: use after free: main writes 4 bytes"),
    );
}

#[test]
fn accesses_of_several_sizes_are_refused() {
    let text = two_threads(
        "static union { uint64_t both; uint32_t half[2]; } shared;",
        "__atomic_store_n(&shared.half[1], 1, __ATOMIC_RELAXED);",
        "volatile uint64_t seen = __atomic_load_n(&shared.both, __ATOMIC_RELAXED);",
        "",
    );
    expect(
        "sizes",
        &text,
        &[],
        (2, "accesses of different sizes to the same memory"),
    );
    // One after the other in different blocks is fine.
    let text = two_threads(
        "static union { uint64_t both; uint32_t half[2]; } shared[2];",
        "__atomic_store_n(&shared[0].half[1], 1, __ATOMIC_RELAXED);",
        "volatile uint64_t seen = __atomic_load_n(&shared[1].both, __ATOMIC_RELAXED);",
        "",
    );
    expect("other-sizes", &text, &[], (0, "verified"));
}

#[test]
fn races_on_purpose_are_accesses_of_the_machine() {
    let allow = ["--races", "allow"];
    let shared = "static int x, y, first, other; static volatile int flag; static int data;";
    let store_buffering = |fence: &str| {
        let second = format!("y = 1; {fence} other = x;");
        let main = format!("x = 1; {fence} first = y;");
        two_threads(shared, &second, &main, "assert(first || other);")
    };
    let text = store_buffering("");
    expect("old-default", &text, &[], (1, "error: data race"));
    expect(
        "old-unsafe",
        &text,
        &allow,
        (
            1,
            "error: not store-buffer safe: under x86-TSO, main's load of `y`",
        ),
    );
    let text = store_buffering("__sync_synchronize();");
    expect("old-safe", &text, &allow, (0, "`--races allow`"));
    expect(
        "old-confirmed",
        &text,
        &["--races", "allow", "--confirm"],
        (2, "help: leave out `--races allow`"),
    );
    // A lost update, and none in a variable that only one thread has.
    let text = two_threads(
        shared,
        "x++;",
        "x++; y++;",
        "assert(y == 1); assert(x == 2);",
    );
    expect("old-lost", &text, &allow, (1, "assertion: x == 2"));
    // A wait on a volatile variable. What it publishes is there on x86, and not under PSO.
    let text = two_threads(
        shared,
        "data = 42; flag = 1;",
        "while (!flag) ;",
        "assert(data == 42);",
    );
    expect("old-wait", &text, &allow, (0, "verified"));
    let text = two_threads(
        shared,
        "data = 42; flag = 1;",
        "while (!flag) ;\nassert(data == 42);",
        "",
    );
    expect(
        "old-pso",
        &text,
        &["--races", "allow", "--target", "pso"],
        (
            1,
            "T1's store to `flag` can come before its earlier store to `data`",
        ),
    );
}

#[test]
fn exceptions_are_no_operations() {
    let Some(programs) = Programs::new("exceptions").filter(|_| super::is_there("g++")) else {
        return;
    };
    let text = "#include <thread>\n#include <atomic>\nstd::atomic<int> n;\n\
                void run() { try { throw 1; } catch (int i) { n += i; } }\n\
                int main() { std::thread other(run); run(); other.join(); return n == 2 ? 0 : 1; }\n";
    let said = succeeded(&programs.check("program.cpp", text, &[]));
    assert!(said.contains("explored: 2 executions"), "{said}");
}

#[test]
fn instructions_that_compilers_do_not_announce_are_refused() {
    let text = two_threads(
        "static int word;",
        "",
        "__asm__ volatile (\"lock incl %0\" : \"+m\" (word) : : \"memory\");",
        "",
    );
    expect("assembly", &text, &[], (2, "`lock inc` at program.c:14"));
    let text = two_threads("", "", "__asm__ volatile (\"pause\" ::: \"memory\");", "");
    expect("pause", &text, &[], (0, "verified"));
}
