//! A queue from one thread to another: a ring buffer whose receiver sleeps while there is nothing to
//! receive, and whose sender takes no lock unless the receiver sleeps.

mod sync;

use sync::Ordering::{Acquire, Relaxed, Release, SeqCst};
use sync::{Arc, AtomicBool, AtomicUsize, Condvar, Mutex, UnsafeCell, fence};

struct Shared<T> {
    slots: Box<[UnsafeCell<Option<T>>]>,
    /// How many were received. Only the receiver writes it.
    received: AtomicUsize,
    /// How many were sent. Only the sender writes it.
    sent: AtomicUsize,
    is_asleep: AtomicBool,
    bed: Mutex<()>,
    alarm: Condvar,
}

// SAFETY: a slot is used by the sender alone until it is sent, and then by the receiver alone until it
// is received.
unsafe impl<T: Send> Sync for Shared<T> {}

/// The end that sends.
pub struct Sender<T>(Arc<Shared<T>>);

/// The end that receives.
pub struct Receiver<T>(Arc<Shared<T>>);

/// A queue that holds at most so many.
pub fn queue<T>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared {
        slots: (0..capacity).map(|_| UnsafeCell::new(None)).collect(),
        received: AtomicUsize::new(0),
        sent: AtomicUsize::new(0),
        is_asleep: AtomicBool::new(false),
        bed: Mutex::new(()),
        alarm: Condvar::new(),
    });
    (Sender(shared.clone()), Receiver(shared))
}

impl<T> Sender<T> {
    /// Sends a value, or hands it back if the queue is full.
    pub fn send(&mut self, value: T) -> Result<(), T> {
        let shared = &*self.0;
        let sent = shared.sent.load(Relaxed);
        if sent - shared.received.load(Acquire) == shared.slots.len() {
            return Err(value);
        }
        let slot = &shared.slots[sent % shared.slots.len()];
        // SAFETY: the receiver uses the slot when `sent` says that it may.
        slot.with_mut(|slot| unsafe { *slot = Some(value) });
        shared.sent.store(sent + 1, Release);
        // The receiver says that it sleeps and then looks at `sent`. One of us must see the other.
        if !cfg!(feature = "broken") {
            fence(SeqCst);
        }
        if shared.is_asleep.load(Relaxed) {
            let _bed = shared.bed.lock().unwrap();
            shared.alarm.notify_one();
        }
        Ok(())
    }
}

impl<T> Receiver<T> {
    /// Receives a value, if there is one.
    pub fn try_receive(&mut self) -> Option<T> {
        let shared = &*self.0;
        let received = shared.received.load(Relaxed);
        if received == shared.sent.load(Acquire) {
            return None;
        }
        let slot = &shared.slots[received % shared.slots.len()];
        // SAFETY: the sender uses the slot when `received` says that it may.
        let value = slot.with_mut(|slot| unsafe { (*slot).take() });
        shared.received.store(received + 1, Release);
        value
    }

    /// Receives a value, and sleeps until there is one.
    pub fn receive(&mut self) -> T {
        loop {
            if let Some(value) = self.try_receive() {
                return value;
            }
            let shared = &*self.0;
            let received = shared.received.load(Relaxed);
            let mut bed = shared.bed.lock().unwrap();
            shared.is_asleep.store(true, Relaxed);
            fence(SeqCst);
            while shared.sent.load(Relaxed) == received {
                bed = shared.alarm.wait(bed).unwrap();
            }
            shared.is_asleep.store(false, Relaxed);
        }
    }
}
