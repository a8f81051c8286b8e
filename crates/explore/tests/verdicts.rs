//! The verdicts of the explorer, on programs without loops, are those of brute force: store-buffer
//! violations, failed assertions and deadlocks; and every finding can be shown again.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use std::collections::BTreeSet;

use fencepost_explore::{Limit, MonitoredModel, Report, Settings, Strategy};
use fencepost_memory::{Access, LockedDrains};
use fencepost_monitor::{Monitor, MonitorRunner, RelaxedOrderMonitor};
use model::buffers::leaves_sc;
use model::class::{Status, assert_same_classes};
use model::driver::every_class;
use model::exploring::{
    Errors, Key, Kind, MACHINES, all_of, assert_explained, assert_replays, cost, errors, explored,
    faults, keys, kind, recorded, seeds,
};
use model::families;
use model::oracle::{Limits, Truth, reachable, truth};
use model::random::{Item, Seeded, Shape, random_program};
use model::running::{AssertionFailed, ModelProgram};

/// How far brute force goes.
const SMALL: Limits = Limits {
    nodes: 12_000,
    hints: 3,
};

/// Programs that store buffers make a difference to, of two to four threads.
fn shapes() -> [Shape; 5] {
    let memory = Shape::memory;
    // Mostly loads and stores that nothing orders.
    let mut plain = memory().with_threads(2, 2).with_items(3, 5);
    let is_plain = |item| matches!(item, Item::Load | Item::Store | Item::Fence | Item::Guard);
    plain.weights.retain(|(item, _)| is_plain(*item));
    plain.has_late_spawns = false;
    plain.cells = 2;
    [
        plain,
        memory(),
        memory().with_assertions(),
        memory().with_threads(4, 4).with_items(1, 3),
        memory()
            .with_threads(3, 4)
            .with_items(1, 3)
            .with_assertions(),
    ]
}

fn programs(count: u64) -> impl Iterator<Item = Seeded> {
    let of_shape = move |shape| seeds(count).map(move |seed| random_program(seed, &shape));
    shapes().into_iter().flat_map(of_shape)
}

/// What the monitor, fed with executions from their beginnings, says of them.
#[derive(Default)]
struct Monitored {
    keys: BTreeSet<Key>,
    /// Executions with a violation.
    borderline: u64,
}

fn monitored<'a>(
    executions: impl IntoIterator<Item = &'a [Access]>,
    monitored_model: MonitoredModel,
) -> Monitored {
    match monitored_model {
        MonitoredModel::None => Monitored::default(),
        MonitoredModel::Tso => monitored_by(RelaxedOrderMonitor::tso(), executions),
        MonitoredModel::Pso(locked) => monitored_by(RelaxedOrderMonitor::pso(locked), executions),
    }
}

fn monitored_by<'a>(
    monitor: impl Monitor,
    executions: impl IntoIterator<Item = &'a [Access]>,
) -> Monitored {
    let mut seen = Monitored::default();
    let mut runner = MonitorRunner::new(monitor);
    for execution in executions {
        runner.reset();
        let mut is_borderline = false;
        for &access in execution {
            let violation = runner.observe(access).expect("there is no memory limit");
            seen.keys.extend(violation.map(|v| v.distinct_key()));
            is_borderline |= violation.is_some();
        }
        seen.borderline += u64::from(is_borderline);
    }
    seen
}

