//! A check that is interrupted and run again has the results of one that is not interrupted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool as StdBool, AtomicU32 as StdU32, Ordering::SeqCst as Std};
use std::time::Duration;

use fencepost::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize};
use fencepost::sync::{Arc, Condvar, Mutex, mpsc};
use fencepost::{Checker, Outcome, Strategy, Target, hint, thread};

/// A folder for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static FOLDERS: StdU32 = StdU32::new(0);
        let number = FOLDERS.fetch_add(1, Std);
        let name = format!("fencepost-checkpoints-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("a.checkpoint")
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn checker() -> Checker {
    // Programs are often values here.
    Checker::new()
        .continue_after_failure(true)
        .progress(false)
        .name("a test")
}

/// All checks have the source location of this call.
fn run(checker: &Checker, program: fn()) -> Outcome {
    checker.run(program)
}

fn lost_updates() {
    let count = Arc::new(AtomicUsize::new(0));
    let add = |count: &AtomicUsize| count.store(count.load(Relaxed) + 1, Relaxed);
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || add(&count))
        })
        .collect();
    add(&count);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(count.load(SeqCst), 3);
}

/// Threads that make threads and objects, each of which several others use.
fn makers() {
    thread::scope(|scope| {
        let flags: Vec<_> = (0..2).map(|_| AtomicBool::new(false)).collect();
        let flags = Arc::new(flags);
        for own in 0..2 {
            let flags = Arc::clone(&flags);
            scope.spawn(move || {
                let mine = Arc::new(AtomicUsize::new(own).named("mine"));
                let also = Arc::clone(&mine);
                let child = thread::spawn(move || also.fetch_add(1, Relaxed));
                flags[own].store(true, Release);
                flags[1 - own].load(Acquire);
                mine.fetch_add(1, Relaxed);
                child.join().unwrap();
            });
        }
    });
}

fn waiting() {
    let shared = Arc::new((Mutex::new(false), Condvar::new()));
    let other = Arc::clone(&shared);
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        *other.0.lock().unwrap() = true;
        other.1.notify_one();
        sender.send(3).unwrap();
    });
    let mut is_set = shared.0.lock().unwrap();
    while !*is_set {
        is_set = shared.1.wait(is_set).unwrap();
    }
    drop(is_set);
    assert_eq!(receiver.recv(), Ok(3));
    thread.join().unwrap();
}

fencepost::lazy_static! {
    static ref TURN: AtomicUsize = AtomicUsize::new(0);
    static ref OTHER: Vec<AtomicUsize> = (0..2).map(AtomicUsize::new).collect();
}

fn statics_and_loops() {
    let thread = thread::spawn(|| {
        OTHER[1].store(5, Relaxed);
        TURN.store(1, Release);
    });
    while TURN.load(Acquire) == 0 {
        hint::spin_loop();
    }
    OTHER[0].load(Relaxed);
    OTHER[1].fetch_add(1, Relaxed);
    thread.join().unwrap();
}

/// The program asks whether a thread has finished, so the check restarts.
fn finished() {
    let thread = thread::spawn(|| TURN.fetch_add(1, Relaxed));
    if thread.is_finished() {
        TURN.fetch_add(1, Relaxed);
    }
    OTHER[0].fetch_add(1, Relaxed);
    thread.join().unwrap();
}

