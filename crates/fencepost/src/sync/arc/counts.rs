//! The counts of an `Arc` are an object whose state is the number of its strong references.
//!
//! No thread can observe in which order references were added and removed. So these operations are
//! updates, which commute, and they add no interleavings. An operation that returns a count is a
//! read; one that returns the value because there was only one reference is a write.
//!
//! But the drop of the last reference runs the destructor of the value. If that does something that
//! other threads can observe, or that depends on its thread, it matters which thread is last. Then
//! the drops are writes. That is not known in advance, so the check restarts when it happens: see
//! `Restart::OrderedDrops`.
//!
//! For the monitor, a thread that changes a count writes to an address of its own, and a thread
//! that reads the count loads from the addresses of all others. A single address would order the
//! changes. A reader is also ordered before changes that it did not see, so it loads from the
//! addresses of threads that have changed nothing yet. Threads that are spawned later have no
//! address yet; they write to a common one, once.
//!
//! As in `std`, strong and weak references are counted in two words, and every operation accesses
//! the same word in the same way:
//!
//! | operation | references | weak references |
//! | --- | --- | --- |
//! | `clone` | read-modify-write | |
//! | `downgrade`, clone of a `Weak` | | read-modify-write |
//! | drop, `into_inner` | read-modify-write, Release | |
//! | drop of a `Weak` | | read-modify-write, Release |
//! | `strong_count` | load | |
//! | `weak_count` | | load |
//! | `weak_count` of a `Weak` | then load | load |
//! | `try_unwrap` | compare-exchange | |
//! | `get_mut` | then load, if it succeeds | compare-exchange |
//! | `make_mut` | compare-exchange | then load, if it succeeds |
//! | `upgrade` | compare-exchange, or load if there is none | |
//!
//! While there is only one thread, none of this is a step.

use std::sync::Arc as StdArc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fencepost_explore::{Condition, Effect, Intent, TouchKind};
use fencepost_memory::{Address, ThreadId};

use fencepost_runtime::{Current, Drains, DropTracker, LocationRef, Object, Outcomes, Step};

/// The kinds of the addresses to which threads write when they change a word.
const KINDS: [[&str; 2]; 2] = [
    ["reference to an Arc", "later reference to an Arc"],
    ["weak reference to an Arc", "later weak reference to an Arc"],
];

/// What all references to a value share.
pub(super) struct Counts {
    object: Object,
    watch: DropTracker,
    /// Whether the order of drops matters.
    are_drops_ordered: bool,
    shared: Mutex<Shared>,
}

struct Shared {
    count: Count,
    /// The clock of the dropped weak references, if the execution has cells. That of the strong ones is
    /// the object's.
    weak_released: Vec<u32>,
    /// By [`Word`].
    places: [Places; 2],
}

/// A word in which `std` counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// The strong references.
    Strong,
    /// The weak references.
    Weak,
}

/// The addresses to which threads write when they change a word.
#[derive(Default)]
struct Places {
    of_threads: Vec<(ThreadId, Address)>,
    /// The common address of threads that were spawned after the first read of the count, if there
    /// was one.
    of_later: Option<Address>,
}

/// How a word is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Look {
    /// By a load.
    Load,
    /// By a part of a locked operation.
    Locked,
}

/// How many references there are.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub(super) strong: usize,
    pub(super) weak: usize,
}

/// Which other references there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Uniqueness {
    /// None.
    Only,
    /// Only weak ones.
    OnlyButWeak,
    /// Strong ones.
    Shared,
}

impl Counts {
    /// Creates the counts of a new value, in a check.
    pub(super) fn new(strong: usize, location: LocationRef) -> Option<StdArc<Self>> {
        let current = Current::get()?;
        Some(StdArc::new(Counts {
            object: Object::new("Arc", strong as u64, location),
            watch: current.track_drop("Arc", location),
            are_drops_ordered: current.is_drop_visible(location),
            shared: Mutex::new(Shared {
                count: Count { strong, weak: 0 },
                weak_released: Vec::new(),
                places: Default::default(),
            }),
        }))
    }