/// The same programs are reported as leave sequential consistency on a machine with store buffers.
/// An assertion that fails ends an execution, while on the machine the other threads continue. So
/// where one can fail, there may be more on the machine.
#[test]
fn violations_are_reported_exactly_where_store_buffers_make_a_difference() {
    let (mut compared, mut unsafe_ones, mut safe_ones) = (0, [0; 3], [0; 3]);
    for program in programs(50) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        for (number, monitored_model) in MACHINES.into_iter().enumerate() {
            let Some(leaves_sc) = leaves_sc(model, &monitored_model.model(), &SMALL) else {
                continue;
            };
            let report = explored(model, &all_of(Strategy::Exhaustive, monitored_model));
            let is_reported = report.violations > 0;
            assert!(report.is_complete(), "{:?}\n{program}", report.limits);
            assert!(leaves_sc || !is_reported, "{monitored_model:?} {program}");
            if !truth.fails() {
                assert_eq!(is_reported, leaves_sc, "{monitored_model:?} {program}");
                safe_ones[number] += usize::from(!leaves_sc);
            }
            assert_explained(&report, &program);
            compared += 1;
            unsafe_ones[number] += usize::from(is_reported);
        }
    }
    assert!(compared > 200, "only {compared} were small enough");
    let are_both = unsafe_ones.iter().chain(&safe_ones);
    assert!(are_both.min() > Some(&10), "{unsafe_ones:?} {safe_ones:?}");
}

/// What is found is what the monitor finds that sees an execution of each class from its beginning:
/// the same violations, in as many executions.
#[test]
fn the_monitor_reports_the_violations_of_each_class() {
    let (mut compared, mut borderline_ones) = (0, 0);
    for program in programs(100) {
        let Some(classes) = every_class(&ModelProgram::new(&program.model), 4000) else {
            continue;
        };
        let fails = classes.keys().any(|class| class.status() == Status::Failed);
        compared += 1;
        for monitored_model in MACHINES {
            let executions = classes.values().map(|class| &class.accesses[..]);
            let alone = monitored(executions, monitored_model);
            let report = explored(
                &program.model,
                &all_of(Strategy::Exhaustive, monitored_model),
            );
            let found = keys(&report);
            assert_eq!(report.distinct_violations, found.len(), "{program}");
            assert!(report.violations >= found.len() as u64, "{program}");
            assert_eq!(report.violations > 0, report.borderline > 0, "{program}");
            assert!(
                found.is_subset(&alone.keys),
                "{monitored_model:?} {program}"
            );
            if fails {
                continue;
            }
            let counts = (report.executions, report.borderline);
            let expected = (classes.len() as u64, alone.borderline);
            if program.model.has_partners() {
                let is_enough = counts.0 >= expected.0 && counts.1 >= expected.1;
                assert!(is_enough, "{monitored_model:?} {program}");
            } else {
                assert_eq!(counts, expected, "{monitored_model:?} {program}");
            }
            assert_eq!(found, alone.keys, "{monitored_model:?} {program}");
            borderline_ones += u64::from(report.borderline > 0);
        }
    }
    assert!(compared > 150, "only {compared} were small enough");
    assert!(borderline_ones > 100, "only {borderline_ones} borderline");
}

/// The first finding ends the search, if that is wanted; it is one of those that there are. Without a
/// monitor none is a store-buffer violation.
#[test]
fn the_search_stops_at_the_first_finding_or_continues() {
    let mut found_ones = 0;
    for program in programs(100) {
        if every_class(&ModelProgram::new(&program.model), 4000).is_none() {
            continue;
        }
        for monitored_model in MACHINES.into_iter().chain([MonitoredModel::None]) {
            let all = all_of(Strategy::Exhaustive, monitored_model);
            let first_only = Settings {
                continue_after_failure: false,
                ..all.clone()
            };
            let all = explored(&program.model, &all);
            let first = explored(&program.model, &first_only);
            let Some(found) = first.findings.first() else {
                assert!(all.findings.is_empty(), "{monitored_model:?} {program}");
                assert_eq!(first.limits, [], "{program}");
                assert_eq!(first.executions, all.executions, "{program}");
                continue;
            };
            found_ones += 1;
            let found_kind = kind(found);
            let is_known = all.findings.iter().any(|f| kind(f) == found_kind);
            assert!(is_known, "{monitored_model:?} {found_kind:?} {program}");
            assert_eq!(first.limits, [Limit::FirstFailure], "{program}");
            let begun = first.executions + first.abandoned;
            assert_eq!(begun, found.execution, "{program}");
            assert!(begun <= all.executions + all.abandoned, "{program}");
            // One step may be both.
            assert!(first.faults.max(first.borderline) == 1, "{program}");
            assert_explained(&first, &program);
            if monitored_model == MonitoredModel::None {
                assert_eq!((all.violations, all.borderline), (0, 0), "{program}");
                assert!(keys(&all).is_empty(), "{program}");
            }
        }
    }
    assert!(found_ones > 200, "only {found_ones} have findings");
}