struct Counts(Arc<AtomicUsize>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// The last drop is visible, so the check restarts.
fn drops() {
    let count = Arc::new(AtomicUsize::new(0));
    let counts = Arc::new(Counts(Arc::clone(&count)));
    let also = Arc::clone(&counts);
    let thread = thread::spawn(move || drop(also));
    drop(counts);
    count.load(Relaxed);
    thread.join().unwrap();
    assert_eq!(count.load(Relaxed), 1);
}

fn counter() {
    count(3);
}

/// Each of these threads counts twice.
fn count(threads: usize) {
    let count = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || {
                count.fetch_add(1, Relaxed);
                count.fetch_add(1, Relaxed);
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

const PROGRAMS: [fn(); 7] = [
    lost_updates,
    makers,
    waiting,
    statics_and_loops,
    finished,
    drops,
    counter,
];

/// Runs a check again and again until it is finished.
fn in_pieces(checker: &Checker, program: fn(), mut executions: impl FnMut() -> u64) -> Outcome {
    let folder = Folder::new();
    let checker = checker.clone().checkpoint(folder.file());
    for _ in 0..100_000 {
        let checker = checker.clone().max_executions(executions());
        let outcome = run(&checker, program);
        let is_stopped = outcome.to_string().contains("stopped after ");
        assert_eq!(folder.file().exists(), is_stopped, "{outcome}");
        if !is_stopped {
            assert_eq!(folder.files().len(), 0);
            return outcome;
        }
        assert_eq!(folder.files(), [folder.file()]);
    }
    panic!("it does not finish");
}

#[test]
fn interrupted_checks_have_the_same_outcome() {
    for target in [Target::X86, Target::Pso] {
        let checker = checker().target(target);
        for program in PROGRAMS {
            let whole = run(&checker, program);
            for piece in [1, 2, 5, 17] {
                let outcome = in_pieces(&checker, program, || piece);
                assert_eq!(outcome.to_string(), whole.to_string());
                assert_eq!(outcome.json(), whole.json());
                assert_eq!(outcome.abandoned(), whole.abandoned());
                assert_eq!(
                    outcome.borderline_executions(),
                    whole.borderline_executions()
                );
            }
        }
    }
}

/// A loop that gives up is found after the search, in the last piece.
#[test]
fn a_loop_that_gives_up_is_found_in_the_last_piece() {
    fn gives_up() {
        let ready = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&ready);
        let thread = thread::spawn(move || {
            count(2);
            other.store(1, Release);
        });
        for _ in 0..3 {
            if ready.load(Acquire) == 1 {
                thread.join().unwrap();
                return;
            }
            hint::spin_loop();
        }
        panic!("gave up");
    }
    let whole = run(&checker(), gives_up);
    assert!(whole.to_string().contains("gave up"), "{whole}");
    for piece in [1, 5] {
        let outcome = in_pieces(&checker(), gives_up, || piece);
        assert!(outcome.to_string().contains("gave up"), "{outcome}");
    }
}

#[test]
fn the_number_of_workers_may_change() {
    for program in PROGRAMS {
        let whole = run(&checker(), program);
        for piece in [3, 10, 40] {
            let mut workers = 0;
            let folder = Folder::new();
            let outcome = loop {
                workers = workers % 3 + 1;
                let checker = checker().workers(workers).checkpoint(folder.file());
                let outcome = run(&checker.max_executions(piece), program);
                if !folder.file().exists() {
                    break outcome;
                }
            };
            assert_eq!(outcome.executions(), whole.executions());
            assert_eq!(outcome.errors(), whole.errors());
            assert_eq!(outcome.violations(), whole.violations());
            assert_eq!(outcome.distinct_violations(), whole.distinct_violations());
            assert_eq!(outcome.findings().len(), whole.findings().len());
            assert_eq!(outcome.is_verified(), whole.is_verified());
        }
    }
}

#[test]
fn samples_can_be_resumed() {
    for strategy in [Strategy::Random, Strategy::Pct] {
        let checker = checker().strategy(strategy).executions(50).seed(3);
        for program in [lost_updates as fn(), waiting, counter] {
            let whole = run(&checker, program);
            let outcome = in_pieces(&checker, program, || 7);
            assert_eq!(outcome.to_string(), whole.to_string());
        }
    }
}

/// A store while there are more threads than the first numbers are for.
fn many_threads() {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let threads: Vec<_> = (0..6)
        .map(|number| {
            let flags = Arc::clone(&flags);
            thread::spawn(move || {
                if number < 2 {
                    flags[number].store(true, Relaxed);
                    flags[1 - number].load(Relaxed);
                }
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

/// A store that could wait for longer on PSO than it does here: who looks at the counts of an `Arc`
/// waits for it.
fn drained_too_much() {
    let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
    let kept = Arc::new(0);
    thread::scope(|scope| {
        for own in 0..2 {
            let (flags, kept) = (&flags, &kept);
            scope.spawn(move || {
                flags[own].store(true, Relaxed);
                Arc::get_mut(&mut Arc::clone(kept));
                flags[1 - own].load(Relaxed);
                flags[own].store(false, Relaxed);
            });
        }
    });
}

/// With store buffers too, and the result is as incomplete as without an interruption.
#[test]
fn checks_with_store_buffers_can_be_resumed() {
    for program in [lost_updates, many_threads, drained_too_much] as [fn(); 3] {
        for target in [Target::X86, Target::Pso] {
            let whole = checker().target(target).store_buffers(true);
            let expected = run(&whole, program);
            let outcome = in_pieces(&whole, program, || 7);
            assert_eq!(outcome.executions(), expected.executions(), "{outcome}");
            assert_eq!(outcome.errors(), expected.errors(), "{outcome}");
            assert_eq!(outcome.is_verified(), expected.is_verified(), "{outcome}");
            let is_less =
                std::ptr::fn_addr_eq(program, drained_too_much as fn()) && target == Target::Pso;
            assert!(!is_less || !outcome.is_verified(), "{outcome}");
        }
    }
}

/// A finding ends the check, and a program that was fixed is checked from the beginning.
#[test]
fn a_finding_leaves_no_file() {
    let folder = Folder::new();
    let checker = checker()
        .continue_after_failure(false)
        .checkpoint(folder.file())
        .checkpoint_every(Duration::ZERO);
    assert!(run(&checker, lost_updates).has_failed());
    assert_eq!(folder.files().len(), 0);
    assert!(run(&checker, counter).is_verified());
    assert_eq!(folder.files().len(), 0);
}

#[test]
fn in_a_folder_each_check_has_its_own_file() {
    let folder = Folder::new();
    let checker = checker().checkpoint(&folder.0).max_executions(3);
    checker.run(counter);
    checker.run(counter);
    let files = folder.files();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.contains("checkpoints.rs-"), "{name}");
        assert!(name.ends_with(".checkpoint"), "{name}");
    }
}

/// What captures values needs a name, and then another name is another check.
#[test]
fn captured_values_have_a_name() {
    let folder = Folder::new();
    let add = |times: u32| {
        move || {
            let count = AtomicU32::new(0);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| count.fetch_add(times, Relaxed));
                }
            });
        }
    };
    let nameless = || Checker::new().progress(false).max_executions(2);
    let text = panic_message_of(|| nameless().checkpoint(folder.file()).run(add(1)));
    assert!(
        text.contains("captures values") && text.contains("Checker::name"),
        "{text}"
    );
    // It has nothing to do with checks without checkpoints, and with programs without values.
    nameless().run(add(1));
    nameless().checkpoint(&folder.0).run(counter);
    assert_eq!(folder.files().len(), 1);

    let run_named = |name: &str, times| {
        let checker = nameless().name(name).checkpoint(folder.file());
        checker.run(add(times))
    };
    run_named("once", 1);
    let text = panic_message_of(|| run_named("twice", 2));
    assert!(
        text.contains("another check with the name \"once\""),
        "{text}"
    );
    // In a folder each has a file of its own.
    for times in 1..=2 {
        let checker = nameless().name(times.to_string()).checkpoint(&folder.0);
        checker.run(add(times));
    }
    assert_eq!(folder.files().len(), 4);
}

/// Programs of other types at the same place are other programs.
#[test]
fn generic_checks_are_told_apart() {
    trait Step: 'static {
        fn step(count: &AtomicU32);
    }
    struct One;
    struct Two;
    impl Step for One {
        fn step(count: &AtomicU32) {
            count.fetch_add(1, Relaxed);
        }
    }
    impl Step for Two {
        fn step(count: &AtomicU32) {
            count.fetch_add(2, Relaxed);
        }
    }
    fn run_in<S: Step>(path: &std::path::Path) -> Outcome {
        let checker = Checker::new().progress(false).max_executions(2);
        checker.checkpoint(path).run(|| {
            let count = AtomicU32::new(0);
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| S::step(&count));
                }
            });
        })
    }
    let folder = Folder::new();
    run_in::<One>(&folder.file());
    let text = panic_message_of(|| run_in::<Two>(&folder.file()));
    assert!(
        text.contains("another check at the same location"),
        "{text}"
    );
}

