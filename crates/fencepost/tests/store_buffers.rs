//! Programs that are run with store buffers (`Checker::store_buffers`): what random programs can read is exactly what
//! the machines of `fencepost-memory` let them read, and each of it is run once at least.
//!
//! `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fencepost::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU64, fence};
use fencepost::{Checker, Consequence, Outcome, Target, thread};
use fencepost_memory::program::{ProgramShape, StraightLineProgram};
use fencepost_memory::{Operation, Random};

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// What no variable ever holds.
const NEVER: u64 = u64::MAX;

/// What each thread has read, in order, and what memory holds in the end.
type Seen = (Vec<Vec<u64>>, Vec<u64>);

/// The value that an operation writes is that of no other one.
fn value(thread: usize, index: usize) -> u64 {
    (thread * 100 + index + 1) as u64
}

fn perform(operation: Operation, own: u64, memory: &[AtomicU64]) -> Option<u64> {
    match operation {
        Operation::Load(a) => Some(memory[a.index()].load(Relaxed)),
        Operation::Store(a) => {
            memory[a.index()].store(own, Relaxed);
            None
        }
        Operation::Interlocked(a) => Some(memory[a.index()].swap(own, Relaxed)),
        Operation::LockedLoad(a) => {
            let failed = memory[a.index()].compare_exchange(NEVER, 0, Relaxed, Relaxed);
            Some(failed.unwrap_err())
        }
        Operation::LockedStore(a) => {
            memory[a.index()].store(own, SeqCst);
            None
        }
        Operation::Fence => {
            fence(SeqCst);
            None
        }
        Operation::StoreBarrier => {
            fence(Release);
            None
        }
    }
}

/// The program as a closure, which tells `see` what it has seen.
fn closure(
    program: &StraightLineProgram,
    see: impl Fn(Seen) + Send + Sync + 'static,
) -> impl Fn() + Send + Sync + 'static {
    let (program, addresses) = (program.clone(), program.address_count());
    move || {
        let memory: Vec<_> = (0..addresses).map(|_| AtomicU64::new(0)).collect();
        let memory = Arc::new(memory);
        let threads: Vec<_> = (program.threads.iter().cloned().enumerate())
            .map(|(thread, operations)| {
                let memory = Arc::clone(&memory);
                thread::spawn(move || {
                    let operations = operations.into_iter().enumerate();
                    let reads = operations.filter_map(|(index, operation)| {
                        perform(operation, value(thread, index), &memory)
                    });
                    reads.collect::<Vec<u64>>()
                })
            })
            .collect();
        let reads = threads.into_iter().map(|t| t.join().unwrap()).collect();
        let last = memory.iter().map(|variable| variable.load(Relaxed));
        see((reads, last.collect()));
    }
}

/// Runs the program and collects what is seen.
fn seen(program: &StraightLineProgram, checker: &Checker) -> (BTreeSet<Seen>, Outcome) {
    let all = Arc::new(Mutex::new(BTreeSet::new()));
    let kept = Arc::clone(&all);
    let outcome = checker.run(closure(program, move |seen| {
        kept.lock().unwrap().insert(seen);
    }));
    let all = std::mem::take(&mut *all.lock().unwrap());
    (all, outcome)
}

/// A machine with store buffers, with values, that knows nothing of the library.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    next: Vec<usize>,
    reads: Vec<Vec<u64>>,
    /// Address, value and how many barriers came before, oldest first.
    buffers: Vec<Vec<(usize, u64, u32)>>,
    barriers: Vec<u32>,
    memory: Vec<u64>,
}

impl State {
    fn new(program: &StraightLineProgram) -> State {
        let threads = program.threads.len();
        State {
            next: vec![0; threads],
            reads: vec![Vec::new(); threads],
            buffers: vec![Vec::new(); threads],
            barriers: vec![0; threads],
            memory: vec![0; program.address_count()],
        }
    }

    /// Which of a thread's buffered stores can go to memory.
    fn committable(&self, thread: usize, target: Target) -> Vec<usize> {
        let buffer = &self.buffers[thread];
        let can_go = |&at: &usize| {
            let (address, _, barriers) = buffer[at];
            buffer[..at].iter().all(|&(other, _, before)| {
                target == Target::Pso && other != address && before == barriers
            })
        };
        (0..buffer.len()).filter(can_go).collect()
    }

