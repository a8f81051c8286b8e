//! Against every set of fences, on small random programs.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use fencepost_report::SourcePosition;

use super::*;
use crate::checkpoint::Identity;
use fencepost::sync::atomic::{AtomicU32, fence};
use fencepost::thread;

type Cells = [AtomicU32; 3];

/// An operation of a thread. With no variables it only says where it is.
type Act = fn(Option<&Cells>) -> &'static Location<'static>;

#[track_caller]
fn store(cells: Option<&Cells>, index: usize) -> &'static Location<'static> {
    if let Some(cells) = cells {
        cells[index].store(1, Relaxed);
    }
    Location::caller()
}

#[track_caller]
fn release(cells: Option<&Cells>, index: usize) -> &'static Location<'static> {
    if let Some(cells) = cells {
        cells[index].store(2, Release);
    }
    Location::caller()
}

#[track_caller]
fn load(cells: Option<&Cells>, index: usize) -> &'static Location<'static> {
    if let Some(cells) = cells {
        cells[index].load(Acquire);
    }
    Location::caller()
}

#[track_caller]
fn add(cells: Option<&Cells>, index: usize) -> &'static Location<'static> {
    if let Some(cells) = cells {
        cells[index].fetch_add(1, Relaxed);
    }
    Location::caller()
}

#[track_caller]
fn full(cells: Option<&Cells>) -> &'static Location<'static> {
    if cells.is_some() {
        fence(SeqCst);
    }
    Location::caller()
}

/// What each of three threads can do, each at a place of its own.
const ACTS: [[Act; 9]; 3] = [
    [
        |c| store(c, 0),
        |c| store(c, 1),
        |c| store(c, 2),
        |c| load(c, 0),
        |c| load(c, 1),
        |c| load(c, 2),
        |c| release(c, 1),
        |c| add(c, 0),
        |c| full(c),
    ],
    [
        |c| store(c, 0),
        |c| store(c, 1),
        |c| store(c, 2),
        |c| load(c, 0),
        |c| load(c, 1),
        |c| load(c, 2),
        |c| release(c, 0),
        |c| add(c, 1),
        |c| full(c),
    ],
    [
        |c| store(c, 0),
        |c| store(c, 1),
        |c| store(c, 2),
        |c| load(c, 0),
        |c| load(c, 1),
        |c| load(c, 2),
        |c| release(c, 2),
        |c| add(c, 2),
        |c| full(c),
    ],
];

fn run(threads: &[Vec<Act>]) {
    let cells: Cells = [0, 0, 0].map(AtomicU32::new);
    let cells = &cells;
    thread::scope(|scope| {
        for acts in threads {
            scope.spawn(move || {
                for act in acts {
                    act(Some(cells));
                }
            });
        }
    });
}

fn search(target: Target, threads: &[Vec<Act>]) -> Search {
    let threads = threads.to_vec();
    let program = move || run(&threads);
    let check = Identity::of(&program, Location::caller().into());
    let checker = Checker::new().target(target).progress(false);
    Search::new(&Session::new(checker, Arc::new(program), check))
}

type Cost = (usize, usize);

/// The cheapest set of all, by trying them.
fn cheapest_of_all(target: Target, threads: &[Vec<Act>]) -> Cost {
    let mut places: Vec<SourceLocation> = Vec::new();
    for act in threads.iter().flatten() {
        let place = act(None).into();
        if !places.contains(&place) {
            places.push(place);
        }
    }
    let mut search = search(target, threads);
    let strengths: Vec<Insertion> = search.strengths().map(Insertion::from).collect();
    let ways = strengths.len() + 1;
    let mut sets: Vec<(Cost, Insertions)> = (0..ways.pow(places.len() as u32))
        .map(|number| {
            let inserted = places.iter().enumerate().filter_map(|(index, place)| {
                let way = number / ways.pow(index as u32) % ways;
                Some((*place, strengths[way.checked_sub(1)?]))
            });
            let inserted: Vec<(SourceLocation, Insertion)> = inserted.collect();
            let is_full = |(_, insertion): &&(_, Insertion)| *insertion == Insertion::Fence;
            let cost = (inserted.len(), inserted.iter().filter(is_full).count());
            (cost, inserted.into_iter().collect())
        })
        .collect();
    sets.sort_by_key(|(cost, _)| *cost);
    let is_safe = |insertions: Insertions| search.check(insertions).report.violations == 0;
    let mut is_safe = is_safe;
    let found = sets
        .into_iter()
        .find_map(|(cost, set)| is_safe(set).then_some(cost));
    found.expect("fences everywhere are enough")
}

