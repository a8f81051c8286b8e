//! Mutexes and reader-writer locks: exclusion, errors, deadlocks, classes, and the same outside.

use std::sync::Arc;

use crate::explorer::{
    Protected, assert_deadlock, assert_panic, assert_race, classes, in_threads, verified,
};
use crate::support::{Driver, Seen, all_fine, pso};
use fencepost::sync::atomic::{AtomicUsize, Ordering::*};
use fencepost::sync::{Mutex, RwLock, RwLockWriteGuard, TryLockError};
use fencepost::thread;
use fencepost_explore::Fault;
use fencepost_memory::Address;
use fencepost_runtime::{Names, Setup};

#[test]
fn a_mutex_excludes_and_keeps_its_value() {
    let seen = Seen::new();
    let totals = seen.clone();
    all_fine(move || {
        let count = Arc::new(Mutex::new(0));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let count = count.clone();
                thread::spawn(move || {
                    let mut guard = count.lock().unwrap();
                    let value = *guard;
                    thread::yield_now();
                    *guard = value + 1;
                })
            })
            .collect();
        for other in others {
            other.join().unwrap();
        }
        totals.add(*count.lock().unwrap());
    });
    assert_eq!(seen.sorted(), [2]);
}

/// Every order of the critical sections is a class, and nothing else is.
#[test]
fn critical_sections_have_as_many_classes_as_orders() {
    for (threads, expected) in [(1, 1), (2, 2), (3, 6), (4, 24)] {
        let count = classes(move || {
            let mutex = Mutex::new(());
            in_threads(threads, |_| drop(mutex.lock().unwrap()));
        });
        assert_eq!(count, expected, "{threads} threads");
    }
    // Two sections each: 4!/(2!2!).
    let count = classes(|| {
        let mutex = Mutex::new(0);
        in_threads(2, |_| {
            *mutex.lock().unwrap() += 1;
            *mutex.lock().unwrap() += 1;
        });
    });
    assert_eq!(count, 6);
    // Sections of different mutexes do not depend on each other.
    let count = classes(|| {
        let mutexes = [Mutex::new(()), Mutex::new(())];
        in_threads(2, |number| drop(mutexes[number].lock().unwrap()));
    });
    assert_eq!(count, 1);
}

/// One section after the other, in two orders, or one attempt within the other's section.
#[test]
fn a_failed_attempt_is_a_read() {
    let count = classes(|| {
        let mutex = Mutex::new(());
        in_threads(2, |_| drop(mutex.try_lock()));
    });
    assert_eq!(count, 4);
    let count = classes(|| {
        let mutex = Mutex::new(());
        in_threads(2, |number| match number {
            0 => drop(mutex.lock().unwrap()),
            _ => {
                for _ in 0..2 {
                    drop(mutex.try_lock());
                }
            }
        });
    });
    // Two attempts in order, each before, within or after the section.
    assert_eq!(count, 6);
}

#[test]
fn taking_a_mutex_twice_is_a_deadlock() {
    let fault = crate::explorer::fault(|| {
        let mutex = Mutex::new(());
        let _guard = mutex.lock().unwrap();
        let _again = mutex.lock();
    });
    let Fault::Deadlock(waiting) = fault else {
        panic!("{fault:?}");
    };
    assert_eq!(waiting.len(), 1);
}

#[test]
fn taking_two_mutexes_in_two_orders_is_a_deadlock() {
    assert_deadlock(|| {
        let mutexes = [Mutex::new(()), Mutex::new(())];
        in_threads(2, |number| {
            let _one = mutexes[number].lock().unwrap();
            let _other = mutexes[1 - number].lock().unwrap();
        });
    });
    let count = classes(|| {
        let mutexes = [Mutex::new(()), Mutex::new(())];
        in_threads(2, |_| {
            let _one = mutexes[0].lock().unwrap();
            let _other = mutexes[1].lock().unwrap();
        });
    });
    assert_eq!(count, 2);
}

