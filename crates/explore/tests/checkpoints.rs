//! An exploration that is interrupted and resumed, once or often, has the results of one that is
//! not interrupted; and a checkpoint that is damaged, or of something else, is refused.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::{model, saved};

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use fencepost_checkpoint::{Kind, OpenError, seal};
use fencepost_explore::{
    Checkpoint, CheckpointError, CheckpointOptions, CheckpointWriter, Limit, MonitoredModel,
    Report, Settings, SpinRule, Strategy, explore_with_checkpoints,
};
use fencepost_memory::{LockedDrains, Random};
use model::class::{Log, Recording};
use model::exploring::{MACHINES, all_of, assert_replays, explored, kind, seeds};
use model::families;
use model::language::Model;
use model::oracle::{Limits, truth};
use model::random::{Seeded, Shape, random_program};
use model::running::{AssertionFailed, ModelProgram};
use saved::{Contents, forged};

type Reported = Result<Report<AssertionFailed>, CheckpointError>;

/// Limits within which brute force is fast.
const SMALL: Limits = Limits {
    nodes: 3_000,
    hints: 3,
};

/// An interval with which there is only a checkpoint at the end.
const AT_THE_END: Duration = Duration::MAX;

/// Explores, from a checkpoint if there is one. Returns the checkpoints that were saved.
fn explore_from(
    model: &Arc<Model>,
    settings: &Settings,
    from: Option<&[u8]>,
    every: Duration,
) -> (Reported, Vec<Vec<u8>>) {
    let program = Recording::new(ModelProgram::new(model));
    explore_recorded(&program, settings, from, every)
}

fn explore_recorded(
    program: &Recording<ModelProgram>,
    settings: &Settings,
    from: Option<&[u8]>,
    every: Duration,
) -> (Reported, Vec<Vec<u8>>) {
    let from = match from.map(|bytes| Checkpoint::from_bytes(bytes, settings)) {
        Some(Err(error)) => return (Err(error), Vec::new()),
        Some(Ok(checkpoint)) => Some(checkpoint),
        None => None,
    };
    let mut kept = Vec::new();
    let mut save = |checkpoint: Checkpoint| kept.push(checkpoint.to_bytes());
    let writer = Some(CheckpointWriter {
        interval: every,
        save: &mut save,
    });
    let report = explore_with_checkpoints(
        || program.clone(),
        settings,
        &mut |_| ControlFlow::Continue(()),
        CheckpointOptions {
            resume_from: from,
            writer,
        },
    );
    (report.map(|(report, _)| report), kept)
}

fn with_budget(settings: &Settings, executions: Option<u64>) -> Settings {
    Settings {
        max_executions: executions,
        ..settings.clone()
    }
}

/// Explores in pieces of `budget()` executions.
fn in_pieces(
    model: &Arc<Model>,
    settings: &Settings,
    mut budget: impl FnMut() -> Option<u64>,
) -> (Report<AssertionFailed>, Log) {
    let program = Recording::new(ModelProgram::new(model));
    let mut from: Option<Vec<u8>> = None;
    loop {
        let settings = with_budget(settings, budget());
        let (report, mut kept) = explore_recorded(&program, &settings, from.as_deref(), AT_THE_END);
        let report = report.unwrap_or_else(|error| panic!("{error}\n{model}"));
        assert_eq!(report.is_resumable, !kept.is_empty(), "{model}");
        if !report.is_resumable {
            let log = program.log().clone();
            return (report, log);
        }
        assert_eq!(kept.len(), 1);
        from = kept.pop();
    }
}

/// Fails if the reports differ in anything but the time.
#[track_caller]
fn assert_same(
    one: &Report<AssertionFailed>,
    whole: &Report<AssertionFailed>,
    program: &dyn std::fmt::Display,
) {
    assert_same_found(one, whole, program);
    assert_eq!(one.abandoned, whole.abandoned, "{program}");
    assert_eq!(one.steps, whole.steps, "{program}");
    let findings = |report: &Report<AssertionFailed>| {
        let finding = |found: &fencepost_explore::Counterexample<AssertionFailed>| {
            let (schedule, interleaving) = (found.schedule.clone(), found.interleaving.clone());
            (kind(found), schedule, interleaving, found.execution)
        };
        report.findings.iter().map(finding).collect::<Vec<_>>()
    };
    assert_eq!(findings(one), findings(whole), "{program}");
}

