//! Search orders, bounds, checkpoints and broken symmetry.

use crate::generate;

use std::io::Cursor;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fencepost_protocol::outcome::{Bound, DeadlockRule, Verdict};
use fencepost_protocol::search::{
    Options, SearchCallbacks, SearchCheckpoint, SearchErrorKind, SearchOrder, SearchOutcome,
    SearchProgress, Symmetry, resume, search,
};
use fencepost_protocol::{Limits, Model};
use generate::Generator;

/// 4^8 states, each of 8 counters one step away from the next: 8 rules in each, depth 24.
const COUNTERS: &str = "type I: 0..7; var c: array [I] of 0..3; on: boolean;
    startstate for i: I do c[i] := 0; end; on := true; end;
    ruleset i: I do rule \"step\" on ==> c[i] := (c[i] + 1) % 4; end; end;
    invariant \"small\" forall i: I do c[i] < 4 end;";

#[track_caller]
fn model(text: &str) -> Model {
    match Model::read(text.as_bytes(), &[], &Limits::default()) {
        Ok(model) => model,
        Err(error) => panic!("{}", error.render("model.m")),
    }
}

fn run(model: &Model, options: &Options) -> SearchOutcome {
    match search(model, options, &()) {
        Ok(report) => report,
        Err(refusal) => panic!("{refusal}"),
    }
}

fn counts(report: &SearchOutcome) -> (Verdict, u64, u64) {
    (report.verdict.clone(), report.states, report.rules_fired)
}

#[test]
fn every_order_finds_all_states() {
    let model = model(COUNTERS);
    let all = (Verdict::NoError, 1 << 16, 8 << 16);
    let base = Options::default();
    let first = run(&model, &base);
    assert_eq!(counts(&first), all);
    assert_eq!(first.depth, 24);
    for (workers, compact, order) in [
        (2, false, SearchOrder::BreadthFirst),
        (5, false, SearchOrder::BreadthFirst),
        (1, true, SearchOrder::BreadthFirst),
        (2, true, SearchOrder::BreadthFirst),
        (1, false, SearchOrder::DepthFirst),
        (1, true, SearchOrder::DepthFirst),
    ] {
        let options = Options {
            workers,
            hash_compaction: compact,
            order,
            ..base.clone()
        };
        let report = run(&model, &options);
        assert_eq!(counts(&report), all, "{options:?}");
        assert_eq!(report.omission.is_some(), compact);
        if order == SearchOrder::BreadthFirst {
            assert_eq!(report.depth, 24, "{options:?}");
        }
    }
}

#[test]
fn every_order_agrees_on_random_models() {
    for seed in 0..60 {
        let model = model(&Generator::new(seed, true).model());
        let options = |order, compact, symmetry| Options {
            order,
            hash_compaction: compact,
            symmetry,
            max_states: 2000,
            max_loop_iterations: 20,
            deadlock: DeadlockRule::Off,
            ..Options::default()
        };
        let plain = run(
            &model,
            &options(SearchOrder::BreadthFirst, false, Symmetry::Off),
        );
        for (order, compact) in [
            (SearchOrder::BreadthFirst, true),
            (SearchOrder::DepthFirst, false),
            (SearchOrder::DepthFirst, true),
        ] {
            let other = run(&model, &options(order, compact, Symmetry::Off));
            match plain.verdict {
                Verdict::NoError => assert_eq!(counts(&other), counts(&plain), "{}", model.source),
                Verdict::Incomplete(_) => {}
                // Which error is found first depends on the order.
                _ => assert!(
                    other.trace.is_some() || plain.trace.is_none(),
                    "{}",
                    model.source
                ),
            }
        }
        let fast = run(
            &model,
            &options(SearchOrder::BreadthFirst, false, Symmetry::Fast),
        );
        let full = run(
            &model,
            &options(SearchOrder::BreadthFirst, false, Symmetry::Full),
        );
        if plain.verdict == Verdict::NoError {
            assert_eq!(
                (fast.verdict, full.verdict),
                (Verdict::NoError, Verdict::NoError)
            );
            assert!(full.states <= fast.states && fast.states <= plain.states);
        }
    }
}

#[test]
fn bounds_are_said() {
    let model = model(COUNTERS);
    let bounded = |change: &dyn Fn(&mut Options)| {
        let mut options = Options::default();
        change(&mut options);
        run(&model, &options)
    };
    let states = bounded(&|options| options.max_states = 1000);
    assert_eq!(states.verdict, Verdict::Incomplete(Bound::States));
    assert_eq!(states.states, 1000);
    let depth = bounded(&|options| options.max_depth = 2);
    assert_eq!(depth.verdict, Verdict::Incomplete(Bound::Depth));
    // 1 start state, 8 after one step, 8 + 28 after two.
    assert_eq!((depth.states, depth.depth), (1 + 8 + 36, 2));
    let enough = bounded(&|options| options.max_depth = 25);
    assert_eq!(enough.verdict, Verdict::NoError);
    let deep = bounded(&|options| {
        options.max_depth = 2;
        options.order = SearchOrder::DepthFirst;
    });
    assert_eq!(deep.verdict, Verdict::Incomplete(Bound::Depth));
    let memory = bounded(&|options| options.max_memory = Some(300_000));
    assert_eq!(memory.verdict, Verdict::Incomplete(Bound::Memory));
    assert!(memory.states > 1000 && memory.states < 1 << 16);
}

