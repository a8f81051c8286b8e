//! Fences that a report ends with, and fences that are tried.

use std::panic::catch_unwind;

use fencepost::sync::atomic::Ordering::{Relaxed, SeqCst};
use fencepost::sync::atomic::{AtomicU32, fence};
use fencepost::{Checker, FenceInference, FenceStrength, Outcome, Strategy, Target, thread};

fn checker() -> Checker {
    Checker::new().progress(false)
}

/// Store buffering, by two threads that do the same.
fn program() {
    let cells = [0, 0].map(AtomicU32::new);
    thread::scope(|scope| {
        for own in 0..2 {
            let cells = &cells;
            scope.spawn(move || {
                cells[own].store(1, Relaxed);
                cells[1 - own].load(Relaxed)
            });
        }
    });
}

/// The line of the load.
const LOAD: u32 = 21;

#[test]
fn a_report_ends_with_the_fences_that_are_missing() {
    let outcome = checker().infer_fences(true).run(program);
    assert!(matches!(outcome, Outcome::NotStoreBufferSafe(_)));
    let set = outcome.inferred_fences().and_then(FenceInference::needed);
    let set = set.expect("fences are needed");
    assert_eq!(set.fences().len(), 1);
    assert_eq!(set.fences()[0].position().line, LOAD);
    let text = outcome.to_string();
    assert!(
        text.contains("fences that rule out all cycles are at the end of the report"),
        "{text}"
    );
    let (report, end) = text
        .split_once("\n\n1 fence makes the program store-buffer safe, and no smaller set does:\n")
        .expect(&text);
    assert!(
        report
            .ends_with("stopped at the first failure (use `continue_after_failure` to find more)"),
        "{text}"
    );
    let place = format!("tests/fences.rs:{LOAD}:");
    assert!(end.contains(&place), "{text}");
    assert!(end.contains("with it: verified for x86-TSO"), "{text}");
    // In JSON they are in the summary.
    let json = outcome.json();
    let lines: Vec<&str> = json.lines().collect();
    assert_eq!(lines.len(), 2, "{json}");
    assert!(!lines[0].contains("fencepost-fences/1"), "{json}");
    let fences = "\"fences\":{\"schema\":\"fencepost-fences/1\",\"type\":\"fences\",";
    assert!(lines[1].contains(fences), "{json}");
    let needed = "\"result\":\"needed\",\"verified\":true,\"fences\":[{\"before\":{";
    assert!(lines[1].contains(needed), "{json}");
}

#[test]
fn a_report_without_them_says_how_to_get_them() {
    let how = "set FENCEPOST_INFER_FENCES=on to infer fences that rule out all cycles";
    let outcome = checker().run(program);
    assert!(outcome.inferred_fences().is_none());
    assert!(outcome.to_string().contains(how), "{outcome}");
    assert!(!outcome.json().contains("fencepost-fences"));
    // Where it would be refused, nothing is said of it.
    let outcome = checker().strategy(Strategy::Random).run(program);
    assert!(outcome.has_failed() && !outcome.to_string().contains("FENCEPOST_INFER_FENCES"));
}

#[test]
fn samples_are_refused_at_once() {
    for strategy in [Strategy::Random, Strategy::Pct] {
        let run = move || checker().strategy(strategy).infer_fences(true).run(|| ());
        let panic = catch_unwind(run).unwrap_err();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        assert!(text.unwrap().contains("choose the strategy Exhaustive"));
    }
}

#[test]
fn what_needs_no_fences_has_none_in_its_report() {
    let outcome = checker().infer_fences(true).run(|| ());
    assert!(outcome.is_verified() && outcome.inferred_fences().is_none());
    let outcome = checker().infer_fences(true).run(program);
    let schedule = outcome.findings()[0].schedule().to_owned();
    let replayed = checker().infer_fences(true).replay(&schedule, program);
    assert!(
        replayed.has_failed() && replayed.inferred_fences().is_none(),
        "{replayed}"
    );
    let text = replayed.to_string();
    assert!(!text.contains("at the end of the report"), "{text}");
    let text = checker().replay(&schedule, program).to_string();
    assert!(!text.contains("FENCEPOST_INFER_FENCES"), "{text}");
}

/// Within a bound one knows no more than that.
#[test]
fn with_a_bound_the_proof_is_for_what_was_run() {
    let checker = checker().preemption_bound(0).strict_bound(true);
    let outcome = checker.infer_fences(true).run(program);
    let set = outcome.inferred_fences().and_then(FenceInference::needed);
    let set = set.expect("fences are needed");
    assert!(matches!(set.outcome(), Outcome::Incomplete(_)), "{set}");
    let text = outcome.to_string();
    let what = "1 fence makes all explored executions store-buffer safe, and no smaller set";
    assert!(text.contains(what), "{text}");
    assert!(!text.contains("or use Ordering"), "{text}");
    assert!(outcome.json().contains("\"verified\":false"), "{text}");
}