/// However many violations come first, an execution that is wrong is among what is kept.
#[test]
fn violations_leave_room_for_faults() {
    let mut both = 0;
    for program in programs(100) {
        if every_class(&ModelProgram::new(&program.model), 4000).is_none() {
            continue;
        }
        for workers in [1, 2] {
            let settings = Settings {
                kept_findings: 1,
                workers,
                always_share_work: workers > 1,
                ..all_of(
                    Strategy::Exhaustive,
                    MonitoredModel::Pso(LockedDrains::OwnAddress),
                )
            };
            let report = explored(&program.model, &settings);
            let faults = report.findings.iter().map(kind);
            let faults = faults.filter(|kind| matches!(kind, Kind::Fault(_)));
            let is_kept = faults.count() > 0;
            assert_eq!(is_kept, report.faults > 0, "{workers} workers: {program}");
            let has_both = report.faults > 0 && report.distinct_violations > 0;
            both += u32::from(has_both && workers == 1);
        }
    }
    assert!(both > 3, "only {both} have both");
}

/// Failed assertions and deadlocks are found where there are some, and counted. That there is a
/// monitor changes nothing.
#[test]
fn errors_are_found_exactly_where_there_are_some() {
    let blocking = Shape::everything().with_assertions();
    let more = seeds(250).map(|seed| random_program(seed, &blocking));
    let (mut compared, mut failing, mut deadlocking, mut right) = (0, 0, 0, 0);
    for program in programs(100).chain(more) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        compared += 1;
        let expected = Errors {
            fails: truth.fails(),
            deadlocks: truth.deadlocks(),
            ..Errors::default()
        };
        let reachable = reachable(model, usize::MAX).expect("there is no limit");
        assert_eq!(reachable.fails, expected.fails, "{program}");
        assert_eq!(reachable.deadlocks, expected.deadlocks, "{program}");
        for monitored_model in [MonitoredModel::None, MonitoredModel::Tso] {
            let all = explored(model, &all_of(Strategy::Exhaustive, monitored_model));
            let found = errors(&all);
            assert_eq!(found.fails, expected.fails, "{monitored_model:?} {program}");
            if !expected.fails {
                assert_eq!(found, expected, "{monitored_model:?} {program}");
                let deadlocked = truth.count(Status::Deadlocked);
                let is_once = all.faults == deadlocked as u64;
                let may_repeat = model.has_partners() && all.faults > deadlocked as u64;
                assert!(is_once || may_repeat, "{monitored_model:?} {program}");
            }
        }
        let first = Settings {
            monitored_model: MonitoredModel::None,
            ..Settings::default()
        };
        let first = explored(model, &first);
        let is_wrong = expected != Errors::default();
        assert_eq!(first.faults, u64::from(is_wrong), "{program}");
        assert_eq!(first.findings.len(), usize::from(is_wrong), "{program}");
        assert_eq!(first.is_complete(), !is_wrong, "{program}");
        failing += usize::from(expected.fails);
        deadlocking += usize::from(expected.deadlocks);
        right += usize::from(!is_wrong);
    }
    assert!(compared > 300, "only {compared} were small enough");
    let least = failing.min(deadlocking).min(right);
    assert!(least > 50, "{failing} {deadlocking} {right} of {compared}");
}