#[test]
fn loops_in_compiled_code_can_be_stopped() {
    for body in [
        "for i: 0..9999999999 do for j: 0..9999999999 do x := 1; end; end;",
        "while true do x := 1 - x; end;",
        "x := exists i: 0..9999999999 do i < 0 end ? 0 : 1;",
    ] {
        let text = format!("var x: 0..1; startstate x := 0; end; rule {body} end;");
        let options = Options {
            max_time: Some(Duration::from_millis(200)),
            max_loop_iterations: u64::MAX,
            ..Options::default()
        };
        let report = run(&model(&text), &options);
        assert_eq!(report.verdict, Verdict::Incomplete(Bound::Time), "{body}");
    }
}

#[test]
fn calls_of_calls_can_be_stopped() {
    let procedures: String = (1..60)
        .map(|i| format!("procedure p{i}(); begin p{0}(); p{0}(); end;\n", i - 1))
        .collect();
    let text = format!(
        "var x: 0..1; procedure p0(); begin x := 1; end; {procedures}
         startstate x := 0; end; rule p59(); end;"
    );
    let options = Options {
        max_time: Some(Duration::from_millis(200)),
        ..Options::default()
    };
    let report = run(&model(&text), &options);
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::Time));
}

#[test]
fn random_walks_find_an_error_and_the_way_to_it() {
    let text = COUNTERS.replace("c[i] < 4", "c[i] < 3");
    let model = model(&text);
    let mut found = Vec::new();
    for workers in [1, 3] {
        let options = Options {
            workers,
            order: SearchOrder::Random {
                seed: 7,
                walks: 50,
                steps: 200,
            },
            ..Options::default()
        };
        let report = run(&model, &options);
        assert!(matches!(report.verdict, Verdict::InvariantFailed(_)));
        found.push(report.trace);
    }
    assert_eq!(found[0], found[1], "the first walk that fails counts");
    let calm = Options {
        order: SearchOrder::Random {
            seed: 7,
            walks: 20,
            steps: 30,
        },
        ..Options::default()
    };
    let report = run(&self::model(COUNTERS), &calm);
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::Walks));
    assert_eq!((report.rules_fired, report.depth), (20 * 30, 30));
}

/// Keeps the last checkpoint, and stops the search at the first one if asked to.
#[derive(Default)]
struct CheckpointStore {
    saved: Mutex<Vec<u8>>,
    stops: bool,
    is_saved: AtomicBool,
    times: Mutex<u32>,
}

impl SearchCallbacks for CheckpointStore {
    fn should_stop(&self) -> bool {
        self.stops && self.is_saved.load(Ordering::Relaxed)
    }

    fn progress(&self, progress: &SearchProgress) {
        assert!(progress.states <= 1 << 16);
    }

    fn checkpoint(&self, saved: &SearchCheckpoint<'_>) {
        let mut bytes = Vec::new();
        saved.write_to(&mut bytes).expect("memory takes everything");
        *self.saved.lock().expect("no panic") = bytes;
        *self.times.lock().expect("no panic") += 1;
        self.is_saved.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_search_goes_on_where_it_was_saved() {
    let model = model(COUNTERS);
    for (compact, workers) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let options = Options {
            hash_compaction: compact,
            workers,
            coverage: true,
            ..Options::default()
        };
        let all = run(&model, &options);
        let mut states = 100;
        let mut saved: Option<Vec<u8>> = None;
        let mut parts = 0;
        let last = loop {
            let keeper = CheckpointStore::default();
            let bounded = Options {
                max_states: states,
                ..options.clone()
            };
            let report = match &saved {
                None => search(&model, &bounded, &keeper),
                Some(saved) => resume(&model, &bounded, &keeper, &mut Cursor::new(saved)),
            };
            let report = report.unwrap_or_else(|refusal| panic!("{refusal}"));
            if report.verdict != Verdict::Incomplete(Bound::States) {
                break report;
            }
            saved = Some(keeper.saved.into_inner().expect("no panic"));
            states = states * 3 / 2 + 11;
            parts += 1;
        };
        assert!(parts > 2);
        assert_eq!(last.states, all.states);
        assert_eq!(last.verdict, all.verdict);
        // A state that was not expanded completely is expanded again, but its rules count once.
        assert_eq!(last.rules_fired, all.rules_fired);
        assert_eq!(last.depth, all.depth);
    }
}

/// A state whose properties were not evaluated to the end is not forgotten.
#[test]
fn properties_that_were_interrupted_are_evaluated_again() {
    // The invariant is false in the second state, after some hundred million rounds.
    let text = "var x: 0..1; n: 0..1; startstate x := 0; n := 0; end; rule x := 1; end;
        function slow(): boolean; begin
          for i := 1 to 20000 do for j := 1 to 20000 do n := 1 - n; end; end; return false; end;
        invariant x = 0 | slow();";
    let model = model(text);
    let keeper = CheckpointStore::default();
    let short = Options {
        max_time: Some(Duration::from_millis(100)),
        ..Options::default()
    };
    let report = search(&model, &short, &keeper).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::Time));
    assert_eq!(report.states, 1);
    let saved = keeper.saved.into_inner().expect("no panic");
    let quick = go_on_shortly(&model, &saved);
    assert_eq!(quick, Verdict::Incomplete(Bound::Time));
}