#[test]
fn what_a_mutex_protects_has_no_race() {
    classes(|| {
        let (mutex, cell) = (Mutex::new(()), Protected::new());
        in_threads(2, |_| {
            let _guard = mutex.lock().unwrap();
            cell.increment();
        });
    });
    assert_race(|| {
        let (mutex, cell) = (Mutex::new(()), Protected::new());
        in_threads(2, |number| {
            let _guard = (number == 0).then(|| mutex.lock().unwrap());
            cell.increment();
        });
    });
    // An attempt that succeeds orders as well, one that fails does not.
    classes(|| {
        let (mutex, cell) = (Mutex::new(()), Protected::new());
        in_threads(2, |_| {
            if let Ok(_guard) = mutex.try_lock() {
                cell.increment();
            }
        });
    });
    assert_race(|| {
        let (mutex, cell) = (Mutex::new(()), Protected::new());
        in_threads(2, |number| {
            let guard = mutex.try_lock();
            if number == 0 || guard.is_err() {
                cell.increment();
            }
        });
    });
}

#[test]
fn a_mutex_has_the_rest_of_its_methods_in_a_check() {
    all_fine(|| {
        let mut mutex = Mutex::from(1).named("guarded");
        *mutex.get_mut().unwrap() = 2;
        assert!(!mutex.is_poisoned());
        mutex.clear_poison();
        assert_eq!(
            format!("{mutex:?}"),
            "Mutex { data: 2, poisoned: false, .. }"
        );
        let guard = mutex.try_lock().unwrap();
        assert_eq!(
            (format!("{guard:?}"), format!("{guard}")),
            ("2".into(), "2".into())
        );
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        assert!(format!("{mutex:?}").contains("<locked>"));
        drop(guard);
        assert_eq!(mutex.into_inner().unwrap(), 2);
        assert_eq!(Mutex::<u8>::default().into_inner().unwrap(), 0);
        let unsized_one: Box<Mutex<[i32]>> = Box::new(Mutex::new([1, 2]));
        assert_eq!(unsized_one.lock().unwrap().len(), 2);
    });
}

/// A panic ends the execution; the destructors that run after it find no poison.
#[test]
fn nothing_is_poisoned_by_the_end_of_an_execution() {
    struct Locks(Arc<Mutex<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            *self.0.lock().unwrap() += 1;
        }
    }
    let program = || {
        let mutex = Arc::new(Mutex::new(0));
        let (one, two) = (mutex.clone(), mutex.clone());
        let _later = Locks(mutex);
        thread::spawn(move || {
            let _guard = one.lock().unwrap();
            panic!("with the lock");
        });
        let _waits = Locks(two.clone());
        drop(two.lock());
    };
    assert_panic("with the lock", program);
    let mut driver = Driver::new(program);
    for _ in 0..3 {
        assert!(driver.run_in_turns().error.is_some());
    }
}

/// The thread whose destructor waits for a lock that is held for ever is given up.
#[test]
fn destructors_that_wait_for_locks_do_not_hang_the_check() {
    struct Locks(Arc<Mutex<u32>>, Arc<RwLock<u32>>);
    impl Drop for Locks {
        fn drop(&mut self) {
            let _one = self.1.write();
            let _other = self.0.lock();
        }
    }
    assert_deadlock(|| {
        let (mutex, lock) = (Arc::new(Mutex::new(0)), Arc::new(RwLock::new(0)));
        let (other, _guard) = (mutex.clone(), mutex.lock());
        let _read = lock.read();
        let lock = lock.clone();
        let thread = thread::spawn(move || {
            let _locks = Locks(other.clone(), lock);
            drop(other.lock());
        });
        thread.join().unwrap();
    });
}

#[test]
fn a_lock_in_a_static_is_made_in_every_execution() {
    fencepost::lazy_static! {
        static ref COUNT: Mutex<u32> = {
            let mutex = Mutex::new(0);
            *mutex.lock().unwrap() += 1;
            mutex
        };
    }
    let count = classes(|| {
        in_threads(2, |_| *COUNT.lock().unwrap() += 1);
        assert_eq!(*COUNT.lock().unwrap(), 3);
    });
    assert_eq!(count, 2);
    assert_eq!(*COUNT.lock().unwrap(), 1, "outside of the check");
}