/// So are closures of one function, which have the same name.
#[test]
fn closures_are_told_apart() {
    fn run_in(path: &std::path::Path, program: impl Fn() + Send + Sync + 'static) -> Outcome {
        let checker = Checker::new().progress(false).max_executions(2);
        checker.checkpoint(path).run(program)
    }
    fn add(times: u32) {
        let count = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| count.fetch_add(times, Relaxed));
            }
        });
    }
    let folder = Folder::new();
    run_in(&folder.file(), || add(1));
    let text = panic_message_of(|| run_in(&folder.file(), || add(2)));
    assert!(
        text.contains("another check at the same location"),
        "{text}"
    );
}

/// A replayed execution has nothing to do with checkpoints.
#[test]
fn a_replay_touches_no_file() {
    let folder = Folder::new();
    let checker = checker().checkpoint(folder.file());
    run(&checker.clone().max_executions(3), counter);
    let before = std::fs::read(folder.file()).unwrap();
    checker.replay("0", counter);
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
}

/// The message of the panic of a check.
fn panic_message(checker: &Checker, program: fn()) -> String {
    panic_message_of(|| run(checker, program))
}

fn panic_message_of(run: impl FnOnce() -> Outcome) -> String {
    let result = catch_unwind(AssertUnwindSafe(run));
    let panic = result.expect_err("it is refused");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(_) => panic!("it panics with something else"),
    }
}

