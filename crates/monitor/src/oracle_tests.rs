//! The monitors against brute force.
//!
//! For random straight-line programs, the store-buffer machine is run in every possible way
//! and each complete trace is tested for a happens-before cycle: that is the truth. The
//! monitors see sequentially consistent interleavings only, and their verdict is compared
//! twice: over all interleavings, and over one per equivalence class, where an adversary
//! picks the representative on which the monitor is silent if there is one.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other programs and more of them.

use std::sync::Mutex;

use fencepost_memory::machine::emits_non_sc_trace;
use fencepost_memory::{
    Access, Address, Drain, Event, LockedDrains, MemoryModel, Operation, OperationKind,
    ProgramShape, Random, StraightLineProgram, ThreadId, Trace, axioms,
};
use rustc_hash::FxHashMap;

use crate::relaxed_order::{ByAddress, ByWriter, Grouping, Mutation};
use crate::runner::{MonitorLimits, MonitorRunner};
use crate::{
    BssPso, BssTso, Monitor, Relation, RelaxedOrderMonitor, Sober, check_interleaving,
    explain_interleaving,
};

const DEFAULT_SEED: u64 = 20_080_131;
const DEFAULT_PROGRAMS: usize = 24_000;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Err(_) => default,
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
    }
}

/// What the monitor says of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Verdict {
    /// There is an interleaving on which it reports a violation.
    over_all: bool,
    /// There is an equivalence class on all of whose interleavings it does.
    over_any_representatives: bool,
}

impl Verdict {
    const UNSAFE: Verdict = Verdict {
        over_all: true,
        over_any_representatives: true,
    };
    const SAFE: Verdict = Verdict {
        over_all: false,
        over_any_representatives: false,
    };
}

/// Two interleavings are equivalent if they have the same trace: the same coherence index
/// for the same event.
fn class_of(accesses: &[Access], threads: usize) -> u128 {
    let trace = Trace::of_interleaving(accesses);
    assert!(trace.events().len() <= 32 && threads <= 4);
    let mut key = 0;
    for list in trace.by_thread() {
        for position in list {
            let index = trace.events()[position].coherence.0;
            assert!(index < 16);
            key = key << 4 | u128::from(index);
        }
    }
    key
}

fn runner_of<M: Monitor>(monitor: M) -> MonitorRunner<M> {
    let limits = MonitorLimits {
        witness_window: 64,
        ..MonitorLimits::default()
    };
    MonitorRunner::with_limits(monitor, limits)
}

/// Runs the monitor over every interleaving. The first violation of the first few
/// interleavings that have one is explained, so that its witness is checked.
fn try_verdict<M: Monitor>(
    runner: &mut MonitorRunner<M>,
    program: &StraightLineProgram,
) -> Result<Verdict, String> {
    let mut failure = None;
    let mut classes: FxHashMap<u128, bool> = FxHashMap::default();
    let mut explanations = 3;
    program.for_each_interleaving(|accesses| {
        runner.reset();
        let mut reported = false;
        for &access in accesses {
            let violation = runner.observe(access).expect("no memory limit");
            if let Some(violation) = violation {
                reported = true;
                if explanations > 0 {
                    explanations -= 1;
                    if let Err(error) = runner.explain(&violation) {
                        failure = Some(format!("{error}\n{violation:?}\nin {accesses:?}"));
                    }
                }
            }
        }
        let class = class_of(accesses, program.threads.len());
        *classes.entry(class).or_insert(true) &= reported;
        if reported {
            // Also counts where every class has a silent representative.
            *classes.entry(u128::MAX).or_insert(false) = false;
        }
    });
    let verdict = Verdict {
        over_all: classes.contains_key(&u128::MAX),
        over_any_representatives: classes.values().any(|&always| always),
    };
    failure.map_or(Ok(verdict), Err)
}

