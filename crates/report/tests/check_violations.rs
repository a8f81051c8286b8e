//! Store-buffer violations of made-up programs, as users see them.

use crate::support;

use fencepost_memory::MemoryModel;
use fencepost_report::NoSources;
use fencepost_report::check::{FenceAdvice, FurtherChecks, SetBy};
use support::{Program, expect, plain};

const STORE_BUFFERING: &str = "\
use fencepost::sync::atomic::{AtomicU32, Ordering::Relaxed};
use fencepost::thread;

#[test]
fn store_buffering() {
    fencepost::check(|| {
        static X: AtomicU32 = AtomicU32::new(0);
        static Y: AtomicU32 = AtomicU32::new(0);
        let t1 = thread::spawn(|| {
            X.store(1, Relaxed);
            Y.load(Relaxed)
        });
        let t2 = thread::spawn(|| {
            Y.store(1, Relaxed);
            X.load(Relaxed)
        });
        assert!(t1.join().unwrap() + t2.join().unwrap() > 0);
    });
}
";

fn store_buffering() -> Program {
    Program::new("tests/sb.rs", STORE_BUFFERING).run(&[
        ("T1 st X 1", "X.|store"),
        ("T1 ld Y 0", "Y.|load"),
        ("T2 st Y 1", "Y.|store"),
        ("T2 ld X 1", "X.|load"),
    ])
}

const DEKKER: &str = "\
/// Dekker's lock for two threads, without the turns.
pub struct Lock {
    wants: [AtomicBool; 2],
}

impl Lock {
    pub fn try_lock(&self, me: usize) -> bool {
        self.wants[me].store(true, Ordering::Release);
        !self.wants[1 - me].load(Ordering::Acquire)
    }
}
";

const ONE_FENCE: &str = "\
fn left() -> bool {
    LEFT.store(true, Release);
    fence(SeqCst);
    !RIGHT.load(Acquire)
}

fn right() -> bool {
    RIGHT.store(true, Release);
    TURN.swap(1, Release);
    !LEFT.load(Acquire)
}
";

/// Only one of the two sides has what it needs. Under TSO the read-modify-write of the other is a
/// fence too, so there it is left out.
fn one_fence(has_swap: bool) -> Program {
    let mut lines = vec![
        ("T1 st LEFT 1", "LEFT.|store"),
        ("T1 fence", "|fence"),
        ("T1 ld RIGHT 0", "RIGHT.|load"),
        ("T2 st RIGHT 1", "RIGHT.|store"),
        ("T2 il TURN 1", "TURN.|swap"),
        ("T2 ld LEFT 1", "LEFT.|load"),
    ];
    if !has_swap {
        lines.remove(4);
    }
    Program::new("src/one.rs", ONE_FENCE).run(&lines)
}

/// Both threads are in the same function, so that lines have two labels each.
fn dekker() -> Program {
    Program::new("src/dekker.rs", DEKKER).run(&[
        ("left st wants[0] 1", "[me].|store"),
        ("left ld wants[1] 0", "me].|load"),
        ("right st wants[1] 1", "[me].|store"),
        ("right ld wants[0] 1", "me].|load"),
    ])
}

const MESSAGE: &str = "\
fn send(channel: &Channel, message: u64) {
    channel.data.store(message, Relaxed);
    channel.ready.store(true, Relaxed);
}

fn receive(channel: &Channel) -> Option<u64> {
    channel.ready.load(Acquire).then(|| channel.data.load(Relaxed))
}
";

fn message_passing() -> Program {
    Program::new("src/channel.rs", MESSAGE).run(&[
        ("sender st data 42", "data.|store"),
        ("sender st ready 1", "ready.|store"),
        ("receiver ld ready 1", "ready.|load"),
        ("receiver ld data 42", "data.|load"),
    ])
}

const N6: &str = "\
let t1 = thread::spawn(|| {
    Y.store(2, Relaxed);
    X.store(2, Relaxed);
});
let t0 = thread::spawn(|| {
    X.store(1, Relaxed);
    (X.load(Relaxed), Y.load(Relaxed))
});
";

#[test]
fn store_buffering_at_several_widths() {
    let program = store_buffering();
    let finding = program.violation(MemoryModel::TSO);
    for width in [80, 120] {
        let mut reporter = program.reporter(MemoryModel::TSO);
        reporter.width = width;
        let text = plain(&reporter.finding(&finding));
        assert!(text.lines().count() <= 60, "{text}");
        expect(&format!("store-buffering-{width}.txt"), &text);
    }
}