/// The same for several workers, whose steps differ from run to run.
#[track_caller]
fn assert_same_found(
    one: &Report<AssertionFailed>,
    whole: &Report<AssertionFailed>,
    program: &dyn std::fmt::Display,
) {
    let counts = |report: &Report<AssertionFailed>| {
        let Report {
            executions,
            faults,
            violations,
            borderline,
            pruned,
            ..
        } = *report;
        [executions, faults, violations, borderline, pruned]
    };
    assert_eq!(counts(one), counts(whole), "{program}");
    assert_eq!(one.distinct_violations, whole.distinct_violations);
    assert_eq!(one.limits, whole.limits, "{program}");
    assert_eq!(one.waits, whole.waits, "{program}");
    let is_in = |report: &Report<AssertionFailed>, wanted| {
        let same = |found| kind(found) == kind(wanted);
        report.findings.iter().filter(|found| same(found)).count() == 1
    };
    assert_eq!(one.findings.len(), whole.findings.len(), "{program}");
    assert!(one.findings.iter().all(|f| is_in(whole, f)), "{program}");
    assert!(whole.findings.iter().all(|f| is_in(one, f)), "{program}");
}

fn shapes() -> [Shape; 9] {
    [
        Shape::atomics(),
        Shape::locks(),
        Shape::counters(),
        Shape::blocking(),
        Shape::everything().with_assertions(),
        Shape::memory().with_assertions(),
        Shape::spinning(),
        Shape::blocking().with_assumptions(),
        Shape::spinning().with_assumptions(),
    ]
}

fn programs(count: u64) -> impl Iterator<Item = Seeded> {
    let of_shape = move |shape| seeds(count).map(move |seed| random_program(seed, &shape));
    shapes().into_iter().flat_map(of_shape)
}

/// The report of an uninterrupted exploration, if it has at most `most` executions.
fn whole(model: &Arc<Model>, most: u64) -> Option<Report<AssertionFailed>> {
    let report = explored(model, &with_budget(&all(), Some(most)));
    (!report.is_resumable).then_some(report)
}

fn all() -> Settings {
    all_of(Strategy::Exhaustive, MonitoredModel::Tso)
}

#[test]
fn an_interruption_anywhere_changes_nothing() {
    let mut interrupted = 0;
    for program in programs(60) {
        let model = &program.model;
        let Some(whole) = whole(model, 60) else {
            continue;
        };
        for executions in 0..whole.executions + whole.abandoned {
            let mut budgets = [Some(executions), None].into_iter();
            let (report, _) = in_pieces(model, &all(), || budgets.next().flatten());
            assert_same(&report, &whole, &program);
            interrupted += 1;
        }
    }
    assert!(interrupted > 1000, "{interrupted}");
}

#[test]
fn many_interruptions_change_nothing() {
    for program in programs(80) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        let Some(whole) = whole(model, 300) else {
            continue;
        };
        let (report, log) = in_pieces(model, &all(), || Some(1));
        assert_same(&report, &whole, &program);
        if !model.spins() && !truth.fails() {
            let classes = truth.classes.len() as u64;
            assert_eq!(log.classes.len() as u64, classes, "{program}");
            let is_once = report.executions == classes;
            let may_repeat = model.has_partners() && report.executions > classes;
            assert!(is_once || may_repeat, "{program}");
        }
        let mut random = Random::new(program.seed);
        let (report, _) = in_pieces(model, &all(), || Some(random.below(9)));
        assert_same(&report, &whole, &program);
    }
}

#[test]
fn families_have_their_known_numbers_of_classes() {
    for (model, classes) in [
        (families::counter(3, 2), 90),
        (families::counter(4, 2), 2520),
        (families::last_zero(5), 64),
        (families::last_zero(10), 3328),
        (families::readers(8), 256),
    ] {
        for (workers, piece) in [(1, 37), (2, 501)] {
            let settings = Settings { workers, ..all() };
            let (report, log) = in_pieces(&model, &settings, || Some(piece));
            assert_eq!(report.executions, classes);
            assert_eq!(log.classes.len() as u64, classes);
            assert!(report.is_complete());
        }
    }
}