/// Goes on for a moment.
fn go_on_shortly(model: &Model, saved: &[u8]) -> Verdict {
    let short = Options {
        max_time: Some(Duration::from_millis(100)),
        ..Options::default()
    };
    match resume(model, &short, &(), &mut Cursor::new(saved)) {
        Ok(report) => report.verdict,
        Err(refusal) => panic!("{refusal}"),
    }
}

/// Wherever memory runs out, a resumed search with more of it finds all states.
#[test]
fn a_search_goes_on_wherever_memory_ran_out() {
    const CHAIN: &str = "var x: 0..40000; startstate x := 0; end;
        rule \"step\" x < 40000 ==> x := x + 1; end;
        invariant \"never at the end\" x != 40000;";
    let mut cut = 0;
    for (text, verdict) in [(CHAIN, None), (COUNTERS, Some(Verdict::NoError))] {
        let model = model(text);
        for workers in [1, 2] {
            let options = Options {
                workers,
                ..Options::default()
            };
            let all = run(&model, &options);
            for kilobytes in [100, 150, 200, 230, 300, 420, 500, 700, 900, 1100, 1500] {
                let keeper = CheckpointStore::default();
                let bounded = Options {
                    max_memory: Some(kilobytes << 10),
                    ..options.clone()
                };
                let report = search(&model, &bounded, &keeper);
                let report = report.unwrap_or_else(|refusal| panic!("{refusal}"));
                if report.verdict != Verdict::Incomplete(Bound::Memory) {
                    continue;
                }
                let saved = keeper.saved.into_inner().expect("no panic");
                if saved.is_empty() {
                    // There was no room for the start state.
                    continue;
                }
                cut += 1;
                let rest = resume(&model, &options, &(), &mut Cursor::new(saved));
                let rest = rest.unwrap_or_else(|refusal| panic!("{refusal}"));
                assert_eq!(rest.verdict, all.verdict, "{kilobytes} KiB");
                if verdict.is_some() {
                    assert_eq!(counts(&rest), counts(&all), "{kilobytes} KiB");
                }
            }
        }
    }
    assert!(cut > 15, "{cut}");
}

#[test]
fn a_long_search_is_saved_while_it_runs() {
    let model = model(COUNTERS);
    let keeper = CheckpointStore::default();
    let options = Options {
        checkpoint_interval: Some(Duration::from_nanos(1)),
        workers: 2,
        ..Options::default()
    };
    let report = search(&model, &options, &keeper).unwrap_or_else(|refusal| panic!("{refusal}"));
    assert_eq!(counts(&report), (Verdict::NoError, 1 << 16, 8 << 16));
}

