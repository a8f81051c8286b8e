//! An exploration that is interrupted and goes on, once or often, comes to what one comes to that is not
//! interrupted; and a checkpoint that is damaged, or of something else, is refused.
//!
//! `FENCEPOST_SEED` and `FENCEPOST_PROGRAMS` choose other and more programs.

use crate::model;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

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

type Reported = Result<Report<AssertionFailed>, CheckpointError>;

/// Programs that brute force is quick with.
const SMALL: Limits = Limits {
    nodes: 3_000,
    hints: 3,
};

/// Never during the exploration, only at its end.
const AT_THE_END: Duration = Duration::MAX;

/// Explores from a checkpoint, if there is one, and keeps the checkpoints as texts.
fn go_on(
    model: &Arc<Model>,
    settings: &Settings,
    from: Option<&str>,
    every: Duration,
) -> (Reported, Vec<String>) {
    let program = Recording::new(ModelProgram::new(model));
    go_on_recorded(&program, settings, from, every)
}

fn go_on_recorded(
    program: &Recording<ModelProgram>,
    settings: &Settings,
    from: Option<&str>,
    every: Duration,
) -> (Reported, Vec<String>) {
    let from = match from.map(|text| Checkpoint::read(text, settings)) {
        Some(Err(error)) => return (Err(error), Vec::new()),
        Some(Ok(checkpoint)) => Some(checkpoint),
        None => None,
    };
    let mut kept = Vec::new();
    let mut save = |checkpoint: Checkpoint| kept.push(checkpoint.to_text());
    let saver = Some(CheckpointWriter {
        interval: every,
        save: &mut save,
    });
    let report = explore_with_checkpoints(
        || program.clone(),
        settings,
        &mut |_| ControlFlow::Continue(()),
        CheckpointOptions {
            resume_from: from,
            writer: saver,
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

/// Explores in pieces of as many executions as `budget` says.
fn in_pieces(
    model: &Arc<Model>,
    settings: &Settings,
    mut budget: impl FnMut() -> Option<u64>,
) -> (Report<AssertionFailed>, Log) {
    let program = Recording::new(ModelProgram::new(model));
    let mut from: Option<String> = None;
    loop {
        let settings = with_budget(settings, budget());
        let (report, mut kept) = go_on_recorded(&program, &settings, from.as_deref(), AT_THE_END);
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

/// Fails unless nothing shows that the exploration was interrupted.
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

/// The same for several workers, who do not all do the same each time.
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
            ..
        } = *report;
        [executions, faults, violations, borderline]
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

fn shapes() -> [Shape; 7] {
    [
        Shape::atomics(),
        Shape::locks(),
        Shape::counters(),
        Shape::blocking(),
        Shape::everything().with_assertions(),
        Shape::memory().with_assertions(),
        Shape::spinning(),
    ]
}

fn programs(count: u64) -> impl Iterator<Item = Seeded> {
    let of_shape = move |shape| seeds(count).map(move |seed| random_program(seed, &shape));
    shapes().into_iter().flat_map(of_shape)
}

/// The report of an exploration that is not interrupted, if it has not too many executions.
fn whole(model: &Arc<Model>, most: u64) -> Option<Report<AssertionFailed>> {
    let report = explored(model, &with_budget(&all(), Some(most)));
    (!report.is_resumable).then_some(report)
}

fn all() -> Settings {
    all_of(Strategy::Exhaustive, MonitoredModel::Tso)
}

#[test]
fn interrupted_anywhere_it_comes_to_the_same() {
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
fn interrupted_often_it_runs_each_class() {
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
fn loops_with_a_bound_are_cut_all_the_same() {
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

/// Any of the checkpoints that were kept on the way can be the last one that was.
#[test]
fn it_goes_on_from_any_checkpoint() {
    for program in programs(12) {
        let model = &program.model;
        let Some(whole) = whole(model, 40) else {
            continue;
        };
        let (report, kept) = go_on(model, &all(), None, Duration::ZERO);
        assert_same(&report.unwrap(), &whole, &program);
        assert!(kept.len() as u64 >= whole.executions.saturating_sub(1));
        for text in kept {
            let checkpoint = Checkpoint::read(&text, &all()).unwrap();
            assert_eq!(checkpoint.to_text(), text, "{program}");
            let (report, _) = go_on(model, &all(), Some(&text), AT_THE_END);
            assert_same(&report.unwrap(), &whole, &program);
        }
    }
}

/// However many workers are asked for, and whenever the process ends.
#[test]
fn it_goes_on_with_any_number_of_workers() {
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
        let mut from: Option<String> = None;
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
            let (report, mut kept) = go_on(model, &settings, from.as_deref(), every);
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
fn samples_go_on_with_the_next_execution() {
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
            let (report, kept) = go_on(&model, &several, None, Duration::ZERO);
            assert_same_found(&report.unwrap(), &whole, &model);
            for text in kept.iter().step_by(7) {
                let (report, _) = go_on(&model, &several, Some(text), AT_THE_END);
                assert_same_found(&report.unwrap(), &whole, &model);
            }
        }
    }
}

/// What ends by itself leaves no checkpoint at its end.
#[test]
fn only_budgets_and_the_caller_leave_something_to_go_on_with() {
    let model = families::store_buffering(3, false);
    let (report, kept) = go_on(&model, &all(), None, AT_THE_END);
    assert!(report.unwrap().is_complete());
    assert_eq!(kept.len(), 0);
    let first = Settings {
        continue_after_failure: false,
        ..all()
    };
    let (report, kept) = go_on(&model, &first, None, AT_THE_END);
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

/// Stopped by the caller as soon as it is asked, with the only checkpoint.
fn stopped(model: &Arc<Model>) -> (Report<AssertionFailed>, Checkpoint) {
    let program = ModelProgram::new(model);
    let mut kept = Vec::new();
    let mut save = |checkpoint: Checkpoint| kept.push(checkpoint);
    let saver = Some(CheckpointWriter {
        interval: AT_THE_END,
        save: &mut save,
    });
    let keeping = CheckpointOptions {
        resume_from: None,
        writer: saver,
    };
    let stop = &mut |_: &_| ControlFlow::Break(());
    let (report, _) = explore_with_checkpoints(|| program.clone(), &all(), stop, keeping).unwrap();
    assert_eq!(kept.len(), 1);
    (report, kept.remove(0))
}

/// The caller may say stop when all has been explored.
#[test]
fn nothing_may_be_left() {
    let model = families::counter(2, 1);
    let (report, checkpoint) = stopped(&model);
    assert_eq!((report.executions, report.is_resumable), (2, true));
    let text = checkpoint.to_text();
    assert!(!text.contains("\npath"));
    let (report, _) = go_on(&model, &all(), Some(&text), AT_THE_END);
    let report = report.unwrap();
    assert_eq!((report.executions, report.is_complete()), (2, true));
}

#[test]
fn it_goes_on_without_keeping_more() {
    let settings = Settings {
        workers: 2,
        always_share_work: true,
        ..all()
    };
    for model in [families::counter(3, 2), families::ticket_lock(2, 1)] {
        let whole = explored(&model, &all());
        let (_, kept) = go_on(&model, &with_budget(&all(), Some(2)), None, AT_THE_END);
        let program = ModelProgram::new(&model);
        let keeping = CheckpointOptions {
            resume_from: Some(Checkpoint::read(&kept[0], &settings).unwrap()),
            writer: None,
        };
        let watchman = &mut |_: &_| ControlFlow::Continue(());
        let report = explore_with_checkpoints(|| program.clone(), &settings, watchman, keeping);
        assert_same(&report.unwrap().0, &whole, &model);
    }
}

/// Budgets are for what is still to be done; the report says after how many executions it stopped.
#[test]
fn a_budget_begins_anew() {
    let model = families::counter(3, 2);
    let settings = with_budget(&all(), Some(10));
    let (_, kept) = go_on(&model, &settings, None, AT_THE_END);
    let (report, _) = go_on(&model, &settings, Some(&kept[0]), AT_THE_END);
    let report = report.unwrap();
    assert_eq!(report.executions, 20);
    assert_eq!(report.limits, [Limit::Executions(20)]);
}

/// A checkpoint with something of everything in it.
fn rich_checkpoint() -> (Arc<Model>, Settings, String) {
    let seeded = programs(40).map(|program| program.model);
    let mut best: Option<(usize, Arc<Model>, String)> = None;
    for model in seeded {
        let interrupted = with_budget(&all(), Some(12));
        let (_, mut kept) = go_on(&model, &interrupted, None, AT_THE_END);
        let Some(text) = kept.pop() else {
            continue;
        };
        let words = [
            "\nviolation",
            "\nfault",
            "\nlearned",
            "\npath",
            "\nat",
            "\nasleep",
            "\nplanned",
            "\nsettled",
            "\ndistinct",
        ];
        let kinds = words.iter().filter(|word| text.contains(**word)).count();
        if best.as_ref().is_none_or(|(most, ..)| kinds > *most) {
            best = Some((kinds, model, text));
        }
    }
    let (kinds, model, text) = best.expect("a program is interrupted");
    assert!(kinds >= 8, "{text}");
    (model, all(), text)
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let (_, settings, text) = rich_checkpoint();
    for end in 0..text.len() {
        let Some(cut) = text.get(..end) else { continue };
        assert!(Checkpoint::read(cut, &settings).is_err(), "{cut}");
    }
    let mut random = Random::new(1);
    for _ in 0..20_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 + random.below(127) as u8;
        }
        let Ok(changed) = String::from_utf8(bytes) else {
            continue;
        };
        if changed != text {
            assert!(Checkpoint::read(&changed, &settings).is_err(), "{changed}");
        }
    }
}

/// Someone may change it and mend the checksum. What comes of that is their business, but it is
/// no panic.
#[test]
fn a_forged_checkpoint_makes_nothing_panic() {
    let (model, settings, text) = rich_checkpoint();
    let settings = with_budget(&settings, Some(300));
    let body = &text[..text.rfind("checksum").unwrap()];
    let lines: Vec<&str> = body.lines().collect();
    let mut random = Random::new(2);
    let (mut refused, mut used) = (0, 0);
    for _ in 0..4000 {
        let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for _ in 0..1 + random.below(2) {
            // Not the settings: they would be refused before anything else.
            let at = 8 + random.below(lines.len() as u64 - 8) as usize;
            match random.below(4) {
                0 => drop(lines.remove(at)),
                1 => lines.insert(at, lines[random.below(lines.len() as u64) as usize].clone()),
                _ => lines[at] = with_another_number(&lines[at], &mut random),
            }
        }
        let forged = sealed(&lines);
        match go_on(&model, &settings, Some(&forged), AT_THE_END).0 {
            Ok(_) => used += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 500 && used > 100, "{refused} {used}");
}

/// With a right checksum.
fn sealed(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    let checksum = crc32fast::hash(text.as_bytes());
    text.push_str(&format!("checksum {checksum:08x}\n"));
    text
}

/// What operations are taken to touch may be forged too: what is no such thing is refused, and what is too much or
/// too little is noticed, or makes no difference to which classes are run.
#[test]
fn forged_partners_are_refused_or_harmless() {
    let refused = [
        "learned w0 1",
        "learned r0 1",
        "learned u0 1",
        "learned l 1",
        "learned h 1",
        "learned j0 1",
        "learned x0 1",
        "learned m 1",
        "learned 0 1",
        "learned m0",
        "learned m0 1 2",
        "learned m0 -1",
        "learned m0 1048576",
        "learned m0 4294967295",
        "learned m4294967296 1",
    ];
    let strange = [
        "learned m0 1048575",
        "learned c0 1048575",
        "learned m4294967295 0",
        "learned c3 3",
        "learned c6 0",
        "learned m6 0",
        "learned m8 0",
    ];
    let (mut with_partners, mut gone_on, mut noticed) = (0, 0, 0);
    let shape = Shape::blocking();
    for program in seeds(60).map(|seed| random_program(seed, &shape)) {
        let model = &program.model;
        let (Some(truth), Some(_)) = (truth(model, &SMALL), whole(model, 300)) else {
            continue;
        };
        for executions in [2, 5] {
            let first = Recording::new(ModelProgram::new(model));
            let settings = with_budget(&all(), Some(executions));
            let (_, kept) = go_on_recorded(&first, &settings, None, AT_THE_END);
            let Some(text) = kept.first() else {
                continue;
            };
            let body = &text[..text.rfind("checksum").unwrap()];
            let lines: Vec<String> = body.lines().map(str::to_owned).collect();
            let Some(place) = lines.iter().position(|line| line.starts_with("path")) else {
                continue;
            };
            let with_line = |line: &str| {
                let mut lines = lines.clone();
                lines.insert(place, line.to_owned());
                sealed(&lines)
            };
            for line in refused {
                let error = Checkpoint::read(&with_line(line), &all()).unwrap_err();
                assert!(matches!(error, CheckpointError::Damaged { .. }), "{line}");
            }
            let mut forged: Vec<String> = strange.map(with_line).into();
            let is_of_partners = |line: &&String| line.starts_with("learned");
            if lines.iter().any(|line| is_of_partners(&line)) {
                with_partners += 1;
                let others = lines.iter().filter(|line| !is_of_partners(line));
                forged.push(sealed(&others.cloned().collect::<Vec<_>>()));
            }
            for text in forged {
                match go_on_recorded(&first, &all(), Some(&text), AT_THE_END).0 {
                    Ok(report) if !truth.fails() && !model.spins() => {
                        gone_on += 1;
                        let classes = truth.classes.len();
                        assert!(report.is_complete(), "{program}");
                        assert_eq!(first.log().classes.len(), classes, "{program}");
                    }
                    Ok(_) => gone_on += 1,
                    Err(error) => {
                        noticed += 1;
                        let is_said = matches!(error, CheckpointError::ProgramChanged { .. });
                        assert!(is_said, "{error}\n{program}");
                    }
                }
            }
        }
    }
    assert!(with_partners > 5, "{with_partners}");
    assert!(gone_on > 100 && noticed > 10, "{gone_on} {noticed}");
}

fn with_another_number(line: &str, random: &mut Random) -> String {
    let numbers: Vec<usize> = line
        .match_indices(|c: char| c.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    if numbers.is_empty() {
        return line.to_owned();
    }
    let at = numbers[random.below(numbers.len() as u64) as usize];
    let number = match random.below(4) {
        0 => "4294967295",
        1 => "-",
        2 => "16777215",
        _ => ["0", "1", "2", "3", "7"][random.below(5) as usize],
    };
    format!("{}{number}{}", &line[..at], &line[at + 1..])
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
        let (_, kept) = go_on(model, &with_budget(&all(), Some(2)), None, AT_THE_END);
        for (other_number, other) in models.iter().enumerate() {
            let (report, _) = go_on(other, &all(), Some(&kept[0]), AT_THE_END);
            let is_refused = matches!(report, Err(CheckpointError::ProgramChanged { .. }));
            assert_eq!(is_refused, number != other_number, "{model}\n{other}");
        }
    }
}

#[test]
fn other_settings_are_named() {
    let model = families::counter(3, 2);
    let (_, kept) = go_on(&model, &with_budget(&all(), Some(5)), None, AT_THE_END);
    let text = kept[0].as_str();
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
            "go_on",
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
        match Checkpoint::read(text, &settings) {
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
    assert!(Checkpoint::read(text, &harmless).is_ok());
}

#[test]
fn each_refusal_says_why() {
    let model = families::counter(2, 2);
    let (_, kept) = go_on(&model, &with_budget(&all(), Some(2)), None, AT_THE_END);
    let text = &kept[0];
    let refusal = |text: &str| Checkpoint::read(text, &all()).unwrap_err().to_string();
    assert_eq!(refusal(""), "it is no checkpoint");
    assert_eq!(refusal("fn main() {}\n"), "it is no checkpoint");
    assert_eq!(
        refusal(&text.replacen("checkpoint 4", "checkpoint 3", 1)),
        "it was made by another version of Fencepost (format 3; this is format 4)"
    );
    assert_eq!(
        refusal(&text.replacen("executions 2", "executions 3", 1)),
        "it is damaged: its checksum is wrong"
    );
    assert_eq!(
        refusal(&text[..text.len() / 2]),
        "it is damaged: it is not all there"
    );
    let forged = |from: &str, to: &str| {
        let body = text[..text.rfind("checksum").unwrap()].replacen(from, to, 1);
        refusal(&format!(
            "{body}checksum {:08x}\n",
            crc32fast::hash(body.as_bytes())
        ))
    };
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        forged(&format!("version {version}"), "version 0.0.1"),
        format!("it was made by another version of Fencepost (0.0.1; this is {version})")
    );
    assert_eq!(
        forged("setting go_on on", "setting go_on off"),
        "it was made with another setting: go_on was off, and is on"
    );
    assert_eq!(
        forged("executions 2", "executions many"),
        "it is damaged: line 12: expected a count"
    );
    let changed = go_on(&families::counter(2, 1), &all(), Some(text), AT_THE_END).0;
    assert_eq!(
        changed.unwrap_err().to_string(),
        "the program has changed since the checkpoint, or is not deterministic: its first execution is \
         another one than when the checkpoint was made"
    );
    for strategy in [
        Strategy::Bounded { preemptions: 1 },
        Strategy::Replay("-".parse().unwrap()),
    ] {
        let refused = go_on(
            &model,
            &all_of(strategy, MonitoredModel::Tso),
            None,
            AT_THE_END,
        )
        .0;
        assert_eq!(
            refused.unwrap_err().to_string(),
            "there are no checkpoints with this strategy: only exhaustive, random and PCT searches have \
             them"
        );
    }
}
