//! Some of the programs in C, in Rust: the same operations in the same order.

use fencepost::sync::atomic::{AtomicI32, Ordering::Relaxed};
use fencepost::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use fencepost::thread;

/// The name of the program in C, and its body in Rust.
pub const PROGRAMS: [(&str, fn()); 5] = [
    ("mutex_counter.c", mutex_counter),
    ("condvar_queue.c", condvar_queue),
    ("rwlock_readers.c", rwlock_readers),
    ("barrier_alone.c", barrier),
    ("once.c", once),
];

/// Starts two threads, does something else, and joins them.
fn with_two<T: Clone + Send + 'static>(shared: &T, work: fn(T), meanwhile: impl FnOnce(&T)) {
    let spawn = || {
        let shared = shared.clone();
        thread::spawn(move || work(shared))
    };
    let threads = [spawn(), spawn()];
    meanwhile(shared);
    for thread in threads {
        thread.join().expect("the thread does not panic");
    }
}

fn mutex_counter() {
    let count = Arc::new(Mutex::new(0));
    with_two(&count, |count| *count.lock().unwrap() += 1, |_| ());
}

fn condvar_queue() {
    let queue = Arc::new((Mutex::new(0), Condvar::new()));
    let consume = |queue: Arc<(Mutex<i32>, Condvar)>| {
        let mut items = queue.0.lock().unwrap();
        while *items == 0 {
            items = queue.1.wait(items).unwrap();
        }
        *items -= 1;
    };
    with_two(&queue, consume, |queue| {
        for _ in 0..2 {
            *queue.0.lock().unwrap() += 1;
            queue.1.notify_one();
        }
    });
}

fn rwlock_readers() {
    let lock = Arc::new(RwLock::new((0, 0)));
    let read = |lock: Arc<RwLock<(i32, i32)>>| {
        let values = lock.read().unwrap();
        assert_eq!(values.0, values.1);
    };
    with_two(&lock, read, |lock| {
        *lock.write().unwrap() = (1, 1);
    });
}

fn barrier() {
    let shared = Arc::new(Barrier::new(2));
    let other = Arc::clone(&shared);
    let thread = thread::spawn(move || {
        other.wait();
    });
    shared.wait();
    thread.join().expect("the thread does not panic");
}

fn once() {
    let shared = Arc::new((Once::new(), AtomicI32::new(0)));
    let other = Arc::clone(&shared);
    let call = |shared: &(Once, AtomicI32)| shared.0.call_once(|| shared.1.store(7, Relaxed));
    let thread = thread::spawn(move || call(&other));
    call(&shared);
    thread.join().expect("the thread does not panic");
}