/// Settings that tell more follow the hint, and are nowhere else.
#[test]
fn fences_for_all_cycles_are_pointed_to() {
    let program = store_buffering();
    let finding = program.violation(MemoryModel::TSO);
    let mut reporter = program.reporter(MemoryModel::TSO);
    let without = plain(&reporter.finding(&finding));
    reporter.further = FurtherChecks {
        all_fences: FenceAdvice::Infer(SetBy::Environment),
        confirm: Some(SetBy::Environment),
    };
    let with = plain(&reporter.finding(&finding));
    let hint = "there may be other cycles\n";
    let followed = format!(
        "{hint}      set FENCEPOST_INFER_FENCES=on to infer fences that rule out all cycles\n      \
         set FENCEPOST_CONFIRM=on to see whether this can make the test fail\n"
    );
    assert_eq!(with, without.replacen(hint, &followed, 1));
    assert_ne!(with, without);
}

#[test]
fn colours_are_there_and_are_all_that_is_stripped() {
    let program = store_buffering();
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    assert!(text.contains("\u{1b}["));
    assert!(!plain(&text).contains('\u{1b}'));
}

#[test]
fn without_sources_places_are_named() {
    let program = store_buffering();
    let finding = program.violation(MemoryModel::TSO);
    let mut reporter = program.reporter(MemoryModel::TSO);
    reporter.sources = &NoSources;
    expect("no-sources.txt", &plain(&reporter.finding(&finding)));
}

#[test]
fn two_threads_in_the_same_lines() {
    let program = dekker();
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("dekker.txt", &plain(&text));
}

#[test]
fn a_fence_that_is_there_is_not_asked_for() {
    let program = one_fence(false);
    let finding = program.violation(MemoryModel::TSO);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    expect("one-fence.txt", &text);
    // Under PSO a read-modify-write of another variable drains nothing.
    let program = one_fence(true);
    let finding = program.violation(MemoryModel::PSO_OWN_ADDRESS);
    let text = plain(
        &program
            .reporter(MemoryModel::PSO_OWN_ADDRESS)
            .finding(&finding),
    );
    assert!(
        text.contains("between lines 8 and 10 of src/one.rs (T2) to rule out this cycle"),
        "{text}"
    );
}