/// Fences do not fix an error of the program, whether it is found first or later.
#[test]
fn an_error_comes_before_fences() {
    fn wrong() {
        let cells = [0, 0].map(AtomicU32::new);
        thread::scope(|scope| {
            scope.spawn(|| {
                cells[0].store(1, Relaxed);
                cells[1].load(Relaxed)
            });
            scope.spawn(|| {
                cells[1].store(1, Relaxed);
                assert_eq!(cells[0].load(Relaxed), 1, "the other was first");
            });
        });
    }
    let unknown = "fences are not inferred, because the program fails without store buffers: fix that first\n";
    let outcome = checker().infer_fences(true).run(wrong);
    assert!(
        matches!(outcome, Outcome::NotStoreBufferSafe(_)),
        "{outcome}"
    );
    let text = outcome.to_string();
    let (_, end) = text.split_once(unknown).expect(&text);
    assert!(end.contains("the other was first"), "{text}");
    assert!(
        outcome.json().contains("\"result\":\"unknown\""),
        "{outcome}"
    );
    let outcome = checker()
        .infer_fences(true)
        .continue_after_failure(true)
        .run(wrong);
    assert!(matches!(outcome, Outcome::ProgramError(_)), "{outcome}");
    // It has been shown already.
    assert!(outcome.to_string().ends_with(unknown), "{outcome}");
}

#[test]
fn a_chosen_fence_is_inserted() {
    let full = |place: &str| {
        checker()
            .insert_fence(place, FenceStrength::SeqCst)
            .run(program)
    };
    for place in [
        format!("tests/fences.rs:{LOAD}"),
        format!("fences.rs:{LOAD}"),
        format!("{}:{LOAD}:32", file!()),
    ] {
        let outcome = full(&place);
        assert!(outcome.is_verified(), "{place}: {outcome}");
        let text = outcome.to_string();
        let assumed = format!("assumes:  `fence(Ordering::SeqCst)` is inserted before {place} (");
        assert!(text.contains(&assumed), "{text}");
        assert!(!text.contains("note:"), "{text}");
    }
    // Before the store it does not help, and elsewhere it is not inserted.
    let outcome = full(&format!("tests/fences.rs:{}", LOAD - 1));
    assert!(outcome.has_failed() && !outcome.to_string().contains("note:"));
    for place in [
        "fences.rs:1".to_owned(),
        format!("ences.rs:{LOAD}"),
        format!("fences.rs:{LOAD}:1"),
    ] {
        let outcome = full(&place);
        assert!(outcome.has_failed());
        let note = format!("  note:     no operation was executed at {place}: the fence");
        assert!(outcome.to_string().contains(&note), "{outcome}");
        assert!(outcome.json().contains("\"notes\":[\"no operation"));
    }
    // A barrier between stores is none between a store and a load.
    for target in [Target::X86, Target::Pso] {
        let checker = checker().target(target);
        let checker = checker.insert_fence(format!("fences.rs:{LOAD}"), FenceStrength::Release);
        assert!(checker.run(program).has_failed());
    }
}

/// Those that are tried are there when others are looked for.
#[test]
fn fences_are_inferred_next_to_chosen_ones() {
    fn two_places() {
        let cells = [0, 0].map(AtomicU32::new);
        thread::scope(|scope| {
            scope.spawn(|| {
                cells[0].store(1, Relaxed);
                cells[1].load(Relaxed)
            });
            scope.spawn(|| {
                cells[1].store(1, Relaxed);
                cells[0].load(Relaxed)
            });
        });
    }
    let fences = checker().run_fence_inference(two_places);
    let both = fences.needed().unwrap().fences();
    assert_eq!(both.len(), 2);
    let checker = checker().insert_fence(both[0].position(), FenceStrength::SeqCst);
    let fences = checker.run_fence_inference(two_places);
    let set = fences.needed().expect("one is missing");
    assert!(set.outcome().is_verified(), "{set}");
    assert_eq!(set.fences().len(), 1, "{set}");
    assert_eq!(set.fences()[0].position(), both[1].position());
    let checker = checker.insert_fence(both[1].position(), FenceStrength::SeqCst);
    let fences = checker.run_fence_inference(two_places);
    assert!(matches!(fences, FenceInference::NotNeeded(_)), "{fences}");
}

#[test]
fn what_is_no_place_is_refused() {
    let run = || checker().insert_fence("src/lock.rs", FenceStrength::SeqCst);
    let panic = catch_unwind(run).map(|_| ()).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("found `src/lock.rs`"), "{text}");
}

#[test]
fn chosen_fences_have_no_checkpoints() {
    let run = || {
        let checker = checker().insert_fence("src/lock.rs:1", FenceStrength::SeqCst);
        checker.checkpoint("target/none.checkpoint").run(program)
    };
    let panic = catch_unwind(run).map(|_| ()).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("has no checkpoints"), "{text}");
}

/// A look that is too early and does no harm needs no fence.
#[test]
fn looks_that_do_no_harm_need_no_fence() {
    let program = |is_fenced: bool| {
        move || {
            let (a, b, y) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
            let lock = fencepost::sync::RwLock::new(());
            let between = || {
                if is_fenced {
                    fence(SeqCst);
                }
            };
            thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    y.store(1, Relaxed);
                    if lock.try_write().is_err() {
                        a.store(1, Relaxed);
                        between();
                        b.load(Relaxed);
                    }
                });
                let guard = lock.write().unwrap();
                if y.load(Relaxed) == 0 {
                    b.store(1, Relaxed);
                    between();
                    a.load(Relaxed);
                }
                drop(guard);
                thread.join().unwrap();
            });
        }
    };
    let outcome = Checker::new().run(program(true));
    assert!(outcome.is_verified(), "{outcome}");
    let fences = Checker::new().run_fence_inference(program(false));
    let FenceInference::Needed(set) = &fences else {
        panic!("{fences}");
    };
    assert_eq!(set.fences().len(), 2, "{fences}");
}