/// Where a text is in a file.
fn find(bytes: &[u8], text: &str) -> usize {
    let mut windows = bytes.windows(text.len());
    windows
        .position(|window| window == text.as_bytes())
        .unwrap()
}

/// Gives a checkpoint that was changed a correct length and checksum.
fn reseal(bytes: &mut [u8]) {
    let length = bytes.len() as u64 - 28;
    bytes[16..24].copy_from_slice(&length.to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..24]);
    hasher.update(&bytes[28..]);
    bytes[24..28].copy_from_slice(&hasher.finalize().to_le_bytes());
}

fn refusal(file: &Path, why: &str) -> String {
    format!(
        "cannot resume from {}: {why}\nhelp: delete the file to check from the beginning",
        file.display()
    )
}

/// A check of [`counter`] that was interrupted.
struct Interrupted {
    checker: Checker,
    file: PathBuf,
    /// What is in the file.
    bytes: Vec<u8>,
    _folder: Folder,
}

impl Interrupted {
    fn new() -> Self {
        let folder = Folder::new();
        let file = folder.file();
        let checker = checker().checkpoint(&file);
        run(&checker.clone().max_executions(3), counter);
        let bytes = std::fs::read(&file).unwrap();
        Interrupted {
            checker,
            file,
            bytes,
            _folder: folder,
        }
    }

    fn write(&self, bytes: &[u8]) {
        std::fs::write(&self.file, bytes).unwrap();
    }

    #[track_caller]
    fn assert_refuses(&self, checker: &Checker, program: fn(), why: &str) {
        assert_eq!(panic_message(checker, program), refusal(&self.file, why));
    }

    #[track_caller]
    fn assert_refuses_file(&self, bytes: &[u8], why: &str) {
        self.write(bytes);
        self.assert_refuses(&self.checker, counter, why);
    }

    /// Changes what is behind a text, with a correct checksum.
    #[track_caller]
    fn assert_refuses_forged(&self, behind: &str, change: fn(&mut [u8]), why: &str) {
        let mut bytes = self.bytes.clone();
        let at = find(&bytes, behind) + behind.len();
        change(&mut bytes[at..]);
        reseal(&mut bytes);
        self.assert_refuses_file(&bytes, why);
    }

    /// The refused have left the file as it is, and with it the check goes on to its end.
    #[track_caller]
    fn assert_finishes(&self) {
        assert!(run(&self.checker, counter).is_verified());
        assert!(!self.file.exists());
    }
}

#[test]
fn other_settings_are_refused() {
    let check = Interrupted::new();
    let checker = || check.checker.clone();
    check.assert_refuses(
        &checker().target(Target::Pso),
        counter,
        "the checkpoint was made with another setting (target was x86, now it is pso)",
    );
    check.assert_refuses(
        &checker().strategy(Strategy::Random).executions(2000),
        counter,
        "the checkpoint was made with another setting (strategy was exhaustive, now it is random (seed 0, executions 2000))",
    );
    let again = run(&checker().max_executions(4), counter).to_string();
    assert!(again.contains("stopped after 4 more executions"), "{again}");
    check.write(&check.bytes);
    check.assert_refuses(
        &checker().stack_size(1 << 20),
        counter,
        "the checkpoint was made with another setting (stack_size was 262144, now it is 1048576)",
    );
    check.assert_refuses(
        &checker().spurious_wakeups(false),
        counter,
        "the checkpoint was made with another setting (spurious_wakeups was on, now it is off)",
    );
    check.assert_finishes();
}

#[test]
fn other_checks_are_refused() {
    let check = Interrupted::new();
    check.assert_refuses(
        &check.checker,
        lost_updates,
        "the program has changed since the checkpoint, or is not deterministic (its first \
         execution differs from the one when the checkpoint was made)",
    );
    let elsewhere = catch_unwind(AssertUnwindSafe(|| check.checker.run(counter)));
    let elsewhere = *elsewhere.unwrap_err().downcast::<String>().unwrap();
    assert!(
        elsewhere.contains("the checkpoint is of another check, at "),
        "{elsewhere}"
    );
    check.assert_finishes();
}