    /// The thread's next operation, unless it has to wait.
    fn issue(&self, program: &StraightLineProgram, thread: usize, target: Target) -> Option<State> {
        let index = self.next[thread];
        let operation = *program.threads[thread].get(index)?;
        let own = value(thread, index);
        let buffer = &self.buffers[thread];
        let address = operation.address().map_or(usize::MAX, |a| a.index());
        let is_own_empty = buffer
            .iter()
            .all(|&(other, _, before)| other != address && before == self.barriers[thread]);
        let can_go = match (operation, target) {
            (Operation::Load(_) | Operation::Store(_) | Operation::StoreBarrier, _) => true,
            // A SeqCst store drains everything.
            (Operation::Fence | Operation::LockedStore(_), _) | (_, Target::X86) => {
                buffer.is_empty()
            }
            _ => is_own_empty,
        };
        if !can_go {
            return None;
        }
        let mut state = self.clone();
        state.next[thread] += 1;
        let newest = buffer.iter().rfind(|(other, _, _)| *other == address);
        match operation {
            Operation::Load(_) => {
                let read = newest.map_or_else(|| self.memory[address], |&(_, value, _)| value);
                state.reads[thread].push(read);
            }
            Operation::Store(_) => {
                state.buffers[thread].push((address, own, self.barriers[thread]));
            }
            Operation::Interlocked(_) => {
                state.reads[thread].push(self.memory[address]);
                state.memory[address] = own;
            }
            Operation::LockedLoad(_) => state.reads[thread].push(self.memory[address]),
            Operation::LockedStore(_) => state.memory[address] = own,
            Operation::Fence => {}
            Operation::StoreBarrier => state.barriers[thread] += 1,
        }
        Some(state)
    }

    fn commit(&self, thread: usize, at: usize) -> State {
        let mut state = self.clone();
        let (address, value, _) = state.buffers[thread].remove(at);
        state.memory[address] = value;
        state
    }

    fn successors(&self, program: &StraightLineProgram, target: Target) -> Vec<State> {
        let mut all = Vec::new();
        for thread in 0..self.next.len() {
            all.extend(self.issue(program, thread, target));
            let commits = self.committable(thread, target);
            all.extend(commits.into_iter().map(|at| self.commit(thread, at)));
        }
        all
    }
}