/// The number of fences, and of full ones; and whether it is proved and each is needed.
fn inferred(target: Target, threads: &[Vec<Act>]) -> Cost {
    let mut search = search(target, threads);
    let set = match infer(&search.session) {
        FenceInference::NotNeeded(outcome) => {
            assert!(outcome.is_verified());
            return (0, 0);
        }
        FenceInference::Needed(set) => set,
        FenceInference::Unknown(outcome) => panic!("{outcome}"),
    };
    assert!(set.outcome().is_verified(), "{set}");
    let location = |position: &SourcePosition| {
        let acts = threads.iter().flatten();
        let mut locations = acts.map(|act| SourceLocation::from(act(None)));
        let is_it = |location: &SourceLocation| {
            (location.line(), location.column()) == (position.line, position.column)
        };
        locations
            .find(is_it)
            .expect("a fence is before an operation")
    };
    let insertions: Vec<(SourceLocation, Insertion)> = set
        .fences()
        .iter()
        .map(|place| (location(place.position()), place.strength().into()))
        .collect();
    for left_out in 0..insertions.len() {
        let mut fewer = insertions.clone();
        fewer.remove(left_out);
        let report = search.check(fewer.iter().copied().collect()).report;
        assert!(report.violations > 0, "{set}");
        // What is said to do instead does; where nothing is, no store would.
        let mut would_do = |store: SourceLocation| {
            let mut with: Insertions = fewer.iter().copied().collect();
            with.insert(store, Insertion::SeqCstStore);
            search.check(with).report.violations == 0
        };
        let fence = &set.fences()[left_out];
        match fence.alternative() {
            Some(FenceAlternative::ReleaseWrite) => {
                assert_eq!(fence.strength(), FenceStrength::Release)
            }
            Some(FenceAlternative::SeqCstStore(store)) => {
                assert!(would_do(location(store)), "{set}")
            }
            None => {
                let all = threads.iter().flatten();
                let all = all.map(|act| SourceLocation::from(act(None)));
                for store in all {
                    assert!(!would_do(store), "{set}");
                }
            }
        }
    }
    let full = |place: &&InferredFence| place.strength() == FenceStrength::SeqCst;
    (set.fences().len(), set.fences().iter().filter(full).count())
}

#[test]
fn no_set_is_cheaper() {
    let mut state = 7_u64;
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut counts = [0; 8];
    // Mostly stores and loads, of few variables.
    let usual = [0, 1, 3, 4, 0, 1, 3, 4, 2, 5, 6, 7, 8];
    for _ in 0..900 {
        let threads: Vec<Vec<Act>> = (0..2 + below(5) / 4)
            .map(|thread| {
                let acts = 2 + below(3);
                let act = |_| ACTS[thread][usual[below(usual.len())]];
                (0..acts).map(act).collect()
            })
            .collect();
        for target in [Target::X86, Target::Pso] {
            let places = threads.iter().map(Vec::len).sum::<usize>();
            if places > 7 {
                continue;
            }
            let found = inferred(target, &threads);
            let least = cheapest_of_all(target, &threads);
            assert_eq!(found, least, "{target:?}");
            counts[found.0.min(7)] += 1;
        }
    }
    assert!(
        counts[1] > 40 && counts[2] > 20 && counts[3] > 3,
        "{counts:?}"
    );
}