#[test]
fn the_spin_bound_survives_an_interruption() {
    let settings = Settings {
        spin: SpinRule::Bound(2),
        ..all()
    };
    for model in [families::peterson(1, false), families::ticket_lock(2, 1)] {
        let whole = explored(&model, &settings);
        assert_eq!(whole.limits, [Limit::Spins(2)]);
        let (report, _) = in_pieces(&model, &settings, || Some(7));
        assert_same(&report, &whole, &model);
    }
}

/// Every checkpoint on the way can be resumed.
#[test]
fn any_checkpoint_can_be_resumed() {
    for program in programs(12) {
        let model = &program.model;
        let Some(whole) = whole(model, 40) else {
            continue;
        };
        let (report, kept) = explore_from(model, &all(), None, Duration::ZERO);
        assert_same(&report.unwrap(), &whole, &program);
        assert!(kept.len() as u64 >= whole.executions.saturating_sub(1));
        for bytes in kept {
            let checkpoint = Checkpoint::from_bytes(&bytes, &all()).unwrap();
            assert_eq!(checkpoint.to_bytes(), bytes, "{program}");
            let (report, _) = explore_from(model, &all(), Some(&bytes), AT_THE_END);
            assert_same(&report.unwrap(), &whole, &program);
        }
    }
}

/// The number of workers may change, and the process may end at any time.
#[test]
fn any_number_of_workers_can_resume() {
    let mut models: Vec<_> = programs(25).map(|program| program.model).collect();
    models.extend([
        families::counter(3, 2),
        families::last_zero(7),
        families::philosophers(3),
        families::store_buffering(4, false),
    ]);
    for (number, model) in models.iter().enumerate() {
        let Some(whole) = whole(model, 1000) else {
            continue;
        };
        let mut random = Random::new(number as u64);
        let mut from: Option<Vec<u8>> = None;
        loop {
            let settings = Settings {
                workers: 1 + random.below(3) as usize,
                always_share_work: random.below(3) > 0,
                max_executions: Some(1 + random.below(whole.executions + 1)),
                ..all()
            };
            let every = match random.below(2) {
                0 => Duration::ZERO,
                _ => AT_THE_END,
            };
            let (report, mut kept) = explore_from(model, &settings, from.as_deref(), every);
            let report = report.unwrap_or_else(|error| panic!("{error}\n{model}"));
            if !report.is_resumable {
                assert_same(&report, &whole, model);
                assert_replays(model, &all(), &report, model);
                break;
            }
            // As if the process had been killed some time after a checkpoint.
            let at = match random.below(3) {
                0 => random.below(kept.len() as u64) as usize,
                _ => kept.len() - 1,
            };
            from = Some(kept.swap_remove(at));
        }
    }
}

#[test]
fn samples_resume_with_the_next_execution() {
    let programs = programs(10).map(|program| program.model);
    let models = programs.chain([families::counter(3, 2), families::store_buffering(3, false)]);
    for model in models {
        for strategy in [
            Strategy::Random {
                seed: 5,
                executions: 60,
            },
            Strategy::Pct {
                seed: 5,
                executions: 60,
                depth: 3,
            },
        ] {
            let settings = all_of(strategy, MACHINES[2]);
            let whole = explored(&model, &settings);
            let (report, _) = in_pieces(&model, &settings, || Some(17));
            assert_same(&report, &whole, &model);
            let several = Settings {
                workers: 3,
                ..settings.clone()
            };
            let (report, _) = in_pieces(&model, &several, || Some(13));
            assert_same_found(&report, &whole, &model);
            let (report, kept) = explore_from(&model, &several, None, Duration::ZERO);
            assert_same_found(&report.unwrap(), &whole, &model);
            for bytes in kept.iter().step_by(7) {
                let (report, _) = explore_from(&model, &several, Some(bytes), AT_THE_END);
                assert_same_found(&report.unwrap(), &whole, &model);
            }
        }
    }
}

