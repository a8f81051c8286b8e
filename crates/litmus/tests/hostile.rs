//! Files that are no tests, or that want too much: an error, soon, with memory in proportion to the file.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use fencepost_litmus::{Limits, ParseError, ParseErrorKind, parse};

/// Counts what a thread has allocated: the other tests run beside it.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
    static HIGHEST: Cell<usize> = const { Cell::new(0) };
}

fn count(allocated: impl FnOnce(usize) -> usize) {
    // A thread that ends may free something when its counters are gone already.
    let _ = ALLOCATED.try_with(|counter| {
        let now = allocated(counter.get());
        counter.set(now);
        let _ = HIGHEST.try_with(|highest| highest.set(highest.get().max(now)));
    });
}

#[allow(unsafe_code, reason = "an allocator that counts is unsafe to write")]
// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(|allocated| allocated + layout.size());
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // What another thread has allocated was not counted here.
        count(|allocated| allocated.saturating_sub(layout.size()));
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// No limit but those that are fixed.
fn without_limits() -> Limits {
    Limits {
        bytes: usize::MAX,
        threads: usize::MAX,
        instructions: usize::MAX,
        cells: usize::MAX,
        name_bytes: usize::MAX,
        nesting: usize::MAX,
    }
}

/// Reads bytes, and checks how much memory that takes.
fn measured(bytes: &[u8], limits: &Limits, times: usize) -> Result<(), ParseError> {
    let before = ALLOCATED.get();
    HIGHEST.set(before);
    let result = parse(bytes, limits);
    let used = HIGHEST.get() - before;
    let allowed = 100_000 + times * bytes.len();
    assert!(used < allowed, "{used} bytes for {}", bytes.len());
    if let Err(error) = &result {
        let message = error.render("hostile");
        assert!(message.len() < 20_000, "{} bytes of message", message.len());
    }
    result.map(drop)
}

fn kind(bytes: &[u8], limits: &Limits) -> ParseErrorKind {
    let error = measured(bytes, limits, 60).expect_err("an error");
    error.errors[0].kind.clone()
}

fn limit(bytes: &[u8]) -> &'static str {
    match kind(bytes, &Limits::default()) {
        ParseErrorKind::Limit { what, .. } => what,
        other => panic!("{other:?} is no limit"),
    }
}

fn with_code(code: &str) -> String {
    format!("X86 a {{}} P0 ; {code} ; exists (x=1)")
}

#[test]
fn too_much_is_a_limit() {
    let many = |part: &str, count: usize| part.repeat(count);
    assert_eq!(limit(&vec![b' '; 2 << 20]), "bytes in the file");
    let threads: Vec<String> = (0..100_000).map(|number| format!("P{number}")).collect();
    let threads = format!("X86 a {{}} {} ;", threads.join("|"));
    assert_eq!(limit(threads.as_bytes()), "threads");
    let rows = format!("X86 a {{}} P0 ; {}", many("NOP;", 200_000));
    assert_eq!(limit(rows.as_bytes()), "instructions in a thread");
    assert_eq!(
        limit(b"X86 a { int x[1000000000000]; } P0;"),
        "cells of memory"
    );
    let array = format!("X86 a {{ int x[2]={{{}1}}; }} P0 ;", many("1,", 400_000));
    assert_eq!(limit(array.as_bytes()), "cells of memory");
    let locations: Vec<String> = (0..70_000).map(|number| format!("x{number}")).collect();
    let locations = format!("X86 a {{}} P0 ; locations [{}]", locations.join(";"));
    assert_eq!(limit(locations.as_bytes()), "cells of memory");
    let name = format!("X86 a {{ {}=1; }} P0 ;", many("x", 900_000));
    assert_eq!(limit(name.as_bytes()), "bytes in a name");
    let registers: Vec<String> = (0..300)
        .map(|number| format!("MOV %q{number},$1"))
        .collect();
    let registers = with_code(&registers.join(";"));
    assert_eq!(limit(registers.as_bytes()), "registers in a thread");
    let nested = |open: &str, count| format!("X86 a {{}} P0 ; exists {} x=1", many(open, count));
    for open in ["(", "~", "not ", "x=1 =>", "~("] {
        let text = nested(open, 100_000);
        assert_eq!(
            limit(text.as_bytes()),
            "nested parts of a proposition",
            "{open}"
        );
    }
}

/// Limits that are taken away leave those that the crate itself has.
#[test]
fn fixed_limits_stay() {
    let all = without_limits();
    let deep = format!("X86 a {{}} P0 ; exists {} x=1", "(".repeat(1_000_000));
    assert!(kind(deep.as_bytes(), &all).is_limit());
    let long = format!("X86 a {{}} P0 ; {}", "MFENCE;".repeat(70_000));
    let error = measured(long.as_bytes(), &all, 200).expect_err("too long");
    assert!(error.is_limit());
    assert!(error.to_string().contains("65535 operations in a thread"));
}