#[test]
fn a_locked_operation_is_a_fence_under_tso() {
    // The same, with the fence of the left side replaced by the update.
    let program = Program::new("src/one.rs", ONE_FENCE).run(&[
        ("T2 st RIGHT 1", "RIGHT.|store"),
        ("T2 il TURN 1", "TURN.|swap"),
        ("T2 ld LEFT 0", "LEFT.|load"),
        ("T1 st LEFT 1", "LEFT.|store"),
        ("T1 ld RIGHT 1", "RIGHT.|load"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    assert!(
        text.contains("between lines 2 and 4 of src/one.rs (T1) to rule out this cycle"),
        "{text}"
    );
}

#[test]
fn a_barrier_that_is_there_is_not_asked_for() {
    let source =
        "X.store(1, Relaxed);\nY.store(1, Release);\nY.store(2, Relaxed);\nX.store(2, Relaxed);\n";
    let program = Program::new("src/two.rs", source).run(&[
        ("T1 st X 1", "X.|store(1"),
        ("T1 stbar", "Y.|store(1"),
        ("T1 st Y 1", "Y.|store(1"),
        ("T2 st Y 2", "Y.|store(2"),
        ("T2 st X 2", "X.|store(2"),
    ]);
    let finding = program.violation(MemoryModel::PSO_OWN_ADDRESS);
    let text = plain(
        &program
            .reporter(MemoryModel::PSO_OWN_ADDRESS)
            .finding(&finding),
    );
    let hint =
        "`fence(Ordering::SeqCst)` between lines 3 and 4 of src/two.rs (T2) to rule out this cycle";
    assert!(text.contains(hint), "{text}");
    assert!(
        text.contains("or use `Ordering::Release` for the store in line 4"),
        "{text}"
    );
}

/// Nobody can give a lock an ordering, and two stores in one line are two.
#[test]
fn orderings_are_asked_for_where_they_can_be_written() {
    let source = "X.store(1, Relaxed);\nlock.read();\nX.store(2, Relaxed);\n";
    for (name, can_be_written) in [("lock", false), ("flag", true)] {
        let (first, second) = (format!("T1 il {name} 1"), format!("T2 il {name} 2"));
        let program = Program::new("src/two.rs", source).run(&[
            ("T1 st X 1", "X.|store(1"),
            (&first, "lock.|read"),
            (&second, "lock.|read"),
            ("T2 st X 2", "X.|store(2"),
        ]);
        let model = MemoryModel::PSO_OWN_ADDRESS;
        let text = plain(&program.reporter(model).finding(&program.violation(model)));
        assert!(text.contains("to rule out this cycle"), "{text}");
        assert_eq!(text.contains("or use"), can_be_written, "{text}");
    }

    let source = "a(|| (X.store(1, Relaxed), Y.load(Relaxed)), || (Y.store(1, Relaxed), X.load(Relaxed)));\n";
    let program = Program::new("src/line.rs", source).run(&[
        ("T1 st X 1", "X.|store"),
        ("T1 ld Y 0", "Y.|load"),
        ("T2 st Y 1", "Y.|store"),
        ("T2 ld X 1", "X.|load"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    let hint = "or use `Ordering::SeqCst` for the stores in line 1\n";
    assert!(text.contains(hint), "{text}");
}

#[test]
fn message_passing_under_pso() {
    let program = message_passing();
    let finding = program.violation(MemoryModel::PSO);
    let text = program.reporter(MemoryModel::PSO).finding(&finding);
    expect("message-passing-pso.txt", &plain(&text));
}

#[test]
fn a_load_that_reads_its_own_buffer() {
    let program = Program::new("src/n6.rs", N6).run(&[
        ("T1 st y 2", "Y.|store"),
        ("T1 st x 2", "X.|store(2"),
        ("T0 st x 1", "X.|store(1"),
        ("T0 ld x 1", "X.|load"),
        ("T0 ld y 2", "Y.|load"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    let hint = "`fence(Ordering::SeqCst)` between lines 6 and 7 of src/n6.rs (T0) to rule out this";
    assert!(text.contains(hint), "{text}");
    expect("n6.txt", &text);
}

#[test]
fn a_store_that_overtakes() {
    let program = Program::new("src/n6.rs", N6).run(&[
        ("T0 st x 1", "X.|store(1"),
        ("T0 ld x 1", "X.|load"),
        ("T0 ld y 0", "Y.|load"),
        ("T1 st y 2", "Y.|store"),
        ("T1 st x 2", "X.|store(2"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("store-overtakes.txt", &plain(&text));
}

const RELEASE: &str = "\
fn publish(slot: &Slot) {
    slot.value.store(1, Relaxed);
    slot.owner.store(1, Relaxed);
}

fn claim(slot: &Slot) -> u32 {
    slot.owner.store(2, Relaxed);
    slot.value.load(Relaxed)
}

fn claim_at_once(slot: &Slot) -> u32 {
    slot.value.swap(2, SeqCst);
    slot.owner.load(Relaxed)
}
";

#[test]
fn the_pair_that_is_swapped_may_be_the_second() {
    let program = Program::new("src/slot.rs", RELEASE).run(&[
        ("T1 st value 1", "value.|store"),
        ("T1 st owner 1", "owner.|store(1"),
        ("T2 st owner 2", "owner.|store(2"),
        ("T2 ld value 1", "value.|load"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("second-pair.txt", &plain(&text));
}

#[test]
fn a_locked_write_may_be_overtaken() {
    let program = Program::new("src/slot.rs", RELEASE).run(&[
        ("T1 il value 2", "value.|swap"),
        ("T1 ld owner 0", "owner.|load"),
        ("T2 st owner 2", "owner.|store(2"),
        ("T2 ld value 2", "value.|load"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = program.reporter(MemoryModel::TSO).finding(&finding);
    expect("locked-write.txt", &plain(&text));
}

#[test]
fn a_gap_is_named_in_the_shortest_way() {
    let source =
        "X.store(1, Relaxed); Y.load(Relaxed);\n\nX.load(Relaxed);\nY.store(1, Relaxed);\n";
    let program = Program::new("src/short.rs", source).run(&[
        ("T1 st X 1", "X.|store"),
        ("T1 ld Y 0", "Y.|load"),
        ("T2 st Y 1", "Y.|store"),
        ("T2 ld X 1", "X.|load(Relaxed);\nY"),
    ]);
    let finding = program.violation(MemoryModel::TSO);
    let text = plain(&program.reporter(MemoryModel::TSO).finding(&finding));
    let help = "help: insert `fence(Ordering::SeqCst)` in each of these places of src/short.rs to rule out this cycle:
        between the store to `X` and the load of `Y` in line 1 (T1)
        after line 4 and before line 3 (T2)
      or use `Ordering::SeqCst` for the stores in lines 1 and 4
";
    assert!(text.contains(help), "{text}");
}