/// All that the machine lets the program see.
fn expected(program: &StraightLineProgram, target: Target) -> BTreeSet<Seen> {
    let mut seen = BTreeSet::new();
    let mut known = BTreeSet::from([State::new(program)]);
    let mut open: Vec<State> = known.iter().cloned().collect();
    while let Some(state) = open.pop() {
        let successors = state.successors(program, target);
        if successors.is_empty() {
            seen.insert((state.reads, state.memory));
            continue;
        }
        for next in successors {
            if known.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    seen
}

fn random_program(random: &mut Random) -> StraightLineProgram {
    let shapes = [(2, 4, 2), (3, 3, 3), (2, 5, 3), (4, 2, 2)];
    let (threads, operations, addresses) = shapes[random.below(4) as usize];
    let shape = ProgramShape {
        threads,
        operations,
        addresses,
    };
    StraightLineProgram::random(random, shape)
}

fn seeds(programs: u64) -> std::ops::Range<u64> {
    let first = number_from("FENCEPOST_TEST_SEED", 0);
    first..first + number_from("FENCEPOST_TEST_PROGRAMS", programs)
}

fn agrees(target: Target, programs: u64) {
    let mut beyond_sc = 0;
    for seed in seeds(programs) {
        let program = random_program(&mut Random::new(seed));
        let checker = Checker::new().target(target);
        let with_buffers = checker.clone().store_buffers(true);
        let (found, outcome) = seen(&program, &with_buffers);
        assert!(outcome.is_verified(), "seed {seed}: {outcome}");
        let expected = expected(&program, target);
        assert_eq!(found, expected, "seed {seed}: {program:?}");
        let (without, outcome) = seen(&program, &checker.continue_after_failure(true));
        assert!(without.is_subset(&expected), "seed {seed}: {program:?}");
        // What is read says less than the trace.
        let is_safe = outcome.is_verified();
        assert!(!is_safe || without == expected, "seed {seed}: {program:?}");
        beyond_sc += u64::from(without != expected);
    }
    assert!(beyond_sc > 0, "no program shows store buffers");
}

#[test]
fn what_is_seen_on_x86_is_what_the_machine_lets_see() {
    agrees(Target::X86, 600);
}

#[test]
fn what_is_seen_on_pso_is_what_the_machine_lets_see() {
    agrees(Target::Pso, 600);
}

/// A program that asserts that it sees what it could see without store buffers: whether a violation is harmful is
/// known.
fn consequences_are_known(target: Target, programs: u64) {
    let (mut harmful, mut harmless) = (0, 0);
    for seed in seeds(programs) {
        let program = random_program(&mut Random::new(seed));
        let checker = Checker::new().target(target);
        let (without, outcome) = seen(&program, &checker.clone().continue_after_failure(true));
        if outcome.is_verified() {
            continue;
        }
        let is_harmful = !expected(&program, target).is_subset(&without);
        let check = move |seen| assert!(without.contains(&seen), "it saw {seen:?}");
        let outcome = checker.confirm(true).run(closure(&program, check.clone()));
        let finding = &outcome.findings()[0];
        let expected = match is_harmful {
            true => Consequence::Failure,
            false => Consequence::Benign,
        };
        let consequence = finding.consequence();
        assert_eq!(
            consequence,
            Some(expected),
            "seed {seed}: {program:?}\n{outcome}"
        );
        if !is_harmful {
            harmless += 1;
            continue;
        }
        harmful += 1;
        assert!(
            finding.report().contains("it saw"),
            "seed {seed}: {outcome}"
        );
        // The execution that goes wrong can be replayed.
        let json: serde_json::Value = serde_json::from_str(finding.json()).unwrap();
        let schedule = json["consequence"]["finding"]["schedule"].as_str().unwrap();
        let checker = Checker::new().target(target).store_buffers(true);
        let again = checker.replay(schedule, closure(&program, check));
        assert!(
            matches!(again, Outcome::ProgramError(_)),
            "seed {seed}: {again}"
        );
        assert_eq!(again.executions(), 1);
    }
    assert!(
        harmful > 0 && harmless > 0,
        "{harmful} harmful, {harmless} harmless"
    );
}

#[test]
fn what_comes_of_violations_on_x86_is_what_the_machine_shows() {
    consequences_are_known(Target::X86, 600);
}

#[test]
fn what_comes_of_violations_on_pso_is_what_the_machine_shows() {
    consequences_are_known(Target::Pso, 600);
}

/// Fences that are tried are fences with store buffers too.
#[test]
fn fences_that_are_tried_drain_buffers() {
    fn store_buffering() {
        let flags = [AtomicU64::new(0), AtomicU64::new(0)];
        let flags = Arc::new(flags);
        let threads = [0, 1].map(|own| {
            let flags = Arc::clone(&flags);
            thread::spawn(move || {
                flags[own].store(1, Relaxed);
                flags[1 - own].load(Relaxed)
            })
        });
        let seen = threads.map(|thread| thread.join().unwrap());
        assert_ne!(seen, [0, 0], "neither has seen the other");
    }
    for target in [Target::X86, Target::Pso] {
        let checker = Checker::new().target(target);
        let fences = checker.run_fence_inference(store_buffering);
        let fences = fences.needed().unwrap().fences().to_vec();
        let with_buffers = checker.store_buffers(true);
        let without = with_buffers.run(store_buffering);
        assert!(matches!(without, Outcome::ProgramError(_)), "{without}");
        let mut fenced = with_buffers;
        for place in &fences {
            fenced = fenced.insert_fence(place.position(), place.strength());
        }
        let outcome = fenced.run(store_buffering);
        assert!(outcome.is_verified(), "{outcome}");
    }
}

/// What a thread sees of a variable without an operation is what it would load.
#[test]
fn debug_shows_what_is_seen() {
    let outcome = Checker::new().store_buffers(true).run(|| {
        let x = Arc::new(AtomicU64::new(0));
        let y = Arc::clone(&x);
        let thread = thread::spawn(move || {
            y.store(1, Relaxed);
            assert_eq!(format!("{y:?}"), "1");
        });
        thread.join().unwrap();
        assert_eq!(format!("{x:?}"), "1");
        // SAFETY: nobody else has it.
        #[allow(unsafe_code)]
        let through_pointer = unsafe { *x.as_ptr() };
        assert_eq!(through_pointer, 1);
    });
    assert!(outcome.is_verified(), "{outcome}");
}

/// A loop that stores what is there already only waits.
#[test]
fn loops_that_store_the_same_only_wait() {
    for store_buffers in [false, true] {
        let checker = Checker::new().store_buffers(store_buffers);
        let outcome = checker.run(|| {
            let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            let others = Arc::clone(&flags);
            let thread = thread::spawn(move || others[0].store(1, Relaxed));
            while flags[0].load(Relaxed) == 0 {
                flags[1].store(1, Relaxed);
                thread::yield_now();
            }
            thread.join().unwrap();
        });
        assert!(outcome.is_verified(), "{outcome}");
    }
}

/// Half of store buffering, and the other half begun: this thread has stored, and the other one stores and loads.
fn store_and_spawn() -> (Arc<[AtomicU64; 2]>, thread::JoinHandle<u64>) {
    let flags = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let others = Arc::clone(&flags);
    let thread = thread::spawn(move || {
        others[0].store(1, Relaxed);
        others[1].load(Relaxed)
    });
    flags[1].store(1, Relaxed);
    (flags, thread)
}

/// An assertion that fails in any case is not laid at the door of store buffers.
#[test]
fn what_is_wrong_anyway_is_called_that() {
    let outcome = Checker::new().confirm(true).run(|| {
        let (flags, thread) = store_and_spawn();
        flags[0].load(Relaxed);
        thread.join().unwrap();
        panic!("wrong in any case");
    });
    let finding = &outcome.findings()[0];
    assert!(finding.is_store_buffer(), "{outcome}");
    let consequence = finding.consequence();
    assert_eq!(consequence, Some(Consequence::FailureUnderSc), "{outcome}");
    let report = outcome.to_string();
    assert!(report.contains("without store buffers too"), "{report}");
}

/// What is found in executions in which less is visible than in others is reported too.
#[test]
fn what_turns_out_to_be_visible_late_does_not_hide_harm() {
    let outcome = Checker::new().confirm(true).run(|| {
        let (flags, thread) = store_and_spawn();
        let seen = flags[0].load(Relaxed);
        if seen == 1 {
            thread.is_finished();
        }
        let other = thread.join().unwrap();
        assert!(seen + other > 0, "neither has seen the other");
    });
    let consequence = outcome.findings()[0].consequence();
    assert_eq!(consequence, Some(Consequence::Failure), "{outcome}");
}

/// Loops that are taken to wait only are said to be.
#[test]
fn harmless_says_what_it_rests_on() {
    let outcome = Checker::new().confirm(true).run(|| {
        let (flags, thread) = store_and_spawn();
        while flags[0].load(Relaxed) == 0 {
            thread::yield_now();
        }
        thread.join().unwrap();
    });
    let finding = &outcome.findings()[0];
    assert_eq!(
        finding.consequence(),
        Some(Consequence::Benign),
        "{outcome}"
    );
    assert!(
        finding.report().contains("assumes: spin loops only wait"),
        "{outcome}"
    );
}

#[test]
fn contradictions_are_refused() {
    let refused = |checker: Checker| {
        let result = std::panic::catch_unwind(|| checker.run(|| ()));
        let payload = result.expect_err("it is refused");
        let message = payload.downcast_ref::<String>().expect("a message");
        message.clone()
    };
    let message = refused(Checker::new().confirm(true).monitor(false));
    assert!(message.contains("monitor(false)"), "{message}");
    let message = refused(Checker::new().confirm(true).store_buffers(true));
    assert!(message.contains("store_buffers"), "{message}");
}

/// An attempt that fails is a load, and waits for nothing on the machine. Where it does here, that is said.
#[test]
fn waiting_for_too_much_is_no_proof() {
    for target in [Target::X86, Target::Pso] {
        let outcome = Checker::new().target(target).store_buffers(true).run(|| {
            let lock = fencepost::sync::RwLock::new(());
            let _guard = lock.write().unwrap();
            let (x, y) = (AtomicU64::new(0), AtomicU64::new(0));
            let (mut one, mut two) = (0, 0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    x.store(1, Relaxed);
                    fence(Release);
                    assert!(lock.try_write().is_err());
                    one = y.load(Relaxed);
                });
                scope.spawn(|| {
                    y.store(1, Relaxed);
                    fence(SeqCst);
                    two = x.load(Relaxed);
                });
            });
            assert!(one + two > 0);
        });
        assert!(!outcome.is_verified(), "{target:?}: {outcome}");
    }
}