#[test]
fn damaged_files_are_refused() {
    let check = Interrupted::new();
    let half = check.bytes.len() / 2;
    check.assert_refuses_file(&check.bytes[..half], "the checkpoint is truncated");
    let mut flipped = check.bytes.clone();
    flipped[half] ^= 1;
    check.assert_refuses_file(&flipped, "the checkpoint is damaged (checksum mismatch)");
    check.assert_refuses_file(b"\xff\xfe", "not a Fencepost checkpoint");
    // After the name there is the length of the value.
    check.assert_refuses_forged(
        "executable",
        |rest| rest[1] ^= 1,
        "the checkpoint was made by another build of the program",
    );
    check.assert_refuses_forged(
        "park token",
        |rest| rest[0] ^= 1,
        "the checkpoint is damaged (malformed contents)",
    );
    check.assert_refuses_forged(
        "park toke",
        |rest| rest[0] = b'm',
        "the checkpoint is damaged (wrong table of objects)",
    );
    check.write(&check.bytes);
    check.assert_finishes();
}

/// Bytes that are cut off, changed or inserted behind a correct checksum are refused or harmless,
/// and never make the check panic with anything but a refusal.
#[test]
fn forged_files_are_refused_or_harmless() {
    let folder = Folder::new();
    let file = folder.file();
    let checker = checker().checkpoint(&file);
    run(&checker.clone().max_executions(3), lost_updates);
    let bytes = std::fs::read(&file).unwrap();
    let whole = run(&self::checker(), lost_updates).executions();
    let mut number = 0_u64;
    let mut random = |below: usize| {
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (number >> 33) as usize % below
    };
    let (mut refused, mut harmless) = (0, 0);
    for round in 0..1500 {
        let mut forged = bytes.clone();
        let at = 28 + random(bytes.len() - 28);
        match round % 8 {
            0 => forged.truncate(at),
            1 => drop(forged.splice(at..at, [0xff, 0xff, 0xff, 0xff, 0x0f])),
            2 => forged[at] = [0, 1, 2, 0x7f][random(4)],
            _ => forged[at] ^= 1 << random(8),
        }
        reseal(&mut forged);
        std::fs::write(&file, forged).unwrap();
        // A forged count may leave the check with any result, but a changed table of ids is
        // noticed.
        match catch_unwind(AssertUnwindSafe(|| run(&checker, lost_updates))) {
            Ok(outcome) => harmless += u32::from(outcome.executions() >= whole.min(3)),
            Err(panic) => {
                let text = *panic.downcast::<String>().unwrap();
                assert!(text.starts_with("cannot resume from "), "{text}");
                refused += 1;
            }
        }
    }
    assert!(refused > 700 && harmless > 50, "{refused} {harmless}");
}

#[test]
fn impossible_settings_are_reported_at_once() {
    let folder = Folder::new();
    let nowhere = folder.0.join("no/such/folder/a.checkpoint");
    let text = panic_message(&checker().checkpoint(&nowhere), counter);
    let start = format!("cannot write the checkpoint file {}: ", nowhere.display());
    assert!(text.starts_with(&start), "{text}");
    let bounded = checker().preemption_bound(1).checkpoint(folder.file());
    assert_eq!(
        panic_message(&bounded, counter),
        format!(
            "cannot save checkpoints to {}: a search with a preemption bound has no checkpoints\n\
             help: choose another strategy, or set no checkpoint file",
            folder.file().display()
        )
    );
}

/// The message of a check that must not wait for the file: to read a device may never end, and to open a pipe may wait.
#[cfg(unix)]
fn message_without_waiting(path: &Path) -> String {
    let path = path.to_owned();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let text = panic_message(&checker().checkpoint(&path), counter);
        // The test may have failed meanwhile.
        let _ = sender.send(text);
    });
    let text = receiver.recv_timeout(Duration::from_secs(60));
    text.expect("the check is refused, and does not wait")
}