/// An exploration that finishes leaves no checkpoint.
#[test]
fn only_budgets_and_the_callback_leave_a_checkpoint() {
    let model = families::store_buffering(3, false);
    let (report, kept) = explore_from(&model, &all(), None, AT_THE_END);
    assert!(report.unwrap().is_complete());
    assert_eq!(kept.len(), 0);
    let first = Settings {
        continue_after_failure: false,
        ..all()
    };
    let (report, kept) = explore_from(&model, &first, None, AT_THE_END);
    let report = report.unwrap();
    assert_eq!(
        (report.limits, report.is_resumable),
        (vec![Limit::FirstFailure], false)
    );
    assert_eq!(kept.len(), 0);

    let (report, checkpoint) = stopped(&families::counter(3, 2));
    assert_eq!(
        (report.limits, report.is_resumable),
        (vec![Limit::Cancelled], true)
    );
    assert_eq!(checkpoint.executions(), report.executions);
}

/// Stops at the first progress report. Returns the only checkpoint.
fn stopped(model: &Arc<Model>) -> (Report<AssertionFailed>, Checkpoint) {
    let program = ModelProgram::new(model);
    let mut kept = Vec::new();
    let mut save = |checkpoint: Checkpoint| kept.push(checkpoint);
    let writer = Some(CheckpointWriter {
        interval: AT_THE_END,
        save: &mut save,
    });
    let checkpoints = CheckpointOptions {
        resume_from: None,
        writer,
    };
    let stop = &mut |_: &_| ControlFlow::Break(());
    let (report, _) =
        explore_with_checkpoints(|| program.clone(), &all(), stop, checkpoints).unwrap();
    assert_eq!(kept.len(), 1);
    (report, kept.remove(0))
}

/// The callback may stop the exploration when everything has been explored.
#[test]
fn a_checkpoint_may_have_nothing_left() {
    let model = families::counter(2, 1);
    let (report, checkpoint) = stopped(&model);
    assert_eq!((report.executions, report.is_resumable), (2, true));
    let bytes = checkpoint.to_bytes();
    assert!(Contents::of(&bytes).tree().path.is_none());
    let (report, _) = explore_from(&model, &all(), Some(&bytes), AT_THE_END);
    let report = report.unwrap();
    assert_eq!((report.executions, report.is_complete()), (2, true));
}

#[test]
fn resuming_needs_no_further_checkpoints() {
    let settings = Settings {
        workers: 2,
        always_share_work: true,
        ..all()
    };
    for model in [families::counter(3, 2), families::ticket_lock(2, 1)] {
        let whole = explored(&model, &all());
        let (_, kept) = explore_from(&model, &with_budget(&all(), Some(2)), None, AT_THE_END);
        let program = ModelProgram::new(&model);
        let checkpoints = CheckpointOptions {
            resume_from: Some(Checkpoint::from_bytes(&kept[0], &settings).unwrap()),
            writer: None,
        };
        let on_progress = &mut |_: &_| ControlFlow::Continue(());
        let report =
            explore_with_checkpoints(|| program.clone(), &settings, on_progress, checkpoints);
        assert_same(&report.unwrap().0, &whole, &model);
    }
}

/// The report has the number of executions of the whole exploration.
#[test]
fn a_budget_applies_to_what_remains() {
    let model = families::counter(3, 2);
    let settings = with_budget(&all(), Some(10));
    let (_, kept) = explore_from(&model, &settings, None, AT_THE_END);
    let (report, _) = explore_from(&model, &settings, Some(&kept[0]), AT_THE_END);
    let report = report.unwrap();
    assert_eq!(report.executions, 20);
    assert_eq!(report.limits, [Limit::Executions(20)]);
}

/// A checkpoint with something of everything in it.
fn rich_checkpoint() -> (Arc<Model>, Settings, Vec<u8>) {
    let seeded = programs(40).map(|program| program.model);
    let mut best: Option<(usize, Arc<Model>, Vec<u8>)> = None;
    for model in seeded {
        let interrupted = with_budget(&all(), Some(12));
        let (_, mut kept) = explore_from(&model, &interrupted, None, AT_THE_END);
        let Some(bytes) = kept.pop() else {
            continue;
        };
        let variety = Contents::of(&bytes).variety();
        if best.as_ref().is_none_or(|(most, ..)| variety > *most) {
            best = Some((variety, model, bytes));
        }
    }
    let (variety, model, bytes) = best.expect("a program is interrupted");
    assert!(variety >= 7, "{:?}", Contents::of(&bytes));
    (model, all(), bytes)
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let (_, settings, bytes) = rich_checkpoint();
    for end in 0..bytes.len() {
        let error = Checkpoint::from_bytes(&bytes[..end], &settings).unwrap_err();
        assert!(matches!(error, CheckpointError::Open(_)), "{error}");
    }
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let mut changed = bytes.clone();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            changed[at] ^= 1 + random.below(127) as u8;
        }
        if changed != bytes {
            let is_refused = Checkpoint::from_bytes(&changed, &settings).is_err();
            assert!(is_refused, "{changed:?}");
        }
    }
}