fn verdict<M: Monitor>(runner: &mut MonitorRunner<M>, program: &StraightLineProgram) -> Verdict {
    try_verdict(runner, program).unwrap_or_else(|failure| panic!("{failure}"))
}

fn random_program(random: &mut Random) -> StraightLineProgram {
    let (threads, operations) = match random.below(16) {
        0..7 => (2, 5),
        7..14 => (3, 3),
        14 => (2, 6),
        _ => (4, 2),
    };
    let addresses = 2 + random.below(2) as u32;
    StraightLineProgram::random(
        random,
        ProgramShape {
            threads,
            operations,
            addresses,
        },
    )
}

/// Calls `test` with every random program, on all cores, and prints the program and the
/// seed if it panics.
fn for_each_random_program(programs: usize, test: impl Fn(&StraightLineProgram) + Sync) {
    let seed = setting("FENCEPOST_SEED", DEFAULT_SEED);
    let random = Mutex::new((Random::new(seed), 0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let program = {
                        let mut guard = random.lock().unwrap_or_else(|e| e.into_inner());
                        let (random, made) = &mut *guard;
                        if *made == programs {
                            break;
                        }
                        *made += 1;
                        random_program(random)
                    };
                    let result =
                        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&program)));
                    if let Err(panic) = result {
                        eprintln!("FENCEPOST_SEED={seed}, program {:?}", program.threads);
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
}

fn truth(model: &MemoryModel, program: &StraightLineProgram) -> Verdict {
    match emits_non_sc_trace(model, program) {
        Some(_) => Verdict::UNSAFE,
        None => Verdict::SAFE,
    }
}

fn thread(text: &str) -> Vec<Operation> {
    text.split(';')
        .map(|operation| {
            let mut words = operation.split_whitespace();
            let kind = words.next().and_then(OperationKind::from_mnemonic);
            let address = words.next().map_or(0, |a| "abcxyz".find(a).unwrap() as u32);
            kind.expect("a mnemonic").at(Address(address))
        })
        .collect()
}

fn program(threads: &[&str]) -> StraightLineProgram {
    StraightLineProgram {
        threads: threads.iter().map(|text| thread(text)).collect(),
    }
}

#[test]
fn relaxed_order_agrees_with_brute_force() {
    let programs = setting("FENCEPOST_PROGRAMS", DEFAULT_PROGRAMS as u64) as usize;
    let counts = Mutex::new([[0_usize; 2]; 3]);
    for_each_random_program(programs, |program| {
        let count = |row: usize, verdict: Verdict| {
            counts.lock().unwrap()[row][usize::from(verdict == Verdict::UNSAFE)] += 1;
        };
        let expected = truth(&MemoryModel::TSO, program);
        count(0, expected);
        let found = verdict(&mut runner_of(RelaxedOrderMonitor::tso()), program);
        assert_eq!(found, expected, "relaxed-order under TSO");

        for (row, locked) in [LockedDrains::Everything, LockedDrains::OwnAddress]
            .into_iter()
            .enumerate()
        {
            let monitor = RelaxedOrderMonitor::pso(locked);
            let expected = truth(&monitor.model(), program);
            count(1 + row, expected);
            let found = verdict(&mut runner_of(monitor), program);
            assert_eq!(found, expected, "relaxed-order under PSO, {locked:?}");
        }
    });
    // The comparison means little unless both verdicts are frequent.
    for [safe, unsafe_] in counts.into_inner().unwrap() {
        let least = programs / 25;
        assert!(
            safe > least && unsafe_ > least,
            "{safe} safe, {unsafe_} unsafe"
        );
    }
}