/// The schedule of every finding, of whatever strategy, leads to it again.
#[test]
fn every_finding_can_be_replayed() {
    let blocking = Shape::everything().with_assertions();
    let more = seeds(100).map(|seed| random_program(seed, &blocking));
    let mut replayed = 0;
    for program in programs(60).chain(more) {
        let model = &program.model;
        if every_class(&ModelProgram::new(model), 2000).is_none() {
            continue;
        }
        let strategies = [
            Strategy::Exhaustive,
            Strategy::Bounded { preemptions: 2 },
            Strategy::Random {
                seed: program.seed,
                executions: 20,
            },
            Strategy::Pct {
                seed: program.seed,
                executions: 20,
                depth: 3,
            },
        ];
        for strategy in strategies {
            for monitored_model in MACHINES {
                let settings = all_of(strategy.clone(), monitored_model);
                let report = explored(model, &settings);
                assert_replays(model, &settings, &report, &program);
                replayed += report.findings.len();
            }
        }
    }
    assert!(replayed > 1000, "only {replayed} findings");
}

/// More preemptions than an execution takes.
const LARGE: u32 = 1000;

/// Programs with errors that take some preemptions.
fn preempted_programs() -> impl Iterator<Item = Seeded> {
    let shapes = [Shape::locks(), Shape::atomics()];
    let more = shapes.map(|shape| shape.with_threads(2, 3).with_assertions());
    let more = more.into_iter().flat_map(|shape| {
        let programs = seeds(100).map(move |seed| random_program(seed, &shape));
        programs.collect::<Vec<_>>()
    });
    let mut families = vec![families::philosophers(2), families::philosophers(3)];
    for last in 1..4 {
        families.push(families::interrupted(&[0, 1], last));
        families.push(families::interrupted(&[0, 1, 2], last));
        families.push(families::interrupted(&[0, 2, 3], last));
        families.push(families::interrupted(&[0, 1, 2, 3], last));
    }
    let families = families.into_iter().map(|model| Seeded { seed: 0, model });
    programs(40).chain(more).chain(families)
}

/// All findings of the executions with so many preemptions.
fn bounded(
    program: &Seeded,
    preemptions: u32,
    monitored_model: MonitoredModel,
) -> Report<AssertionFailed> {
    let strategy = Strategy::Bounded { preemptions };
    explored(&program.model, &all_of(strategy, monitored_model))
}

/// Under a small bound nothing is found that is not there, and with a large one everything is. Says how many
/// violations there are within a few preemptions.
fn assert_bounds_agree(program: &Seeded, truth: &Truth, monitored_model: MonitoredModel) -> usize {
    let exhaustive = all_of(Strategy::Exhaustive, monitored_model);
    let all = explored(&program.model, &exhaustive);
    let all_keys = keys(&all);
    let mut fewer = BTreeSet::new();
    for preemptions in 0..3 {
        let some = keys(&bounded(program, preemptions, monitored_model));
        let is_known = truth.fails() || some.is_subset(&all_keys);
        assert!(is_known, "{preemptions} {program}");
        assert!(fewer.is_subset(&some), "{preemptions} {program}");
        fewer = some;
    }
    let context = format!("{monitored_model:?} {program}");
    let large = bounded(program, LARGE, monitored_model);
    assert_explained(&large, program);
    assert!(large.is_complete(), "{:?}\n{program}", large.limits);
    assert!(fewer.is_subset(&keys(&large)), "{context}");
    assert_eq!(errors(&large).fails, truth.fails(), "{program}");
    if truth.fails() {
        return fewer.len();
    }
    assert_eq!(keys(&large), all_keys, "{context}");
    assert_eq!(errors(&large), errors(&all), "{context}");
    let counts = |report: &Report<_>| (report.executions, report.borderline);
    let ((within, borderline), (run, also)) = (counts(&large), counts(&all));
    if program.model.has_partners() {
        assert!(run >= within && also >= borderline, "{context}");
    } else {
        assert_eq!((run, also), (within, borderline), "{context}");
    }
    fewer.len()
}

/// An error that takes some preemptions is found with so many, and not with fewer.
fn assert_found_within(program: &Seeded, status: Status, fewest: u32) {
    let is_found = |preemptions| {
        let found = errors(&bounded(program, preemptions, MonitoredModel::None));
        match status {
            Status::Failed => found.fails,
            _ => found.deadlocks,
        }
    };
    assert!(is_found(fewest), "{status:?} {fewest} {program}");
    if fewest > 0 {
        assert!(!is_found(fewest - 1), "{status:?} {fewest} {program}");
    }
}