/// Someone may change it and fix the checksum. The results are their business, but there is no
/// panic and no large allocation.
#[test]
fn a_forged_checkpoint_makes_nothing_panic() {
    let (model, settings, bytes) = rich_checkpoint();
    let settings = with_budget(&settings, Some(300));
    let mut random = Random::new(2);
    let (mut refused, mut malformed, mut used) = (0, 0, 0);
    for _ in 0..4000 {
        let forged = forged(&bytes, &mut random);
        match explore_from(&model, &settings, Some(&forged), AT_THE_END).0 {
            Ok(_) => used += 1,
            Err(CheckpointError::Open(OpenError::Malformed)) => malformed += 1,
            // The checksum is right, so all else is noticed behind it.
            Err(CheckpointError::Open(error)) => panic!("{error}"),
            Err(_) => refused += 1,
        }
    }
    assert!(
        refused > 500 && malformed > 100 && used > 100,
        "{refused} {malformed} {used}"
    );
}

/// Values that decode but cannot be are refused, each with its reason.
#[test]
fn impossible_values_are_refused() {
    let (_, settings, bytes) = rich_checkpoint();
    let refusal = |change: &dyn Fn(&mut Contents)| {
        let mut contents = Contents::of(&bytes);
        change(&mut contents);
        match Checkpoint::from_bytes(&contents.sealed(), &settings) {
            Err(CheckpointError::Damaged { reason }) => reason,
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it is not refused"),
        }
    };
    fn path(contents: &mut Contents) -> &mut saved::Path {
        contents.tree_mut().path.as_mut().unwrap()
    }
    for count in 0..8 {
        let reason = refusal(&|c| c.totals.counts[count] = 1 << 50);
        assert_eq!(reason, "a count is too large");
    }
    let reason = refusal(&|c| c.totals.tally.push(([1; 3], u64::MAX)));
    assert_eq!(reason, "a count is too large");
    let reason = refusal(&|c| c.findings[0].execution = u64::MAX);
    assert_eq!(reason, "a count is too large");
    let reason = refusal(&|c| c.totals.waits.push(Some(u32::MAX)));
    assert_eq!(reason, "a source location is too large");
    let reason = refusal(&|c| c.findings[0].schedule.push((1 << 24, 0)));
    assert_eq!(reason, "a thread id is too large");
    let reason = refusal(&|c| c.findings[0].failure = saved::Failure::Fault(Some(u32::MAX)));
    assert_eq!(reason, "a thread id is too large");
    let reason = refusal(&|c| c.findings[0].schedule = vec![(0, 0); 1_000_000]);
    assert_eq!(reason, "a schedule has too many steps");
    let reason = refusal(&|c| {
        c.findings[0].schedule.clear();
        c.findings = vec![c.findings[0].clone(); 2 * settings.kept_findings + 2];
    });
    assert_eq!(reason, "it has too many findings");
    let reason = refusal(&|c| c.remaining = saved::Remaining::Samples(1));
    assert_eq!(reason, "it is of another strategy");
    let reason = refusal(&|c| drop(c.settings.pop()));
    assert_eq!(reason, "a setting is missing");
    let reason = refusal(&|c| c.settings.push(("other".to_owned(), String::new())));
    assert_eq!(reason, "it has an unknown setting");
    let reason = refusal(&|c| drop(path(c).nodes.pop()));
    assert_eq!(reason, "the nodes do not match the steps of the path");
    let reason = refusal(&|c| path(c).schedule.truncate(0));
    assert_eq!(reason, "the nodes do not match the steps of the path");
    let reason = refusal(&|c| path(c).settled.push(u32::MAX));
    assert_eq!(reason, "a race index is too large");
    let reason = refusal(&|c| path(c).nodes[0].explored = u32::MAX);
    assert_eq!(reason, "a node has too many explored steps");
    let nothing = || (Vec::new(), false, true);
    let reason = refusal(&|c| path(c).nodes[0].planned = vec![(1, (0, 0), nothing())]);
    assert_eq!(reason, "a planned step is not below the one before");
    let joins = Some(saved::Intent::Join(1 << 24));
    let reason = refusal(&|c| {
        let sleeper = ((0, 0), joins.clone(), nothing());
        path(c).nodes[0].asleep.push(sleeper);
    });
    assert_eq!(reason, "a thread id is too large");
}