    #[inline]
    pub(super) fn current(&self, location: LocationRef) -> Option<Current> {
        self.object.current(location)
    }

    pub(super) fn current_in_drop(&self) -> Option<Current> {
        self.object.current_in_drop()
    }

    pub(super) fn set_name(&self, name: &str) {
        self.object.set_name(name);
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn operation<R>(
        &self,
        current: Current,
        effect: Effect,
        location: LocationRef,
        perform: impl FnOnce(&mut Counting<'_, '_>) -> R,
    ) -> R {
        self.operation_after(Drains::Everything, current, effect, location, perform)
    }

    /// Performs an operation that does not wait for all stores of the thread.
    fn operation_after<R>(
        &self,
        drains: Drains<'_>,
        current: Current,
        effect: Effect,
        location: LocationRef,
        perform: impl FnOnce(&mut Counting<'_, '_>) -> R,
    ) -> R {
        let object = self.object.address();
        let is_step = !current.is_alone();
        let perform = |step: &mut Step<'_>| {
            let shared = &mut *self.shared();
            perform(&mut Counting {
                step,
                object,
                created_at: self.object.created_at(),
                is_step,
                count: &mut shared.count,
                weak_released: &mut shared.weak_released,
                places: &mut shared.places,
            })
        };
        if !is_step {
            return current.local(location, perform);
        }
        let intent = Intent::Access {
            object,
            effect,
            awaits: None,
        };
        current.operation_after(drains, intent, Outcomes::One, location, perform)
    }

    /// Changes the counts by an update whose order no thread can observe.
    fn update(
        &self,
        current: Current,
        location: LocationRef,
        word: Word,
        change: impl FnOnce(&mut Count),
    ) {
        let drains = current.target().drained_by_exchange(&[], Ordering::Relaxed);
        self.operation_after(drains, current, Effect::Update, location, |counting| {
            change(counting.count);
            counting.record(TouchKind::Update);
            counting.change(word, Ordering::Relaxed);
        });
    }

    /// Adds a strong reference.
    pub(super) fn add(&self, current: Current, location: LocationRef) {
        self.update(current, location, Word::Strong, |count| count.strong += 1);
    }

    /// Adds a weak reference.
    pub(super) fn add_weak(&self, current: Current, location: LocationRef) {
        self.update(current, location, Word::Weak, |count| count.weak += 1);
    }

    /// Removes a weak reference.
    pub(super) fn remove_weak(&self, current: Current) {
        let location = self.object.created_at();
        self.operation(current, Effect::Update, location, |counting| {
            counting.count.weak = counting.count.weak.saturating_sub(1);
            counting.record(TouchKind::Update);
            counting.release(Word::Weak);
        });
    }

    /// Removes a strong reference. The last one drops the value.
    pub(super) fn remove(&self, current: Current, destructor: impl FnOnce()) {
        let created_at = self.object.created_at();
        let is_unnoticed = current.is_alone() || current.is_tearing_down();
        let is_last = match self.are_drops_ordered {
            true => self.remove_one(current, Effect::Write, created_at),
            false => self.remove_one(current, Effect::Update, created_at),
        };
        match is_last && !self.are_drops_ordered && !is_unnoticed {
            true => current.drop_last(&self.object, destructor),
            false => destructor(),
        }
    }

    /// Removes a strong reference. Returns whether it was the last.
    pub(super) fn remove_and_learn(&self, current: Current, location: LocationRef) {
        self.remove_one(current, Effect::Write, location);
    }

    fn remove_one(&self, current: Current, effect: Effect, location: LocationRef) -> bool {
        let is_last = self.operation(current, effect, location, |counting| {
            counting.count.strong = counting.count.strong.saturating_sub(1);
            counting.record(effect.strongest_touch());
            counting.release(Word::Strong);
            let is_last = counting.count.strong == 0;
            if effect == Effect::Write {
                counting.look(Word::Strong, Look::Locked);
                if is_last {
                    counting.acquire(Word::Strong);
                }
            }
            is_last
        });
        if is_last {
            self.watch.end();
        }
        is_last
    }

