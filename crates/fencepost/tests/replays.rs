//! A printed schedule is all that it takes to run its execution again: once, whatever the check had to restart for.

use std::panic::catch_unwind;
use std::sync::atomic::AtomicU64;

use fencepost::sync::atomic::{AtomicUsize, Ordering::*};
use fencepost::sync::{Arc, RwLock};
use fencepost::{Checker, thread};

/// Checks a program that fails, and replays the finding. Returns its schedule.
#[track_caller]
fn replayed(checker: &Checker, program: impl Fn() + Clone + Send + Sync + 'static) -> String {
    let outcome = checker.run(program.clone());
    assert!(outcome.errors() > 0, "{outcome}");
    let finding = &outcome.findings()[0];
    let schedule = finding.schedule().to_owned();
    let json: serde_json::Value = serde_json::from_str(finding.json()).unwrap();
    assert_eq!(json["schedule"], schedule.as_str());
    let line = outcome.to_string();
    let line = line.lines().find(|line| line.starts_with("replay: "));
    assert!(line.unwrap().contains(&schedule), "{outcome}");

    let runs = std::sync::Arc::new(AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&runs);
    let again = checker.replay(&schedule, move || {
        counted.fetch_add(1, Relaxed);
        program();
    });
    assert_eq!(runs.load(Relaxed), 1, "{schedule}: {again}");
    assert_eq!(again.executions(), 1);
    // What follows the name of the thread, which may be another one.
    let failure = |headline: &str| headline.split_once(' ').unwrap().1.to_owned();
    let headline = again.findings()[0].headline();
    assert_eq!(failure(headline), failure(finding.headline()), "{again}");
    assert_eq!(again.findings()[0].schedule(), schedule);
    schedule
}

fn lost_update() {
    let count = Arc::new(AtomicUsize::new(0));
    let other = Arc::clone(&count);
    let add = |count: &AtomicUsize| count.store(count.load(SeqCst) + 1, SeqCst);
    let thread = thread::spawn(move || add(&other));
    add(&count);
    thread.join().unwrap();
    assert_eq!(count.load(SeqCst), 2);
}

#[test]
fn most_schedules_have_no_header() {
    let schedule = replayed(&Checker::new(), lost_update);
    assert!(!schedule.contains('/'), "{schedule}");
}

#[test]
fn ends_of_threads_are_steps_if_the_program_asks_for_them() {
    let schedule = replayed(&Checker::new(), || {
        let flag = Arc::new(AtomicUsize::new(0));
        let other = Arc::clone(&flag);
        let thread = thread::spawn(move || other.store(1, SeqCst));
        let is_set = flag.load(SeqCst) == 1;
        assert!(!is_set || thread.is_finished(), "it has not ended yet");
        thread.join().unwrap();
    });
    assert!(schedule.starts_with("ends/"), "{schedule}");
}

fencepost::lazy_static! {
    static ref SOURCE: AtomicUsize = AtomicUsize::new(0);
    static ref COPY: usize = SOURCE.load(SeqCst);
}

#[test]
fn initializers_are_steps_if_they_read() {
    let schedule = replayed(&Checker::new(), || {
        let thread = thread::spawn(|| SOURCE.store(1, SeqCst));
        assert_eq!(*COPY, 0);
        thread.join().unwrap();
    });
    assert!(schedule.starts_with("statics/"), "{schedule}");
}

#[test]
fn writers_that_wait_are_steps_if_they_can_block() {
    let schedule = replayed(&Checker::new(), || {
        let lock = Arc::new(RwLock::new(0));
        let other = Arc::clone(&lock);
        let thread = thread::spawn(move || *other.write().unwrap() = 1);
        let guards = (lock.read(), lock.read());
        drop(guards);
        thread.join().unwrap();
    });
    assert!(schedule.starts_with("writers/"), "{schedule}");
}

#[test]
fn it_is_a_step_whether_waits_take_tokens_if_that_matters() {
    let schedule = replayed(&Checker::new(), || {
        let me = thread::current();
        thread::scope(|scope| {
            scope.spawn(|| me.unpark());
        });
        thread::park();
    });
    assert!(schedule.starts_with("tokens/"), "{schedule}");
}