#[test]
fn readers_share_and_writers_exclude() {
    let seen = Seen::new();
    let most = seen.clone();
    classes(move || {
        let lock = RwLock::new(0);
        let readers = AtomicUsize::new(0);
        in_threads(3, |number| {
            if number == 0 {
                let mut value = lock.write().unwrap();
                assert_eq!(readers.load(Relaxed), 0);
                *value += 1;
            } else {
                let value = lock.read().unwrap();
                most.add(readers.fetch_add(1, Relaxed) + 1);
                assert!(*value <= 1);
                readers.fetch_sub(1, Relaxed);
            }
        });
    });
    assert_eq!(seen.sorted(), [1, 2]);
}

#[test]
fn orders_on_a_reader_writer_lock_are_its_classes() {
    let count = |writers: usize, readers: usize| {
        classes(move || {
            let lock = RwLock::new(0);
            in_threads(writers + readers, |number| match number < writers {
                true => *lock.write().unwrap() += 1,
                false => drop(lock.read().unwrap()),
            });
        })
    };
    assert_eq!(count(2, 0), 2);
    assert_eq!(count(1, 1), 2);
    // Readers overlap: the interleavings of two pairs.
    assert_eq!(count(0, 2), 6);
    // The writer comes before, between (in two orders of the readers) or after them.
    assert_eq!(count(1, 2), 6 + 2 + 6);
    // Two attempts to write: as with a mutex.
    let attempts = classes(|| {
        let lock = RwLock::new(0);
        in_threads(2, |_| drop(lock.try_write()));
    });
    assert_eq!(attempts, 4);
    // An attempt to read within a write fails, one to write within a read too.
    let attempts = classes(|| {
        let lock = RwLock::new(0);
        in_threads(2, |number| match number {
            0 => drop(lock.try_write()),
            _ => drop(lock.try_read()),
        });
    });
    assert_eq!(attempts, 4);
}

#[test]
fn what_a_reader_writer_lock_protects_has_no_race() {
    classes(|| {
        let (lock, cell) = (RwLock::new(()), Protected::new());
        in_threads(3, |number| match number {
            0 => {
                let _guard = lock.write();
                cell.increment();
            }
            _ => {
                let _guard = lock.read();
                cell.get();
            }
        });
    });
    assert_race(|| {
        let (lock, cell) = (RwLock::new(()), Protected::new());
        in_threads(2, |_| {
            let _guard = lock.read();
            cell.increment();
        });
    });
}

#[test]
fn a_downgraded_writer_lets_readers_in_and_no_writer() {
    let seen = Seen::new();
    let values = seen.clone();
    classes(move || {
        let lock = RwLock::new(0);
        in_threads(3, |number| match number {
            0 => {
                let mut guard = lock.write().unwrap();
                *guard = 1;
                let guard = RwLockWriteGuard::downgrade(guard);
                assert_eq!(*guard, 1);
                assert!(lock.try_write().is_err());
            }
            1 => *lock.write().unwrap() = 2,
            _ => values.add(lock.try_read().ok().map(|guard| *guard)),
        });
    });
    assert_eq!(seen.sorted(), [None, Some(0), Some(1), Some(2)]);
}

#[test]
fn reading_while_writing_is_a_deadlock() {
    assert_deadlock(|| {
        let lock = RwLock::new(());
        let _guard = lock.write().unwrap();
        let _again = lock.read();
    });
    assert_deadlock(|| {
        let lock = RwLock::new(());
        let _guard = lock.read().unwrap();
        let _again = lock.write();
    });
}

#[test]
fn a_reader_writer_lock_has_the_rest_of_its_methods_in_a_check() {
    all_fine(|| {
        let mut lock = RwLock::from(1).named("shared");
        *lock.get_mut().unwrap() = 2;
        assert!(!lock.is_poisoned());
        lock.clear_poison();
        let one = lock.try_read().unwrap();
        let two = lock.read().unwrap();
        assert_eq!(
            (format!("{one:?}"), format!("{two}")),
            ("2".into(), "2".into())
        );
        assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
        drop((one, two));
        let writer = lock.try_write().unwrap();
        assert_eq!(
            (format!("{writer:?}"), format!("{writer}")),
            ("2".into(), "2".into())
        );
        assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
        drop(writer);
        assert_eq!(lock.into_inner().unwrap(), 2);
        assert_eq!(RwLock::<u8>::default().into_inner().unwrap(), 0);
    });
}

