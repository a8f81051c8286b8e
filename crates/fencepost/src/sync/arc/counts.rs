//! The counts of an `Arc` are an object whose state is the number of its (strong) references.
//!
//! Nobody can tell in which order references were added and removed, so these are updates, which
//! commute, and programs that only do that have no more interleavings for it. Who looks at a count
//! reads, who gets the value because it was the only reference writes.
//!
//! But the last reference runs the destructor of the value. If that does something that others can notice,
//! it matters who is last. Then the drops are writes. That is not known before it happens, and
//! the check begins again when it has: see `ProgramError::NeedsOrderedDrops`.
//!
//! For the monitor, who drops a reference stores to an address of its own; who then learns that it has
//! the value alone loads from the addresses of all who have dropped theirs. One address for all
//! would order the drops.
//!
//! While there is one thread only, nobody can notice anything, and nothing of this is a step.

use std::panic::Location;
use std::sync::Arc as StdArc;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fencepost_explore::{Condition, Effect, Intent, TouchKind};
use fencepost_memory::{Address, ThreadId};

use crate::rt::{Current, Object, Outcomes, Step, Watch};

/// What the references to one value have in common.
pub(super) struct Counts {
    object: Object,
    watch: Watch,
    /// Whether the order of drops matters.
    are_drops_ordered: bool,
    shared: Mutex<Shared>,
}

struct Shared {
    count: Count,
    /// Who has dropped references, and where they say so.
    droppers: Vec<(ThreadId, Address)>,
}

/// How many references there are.
#[derive(Clone, Copy)]
pub(super) struct Count {
    pub(super) strong: usize,
    pub(super) weak: usize,
}

/// Whether there are other references.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Uniqueness {
    /// No.
    Only,
    /// Only weak ones.
    OnlyButWeak,
    /// Yes.
    Shared,
}

impl Counts {
    /// The counts of a new value, in a check.
    pub(super) fn new(strong: usize, location: &'static Location<'static>) -> Option<StdArc<Self>> {
        let current = Current::get()?;
        Some(StdArc::new(Counts {
            object: Object::new("Arc", strong as u64, location),
            watch: current.watch("Arc", location),
            are_drops_ordered: current.is_drop_visible(location),
            shared: Mutex::new(Shared {
                count: Count { strong, weak: 0 },
                droppers: Vec::new(),
            }),
        }))
    }

    pub(super) fn current(&self) -> Option<Current> {
        Current::get().filter(|_| self.object.is_of_current())
    }