/// The deepest proposition that is allowed is read, walked and dropped on a small stack.
#[test]
fn deep_propositions_are_safe() {
    let limits = Limits {
        nesting: usize::MAX,
        ..Limits::default()
    };
    let depth = Limits::DEEPEST_NESTING;
    for open in ["(x=1 \\/ y=1 /\\ ", "not (x=1 /\\ ", "x=1 => "] {
        let count = match open.starts_with("not") {
            true => depth / 2,
            false => depth,
        };
        let close = if open.contains('(') { ")" } else { "" };
        let claim = format!("{}x=1{}", open.repeat(count), close.repeat(count));
        let source = format!("X86 a {{x; y;}} P0 ; exists {claim}");
        let read = move || {
            let test = parse(source.as_bytes(), &limits).expect("within the limit");
            let again = test.condition.clone();
            assert_eq!(again, test.condition);
            again.holds(&[0, 0])
        };
        let small = std::thread::Builder::new().stack_size(1 << 20);
        let thread = small.spawn(read).expect("a thread can be made");
        thread.join().expect("no overflow of the stack");
    }
}

/// Long inputs without any limit: time and memory in proportion.
#[test]
fn large_files_are_read_in_proportion() {
    let all = without_limits();
    let many = |part: &str, count: usize| part.repeat(count);
    let comment = format!("X86 a {{}} P0 ; {}", many("(* ", 500_000));
    assert!(matches!(
        kind(comment.as_bytes(), &all),
        ParseErrorKind::Unterminated(_)
    ));
    let closed = format!("{}{}", many("(* ", 300_000), many("*)", 300_000));
    let closed = format!("X86 a {{x;}} P0 ; {closed} exists (x=1)");
    measured(closed.as_bytes(), &all, 10).expect("a test");
    let cell = with_code(&format!("MOV {}EAX,[x]", many(" ", 4_000_000)));
    measured(cell.as_bytes(), &all, 10).expect("a test");
    let one_line = format!("X86 a {{}} P0 ; {}", many("MOV [x],$1;", 60_000));
    measured(one_line.as_bytes(), &all, 60).expect("a test");
    let claim = format!("X86 a {{x;}} P0 ; exists x=1 {}", many("/\\ x=1 ", 300_000));
    measured(claim.as_bytes(), &all, 60).expect("a test");
    let array = format!(
        "X86 a {{ int x[60000]; }} P0 ; locations [{}]",
        many("x;", 300_000)
    );
    measured(array.as_bytes(), &all, 120).expect("a test");
    let jumps = with_code(&format!(
        "{} NOP; {}",
        many("a:", 1),
        many("JMP ab;", 60_000)
    ));
    let error = measured(jumps.as_bytes(), &all, 60).expect_err("no such label");
    assert_eq!(error.errors.len(), 20);
    let labels: String = (0..200_000).map(|number| format!("l{number}:")).collect();
    let labels = with_code(&format!("{labels} NOP; {}", many("JMP l;", 8_000)));
    measured(labels.as_bytes(), &all, 60).expect_err("no such label");
    let wrong = format!("X86 a {{}} P0 ; {}", many("MOVE [x],$1;", 100_000));
    let error = measured(wrong.as_bytes(), &all, 60).expect_err("no such instruction");
    assert_eq!(error.errors.len(), 20);
    let characters = format!("X86 a {{}} P0 ; {}", many("\0", 1_000_000));
    measured(characters.as_bytes(), &all, 60).expect_err("no characters of a test");
}

#[test]
fn what_is_no_text_has_its_place() {
    let error = parse(b"X86 a\n{ x=\xff1; }\n", &Limits::default()).expect_err("not UTF-8");
    assert_eq!(
        error.render("a.litmus"),
        "error: byte 0xff is not UTF-8\n \
         --> a.litmus:2:5\n  \
         |\n\
         2 | { x=\u{fffd}1; }\n  \
         |     ^ expected UTF-8 text\n  \
         |\n  \
         = help: check that the file is a litmus test"
    );
    let error = parse(b"X86 a\n{ x=\x001; }\n", &Limits::default()).expect_err("NUL");
    assert_eq!(
        error.render("a.litmus"),
        "error: unexpected character `\\0`\n \
         --> a.litmus:2:5\n  \
         |\n\
         2 | { x=\u{fffd}1; }\n  \
         |     ^ expected a name, a number or a mark\n  \
         |\n  \
         = help: names consist of letters, digits, `_` and `.`; comments are between `(*` and `*)`"
    );
    assert!(!error.is_limit());
}

/// A test whose constants are everywhere where locations could be.
#[test]
fn no_room_for_locations() {
    let step = 64 * 4000;
    let constants: String = (0x1000_0000_u64..0x8000_0000)
        .step_by(step)
        .map(|constant| format!("/\\ 0:EAX={constant} "))
        .collect();
    let source = format!("X86 a {{ int x[64000]; }} P0 ; exists true {constants}");
    let error = parse(source.as_bytes(), &Limits::default()).expect_err("no room");
    assert!(error.is_limit());
    assert_eq!(
        error.to_string(),
        "line 1, column 1: the constants of the test leave no addresses for its locations, expected \
         fewer constants, or fewer locations"
    );
}