/// What comes of an attempt that looks too early is among what the library does not run: that is said, and not that
/// `store_buffers` would.
#[test]
fn what_cannot_be_run_is_not_said_to_be_run() {
    let outcome = Checker::new().confirm(true).run(|| {
        let lock = fencepost::sync::RwLock::new(());
        let x = AtomicU64::new(0);
        let guard = lock.write().unwrap();
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                x.store(1, Relaxed);
                lock.try_read().is_ok()
            });
            drop(guard);
            let seen = x.load(Relaxed);
            assert!(thread.join().unwrap() || seen == 1);
        });
    });
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    assert!(text.contains("which Fencepost cannot explore"), "{text}");
    assert!(!text.contains("explore them all"), "{text}");
    let consequence = outcome.findings()[0].consequence();
    assert_eq!(consequence, Some(Consequence::Inconclusive));
}

/// More threads than the first numbers are for.
#[test]
fn many_threads_have_numbers() {
    let outcome = Checker::new().store_buffers(true).run(|| {
        let last = Arc::new(AtomicU64::new(0));
        let threads: Vec<_> = (0..40)
            .map(|_| {
                let last = Arc::clone(&last);
                let thread = thread::spawn(move || last.store(1, Relaxed));
                thread.join().unwrap();
            })
            .collect();
        assert_eq!((threads.len(), last.load(Relaxed)), (40, 1));
    });
    assert!(outcome.is_verified(), "{outcome}");
}