/// Lock and unlock are events on the lock, as documented.
#[test]
fn the_monitor_sees_locks_as_documented() {
    let program = || {
        let (mutex, lock) = (Mutex::new(()), RwLock::new(()));
        let guard = mutex.lock();
        assert!(mutex.try_lock().is_err());
        drop(guard);
        drop(lock.read());
        let guard = lock.write();
        assert!(lock.try_read().is_err());
        drop(guard);
        drop(lock.try_read());
    };
    let seen = |setup: Setup| {
        let run = Driver::with(setup, program).run_first();
        run.expect_fine().mnemonics(0).join(" ")
    };
    assert_eq!(seen(Setup::default()), "il lld il il il il ld il ld il il");
    let on_pso = "il lld stbar il il stbar il il ld stbar il ld il stbar il";
    assert_eq!(seen(pso()), on_pso);
}

#[test]
fn locks_have_names() {
    let mut driver = Driver::new(|| {
        let _guarded = Mutex::new(());
        let _other = RwLock::new(()).named("table");
    });
    driver.run_first().expect_fine();
    let names = Names::new(&driver.registry, fencepost_runtime::names::read_source_line);
    let shown: Vec<_> = (0..names.object_count() as u32)
        .map(|number| names.object(Address(number)).to_owned())
        .collect();
    assert_eq!(
        shown,
        [
            "start of main",
            "end of main",
            "park token of main",
            "wait token of main",
            "_guarded",
            "table"
        ]
    );
}

#[test]
fn locks_outside_of_a_check_are_those_of_std() {
    let mutex = Mutex::new(0);
    let lock = RwLock::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..100 {
                    *mutex.lock().unwrap() += 1;
                    *lock.write().unwrap() += 1;
                    assert!(*lock.read().unwrap() > 0);
                }
            });
        }
    });
    assert_eq!(*mutex.lock().unwrap(), 400);
    assert_eq!(*lock.read().unwrap(), 400);
    let panicked = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let _guards = (mutex.lock().unwrap(), lock.write().unwrap());
            std::panic::resume_unwind(Box::new("poison"));
        });
        thread.join()
    });
    assert!(panicked.is_err());
    assert!(mutex.is_poisoned() && lock.is_poisoned());
    assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*mutex.lock().unwrap_err().into_inner(), 400);
    assert_eq!(*lock.read().unwrap_err().into_inner(), 400);
    mutex.clear_poison();
    lock.clear_poison();
    let guard = mutex.lock().unwrap();
    assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
    drop(guard);
    let reader = RwLockWriteGuard::downgrade(lock.write().unwrap());
    assert!(lock.try_read().is_ok() && lock.try_write().is_err());
    drop(reader);
    assert_eq!(lock.into_inner().unwrap(), 400);
}

/// A writer that waits may hold up readers, as it does with `std` on Linux.
#[test]
fn a_reader_that_reads_again_may_wait_for_ever() {
    assert_deadlock(|| {
        let lock = RwLock::new(0);
        in_threads(2, |number| match number {
            0 => *lock.write().unwrap() = 1,
            _ => {
                let first = lock.read().unwrap();
                let second = lock.read().unwrap();
                assert_eq!(*first, *second);
            }
        });
    });
    // Whatever the writer does before.
    assert_deadlock(|| {
        let (lock, flag) = (RwLock::new(0), AtomicUsize::new(0));
        in_threads(2, |number| match number {
            0 => {
                flag.store(1, SeqCst);
                *lock.write().unwrap() = 1;
            }
            _ => {
                let _first = lock.read();
                let _second = lock.read();
            }
        });
    });
    // A reader that waits for another.
    assert_deadlock(|| {
        let lock = Arc::new(RwLock::new(0));
        let (written, read) = (lock.clone(), lock.clone());
        let writer = thread::spawn(move || *written.write().unwrap() = 1);
        let guard = lock.read().unwrap();
        let reader = thread::spawn(move || drop(read.read()));
        reader.join().unwrap();
        drop(guard);
        writer.join().unwrap();
    });
}