/// Learned footprints may be forged too: what cannot be is refused, and what is too much or too
/// little is noticed, or makes no difference to which classes are run.
#[test]
fn forged_learned_footprints_are_refused_or_harmless() {
    let refused = [(0, false, 1 << 20), (0, true, u32::MAX)];
    let strange = [
        (0, false, (1 << 20) - 1),
        (0, true, (1 << 20) - 1),
        (u32::MAX, false, 0),
        (3, true, 3),
        (6, true, 0),
        (6, false, 0),
        (8, false, 0),
    ];
    let (mut with_learned, mut resumed, mut noticed) = (0, 0, 0);
    let shape = Shape::blocking();
    for program in seeds(60).map(|seed| random_program(seed, &shape)) {
        let model = &program.model;
        let (Some(truth), Some(_)) = (truth(model, &SMALL), whole(model, 300)) else {
            continue;
        };
        for executions in [2, 5] {
            let first = Recording::new(ModelProgram::new(model));
            let settings = with_budget(&all(), Some(executions));
            let (_, kept) = explore_recorded(&first, &settings, None, AT_THE_END);
            let Some(bytes) = kept.first() else {
                continue;
            };
            let contents = Contents::of(bytes);
            if contents.tree().path.is_none() {
                continue;
            }
            let with_learned_also = |learned| {
                let mut contents = contents.clone();
                contents.tree_mut().learned.push(learned);
                contents.sealed()
            };
            for learned in refused {
                let forged = with_learned_also(learned);
                let error = Checkpoint::from_bytes(&forged, &all()).unwrap_err();
                let is_damaged = matches!(error, CheckpointError::Damaged { .. });
                assert!(is_damaged, "{learned:?} {error}");
            }
            let mut forged: Vec<Vec<u8>> = strange.map(with_learned_also).into();
            if !contents.tree().learned.is_empty() {
                with_learned += 1;
                let mut without = contents.clone();
                without.tree_mut().learned.clear();
                forged.push(without.sealed());
            }
            for bytes in forged {
                match explore_recorded(&first, &all(), Some(&bytes), AT_THE_END).0 {
                    Ok(report) if !truth.fails() && !model.spins() => {
                        resumed += 1;
                        let classes = truth.classes.len();
                        assert!(report.is_complete(), "{program}");
                        assert_eq!(first.log().classes.len(), classes, "{program}");
                    }
                    Ok(_) => resumed += 1,
                    Err(error) => {
                        noticed += 1;
                        let is_said = matches!(error, CheckpointError::ProgramChanged { .. });
                        assert!(is_said, "{error}\n{program}");
                    }
                }
            }
        }
    }
    assert!(with_learned > 5, "{with_learned}");
    assert!(resumed > 100 && noticed > 10, "{resumed} {noticed}");
}

#[test]
fn other_programs_are_noticed() {
    let models = [
        families::counter(3, 2),
        families::counter(3, 3),
        families::counter(4, 2),
        families::store_buffering(3, false),
        families::store_buffering(3, true),
        families::last_zero(5),
        families::readers(4),
        families::philosophers(3),
    ];
    for (number, model) in models.iter().enumerate() {
        let (_, kept) = explore_from(model, &with_budget(&all(), Some(2)), None, AT_THE_END);
        for (other_number, other) in models.iter().enumerate() {
            let (report, _) = explore_from(other, &all(), Some(&kept[0]), AT_THE_END);
            let is_refused = matches!(report, Err(CheckpointError::ProgramChanged { .. }));
            assert_eq!(is_refused, number != other_number, "{model}\n{other}");
        }
    }
}