#[test]
fn store_buffering_needs_two() {
    let threads = [vec![ACTS[0][0], ACTS[0][4]], vec![ACTS[1][1], ACTS[1][3]]];
    for target in [Target::X86, Target::Pso] {
        assert_eq!(inferred(target, &threads), (2, 2));
    }
    // A message before its flag needs a barrier, and only on PSO.
    let threads = [vec![ACTS[0][0], ACTS[0][1]], vec![ACTS[1][4], ACTS[1][3]]];
    assert_eq!(inferred(Target::X86, &threads), (0, 0));
    assert_eq!(inferred(Target::Pso, &threads), (1, 0));
}

/// What is said to do instead of a fence does.
#[test]
fn other_orderings_are_named() {
    let text = |target, threads: &[Vec<Act>]| {
        let search = search(target, threads);
        let fences = infer(&search.session);
        (fences.to_string(), fences.json())
    };
    let buffering = [vec![ACTS[0][0], ACTS[0][4]], vec![ACTS[1][1], ACTS[1][3]]];
    let (shown, json) = text(Target::X86, &buffering);
    assert_eq!(
        shown
            .matches("or use Ordering::SeqCst for the store at")
            .count(),
        2,
        "{shown}"
    );
    assert_eq!(json.matches("\"ordering\":\"SeqCst\"").count(), 2, "{json}");
    let message = [vec![ACTS[0][0], ACTS[0][1]], vec![ACTS[1][4], ACTS[1][3]]];
    let (shown, _) = text(Target::Pso, &message);
    assert!(
        shown.contains("or use Ordering::Release for this write"),
        "{shown}"
    );
}

/// Two operations at one place: the fence is between them, and cannot be before the place.
#[test]
fn a_fence_inside_of_a_macro_is_said_to_be_there() {
    macro_rules! announce {
        ($own:expr, $other:expr) => {{
            $own.store(1, Relaxed);
            $other.load(Relaxed)
        }};
    }
    let fences = Checker::new().progress(false).run_fence_inference(|| {
        let cells: [AtomicU32; 2] = [0, 0].map(AtomicU32::new);
        thread::scope(|scope| {
            scope.spawn(|| announce!(cells[0], cells[1]));
            scope.spawn(|| announce!(cells[1], cells[0]));
        });
    });
    let set = fences.needed().expect("fences are needed");
    assert!(
        set.fences().iter().all(InferredFence::is_inside_call),
        "{fences}"
    );
    assert!(fences.to_string().contains("inside the call"), "{fences}");
}

#[test]
fn places_are_read_as_reports_write_them() {
    let at = |file: &str, line, column| {
        let file = file.to_owned();
        Some(OwnedLocation { file, line, column })
    };
    assert_eq!(parse_position("src/lock.rs:31:9"), at("src/lock.rs", 31, 9));
    assert_eq!(parse_position(" src/lock.rs:31"), at("src/lock.rs", 31, 0));
    assert_eq!(
        parse_position(r"C:\src\lock.rs:31"),
        at(r"C:\src\lock.rs", 31, 0)
    );
    for wrong in [
        "",
        "31",
        ":31",
        "src/lock.rs",
        "lock.rs:0",
        "lock.rs:1:0",
        "lock.rs:x",
        "lock.rs:-1",
    ] {
        assert_eq!(parse_position(wrong), None, "{wrong}");
    }
}

/// What does not happen again says nothing about fences, and does not keep the search going.
#[test]
fn a_program_that_is_not_deterministic_is_given_up() {
    use std::sync::atomic::AtomicU32 as StdU32;
    static RUNS: StdU32 = StdU32::new(0);
    let fences = Checker::new().progress(false).run_fence_inference(|| {
        let is_safe = RUNS.fetch_add(1, Relaxed) % 4 > 1;
        let order = if is_safe { SeqCst } else { Relaxed };
        let cells: [AtomicU32; 2] = [0, 0].map(AtomicU32::new);
        thread::scope(|scope| {
            for own in 0..2 {
                let cells = &cells;
                scope.spawn(move || {
                    cells[own].store(1, order);
                    cells[1 - own].load(Relaxed)
                });
            }
        });
    });
    assert!(!matches!(fences, FenceInference::Needed(_)), "{fences}");
}