    pub(super) fn set_name(&self, name: &str) {
        self.object.set_name(name);
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calling thread is going to drop a reference, and will need a place to say so.
    fn become_dropper(&self, current: Current) {
        if current.is_alone() || current.is_dissolving() {
            return;
        }
        let thread = current.thread();
        let mut shared = self.shared();
        if !shared.droppers.iter().any(|(known, _)| *known == thread) {
            let place = Object::new("reference to an Arc", 0, self.object.made_at());
            shared.droppers.push((thread, place.address()));
        }
    }

    fn operation<R>(
        &self,
        current: Current,
        effect: Effect,
        location: &'static Location<'static>,
        perform: impl FnOnce(&mut Counting<'_, '_>) -> R,
    ) -> R {
        let object = self.object.address();
        let is_step = !current.is_alone();
        let perform = |step: &mut Step<'_>| {
            let shared = &mut *self.shared();
            perform(&mut Counting {
                step,
                object,
                is_step,
                count: &mut shared.count,
                droppers: &shared.droppers,
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
        current.operation(intent, Outcomes::One, location, perform)
    }

    /// Changes the counts in a way that nobody can tell the order of.
    fn update(
        &self,
        current: Current,
        location: &'static Location<'static>,
        change: impl FnOnce(&mut Count),
    ) {
        self.operation(current, Effect::Update, location, |counting| {
            change(counting.count);
            counting.record(TouchKind::Update);
            counting.emit(false);
        });
    }

    /// There is one reference more.
    pub(super) fn add(&self, current: Current, location: &'static Location<'static>) {
        self.update(current, location, |count| count.strong += 1);
    }

    /// There is one weak reference more.
    pub(super) fn add_weak(&self, current: Current, location: &'static Location<'static>) {
        self.update(current, location, |count| count.weak += 1);
    }

    /// There is one weak reference less.
    pub(super) fn remove_weak(&self, current: Current) {
        let location = self.object.made_at();
        self.become_dropper(current);
        self.operation(current, Effect::Update, location, |counting| {
            counting.count.weak = counting.count.weak.saturating_sub(1);
            counting.record(TouchKind::Update);
            counting.release();
        });
    }

    /// There is one reference less. The last one takes the value with it.
    pub(super) fn remove(&self, current: Current, destructor: impl FnOnce()) {
        let made_at = self.object.made_at();
        let is_unnoticed = current.is_alone() || current.is_dissolving();
        let is_last = match self.are_drops_ordered {
            true => self.remove_one(current, Effect::Write, made_at),
            false => self.remove_one(current, Effect::Update, made_at),
        };
        match is_last && !self.are_drops_ordered && !is_unnoticed {
            true => current.drop_last(&self.object, destructor),
            false => destructor(),
        }
    }

    /// There is one reference less, and whoever had it will know whether it was the last.
    pub(super) fn remove_and_learn(&self, current: Current, location: &'static Location<'static>) {
        self.remove_one(current, Effect::Write, location);
    }

    fn remove_one(
        &self,
        current: Current,
        effect: Effect,
        location: &'static Location<'static>,
    ) -> bool {
        self.become_dropper(current);
        let is_last = self.operation(current, effect, location, |counting| {
            counting.count.strong = counting.count.strong.saturating_sub(1);
            counting.record(effect.strongest_touch());
            counting.release();
            let is_last = counting.count.strong == 0;
            if is_last && effect == Effect::Write {
                counting.acquire();
            }
            is_last
        });
        if is_last {
            self.watch.end();
        }
        is_last
    }

    /// Looks at the counts.
    pub(super) fn read(&self, current: Current, location: &'static Location<'static>) -> Count {
        self.operation(current, Effect::Read, location, |counting| {
            counting.record(TouchKind::Read);
            *counting.count
        })
    }

    /// Looks whether there is one reference only.
    pub(super) fn look_if_only(
        &self,
        current: Current,
        location: &'static Location<'static>,
    ) -> Uniqueness {
        self.operation(current, Effect::Read, location, |counting| {
            let seen = counting.count.uniqueness();
            counting.record(TouchKind::Read);
            if seen == Uniqueness::Only {
                counting.acquire();
            }
            counting.emit(false);
            seen
        })
    }

    /// Takes the value away from weak references, if there are only such others.
    pub(super) fn leave_weak(
        &self,
        current: Current,
        location: &'static Location<'static>,
    ) -> Uniqueness {
        let effect = Effect::WriteIf(Condition::Equals(1));
        let seen = self.operation(current, effect, location, |counting| {
            let seen = counting.count.uniqueness();
            if seen == Uniqueness::OnlyButWeak {
                counting.count.strong = 0;
            }
            if seen == Uniqueness::Shared {
                counting.record(TouchKind::Read);
            } else {
                counting.record(TouchKind::Write);
                counting.acquire();
            }
            counting.emit(false);
            seen
        });
        if seen == Uniqueness::OnlyButWeak {
            self.watch.end();
        }
        seen
    }

    /// Takes the value if there is one reference only, and `std` agrees.
    pub(super) fn take_if_only(
        &self,
        current: Current,
        count_of_std: impl FnOnce() -> usize,
        location: &'static Location<'static>,
    ) -> bool {
        let effect = Effect::WriteIf(Condition::Equals(1));
        let is_taken = self.operation(current, effect, location, |counting| {
            counting.emit(false);
            if counting.count.strong != 1 {
                counting.record(TouchKind::Read);
                return false;
            }
            let is_taken = count_of_std() == 1;
            counting.count.strong = usize::from(!is_taken);
            counting.record(TouchKind::Write);
            if is_taken {
                counting.acquire();
            }
            is_taken
        });
        if is_taken {
            self.watch.end();
        }
        is_taken
    }

    /// Adds a reference if there is one: whether there was.
    pub(super) fn add_if_alive(
        &self,
        current: Current,
        location: &'static Location<'static>,
    ) -> bool {
        let effect = Effect::WriteIf(Condition::Differs(0));
        self.operation(current, effect, location, |counting| {
            if counting.count.strong == 0 {
                counting.record(TouchKind::Read);
                return false;
            }
            counting.count.strong += 1;
            counting.record(TouchKind::Write);
            counting.acquire();
            counting.emit(false);
            true
        })
    }

    /// The value of a cyclic structure is there now. Only weak references could know.
    pub(super) fn come_alive(&self) {
        let Some(current) = self.current() else {
            return;
        };
        let location = self.object.made_at();
        self.operation(current, Effect::Write, location, |counting| {
            counting.count.strong = 1;
            counting.record(TouchKind::Write);
            counting.step.release(counting.object);
        });
    }
}

/// An operation on counts that is being performed.
struct Counting<'a, 'execution> {
    step: &'a mut Step<'execution>,
    count: &'a mut Count,
    droppers: &'a [(ThreadId, Address)],
    object: Address,
    /// Whether others can notice it.
    is_step: bool,
}

impl Counting<'_, '_> {
    /// The count of references is as it is now.
    fn record(&mut self, kind: TouchKind) {
        let strong = self.count.strong as u64;
        match kind {
            _ if !self.is_step => self.step.set_state(self.object, strong),
            TouchKind::Read => _ = self.step.read(self.object),
            TouchKind::Update => _ = self.step.update(self.object, strong),
            TouchKind::Write => _ = self.step.write(self.object, strong),
        }
    }

    /// What the thread has done so far happens before what those do who have the value alone.
    fn release(&mut self) {
        self.step.release(self.object);
        let thread = self.step.thread();
        match self.droppers.iter().find(|(dropper, _)| *dropper == thread) {
            Some(&(_, place)) => {
                let events = self.step.target().store(place, Ordering::SeqCst);
                self.step.emit(events, 1);
            }
            None => self.emit(true),
        }
    }

    /// What the thread does from here on happens after what was done before references were dropped.
    fn acquire(&mut self) {
        self.step.acquire(self.object);
        let thread = self.step.thread();
        for &(dropper, place) in self.droppers {
            if dropper != thread {
                self.step.emit(self.step.target().load(place), 1);
            }
        }
    }

    fn emit(&mut self, is_releasing: bool) {
        let events = self.step.target().count(is_releasing);
        self.step.emit(events, 0);
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
