//! Reports of checks of C and C++ programs, with the runtime library itself. The programs are short, and their calls on lines of
//! their own, so that compilers agree about the places.

use std::path::PathBuf;
use std::process::{Command, Output};

use super::{is_there, succeeded};
use crate::support::{Scratch, code, stdout};

/// A folder with programs.
pub(super) struct Programs(Scratch);

impl Programs {
    /// None where there is no gcc.
    pub(super) fn new(name: &str) -> Option<Self> {
        is_there("gcc").then(|| Programs(Scratch::new(&format!("native-report-{name}"))))
    }

    /// Checks a program with these options.
    pub(super) fn check(&self, file: &str, text: &str, options: &[&str]) -> Output {
        self.0.file(file, text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command.args(["cc", file]).args(options);
        command.current_dir(self.0.directory());
        // The library beside the command, which this package depends on.
        let ours = std::env::vars_os().map(|(name, _)| name);
        for name in ours.filter(|name| name.to_string_lossy().starts_with("FENCEPOST_")) {
            command.env_remove(name);
        }
        for name in ["NO_COLOR", "CLICOLOR_FORCE", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command.env("CC", "gcc").env("CXX", "g++");
        command.output().expect("the command starts")
    }

    /// The report of a program that fails.
    fn failure(&self, file: &str, text: &str, options: &[&str]) -> String {
        let output = self.check(file, text, options);
        assert_eq!(code(&output), 1, "{output:?}");
        stdout(&output).to_owned()
    }
}

/// The report, and what `FENCEPOST_BLESS` makes of it.
fn expect(name: &str, text: &str) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("tests/inputs/native/reports").join(name);
    if std::env::var_os("FENCEPOST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "{}", path.display());
}

const STORE_BUFFERING: &str = "\
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x, y;

static void *second(void *argument) {
    atomic_store_explicit(&y, 1, memory_order_release);
    atomic_load_explicit(&x, memory_order_acquire);
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, second, NULL);
    atomic_store_explicit(&x, 1, memory_order_release);
    atomic_load_explicit(&y, memory_order_acquire);
    pthread_join(thread, NULL);
    return 0;
}
";

#[test]
fn a_violation_names_fences_and_options_of_c() {
    let Some(programs) = Programs::new("violation") else {
        return;
    };
    let text = programs.failure("sb.c", STORE_BUFFERING, &[]);
    expect("violation.txt", &text);
    let text = programs.failure("sb.c", STORE_BUFFERING, &["--infer-fences"]);
    expect(
        "inferred.txt",
        text.split("\n\n").last().expect("there is text"),
    );
    let json = programs.failure("sb.c", STORE_BUFFERING, &["--infer-fences", "--json"]);
    let summary = json.lines().last().expect("there is a summary");
    let summary: serde_json::Value = serde_json::from_str(summary).expect("it is JSON");
    let fence = &summary["fences"]["fences"][0];
    assert_eq!(fence["fence"], "atomic_thread_fence(memory_order_seq_cst)");
    assert_eq!(fence["instead"]["ordering"], "memory_order_seq_cst");
    // The fences that it names are enough.
    let places = ["--insert-fence", "sb.c:8", "--insert-fence", "sb.c:16"];
    let text = succeeded(&programs.check("sb.c", STORE_BUFFERING, &places));
    expect("inserted.txt", &text);
}

#[test]
fn places_in_cpp_files_have_fences_of_cpp() {
    let Some(programs) = Programs::new("cpp").filter(|_| is_there("g++")) else {
        return;
    };
    let program = STORE_BUFFERING
        .replace("<stdatomic.h>", "<atomic>")
        .replace(
            "static atomic_int x, y;",
            "static std::atomic<int> x, y;\nusing namespace std;",
        );
    let text = programs.failure("sb.cpp", &program, &[]);
    let help = "help: insert `std::atomic_thread_fence(std::memory_order_seq_cst)` ";
    assert!(text.contains(help), "{text}");
}

/// A worker that is left waiting when `main` returns is no error, and its loop is assumed to wait.
#[test]
fn detached_workers_may_wait_for_ever() {
    let Some(programs) = Programs::new("detached") else {
        return;
    };
    let program = |left: &str| {
        format!(
            "\
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>

static atomic_int work;

static void *worker(void *argument) {{
    while (!atomic_load(&work))
        sched_yield();
    atomic_store(&work, 0);
    while (!atomic_load(&work))
        sched_yield();
    return argument;
}}

int main(void) {{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&work, 1);
    {left}
    return 0;
}}
"
        )
    };
    let detached = program("pthread_detach(thread);");
    let text = succeeded(&programs.check("detached.c", &detached, &[]));
    expect("detached.txt", &text);
    for strategy in ["bounded", "random", "pct"] {
        let options = ["--strategy", strategy, "--executions", "20"];
        let output = programs.check("detached.c", &detached, &options);
        assert!([0, 3].contains(&code(&output)), "{strategy}: {output:?}");
    }
    // If `main` waits for it, or leaves it alone by `pthread_exit`, the program hangs.
    for left in ["pthread_join(thread, NULL);", "pthread_exit(NULL);"] {
        let text = programs.failure("joined.c", &program(left), &[]);
        assert!(
            text.starts_with("error: livelock: T1 spins forever\n"),
            "{text}"
        );
    }
}