#[test]
fn readers_that_do_not_wait_for_each_other_are_fine() {
    // Nobody writes, or nobody waits to write.
    classes(|| {
        let lock = RwLock::new(0);
        in_threads(2, |number| {
            if number == 0 {
                drop(lock.try_write());
            }
            let _guards = (lock.read(), lock.read());
        });
    });
    // The writer comes after.
    classes(|| {
        let lock = RwLock::new(0);
        drop((lock.read(), lock.read()));
        in_threads(2, |_| *lock.write().unwrap() += 1);
        assert_eq!(*lock.read().unwrap(), 2);
    });
    // Another lock is taken inside, in the same order by all.
    classes(|| {
        let (lock, mutex) = (RwLock::new(0), Mutex::new(0));
        in_threads(3, |number| match number {
            0 => *lock.write().unwrap() += 1,
            _ => {
                let guard = lock.read().unwrap();
                *mutex.lock().unwrap() += *guard;
            }
        });
    });
}

#[test]
fn an_attempt_to_read_may_fail_while_a_writer_waits() {
    let seen = Seen::new();
    let attempts = seen.clone();
    let program = |writes: bool, attempts: Seen<bool>| {
        move || {
            let lock = Arc::new(RwLock::new(0));
            let guard = lock.read().unwrap();
            let (written, tried) = (lock.clone(), lock.clone());
            let writer = thread::spawn(move || {
                if writes {
                    *written.write().unwrap() = 1;
                }
            });
            let attempts = attempts.clone();
            let reader = thread::spawn(move || attempts.add(tried.try_read().is_ok()));
            reader.join().unwrap();
            drop(guard);
            writer.join().unwrap();
        }
    };
    classes(program(true, attempts));
    assert_eq!(seen.sorted(), [false, true]);
    let seen = Seen::new();
    classes(program(false, seen.clone()));
    assert_eq!(seen.sorted(), [true]);
}

/// Readers are ordered with writers, and not with each other.
#[test]
fn readers_do_not_order_each_other() {
    assert_race(|| {
        let (lock, cell) = (RwLock::new(()), Protected::new());
        in_threads(2, |number| {
            if number == 0 {
                cell.increment();
            }
            drop(lock.read());
            if number == 1 {
                cell.get();
            }
        });
    });
    // By a writer that says so they are.
    classes(|| {
        let (lock, cell) = (RwLock::new(0), Protected::new());
        in_threads(3, |number| match number {
            0 => {
                cell.increment();
                *lock.write().unwrap() = 1;
            }
            1 => {
                let mut guard = lock.write().unwrap();
                if *guard == 1 {
                    cell.increment();
                    *guard = 2;
                }
            }
            _ => {
                let guard = lock.read().unwrap();
                if *guard == 2 {
                    cell.get();
                }
            }
        });
    });
    // What is read under the lock comes before what is written under it.
    classes(|| {
        let (lock, cell) = (RwLock::new(()), Protected::new());
        in_threads(3, |number| match number {
            0 => {
                let guard = lock.write().unwrap();
                cell.increment();
                let guard = RwLockWriteGuard::downgrade(guard);
                cell.get();
                drop(guard);
            }
            1 => {
                let _guard = lock.read();
                cell.get();
            }
            _ => {
                let _guard = lock.write();
                cell.increment();
            }
        });
    });
}

/// A writer that waits holds readers up. When the lock becomes free it is woken, but a reader may come first, and then
/// the writer waits again.
#[test]
fn a_reader_may_overtake_a_writer_that_was_woken() {
    let seen = Seen::new();
    let attempts = seen.clone();
    verified(move || {
        let lock = Arc::new(RwLock::new(()));
        let other = lock.clone();
        let thread = thread::spawn(move || drop(other.write()));
        let attempts_fail = [(); 2].map(|()| {
            let _guard = lock.read().unwrap();
            lock.try_read().is_err()
        });
        thread.join().unwrap();
        attempts.add(attempts_fail);
    });
    let all = [[false, false], [false, true], [true, false], [true, true]];
    assert_eq!(seen.sorted(), all);
}