fencepost::thread_local! {
    static LAST: std::cell::RefCell<Option<Announces>> = const { std::cell::RefCell::new(None) };
}

#[test]
fn returns_are_steps_if_destructors_of_thread_local_values_can_be_noticed() {
    let schedule = replayed(&Checker::new(), || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let last = Announces(Arc::clone(&dropped));
        thread::scope(|scope| {
            scope.spawn(|| LAST.set(Some(last)));
        });
        assert_eq!(dropped.load(SeqCst), 1, "it is not dropped yet");
    });
    assert!(schedule.starts_with("returns/"), "{schedule}");
}

struct Announces(Arc<AtomicUsize>);

impl Drop for Announces {
    fn drop(&mut self) {
        self.0.store(1, SeqCst);
    }
}

#[test]
fn drops_are_steps_if_a_destructor_can_be_noticed() {
    let line = line!() + 3;
    let schedule = replayed(&Checker::new(), || {
        let dropped = Arc::new(AtomicUsize::new(0));
        let shared = Arc::new(Announces(dropped.clone()));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || drop(shared))
            })
            .collect();
        drop(shared);
        let seen = dropped.load(SeqCst);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(seen, 0, "the last one dropped it before");
    });
    let header = format!("drops={}:{line}:22/", file!());
    assert!(schedule.starts_with(&header), "{schedule}");
}

fn many_threads() {
    let cells = Arc::new([0; 2].map(AtomicUsize::new));
    let threads: Vec<_> = (0..5)
        .map(|index| {
            let cells = Arc::clone(&cells);
            thread::spawn(move || match index {
                0 | 1 => {
                    cells[index].store(1, Relaxed);
                    cells[1 - index].load(Relaxed)
                }
                _ => 0,
            })
        })
        .collect();
    let mut seen = threads.into_iter().map(|thread| thread.join().unwrap());
    let (one, two) = (seen.next().unwrap(), seen.next().unwrap());
    assert!(seen.all(|zero| zero == 0) && one + two > 0, "both read 0");
}

#[test]
fn commits_have_higher_numbers_if_there_are_many_threads() {
    let checker = Checker::new().store_buffers(true);
    let schedule = replayed(&checker, many_threads);
    assert!(schedule.starts_with("wide32/"), "{schedule}");
    let panic = catch_unwind(|| Checker::new().replay(&schedule, many_threads)).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    assert!(
        message.contains("recorded with store buffers (`wide32`)"),
        "{message}"
    );
}

#[test]
fn a_consequence_carries_its_header() {
    let outcome = Checker::new().confirm(true).run(many_threads);
    let json: serde_json::Value = serde_json::from_str(outcome.findings()[0].json()).unwrap();
    let found = &json["consequence"]["finding"];
    let schedule = found["schedule"].as_str().unwrap();
    assert!(schedule.starts_with("wide32/"), "{schedule}");
    let again = Checker::new()
        .store_buffers(true)
        .replay(schedule, many_threads);
    assert_eq!((again.errors(), again.executions()), (1, 1), "{again}");
}

#[test]
fn a_header_that_cannot_be_read_is_refused() {
    let panic = catch_unwind(|| fencepost::replay("end/0", || ())).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    assert!(message.contains("did you mean `ends`?"), "{message}");
}

/// Threads of an execution are numbered as it spawns them, not as an earlier one did.
#[test]
fn threads_that_are_spawned_in_another_order_are_replayed() {
    for store_buffers in [false, true] {
        let checker = Checker::new().store_buffers(store_buffers);
        let schedule = replayed(&checker, || {
            let order = Arc::new(AtomicUsize::new(0));
            let spawners: Vec<_> = (0..2)
                .map(|index| {
                    let order = Arc::clone(&order);
                    thread::spawn(move || {
                        let place = order.fetch_add(1, SeqCst);
                        let inner = thread::spawn(move || {
                            order.store(3, Relaxed);
                            assert!((index, place) != (1, 0), "the second is first");
                        });
                        inner.join().unwrap();
                    })
                })
                .collect();
            for spawner in spawners {
                spawner.join().unwrap();
            }
        });
        assert_eq!(schedule.starts_with("wide32/"), store_buffers, "{schedule}");
    }
}