    /// Reads the counts, by loads of these words.
    pub(super) fn read(&self, current: Current, words: &[Word], location: LocationRef) -> Count {
        self.operation_after(
            Drains::Nothing,
            current,
            Effect::Read,
            location,
            |counting| {
                counting.record(TouchKind::Read);
                for &word in words {
                    counting.look(word, Look::Load);
                }
                *counting.count
            },
        )
    }

    /// Checks whether there is only one reference.
    pub(super) fn look_if_only(&self, current: Current, location: LocationRef) -> Uniqueness {
        self.operation(current, Effect::Read, location, |counting| {
            let seen = counting.count.uniqueness();
            counting.record(TouchKind::Read);
            counting.drain();
            counting.look(Word::Weak, Look::Locked);
            if counting.count.weak == 0 {
                counting.look(Word::Strong, Look::Load);
            }
            if counting.count.weak == 0 {
                counting.acquire(Word::Weak);
            }
            if seen == Uniqueness::Only {
                counting.acquire(Word::Strong);
            }
            seen
        })
    }

    /// Takes the value away from the weak references, if there is no other strong one.
    pub(super) fn leave_weak(&self, current: Current, location: LocationRef) -> Uniqueness {
        let effect = Effect::WriteIf(Condition::Equals(1));
        let seen = self.operation(current, effect, location, |counting| {
            let seen = counting.count.uniqueness();
            if seen == Uniqueness::OnlyButWeak {
                counting.count.strong = 0;
            }
            counting.drain();
            counting.look(Word::Strong, Look::Locked);
            if seen == Uniqueness::Shared {
                counting.record(TouchKind::Read);
                return seen;
            }
            counting.record(TouchKind::Write);
            counting.acquire(Word::Strong);
            if seen == Uniqueness::OnlyButWeak {
                counting.change(Word::Strong, Ordering::Relaxed);
            }
            counting.look(Word::Weak, Look::Load);
            seen
        });
        if seen == Uniqueness::OnlyButWeak {
            self.watch.end();
        }
        seen
    }

    /// Takes the value if there is only one strong reference, and `std` agrees.
    pub(super) fn take_if_only(
        &self,
        current: Current,
        count_of_std: impl FnOnce() -> usize,
        location: LocationRef,
    ) -> bool {
        let effect = Effect::WriteIf(Condition::Equals(1));
        let is_taken = self.operation(current, effect, location, |counting| {
            counting.drain();
            counting.look(Word::Strong, Look::Locked);
            if counting.count.strong != 1 {
                counting.record(TouchKind::Read);
                return false;
            }
            let is_taken = count_of_std() == 1;
            counting.count.strong = usize::from(!is_taken);
            counting.record(TouchKind::Write);
            if is_taken {
                counting.change(Word::Strong, Ordering::Relaxed);
                counting.acquire(Word::Strong);
            }
            is_taken
        });
        if is_taken {
            self.watch.end();
        }
        is_taken
    }

    /// Adds a strong reference if there is one. Returns whether there was.
    pub(super) fn add_if_alive(&self, current: Current, location: LocationRef) -> bool {
        // If the value was dropped, this is a plain load, which does not wait for stores.
        if current.buffers_stores() && self.read(current, &[Word::Strong], location).strong == 0 {
            return false;
        }
        let effect = Effect::WriteIf(Condition::Differs(0));
        self.operation(current, effect, location, |counting| {
            if counting.count.strong == 0 {
                counting.record(TouchKind::Read);
                counting.look(Word::Strong, Look::Load);
                return false;
            }
            counting.count.strong += 1;
            counting.record(TouchKind::Write);
            counting.drain();
            counting.look(Word::Strong, Look::Locked);
            counting.change(Word::Strong, Ordering::Relaxed);
            counting.acquire(Word::Strong);
            true
        })
    }

    /// The value of a cyclic structure is initialized. Only weak references can observe that.
    pub(super) fn come_alive(&self) {
        let Some(current) = self.current(self.object.created_at()) else {
            return;
        };
        let location = self.object.created_at();
        self.operation(current, Effect::Write, location, |counting| {
            counting.count.strong = 1;
            counting.record(TouchKind::Write);
            counting.release(Word::Strong);
        });
    }
}