/// The first error that is found, if any, takes so many preemptions.
fn assert_found_first(program: &Seeded, fewest: Option<u32>) {
    let first = explored(
        &program.model,
        &Settings {
            strategy: Strategy::Bounded { preemptions: LARGE },
            monitored_model: MonitoredModel::None,
            ..Settings::default()
        },
    );
    let found = first.findings.first();
    let taken = found.map(|found| cost(&program.model, &found.schedule).preemptions);
    assert_eq!(taken, fewest, "{program}");
}

/// Under a bound nothing is found that is not there, with a large one everything is, and an error
/// that takes few preemptions is found first with so many.
#[test]
fn bounds_find_what_takes_few_preemptions() {
    let (mut compared, mut later_errors, mut later_violations) = (0, 0, 0);
    let mut most_preemptions = 0;
    for program in preempted_programs() {
        let Some(truth) = truth(&program.model, &SMALL) else {
            continue;
        };
        compared += 1;
        for monitored_model in MACHINES {
            later_violations += assert_bounds_agree(&program, &truth, monitored_model);
        }
        let mut fewest_of_all: Option<u32> = None;
        for status in [Status::Failed, Status::Deadlocked] {
            let Some(fewest) = truth.fewest_preemptions(status) else {
                continue;
            };
            later_errors += usize::from(fewest > 0);
            most_preemptions = most_preemptions.max(fewest);
            assert_found_within(&program, status, fewest);
            fewest_of_all = Some(fewest_of_all.map_or(fewest, |other| other.min(fewest)));
        }
        assert_found_first(&program, fewest_of_all);
    }
    assert!(compared > 100, "only {compared} were small enough");
    assert!(later_errors > 10, "only {later_errors}");
    assert!(most_preemptions > 3, "only {most_preemptions}");
    assert!(later_violations > 20, "only {later_violations}");
}

/// A search within a bound and one without, in turns: the one that is through first is what counts, and nothing
/// that the other has found is lost.
#[test]
fn bounded_or_exhaustive_has_the_result_of_the_one_that_finishes() {
    let (mut by_bound, mut by_all) = (0, 0);
    for program in programs(60) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        for monitored_model in MACHINES {
            let all = explored(model, &all_of(Strategy::Exhaustive, monitored_model));
            for preemptions in 0..3 {
                let context = format!("at most {preemptions}, {monitored_model:?}\n{program}");
                let settings = all_of(
                    Strategy::BoundedOrExhaustive { preemptions },
                    monitored_model,
                );
                let both = explored(model, &settings);
                assert_explained(&both, &context);
                assert_replays(model, &settings, &both, &context);
                let within = explored(
                    model,
                    &all_of(Strategy::Bounded { preemptions }, monitored_model),
                );
                if truth.fails() {
                    let is_found = errors(&both).fails;
                    assert!(is_found || !errors(&within).fails, "{context}");
                    assert!(is_found || !both.is_complete(), "{context}");
                    continue;
                }
                let counts = |report: &Report<_>| (report.executions, report.borderline);
                assert!(keys(&within).is_subset(&keys(&both)), "{context}");
                assert!(keys(&both).is_subset(&keys(&all)), "{context}");
                if both.is_complete() {
                    by_all += usize::from(!within.is_complete());
                    // Which of them is through first may decide how often a class is run.
                    let is_within = within.is_complete() && model.has_partners();
                    let through = if is_within { &within } else { &all };
                    assert!(
                        counts(&both) == counts(&all) || counts(&both) == counts(through),
                        "{context}"
                    );
                    assert_eq!(keys(&both), keys(&all), "{context}");
                    assert_eq!(errors(&both), errors(&all), "{context}");
                    let is_same = both.faults == all.faults || both.faults == through.faults;
                    assert!(is_same, "{context}");
                } else {
                    by_bound += 1;
                    assert_eq!(both.limits, [Limit::Preemptions(preemptions)]);
                    assert_eq!(counts(&both), counts(&within), "{context}");
                    let found = errors(&both);
                    assert!(found.deadlocks || !errors(&within).deadlocks, "{context}");
                }
            }
        }
    }
    assert!(by_all > 50, "only {by_all} were through without a bound");
    assert!(by_bound > 50, "only {by_bound} were through within it");
}