#[test]
fn damaged_files_are_refused() {
    let model = model(COUNTERS);
    let keeper = CheckpointStore::default();
    let options = Options {
        max_states: 500,
        ..Options::default()
    };
    search(&model, &options, &keeper).unwrap_or_else(|refusal| panic!("{refusal}"));
    let saved = keeper.saved.into_inner().expect("no panic");
    let load = |bytes: &[u8], options: &Options| {
        resume(&model, options, &(), &mut Cursor::new(bytes)).map(|report| report.states)
    };
    assert!(load(&saved, &Options::default()).is_ok());
    let other = Options {
        deadlock: DeadlockRule::Off,
        ..Options::default()
    };
    let refusal = load(&saved, &other).expect_err("another search");
    assert!(refusal.message.contains("other"), "{refusal}");
    let other = Options {
        build_id: 1,
        ..Options::default()
    };
    let refusal = load(&saved, &other).expect_err("another program");
    assert!(refusal.message.contains("another build"), "{refusal}");
    assert_eq!(refusal.kind, SearchErrorKind::Checkpoint);
    // There is nothing wrong with it if it does not fit, so that it must not be written over.
    let small = Options {
        max_memory: Some(1 << 10),
        ..Options::default()
    };
    let refusal = load(&saved, &small).expect_err("too large");
    assert_eq!(refusal.kind, SearchErrorKind::Resources, "{refusal}");
    for length in [0, 7, 8, 100, saved.len() / 2, saved.len() - 1] {
        let refusal = load(&saved[..length], &Options::default()).expect_err("too short");
        let expected = match length {
            0 => "not a Fencepost checkpoint",
            _ => "truncated",
        };
        assert!(refusal.message.contains(expected), "{refusal}");
    }
    let longer = [&saved[..], &[0]].concat();
    assert!(load(&longer, &Options::default()).is_err());
    for at in (0..saved.len()).step_by(61) {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x55;
        assert!(load(&damaged, &Options::default()).is_err(), "byte {at}");
    }
}

/// The model is refused with symmetry reduction, and has this verdict without.
fn searched_without_symmetry_only(model: &Model, text: &str) -> SearchOutcome {
    for symmetry in [Symmetry::Fast, Symmetry::Full] {
        let options = Options {
            symmetry,
            ..Options::default()
        };
        let refusal = search(model, &options, &()).expect_err(text);
        assert!(refusal.message.contains("is not symmetric"), "{refusal}");
        assert!(refusal.span.is_some() && refusal.help.is_some());
    }
    let without = Options {
        symmetry: Symmetry::Off,
        ..Options::default()
    };
    run(model, &without)
}

/// A guard that uses an undefined value in some permutations of a state only, since it stops at the
/// first value that decides.
#[test]
fn guards_that_fail_for_some_permutations_are_refused() {
    let stops = "type S: scalarset(3);
         var ready: array [S] of boolean; n: 0..3;
         startstate undefine ready; n := 0; end;
         ruleset i: S do
           rule isundefined(ready[i]) & n < 3 ==> ready[i] := true; n := n + 1; end;
         end;
         rule n > 0 & exists i: S do ready[i] end ==> undefine ready; n := 0; end;";
    // Here the state that stands for the others is the one that fails.
    let picks = "type S: scalarset(3);
         var a: array [S] of 0..1; done: boolean; r: 0..1;
         function pick(): S; var l: S; begin for i: S do l := i; end; return l; end;
         ruleset s: S do
           startstate
             undefine a; for i: S do if i != s then a[i] := 1; end; end; done := false; r := 0;
           end;
         end;
         rule a[pick()] = 1 ==> done := !done; end;
         rule r := 1 - r; end;";
    for text in [stops, picks] {
        let model = model(text);
        let report = searched_without_symmetry_only(&model, text);
        assert!(matches!(report.verdict, Verdict::Fault { .. }), "{text}");
        assert_eq!(report.symmetry, None);
    }
}

#[test]
fn nothing_is_covered_if_start_states_are_left_out() {
    let model = model(
        "var x: 0..9; ruleset i: 0..9 do startstate x := i; end; end;
         rule x := x; end; invariant x < 9;",
    );
    let options = Options {
        max_states: 4,
        ..Options::default()
    };
    let report = run(&model, &options);
    assert_eq!(report.verdict, Verdict::Incomplete(Bound::States));
    assert_eq!(report.covered, None);
}

/// Loops over scalarsets in order: what symmetry would hide, deep in a model or in a property.
#[test]
fn loops_that_depend_on_the_order_of_a_scalarset_are_refused() {
    let elects = |late: i64| {
        format!(
            "type S: scalarset(3);
             var last: S; chosen: S; c: 0..{late};
             ruleset s: S do startstate chosen := s; c := 0; undefine last; end; end;
             rule \"tick\" c < {late} & c != {late} - 1 ==> c := c + 1; end;
             rule \"elect\" c = {late} - 1 ==> for i: S do last := i; end; c := c + 1; end;
             rule \"stop\" c = {late} ==> c := 0; end;
             invariant \"loser is not elected\" isundefined(last) | last != chosen;"
        )
    };
    let asks = "type S: scalarset(3);
         var chosen: S;
         function last(): S; var found: S; begin for i: S do found := i; end; return found; end;
         ruleset s: S do startstate chosen := s; end; end;
         ruleset s: S do rule chosen := s; end; end;
         invariant \"not the last\" chosen != last();";
    let models = [4, 10, 1000, 20_000].map(elects);
    for text in models.iter().map(String::as_str).chain([asks]) {
        let model = model(text);
        let report = searched_without_symmetry_only(&model, text);
        assert!(
            matches!(report.verdict, Verdict::InvariantFailed(_)),
            "{text}"
        );
    }
}