/// An operation on counts that is being performed.
struct Counting<'a, 'execution> {
    step: &'a mut Step<'execution>,
    count: &'a mut Count,
    weak_released: &'a mut Vec<u32>,
    places: &'a mut [Places; 2],
    object: Address,
    created_at: LocationRef,
    /// Whether other threads can observe it.
    is_step: bool,
}

impl Counting<'_, '_> {
    /// Updates the state of the object to the number of strong references.
    fn record(&mut self, kind: TouchKind) {
        let strong = self.count.strong as u64;
        match kind {
            _ if !self.is_step => self.step.set_state(self.object, strong),
            TouchKind::Read => _ = self.step.read(self.object),
            TouchKind::Update => _ = self.step.update(self.object, strong),
            TouchKind::Write => _ = self.step.write(self.object, strong),
        }
    }

    /// Releases a dropped reference: what the thread has done happens before what the thread does
    /// that gets exclusive access to the value.
    fn release(&mut self, word: Word) {
        let thread = self.step.thread();
        match word {
            Word::Strong => self.step.release(self.object),
            Word::Weak => {
                if let Some(races) = self.step.races() {
                    races.publish_more(thread, self.weak_released);
                }
            }
        }
        self.change(word, Ordering::Release);
    }

    /// Acquires the dropped references that a word counts: what the thread does next happens after what
    /// other threads did before they dropped theirs.
    fn acquire(&mut self, word: Word) {
        let thread = self.step.thread();
        match word {
            Word::Strong => self.step.acquire(self.object),
            Word::Weak => {
                if let Some(races) = self.step.races() {
                    races.learn(thread, self.weak_released);
                }
            }
        }
    }

    fn is_noticed(&self) -> bool {
        self.is_step && self.step.is_recorded()
    }

    /// Emits a locked operation without an address.
    fn drain(&mut self) {
        let events = self.step.target().count(false);
        self.step.emit(events, 0);
    }

    /// Emits a read-modify-write whose result the program does not use.
    fn change(&mut self, word: Word, ordering: Ordering) {
        let target = self.step.target();
        let is_releasing = ordering == Ordering::Release;
        if !self.is_noticed() {
            return self.step.emit(target.count(is_releasing), 0);
        }
        let (thread, value) = (self.step.thread(), u64::from(!is_releasing));
        let places = &mut self.places[word as usize];
        let known = places.of_threads.iter().find(|place| place.0 == thread);
        let place = match known {
            Some(&(_, place)) => place,
            None => {
                if let Some(later) = places.of_later {
                    let events = target.read_modify_write(later, ordering);
                    self.step.emit(events, value);
                }
                let kind = KINDS[word as usize][0];
                let place = self.step.part(self.object, thread, kind, self.created_at);
                places.of_threads.push((thread, place));
                place
            }
        };
        let events = target.read_modify_write(place, ordering);
        self.step.emit(events, value);
    }

    /// Emits the loads of a thread that reads a word, which others have changed or will change.
    fn look(&mut self, word: Word, look: Look) {
        if !self.is_noticed() {
            return;
        }
        let [kind, later] = KINDS[word as usize];
        let (object, created_at) = (self.object, self.created_at);
        let places = &mut self.places[word as usize];
        self.step
            .parts_of_living(object, kind, created_at, &mut places.of_threads);
        let later = *places
            .of_later
            .get_or_insert_with(|| self.step.part(object, ThreadId(0), later, created_at));
        let thread = self.step.thread();
        let others = places.of_threads.iter().filter(|place| place.0 != thread);
        for place in others.map(|place| place.1).chain([later]) {
            let events = match look {
                Look::Load => self.step.target().load(place),
                Look::Locked => {
                    let target = self.step.target();
                    target.failed_exchange(place, Ordering::Relaxed)
                }
            };
            self.step.emit(events, 1);
        }
    }
}

impl Count {
    fn uniqueness(self) -> Uniqueness {
        match self {
            Count { strong: 1, weak: 0 } => Uniqueness::Only,
            Count { strong: 1, .. } => Uniqueness::OnlyButWeak,
            _ => Uniqueness::Shared,
        }
    }
}