#[test]
fn other_settings_are_named() {
    let model = families::counter(3, 2);
    let (_, kept) = explore_from(&model, &with_budget(&all(), Some(5)), None, AT_THE_END);
    let bytes = &kept[0];
    let others = [
        (
            "strategy",
            Settings {
                strategy: Strategy::Random {
                    seed: 0,
                    executions: 10,
                },
                ..all()
            },
        ),
        (
            "monitor",
            Settings {
                monitored_model: MonitoredModel::None,
                ..all()
            },
        ),
        (
            "continue_after_failure",
            Settings {
                continue_after_failure: false,
                ..all()
            },
        ),
        (
            "target",
            Settings {
                monitored_model: MonitoredModel::Pso(LockedDrains::OwnAddress),
                ..all()
            },
        ),
        (
            "spin_bound",
            Settings {
                spin: SpinRule::Bound(3),
                ..all()
            },
        ),
        (
            "max_steps",
            Settings {
                max_steps: 50,
                ..all()
            },
        ),
    ];
    for (wanted, settings) in others {
        match Checkpoint::from_bytes(bytes, &settings) {
            Err(CheckpointError::OtherSetting { name, .. }) => assert_eq!(name, wanted),
            other => panic!("{other:?}"),
        }
    }
    let harmless = Settings {
        workers: 7,
        max_time: Some(Duration::from_secs(1)),
        memory: 1 << 20,
        ..all()
    };
    assert!(Checkpoint::from_bytes(bytes, &harmless).is_ok());
}

#[test]
fn each_refusal_says_why() {
    let model = families::counter(2, 2);
    let (_, kept) = explore_from(&model, &with_budget(&all(), Some(2)), None, AT_THE_END);
    let bytes = &kept[0];
    let refusal = |bytes: &[u8]| {
        let error = Checkpoint::from_bytes(bytes, &all()).unwrap_err();
        error.to_string()
    };
    assert_eq!(refusal(b""), "not a Fencepost checkpoint");
    assert_eq!(refusal(b"fn main() {}\n"), "not a Fencepost checkpoint");
    // The text of format 4.
    assert_eq!(
        refusal(b"fencepost-checkpoint 4\nversion 0.1.0\n"),
        "not a Fencepost checkpoint"
    );
    let mut other_byte = bytes.clone();
    *other_byte.last_mut().unwrap() ^= 1;
    assert_eq!(
        refusal(&other_byte),
        "the checkpoint is damaged (checksum mismatch)"
    );
    assert_eq!(
        refusal(&bytes[..bytes.len() / 2]),
        "the checkpoint is truncated"
    );
    let contents = Contents::of(bytes);
    assert_eq!(
        refusal(&seal(Kind::Exploration, 7, &contents)),
        "written by another version of Fencepost (format 7; this version reads format 6)"
    );
    assert_eq!(
        refusal(&seal(Kind::Check, saved::FORMAT_VERSION, &contents)),
        "expected a checkpoint of an exploration, found one of a check"
    );
    let forged = |change: &dyn Fn(&mut Contents)| {
        let mut contents = contents.clone();
        change(&mut contents);
        refusal(&contents.sealed())
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        forged(&|contents| contents.version = "0.0.1".to_owned()),
        format!(
            "written by another version of Fencepost (version 0.0.1; this is version {version})"
        )
    );
    assert_eq!(
        forged(&|contents| {
            let mut settings = contents.settings.iter_mut();
            let setting = settings.find(|(name, _)| name == "continue_after_failure");
            setting.unwrap().1 = "off".to_owned();
        }),
        "the checkpoint was made with another setting (continue_after_failure was off, now it is on)"
    );
    assert_eq!(
        forged(&|contents| contents.totals.counts[0] = u64::MAX),
        "the checkpoint is damaged (a count is too large)"
    );
    let other = families::counter(2, 1);
    let changed = explore_from(&other, &all(), Some(bytes), AT_THE_END).0;
    assert_eq!(
        changed.unwrap_err().to_string(),
        "the program has changed since the checkpoint, or is not deterministic (its first execution differs from the \
         one when the checkpoint was made)"
    );
    for strategy in [
        Strategy::Bounded { preemptions: 1 },
        Strategy::Replay("-".parse().unwrap()),
    ] {
        let refused = explore_from(
            &model,
            &all_of(strategy, MonitoredModel::Tso),
            None,
            AT_THE_END,
        )
        .0;
        assert_eq!(
            refused.unwrap_err().to_string(),
            "only exhaustive, random and PCT explorations have checkpoints"
        );
    }
}