#[test]
fn threads_that_wait_for_each_other_are_a_deadlock() {
    let Some(programs) = Programs::new("deadlock") else {
        return;
    };
    let program = "\
#include <pthread.h>

static pthread_t first;

static void *worker(void *argument) {
    pthread_join(first, NULL);
    return argument;
}

int main(void) {
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}
";
    let text = programs.failure("deadlock.c", program, &[]);
    expect("deadlock.txt", &text);
}

/// The thread that calls `exit` does not end, so its join does not return.
#[test]
fn nothing_comes_after_exit() {
    let Some(programs) = Programs::new("exit") else {
        return;
    };
    let program = |status: u32| {
        format!(
            "\
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static void *worker(void *argument) {{
    exit({status});
}}

int main(void) {{
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    assert(0);
}}
"
        )
    };
    succeeded(&programs.check("exit.c", &program(0), &[]));
    let text = programs.failure("exit.c", &program(3), &[]);
    assert!(
        text.starts_with("error: T1 exited with status 3\n"),
        "{text}"
    );
}

/// What a thread does wrong when `main` has returned is found.
#[test]
fn threads_run_on_when_main_has_returned() {
    let Some(programs) = Programs::new("late") else {
        return;
    };
    let program = "\
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int done;

static void *worker(void *argument) {
    assert(!atomic_load(&done));
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    atomic_store(&done, 1);
    return 0;
}
";
    let text = programs.failure("late.c", program, &[]);
    assert!(
        text.starts_with("error: T1 failed an assertion: !atomic_load(&done)\n"),
        "{text}"
    );
}

const LEAK: &str = "\
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(int *) head;
static int *kept;
static __thread int *own;

static void *worker(void *argument) {
    int *expected = NULL;
    int *node = malloc(4);
    atomic_compare_exchange_strong(&head, &expected, node);
    return argument;
}

int main(void) {
    pthread_t threads[2];
    kept = malloc(100);
    own = malloc(10);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    END;
}
";

#[test]
fn blocks_that_nothing_points_to_are_leaks() {
    let Some(programs) = Programs::new("leak") else {
        return;
    };
    let program = |threads: &str, end: &str| LEAK.replace("THREADS", threads).replace("END", end);
    let leaks = program("2", "return 0");
    let text = programs.failure("leak.c", &leaks, &[]);
    expect("leak.txt", &text);
    let off = succeeded(&programs.check("leak.c", &leaks, &["--leak-check", "off"]));
    assert!(
        off.contains("assumes:  no memory leaks (`--leak-check off`)\n"),
        "{off}"
    );
    // What a variable points to is none, and after `exit` a stack may have pointers.
    succeeded(&programs.check("leak.c", &program("1", "return 0"), &[]));
    succeeded(&programs.check("leak.c", &program("2", "exit(0)"), &[]));
}

#[test]
fn what_cannot_be_checked_ends_the_check_with_2() {
    let Some(programs) = Programs::new("misuse") else {
        return;
    };
    let program = "\
#include <stdlib.h>

int main(void) {
    for (;;)
        free(malloc(1 << 25));
}
";
    let output = programs.check("endless.c", program, &[]);
    assert_eq!(code(&output), 2, "{output:?}");
    expect("misuse.txt", stdout(&output));
    let output = programs.check("sb.c", STORE_BUFFERING, &["--replay", "0.9"]);
    assert_eq!(code(&output), 2, "{output:?}");
    let text = stdout(&output);
    assert!(
        text.starts_with("error: the schedule does not fit the program"),
        "{text}"
    );
    assert!(text.contains("replay with `--store-buffers`"), "{text}");
    let options = ["--strategy", "random", "--infer-fences"];
    let output = programs.check("sb.c", STORE_BUFFERING, &options);
    assert_eq!(code(&output), 2, "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("error: `--infer-fences` needs all executions"),
        "{said}"
    );
}

/// The last line of a finding runs the execution again, also the one without a step.
#[test]
fn a_finding_is_replayed_by_its_command() {
    let Some(programs) = Programs::new("replay") else {
        return;
    };
    let aborts = "#include <stdlib.h>\n\nint main(void) {\n    abort();\n}\n";
    for (file, program) in [("abort.c", aborts), ("sb.c", STORE_BUFFERING)] {
        let text = programs.failure(file, program, &[]);
        let start = format!("replay: fencepost cc {file} ");
        let mut lines = text.lines();
        let words = lines
            .find_map(|line| line.strip_prefix(&start))
            .expect("a replay");
        let words: Vec<&str> = words.split(' ').collect();
        assert_eq!(words[0], "--replay", "{text}");
        let again = programs.failure(file, program, &words);
        let first = |text: &str| text.lines().next().map(str::to_owned);
        assert_eq!(first(&again), first(&text));
    }
    let text = programs.failure("abort.c", aborts, &[]);
    assert!(
        text.contains("\nreplay: fencepost cc abort.c --replay -\n"),
        "{text}"
    );
}

/// Colours are for terminals, and for who asks for them.
#[test]
fn reports_have_colours_if_asked_for() {
    let Some(programs) = Programs::new("colours") else {
        return;
    };
    let aborts = "#include <stdlib.h>\n\nint main(void) {\n    abort();\n}\n";
    let plain = programs.failure("abort.c", aborts, &[]);
    assert!(!plain.contains('\x1b'), "{plain}");
    let coloured = programs.failure("abort.c", aborts, &["--color", "always"]);
    assert!(coloured.starts_with("\x1b["), "{coloured}");
}