#[cfg(unix)]
#[test]
fn only_a_regular_file_is_a_checkpoint() {
    let assert_refused = |path: &Path, found: &str| {
        let why = format!("expected a regular file, found {found}");
        let text = message_without_waiting(path);
        let start = format!("cannot write the checkpoint file {}: {why}", path.display());
        assert!(text.starts_with(&start), "{text}");
    };
    assert_refused(Path::new("/dev/zero"), "a device");
    let folder = Folder::new();
    let pipe = folder.0.join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    assert_refused(&pipe, "a named pipe");

    // In a folder the check has a file of its own, which may not be a directory.
    let folder = Folder::new();
    run(&checker().checkpoint(&folder.0).max_executions(3), counter);
    let file = folder.files().remove(0);
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    let text = panic_message(&checker().checkpoint(&folder.0), counter);
    let why = "expected a regular file, found a directory";
    let start = format!("cannot write the checkpoint file {}: {why}", file.display());
    assert!(text.starts_with(&start), "{text}");
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_a_note() {
    let checked = |checker: Checker| {
        let folder = Folder::new();
        let path = folder.0.clone();
        let checker = checker.checkpoint(folder.file());
        let outcome = checker.run(move || {
            // The file could be written at the start of the check.
            let _ = std::fs::remove_dir_all(&path);
            count(3);
        });
        let note = format!(
            "the last checkpoint could not be written to {}: ",
            folder.file().display()
        );
        assert!(outcome.to_string().contains(&note), "{outcome}");
        assert!(outcome.json().contains(&note), "{}", outcome.json());
        outcome
    };
    let stopped = checked(checker().max_executions(3));
    assert!(matches!(stopped, Outcome::Incomplete(_)), "{stopped}");
    let outcome = checked(checker().checkpoint_every(Duration::ZERO));
    assert!(outcome.is_verified(), "{outcome}");
}

static IS_CHANGED: StdBool = StdBool::new(false);

/// Changes where the first execution does not go.
fn changing() {
    let flag = Arc::new(AtomicUsize::new(0));
    let value = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (flag, value) = (Arc::clone(&flag), Arc::clone(&value));
            thread::spawn(move || {
                let seen = flag.fetch_add(1, Relaxed);
                value.fetch_add(seen, Relaxed);
                flag.fetch_add(1, Relaxed);
            })
        })
        .collect();
    if flag.load(Relaxed) > 0 && IS_CHANGED.load(Std) {
        value.store(7, Relaxed);
    }
    value.load(Relaxed);
    for thread in threads {
        thread.join().unwrap();
    }
}

/// The path on which the check was is run again, and what it has planned must fit.
#[test]
fn a_program_that_changed_elsewhere_is_noticed_on_the_way() {
    let folder = Folder::new();
    let checker = checker().checkpoint(folder.file());
    let whole = run(&Checker::new().continue_after_failure(true), changing).executions();
    // Far enough for the main thread to come late.
    run(&checker.clone().max_executions(whole - 2), changing);
    IS_CHANGED.store(true, Std);
    let text = panic_message(&checker, changing);
    IS_CHANGED.store(false, Std);
    assert!(
        text.contains("the program has changed since the checkpoint"),
        "{text}"
    );
    assert!(folder.file().exists());
    assert_eq!(run(&checker, changing).executions(), whole);
}

/// A program with more executions than a process of the test below can run.
fn long() {
    count(4);
}

/// Not a test by itself: the process that is killed.
#[test]
fn child() {
    let Some(path) = std::env::var_os("CHECKPOINTS_CHILD") else {
        return;
    };
    let checker = checker()
        .checkpoint(PathBuf::from(path))
        .checkpoint_every(Duration::from_millis(1));
    println!("{}", run(&checker, long));
}

/// Processes are killed at any time; the last one finishes.
#[test]
fn a_killed_process_can_be_resumed() {
    let folder = Folder::new();
    let whole = run(&checker(), long);
    assert_eq!(whole.executions(), 2520);
    let mut resumed = 0;
    for milliseconds in (1..).map(|number| 10 * number) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env("CHECKPOINTS_CHILD", folder.file())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if resumed == 0 {
            // However long it takes to start: the first one writes a checkpoint.
            while !folder.file().exists() && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        } else {
            std::thread::sleep(Duration::from_millis(milliseconds));
        }
        // Not at all, if it is done.
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            let printed = String::from_utf8(output.stdout).unwrap();
            let summary = whole.to_string();
            assert!(printed.contains(summary.trim()), "{printed}\n{summary}");
            break;
        }
        resumed += u32::from(folder.file().exists());
    }
    assert!(!folder.file().exists());
    assert!(
        resumed > 0,
        "no process was killed after its first checkpoint"
    );
}