/// What a single event shows, by definition (SOBER Def. 6, borderline traces): with the next
/// event `e` of an interleaving replaced by one that reads or takes another place in the
/// coherence order, is the trace one of the model and not one of SC? The other events must read
/// what they read before (BSS Axiom 2), also if `e` is locked and writes in one case and not in
/// the other; so then it is not put right before a read-modify-write.
fn is_borderline(
    checker: &mut axioms::AxiomChecker,
    model: &MemoryModel,
    before: &[Event],
    next: &Event,
) -> bool {
    let Some(address) = next.operation().address() else {
        return false;
    };
    let on_address = |event: &Event| event.operation().address() == Some(address);
    let writes = before.iter().filter(|e| e.operation().writes());
    let written = writes.filter(|e| on_address(e)).count() as u64;
    let is_plain_load = matches!(next.operation(), Operation::Load(_));
    let reads_too = |number: u64| {
        let mut exchanges = before.iter().filter(|e| e.operation().writes());
        exchanges.any(|e| on_address(e) && e.coherence.0 == number && e.operation().reads())
    };
    (0..written).any(|older| {
        if !is_plain_load && reads_too(older + 1) {
            return false;
        }
        let mut events = before.to_vec();
        let mut moved = *next;
        if next.operation().writes() {
            moved.coherence.0 = older + 1;
            for event in events.iter_mut().filter(|e| on_address(e)) {
                event.coherence.0 += u64::from(event.coherence.0 > older);
            }
        } else {
            moved.coherence.0 = older;
        }
        events.push(moved);
        let trace = Trace::new(events).expect("a trace");
        checker.allows(model, &trace) && !checker.is_sequentially_consistent(&trace)
    })
}

/// The first event of the interleaving of which the monitor says something else than the
/// definition.
fn first_misjudged<M: Monitor>(
    runner: &mut MonitorRunner<M>,
    checker: &mut axioms::AxiomChecker,
    accesses: &[Access],
) -> Option<Event> {
    let model = runner.monitor().model();
    let trace = Trace::of_interleaving(accesses);
    runner.reset();
    trace
        .events()
        .iter()
        .enumerate()
        .find_map(|(index, event)| {
            let found = runner.observe(event.access).expect("no memory limit");
            let expected = is_borderline(checker, &model, &trace.events()[..index], event);
            (found.is_some() != expected).then_some(*event)
        })
}

/// A random interleaving of a random program of up to 5 threads, which is too large to
/// enumerate. Some have gaps between the numbers of the threads, so that clocks are wide.
fn random_interleaving(random: &mut Random) -> Vec<Access> {
    let shape = ProgramShape {
        threads: 2 + random.below(4) as u32,
        operations: 3 + random.below(5) as u32,
        addresses: 2 + random.below(4) as u32,
    };
    let program = StraightLineProgram::random(random, shape);
    let mut issued = vec![0; program.threads.len()];
    let gap = [1, 9][random.below(2) as usize];
    let mut accesses = Vec::new();
    while accesses.len() < program.len() {
        let thread = random.below(program.threads.len() as u64) as usize;
        if let Some(&operation) = program.threads[thread].get(issued[thread]) {
            issued[thread] += 1;
            accesses.push(Access::new(ThreadId(thread as u32 * gap), operation));
        }
    }
    accesses
}

