//! Programs that crash, end their process, or destroy what is not theirs. Whatever they do, the command ends with an exit code
//! of its own and says why.

use std::process::{Command, Output};

use super::is_there;
use crate::support::{Scratch, code, stderr, stdout};

fn check(lab: &Scratch, text: &str, options: &[&str]) -> Output {
    lab.file("crash.c", text);
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
    command.args(["cc", "crash.c", "-q"]).args(options);
    command.current_dir(lab.directory()).env("CC", "gcc");
    let ours = std::env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("FENCEPOST_")) {
        command.env_remove(name);
    }
    command.output().expect("the command starts")
}

/// The name, what the threads of the program do, the exit code, and what is said.
type Crash = (&'static str, &'static str, i32, &'static str);

/// The second thread does it, and the first one waits.
const CRASHES: [Crash; 20] = [
    (
        "null pointer",
        "*nowhere = 1;",
        1,
        "T1 received SIGSEGV (invalid memory access) at address 0x0\n",
    ),
    (
        "call of nothing",
        "((void (*)(void))nowhere)();",
        1,
        "T1 received SIGSEGV (invalid memory access) at address 0x0\n",
    ),
    (
        "division by zero",
        "zero = 7 / zero;",
        1,
        "T1 received SIGFPE",
    ),
    ("trap", "__builtin_trap();", 1, "T1 received SIGILL"),
    ("abort", "abort();", 1, "T1 called `abort`"),
    (
        "recursion",
        "zero = deeper(0);",
        1,
        "T1 overflowed its stack",
    ),
    ("exit", "exit(3);", 1, "T1 exited with status 3"),
    (
        "end of the process",
        "_exit(3);",
        1,
        "T1 exited with status 3",
    ),
    (
        "end of the process by a system call",
        "syscall(SYS_exit_group, 0);",
        2,
        "cannot check this program: system call 231 cannot be checked",
    ),
    (
        "a signal that kills",
        "kill(getpid(), SIGKILL);",
        2,
        "cannot check this program: `kill` cannot be checked",
    ),
    (
        "a signal to itself",
        "raise(SIGSEGV);",
        2,
        "cannot check this program: `raise` cannot be checked",
    ),
    (
        "closed streams",
        "for (int i = 0; i < 300; i++) close(i);\nfclose(stdout); fclose(stderr); abort();",
        1,
        "T1 called `abort`",
    ),
    (
        "other streams",
        "dup2(open(\"/dev/null\", O_WRONLY), 1);",
        2,
        "cannot check this program: `dup2` cannot be checked",
    ),
    (
        "a write past a heap block",
        "char *block = malloc(16);\nnowhere = (int *)block;\nblock[16] = 1;",
        1,
        "out of bounds",
    ),
    (
        "heap metadata",
        "char *block = malloc(16), *other = malloc(16);\nsmash(block, 4096);\nfree(block); free(other); free(malloc(16)); abort();",
        1,
        "T1 ",
    ),
    (
        "the memory of the runtime library",
        "dl_iterate_phdr(smash_runtime, 0);",
        1,
        "T1 received SIGSEGV (invalid memory access)",
    ),
    (
        "no end of memory",
        "for (;;) nowhere = malloc(1 << 26);",
        2,
        "cannot check this program: the program allocates",
    ),
    (
        "an exec",
        "execl(\"/bin/true\", \"true\", (char *)0);",
        2,
        "cannot check this program: `execl` cannot be checked",
    ),
    (
        "its own stack, unmapped",
        "munmap((void *)((unsigned long)__builtin_frame_address(0) & -4096ul), 4096); smash((char *)&zero, 1);",
        70,
        "without a result",
    ),
    (
        "a kill from outside",
        // The system does it after a second.
        "setrlimit(RLIMIT_CPU, &(struct rlimit){ 1, 1 }); for (;;) zero++;",
        3,
        "was killed (SIGKILL) before it had a result",
    ),
];

const BEFORE: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_sanitize("thread"), noinline, unused))

static int *volatile nowhere;
static volatile int zero;

UNSEEN static int deeper(int depth)
{
    volatile char frame[512];
    frame[depth % 512] = depth;
    return deeper(depth + 1) + frame[0];
}

UNSEEN static void smash(char *memory, int size)
{
    for (int at = 0; at < size; at++)
        memory[at] = 0x41;
}

UNSEEN static int smash_runtime(struct dl_phdr_info *info, size_t size, void *unused)
{
    if (!strstr(info->dlpi_name, "fencepost_native"))
        return 0;
    for (int part = 0; part < info->dlpi_phnum; part++)
        if (info->dlpi_phdr[part].p_type == PT_LOAD && info->dlpi_phdr[part].p_flags & PF_W)
            smash((char *)info->dlpi_addr + info->dlpi_phdr[part].p_vaddr, info->dlpi_phdr[part].p_memsz);
    return 0;
}

static void *crash(void *unused)
{
"#;

const AFTER: &str = r#"
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, crash, NULL);
    pthread_join(thread, NULL);
    return 0;
}
"#;

#[test]
fn no_crash_takes_the_command_down() {
    if !is_there("gcc") {
        return;
    }
    let lab = Scratch::new("native-crashes");
    let mut wrong = Vec::new();
    for (name, crash, expected, said) in CRASHES {
        let text = format!("{BEFORE}    {crash}{AFTER}");
        for options in [&["--", "-w", "-O0"][..], &["--", "-w", "-O2"]] {
            let output = check(&lab, &text, options);
            let all = format!("{}{}", stdout(&output), stderr(&output));
            if output.status.code() != Some(expected) || !all.contains(said) {
                wrong.push(format!("{name} {options:?}: {output:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What a program closes, or writes to files that were open, does not get into the report, and the next execution finds them open.
#[test]
fn closed_streams_are_open_in_the_next_execution() {
    if !is_there("gcc") {
        return;
    }
    let lab = Scratch::new("native-closed-streams");
    let program = r#"
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int value;

static void *change(void *unused)
{
    value = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, change, NULL);
    assert(write(1, "a", 1) == 1);
    assert(puts("b") >= 0);
    (void)value;
    close(0);
    close(1);
    close(2);
    fclose(stdout);
    pthread_join(thread, NULL);
    return 0;
}
"#;
    let output = check(&lab, program, &[]);
    assert_eq!(code(&output), 0, "{output:?}");
    let report = stdout(&output);
    assert!(report.starts_with("verified for x86-TSO"), "{output:?}");
    assert!(report.contains("explored: 2 executions"), "{output:?}");
}