/// What is counted is counted once, also where a bound is raised and executions are run again.
#[test]
fn bounds_count_what_is_within_them() {
    for program in programs(60) {
        let model = &program.model;
        let Some(truth) = truth(model, &SMALL) else {
            continue;
        };
        for preemptions in 0..3 {
            let strategy = Strategy::Bounded { preemptions };
            let report = explored(model, &all_of(strategy, MonitoredModel::None));
            let within = truth.classes_within(preemptions);
            let wrong = within.iter().filter(|c| c.status() != Status::Finished);
            let expected = (within.len() as u64, wrong.count() as u64);
            let counted = (report.executions, report.faults);
            assert_eq!(counted, expected, "at most {preemptions}\n{program}");
        }
    }
}

/// Several workers find what one finds. Where an assertion can fail, which other executions are run
/// depends on when that happens.
#[test]
fn workers_change_no_verdict() {
    let mut compared = 0;
    for program in programs(60) {
        let model = &program.model;
        let Some(classes) = every_class(&ModelProgram::new(model), 4000) else {
            continue;
        };
        let fails = classes.keys().any(|class| class.status() == Status::Failed);
        for monitored_model in MACHINES {
            let settings = all_of(Strategy::Exhaustive, monitored_model);
            let (one, log) = recorded(model, &settings);
            for workers in [2, 3] {
                let settings = Settings {
                    workers,
                    ..settings.clone()
                };
                let (many, also) = recorded(model, &settings);
                let context = format!("{workers} workers, {monitored_model:?}, {program}");
                assert_explained(&many, &context);
                assert_replays(model, &settings, &many, &context);
                assert!(many.is_complete(), "{context}");
                assert_eq!(errors(&many).fails, fails, "{context}");
                if fails {
                    continue;
                }
                compared += 1;
                assert_same_classes(also.classes.keys(), log.classes.keys(), &context);
                // Several may have begun what one then explores from the start, so `also` may repeat.
                if !model.has_partners() {
                    assert_eq!(log.repeated().next(), None, "one {context}");
                }
                assert_eq!(errors(&many), errors(&one), "{context}");
                assert_eq!(keys(&many), keys(&one), "{context}");
                let counts = |report: &Report<_>| {
                    let distinct = report.distinct_violations;
                    let (executions, borderline) = (report.executions, report.borderline);
                    (executions, report.faults, borderline, distinct)
                };
                assert_eq!(counts(&many), counts(&one), "{context}");
                assert_eq!(faults(&many).len(), faults(&one).len(), "{context}");
                let first_only = Settings {
                    continue_after_failure: false,
                    ..settings
                };
                let first = explored(model, &first_only);
                assert_eq!(first.findings.is_empty(), one.findings.is_empty());
                for found in first.findings.iter().map(kind) {
                    let is_known = one.findings.iter().any(|f| kind(f) == found);
                    assert!(is_known, "{found:?} {context}");
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} were small enough");
}

/// Violations are counted as often by several workers.
#[test]
fn workers_count_as_many_violations() {
    for program in programs(60) {
        let model = &program.model;
        let Some(classes) = every_class(&ModelProgram::new(model), 4000) else {
            continue;
        };
        if classes.keys().any(|class| class.status() == Status::Failed) {
            continue;
        }
        for monitored_model in MACHINES {
            let settings = all_of(Strategy::Exhaustive, monitored_model);
            let one = explored(model, &settings);
            for workers in [2, 3] {
                let settings = Settings {
                    workers,
                    always_share_work: true,
                    ..settings.clone()
                };
                let many = explored(model, &settings);
                assert_eq!(
                    many.violations, one.violations,
                    "{workers} {monitored_model:?} {program}"
                );
            }
        }
    }
}