/// Event by event, the monitor reports exactly the borderline traces.
#[test]
fn relaxed_order_reports_exactly_the_borderline_traces() {
    let seed = setting("FENCEPOST_SEED", DEFAULT_SEED);
    let mut random = Random::new(seed);
    let mut checker = axioms::AxiomChecker::default();
    let mut tso = runner_of(RelaxedOrderMonitor::tso());
    let mut pso = runner_of(RelaxedOrderMonitor::pso(LockedDrains::Everything));
    let mut pso_own = runner_of(RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
    for _ in 0..20_000 {
        let accesses = random_interleaving(&mut random);
        for misjudged in [
            first_misjudged(&mut tso, &mut checker, &accesses),
            first_misjudged(&mut pso, &mut checker, &accesses),
            first_misjudged(&mut pso_own, &mut checker, &accesses),
        ] {
            assert_eq!(misjudged, None, "FENCEPOST_SEED={seed}, in {accesses:?}");
        }
    }
}

/// What each published monitor misses, in numbers: no false alarm, `sober` misses programs
/// even over all interleavings, the BSS monitors miss none over all interleavings and some
/// over one representative per class.
#[test]
fn the_published_monitors_miss_what_they_are_known_to_miss() {
    #[derive(Default, Debug)]
    struct Misses {
        over_all: usize,
        over_representatives: usize,
    }
    let misses = Mutex::new([(); 3].map(|()| Misses::default()));
    let record = |row: usize, found: Verdict, expected: Verdict| {
        assert!(
            expected == Verdict::UNSAFE || found == Verdict::SAFE,
            "a false alarm of monitor {row}"
        );
        let misses = &mut misses.lock().unwrap()[row];
        misses.over_all += usize::from(found.over_all != expected.over_all);
        misses.over_representatives += usize::from(found != expected);
    };
    for_each_random_program(8_000, |program| {
        let tso = truth(&MemoryModel::TSO, program);
        let pso = truth(&MemoryModel::PSO_OWN_ADDRESS, program);
        record(0, verdict(&mut runner_of(Sober::default()), program), tso);
        record(1, verdict(&mut runner_of(BssTso::default()), program), tso);
        record(2, verdict(&mut runner_of(BssPso::default()), program), pso);
    });
    let [sober, bss_tso, bss_pso] = misses.into_inner().unwrap();
    assert!(sober.over_all > 0, "{sober:?}");
    assert!(
        bss_tso.over_all == 0 && bss_tso.over_representatives > 0,
        "{bss_tso:?}"
    );
    assert!(
        bss_pso.over_all == 0 && bss_pso.over_representatives > 0,
        "{bss_pso:?}"
    );
}

#[test]
fn sober_misses_a_load_that_forwards_from_its_own_store() {
    let n6 = program(&["st x; ld x; ld y", "st y; st x"]);
    assert_eq!(truth(&MemoryModel::TSO, &n6), Verdict::UNSAFE);
    assert_eq!(
        verdict(&mut runner_of(Sober::default()), &n6),
        Verdict::SAFE
    );
    assert_eq!(
        verdict(&mut runner_of(BssTso::default()), &n6),
        Verdict::UNSAFE
    );
    assert_eq!(
        verdict(&mut runner_of(RelaxedOrderMonitor::tso()), &n6),
        Verdict::UNSAFE
    );
}

/// The example of BSS Fig. 6, which its authors give against SOBER.
#[test]
fn sober_misses_the_example_of_bss_figure_6() {
    let figure_6 = program(&["st a; ld a; ld b", "st b; st a; il c; ld a"]);
    assert_eq!(truth(&MemoryModel::TSO, &figure_6), Verdict::UNSAFE);
    assert_eq!(
        verdict(&mut runner_of(Sober::default()), &figure_6),
        Verdict::SAFE
    );
    assert!(verdict(&mut runner_of(BssTso::default()), &figure_6).over_all);
    assert_eq!(
        verdict(&mut runner_of(RelaxedOrderMonitor::tso()), &figure_6),
        Verdict::UNSAFE
    );
}

#[test]
fn the_bss_monitors_need_every_interleaving() {
    let missed = Verdict {
        over_all: true,
        over_any_representatives: false,
    };
    let example = program(&["st a; ld b; fence", "il b; ld a; st b"]);
    assert_eq!(verdict(&mut runner_of(BssTso::default()), &example), missed);
    assert_eq!(verdict(&mut runner_of(BssPso::default()), &example), missed);
    assert_eq!(
        verdict(&mut runner_of(RelaxedOrderMonitor::tso()), &example),
        Verdict::UNSAFE
    );
    let pso = RelaxedOrderMonitor::pso(LockedDrains::OwnAddress);
    assert_eq!(verdict(&mut runner_of(pso), &example), Verdict::UNSAFE);
}

/// BSS Fig. 8: on this one interleaving SOBER sees what the BSS monitor does not.
#[test]
fn sober_is_more_sensitive_than_bss_on_one_interleaving() {
    let figure_8 = [
        (0, "st a"),
        (0, "ld b"),
        (1, "st a"),
        (2, "st b"),
        (2, "ld a"),
    ];
    fn reports<M: Monitor>(monitor: M, interleaving: &[(u32, &str)]) -> bool {
        let mut runner = runner_of(monitor);
        let accesses = interleaving
            .iter()
            .map(|&(number, text)| Access::new(ThreadId(number), thread(text)[0]));
        let mut violations = accesses.map(|access| runner.observe(access).unwrap());
        violations.any(|violation| violation.is_some())
    }
    assert!(reports(Sober::default(), &figure_8));
    assert!(!reports(BssTso::default(), &figure_8));
    assert!(reports(RelaxedOrderMonitor::tso(), &figure_8));
}

/// A full fence is not an interlocked operation on a fresh address under BSS's PSO.
#[test]
fn a_fence_is_not_an_interlocked_operation_under_pso() {
    let with_il = program(&["st x; il a; ld y", "st y; il b; ld x"]);
    let with_fence = program(&["st x; fence; ld y", "st y; fence; ld x"]);
    for model in [MemoryModel::TSO, MemoryModel::PSO] {
        assert_eq!(truth(&model, &with_il), Verdict::SAFE);
        assert_eq!(truth(&model, &with_fence), Verdict::SAFE);
    }
    assert_eq!(
        truth(&MemoryModel::PSO_OWN_ADDRESS, &with_il),
        Verdict::UNSAFE
    );
    assert_eq!(
        truth(&MemoryModel::PSO_OWN_ADDRESS, &with_fence),
        Verdict::SAFE
    );
    let own = || RelaxedOrderMonitor::pso(LockedDrains::OwnAddress);
    assert_eq!(verdict(&mut runner_of(own()), &with_il), Verdict::UNSAFE);
    assert_eq!(verdict(&mut runner_of(own()), &with_fence), Verdict::SAFE);
    assert_eq!(
        verdict(&mut runner_of(BssPso::default()), &with_il),
        Verdict::UNSAFE
    );
    assert_eq!(
        verdict(&mut runner_of(BssPso::default()), &with_fence),
        Verdict::SAFE
    );
}

/// Whether an oracle notices the mutation within `programs` random programs and ten times as
/// many random interleavings. A witness that does not check counts as noticed.
///
/// The second oracle is needed for two cases. Under TSO, whatever shows at a store also shows at
/// a load of another class (in all programs tried), so that a monitor that ignores stores
/// misjudges events, but no program. And in a straight-line program it does not matter what a
/// read-modify-write reads (see `value_tests.rs` for programs in which it does).
fn is_noticed<G: Grouping>(
    make: impl Fn() -> RelaxedOrderMonitor<G>,
    mutation: Option<Mutation>,
    programs: usize,
) -> bool {
    let mut random = Random::new(DEFAULT_SEED);
    let mut checker = axioms::AxiomChecker::default();
    let mut monitor = make();
    monitor.mutation = mutation;
    let model = monitor.model();
    let mut runner = runner_of(monitor);
    let mut misjudges_program = |_| {
        let program = random_program(&mut random);
        try_verdict(&mut runner, &program) != Ok(truth(&model, &program))
    };
    if (0..programs).any(&mut misjudges_program) {
        return true;
    }
    (0..10 * programs).any(|_| {
        let accesses = random_interleaving(&mut random);
        first_misjudged(&mut runner, &mut checker, &accesses).is_some()
    })
}

#[test]
fn the_oracle_notices_every_mutation() {
    let tso = || -> RelaxedOrderMonitor<ByWriter> { RelaxedOrderMonitor::tso() };
    let pso =
        || -> RelaxedOrderMonitor<ByAddress> { RelaxedOrderMonitor::pso(LockedDrains::Everything) };
    assert!(!is_noticed(tso, None, 300));
    assert!(!is_noticed(pso, None, 300));
    for mutation in Mutation::ALL {
        // Barriers mean nothing under TSO.
        assert!(
            mutation == Mutation::IgnoreBarriers || is_noticed(tso, Some(mutation), 3000),
            "{mutation:?} under TSO"
        );
        assert!(
            is_noticed(pso, Some(mutation), 3000),
            "{mutation:?} under PSO"
        );
    }
}

/// Of the violations that a monitor reports, broken or not, on random interleavings: how many check, and how many do
/// not. The axioms alone say of each what the witness says.
fn checked_violations<G: Grouping>(
    monitor: impl Fn() -> RelaxedOrderMonitor<G>,
    mutation: Option<Mutation>,
) -> (u32, u32) {
    let mut random = Random::new(47);
    let (mut right, mut wrong) = (0, 0);
    for _ in 0..400 {
        let accesses = random_interleaving(&mut random);
        let mut broken = monitor();
        broken.mutation = mutation;
        let mut runner = runner_of(broken);
        for (position, &access) in accesses.iter().enumerate() {
            let violation = runner.observe(access).expect("no memory limit");
            let Some(violation) = violation else {
                continue;
            };
            let shown = &accesses[..=position];
            let explained = explain_interleaving(&violation, shown);
            let checked = check_interleaving(&violation, shown);
            assert_eq!(
                explained.is_ok(),
                checked.is_ok(),
                "{mutation:?}: {explained:?} but {checked:?}\n{violation:?}\nin {shown:?}"
            );
            match checked {
                Ok(()) => right += 1,
                Err(_) => wrong += 1,
            }
        }
    }
    (right, wrong)
}

#[test]
fn violations_that_are_none_do_not_check() {
    let tso = || -> RelaxedOrderMonitor<ByWriter> { RelaxedOrderMonitor::tso() };
    let pso =
        || -> RelaxedOrderMonitor<ByAddress> { RelaxedOrderMonitor::pso(LockedDrains::OwnAddress) };
    for checked in [checked_violations(tso, None), checked_violations(pso, None)] {
        let (right, wrong) = checked;
        assert!(right > 20 && wrong == 0, "{right} check, {wrong} do not");
    }
    // These find too much.
    for mutation in [
        Mutation::IgnoreFences,
        Mutation::IgnoreOwnWrites,
        Mutation::LockedDrainNothing,
        Mutation::OvertakeExchanges,
        Mutation::ForgetReadsBeforeWrites,
    ] {
        let (of_tso, of_pso) = (
            checked_violations(tso, Some(mutation)),
            checked_violations(pso, Some(mutation)),
        );
        assert!(
            of_tso.1 + of_pso.1 > 0,
            "{mutation:?}: {of_tso:?}, {of_pso:?}"
        );
    }
}

/// The interleaving with a fence put right after each of these positions.
fn with_fences(accesses: &[Access], after: &[u64]) -> Vec<Access> {
    let mut fenced = Vec::new();
    for (position, access) in accesses.iter().enumerate() {
        fenced.push(*access);
        if after.contains(&(position as u64)) {
            fenced.push(Access::new(access.thread, Operation::Fence));
        }
    }
    fenced
}

/// Whether the monitor reports a violation between the two accesses, given by thread and how many
/// accesses with an address the thread had before.
fn reports_pair<M: Monitor>(
    runner: &mut MonitorRunner<M>,
    accesses: &[Access],
    pair: [(ThreadId, usize); 2],
) -> bool {
    runner.reset();
    let mut had: FxHashMap<ThreadId, usize> = FxHashMap::default();
    let mut places = Vec::new();
    accesses.iter().any(|&access| {
        let count = had.entry(access.thread).or_default();
        places.push((access.thread, *count));
        *count += usize::from(access.operation != Operation::Fence);
        let violation = runner.observe(access).expect("no memory limit");
        violation.is_some_and(|violation| {
            let ends = [violation.pending.position, violation.event.position];
            ends.map(|position| places[position as usize]) == pair
        })
    })
}

/// Fences between the relaxed program-order pairs of a cycle rule that violation out, and between
/// such a pair is none yet.
#[test]
fn fences_at_the_relaxed_pairs_of_a_cycle_rule_it_out() {
    fn check<M: Monitor>(runner: &mut MonitorRunner<M>, accesses: &[Access]) -> (usize, usize) {
        runner.reset();
        let mut findings = Vec::new();
        for &access in accesses {
            if let Some(violation) = runner.observe(access).expect("no memory limit") {
                findings.push(runner.explain(&violation).expect("a witness"));
            }
        }
        let (mut repaired, mut fenced_elsewhere) = (0, 0);
        for finding in findings {
            let relaxed: Vec<_> = finding.cycle.iter().filter(|e| !e.is_kept).collect();
            assert!(!relaxed.is_empty(), "no edge of the cycle is relaxed");
            assert!(relaxed.iter().all(|e| e.relation == Relation::ProgramOrder));
            let next = finding.cycle.iter().cycle().skip(1);
            let pairs = finding.cycle.iter().zip(next);
            for (from, to) in pairs.filter(|(from, _)| !from.is_kept) {
                let (from, to) = (from.event, to.event);
                let between = &accesses[from.position as usize + 1..to.position as usize];
                let own = between.iter().filter(|a| a.thread == from.thread());
                let model = finding.violation.model;
                let is_drained = |a: &Access| model.drains(a.operation) == Drain::Everything;
                assert!(!own.clone().any(is_drained), "{finding:?} in {accesses:?}");
                let is_barrier = |a: &Access| a.operation == Operation::StoreBarrier;
                if to.event.operation().writes() {
                    assert!(!own.clone().any(is_barrier), "{finding:?} in {accesses:?}");
                }
                fenced_elsewhere += usize::from(accesses.iter().any(is_drained));
            }
            let place = |position: u64| {
                let thread = accesses[position as usize].thread;
                let earlier = accesses[..position as usize].iter();
                let had = earlier.filter(|a| a.thread == thread && a.operation != Operation::Fence);
                (thread, had.count())
            };
            let violation = finding.violation;
            let pair = [violation.pending.position, violation.event.position].map(place);
            assert!(reports_pair(runner, accesses, pair));
            let after: Vec<u64> = relaxed.iter().map(|e| e.event.position).collect();
            let fenced = with_fences(accesses, &after);
            assert!(
                !reports_pair(runner, &fenced, pair),
                "{finding:?} in {accesses:?}"
            );
            repaired += 1;
        }
        (repaired, fenced_elsewhere)
    }
    let mut random = Random::new(DEFAULT_SEED);
    let mut tso = runner_of(RelaxedOrderMonitor::tso());
    let mut pso = runner_of(RelaxedOrderMonitor::pso(LockedDrains::Everything));
    let mut pso_own = runner_of(RelaxedOrderMonitor::pso(LockedDrains::OwnAddress));
    let (mut repaired, mut fenced_elsewhere) = (0, 0);
    for _ in 0..4000 {
        let accesses = random_interleaving(&mut random);
        let counts = [
            check(&mut tso, &accesses),
            check(&mut pso, &accesses),
            check(&mut pso_own, &accesses),
        ];
        repaired += counts.map(|(repaired, _)| repaired).iter().sum::<usize>();
        fenced_elsewhere += counts.map(|(_, fenced)| fenced).iter().sum::<usize>();
    }
    assert!(repaired > 3000, "{repaired}");
    assert!(fenced_elsewhere > 1000, "{fenced_elsewhere}");
}
