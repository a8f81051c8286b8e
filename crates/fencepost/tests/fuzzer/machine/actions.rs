//! What threads do.

use std::sync::atomic::Ordering::{self, Acquire, Release, SeqCst};

use crate::program::Op;

use super::memory::Drain;
use super::state::{Action, Cell, Next, Return, State, Thread, Waiting};

/// What is returned for a lock that is taken, and for an empty channel.
pub(super) const EMPTY: u32 = 101;

/// The states after an action of one thread.
pub(super) struct Acting<'a, 'p> {
    before: &'a State<'p>,
    thread: usize,
    all: &'a mut Vec<Next<'p>>,
}

impl<'p> Acting<'_, 'p> {
    /// The action can be this one.
    pub fn may(&mut self, change: impl FnOnce(&mut State<'p>, usize)) {
        self.push(false, change);
    }

    /// The action can be this one, but need not be.
    pub fn may_by_chance(&mut self, change: impl FnOnce(&mut State<'p>, usize)) {
        self.push(true, change);
    }

    fn push(&mut self, is_optional: bool, change: impl FnOnce(&mut State<'p>, usize)) {
        let mut state = self.before.clone();
        state.threads[self.thread].todo.pop();
        change(&mut state, self.thread);
        self.all.push(Next { state, is_optional });
    }
}

impl<'p> State<'p> {
    /// Adds the states after the next action of a thread, if it can be performed.
    pub fn act(&self, thread: usize, all: &mut Vec<Next<'p>>) {
        let action = self.threads[thread].todo.last().expect("it has not ended");
        let act = &mut Acting {
            before: self,
            thread,
            all,
        };
        match action {
            &Action::Do(op) => self.begin(op, thread, act),
            Action::Spawn(_)
            | Action::EndScope
            | Action::LeaveScope
            | Action::Return
            | Action::DropLocal
            | Action::End => self.act_on_threads(action, thread, act),
            Action::Unlock
            | Action::UnlockRead
            | Action::UnlockWrite
            | Action::Wait(_)
            | Action::AwaitNotification(_)
            | Action::Relock(..)
            | Action::AwaitOpening(_) => self.act_on_locks(action, thread, act),
            Action::FinishOnce
            | Action::FinishCell(_)
            | Action::AddToValue(_)
            | Action::BeginLazy
            | Action::FinishLazy(_) => self.act_on_cells(action, act),
            Action::AwaitSender(_)
            | Action::AwaitRoom(_)
            | Action::AwaitReceiver
            | Action::EndParking
            | Action::DropSender
            | Action::DropReceiver => self.act_on_channel(action, thread, act),
            Action::DropArcs
            | Action::DropUpgraded
            | Action::DropPayload
            | Action::DropImplicitWeak
            | Action::DropWeak => self.act_on_counts(action, act),
        }
    }

    pub fn note(&mut self, thread: usize, result: u32) {
        self.threads[thread].results.push(result);
    }

    /// What the thread does next, before anything else. The first is done first.
    pub fn then(
        &mut self,
        thread: usize,
        actions: impl IntoIterator<Item = Action<'p>, IntoIter: DoubleEndedIterator>,
    ) {
        self.threads[thread].todo.extend(actions.into_iter().rev());
    }

    fn then_inner(&mut self, thread: usize, inner: &'p [Op], last: Action<'p>) {
        self.then(thread, [last]);
        self.then(thread, inner.iter().map(Action::Do));
    }

    fn begin(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        let own = &self.threads[thread];
        match *op {
            Op::Load(place) => act.may(|s, t| s.load_and_note(t, place, SeqCst)),
            Op::LoadWith(place, ordering) => act.may(|s, t| s.load_and_note(t, place, ordering)),
            Op::Store(place, value) => self.begin_store(place, value, SeqCst, thread, act),
            Op::StoreWith(place, value, ordering) => {
                self.begin_store(place, value, ordering, thread, act);
            }
            Op::Add(place) => self.begin_exchange(place, SeqCst, act, thread, |old| old + 1),
            Op::SwapWith(place, value, ordering) => {
                self.begin_exchange(place, ordering, act, thread, |_| value);
            }
            Op::FetchWith(fetch, place, operand, ordering) => {
                self.begin_exchange(place, ordering, act, thread, |old| fetch.of(old, operand));
            }
            Op::CompareExchange {
                place,
                expected,
                new,
                success,
                failure,
            } => {
                if self.is_drained(thread, Self::drain_of(success, Some(place))) {
                    act.may(|s, t| {
                        let found = match s.peek(place) == expected {
                            true => s.exchange(t, place, success, |_| new),
                            false => s.load(t, place, failure),
                        };
                        s.note(t, found);
                    });
                }
            }
            Op::Fence(ordering) => {
                if self.can_fence(thread, ordering) {
                    act.may(|s, t| s.fence(t, ordering));
                }
            }
            Op::ReadCell(cell) => act.may(|s, t| s.access(t, cell, false)),
            Op::WriteCell(cell) => act.may(|s, t| s.access(t, cell, true)),
            Op::IfSet(place, ordering, ref inner) => act.may(|s, t| {
                let found = s.load(t, place, ordering);
                s.note(t, found);
                if found != 0 {
                    s.then(t, inner.iter().map(Action::Do));
                }
            }),
            Op::PanicIf(place, value) => act.may(|s, t| {
                let found = s.load(t, place, SeqCst);
                if found == value {
                    s.panic(format!("thread {t} found {found}"));
                }
            }),
            Op::UseLocal => act.may(|s, t| s.threads[t].has_local = true),
            Op::Park | Op::ParkTimeout if own.park_token => act.may(|s, t| {
                s.take_token(t);
                s.finish_park(t, op);
            }),
            Op::Park => act.may_by_chance(|s, t| s.finish_park(t, op)),
            Op::ParkTimeout => act.may(|_, _| ()),
            Op::Unpark(_) | Op::IsFinished(_) | Op::Join(_) => {
                self.begin_on_threads(op, thread, act)
            }
            Op::Lock(_)
            | Op::TryLock(_)
            | Op::Wait
            | Op::WaitWhileZero
            | Op::WaitTimeout
            | Op::NotifyOne
            | Op::NotifyAll
            | Op::Barrier => self.begin_on_locks(op, thread, act),
            Op::Read(_) | Op::Write(_) | Op::TryRead(_) | Op::TryWrite(_) => {
                self.begin_on_rwlock(op, thread, act);
            }
            Op::CallOnce(_)
            | Op::IsOnceCompleted
            | Op::GetCell
            | Op::SetCell(_)
            | Op::InitCell(_)
            | Op::ForceLazy => self.begin_on_cells(op, act),
            Op::Send(_)
            | Op::TrySend(_)
            | Op::Receive
            | Op::TryReceive
            | Op::ReceiveTimeout
            | Op::DropSender
            | Op::DropReceiver => self.begin_on_channel(op, thread, act),
            Op::StrongCount
            | Op::WeakCount
            | Op::CloneArc
            | Op::DropArc
            | Op::TryUnwrapArc
            | Op::IntoInnerArc
            | Op::GetMutArc
            | Op::Upgrade
            | Op::DropWeak => self.begin_on_counts(op, thread, act),
        }
    }

    fn load_and_note(&mut self, thread: usize, place: usize, ordering: Ordering) {
        let value = self.load(thread, place, ordering);
        self.note(thread, value);
    }

    fn begin_store(
        &self,
        place: usize,
        value: u32,
        ordering: Ordering,
        thread: usize,
        act: &mut Acting<'_, 'p>,
    ) {
        if self.can_store(thread, ordering) {
            act.may(|s, t| s.store(t, place, value, ordering));
        }
    }

    fn begin_exchange(
        &self,
        place: usize,
        ordering: Ordering,
        act: &mut Acting<'_, 'p>,
        thread: usize,
        new: impl FnOnce(u32) -> u32,
    ) {
        if self.is_drained(thread, Self::drain_of(ordering, Some(place))) {
            act.may(|s, t| {
                let old = s.exchange(t, place, ordering, new);
                s.note(t, old);
            });
        }
    }

    // Threads.

    pub fn take_token(&mut self, thread: usize) {
        self.threads[thread].park_token = false;
        let known = self.threads[thread].park_known;
        self.learn(thread, known);
    }

    fn finish_park(&mut self, thread: usize, op: &Op) {
        if *op == Op::Park {
            self.note(thread, 1);
        }
    }

    /// Whether a thread has a handle that can unpark the other.
    fn can_unpark(&self, thread: usize, other: usize) -> bool {
        other == 0
            || other < thread
            || thread == 0 && self.threads.get(other).is_some_and(|t| t.is_spawned)
    }

    /// Whether the first thread can use its handle of another. It is the only one with handles.
    fn has_handle(&self, thread: usize, other: usize) -> bool {
        let is_between = self.threads[0].todo.len() > self.length_after();
        let joinable = |t: &Thread<'_>| t.is_spawned && !t.is_joined;
        thread == 0 && other > 0 && is_between && self.threads.get(other).is_some_and(joinable)
    }

    /// How many actions the first thread has left when its handles are gone.
    fn length_after(&self) -> usize {
        const AT_THE_END: usize = 6;
        self.program.after.len() + AT_THE_END
    }

    fn begin_on_threads(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        match *op {
            Op::Unpark(other) => match self.can_unpark(thread, other) {
                true => act.may(|s, t| {
                    let known = s.known(t);
                    let other = &mut s.threads[other];
                    other.park_token = true;
                    other.park_known.add(known);
                }),
                false => act.may(|_, _| ()),
            },
            Op::IsFinished(other) if self.has_handle(thread, other) => act.may(|s, t| {
                let is_finished = s.threads[other].has_returned;
                s.note(t, u32::from(is_finished));
            }),
            Op::Join(other) if self.has_handle(thread, other) => {
                if self.threads[other].has_ended {
                    act.may(|s, t| {
                        s.threads[other].is_joined = true;
                        let known = s.threads[other].ended;
                        s.learn(t, known);
                        s.note(t, 1);
                    });
                }
            }
            _ => act.may(|_, _| ()),
        }
    }

    fn act_on_threads(&self, action: &Action<'p>, thread: usize, act: &mut Acting<'_, 'p>) {
        let have_returned = self.threads[1..].iter().all(|t| t.has_returned);
        match *action {
            Action::Spawn(child) => {
                if self.is_drained(thread, Drain::Everything) {
                    act.may(|s, t| {
                        s.threads[child].is_spawned = true;
                        let known = s.known(t);
                        s.learn(child, known);
                    });
                }
            }
            Action::EndScope if have_returned => act.may(|s, t| s.learn_of_returns(t)),
            Action::EndScope => act.may(|s, t| s.then(t, [Action::LeaveScope])),
            Action::LeaveScope if have_returned => act.may(|s, t| {
                s.learn_of_returns(t);
                s.then(t, [Action::EndParking]);
            }),
            Action::LeaveScope => {}
            Action::Return => {
                if self.is_drained(thread, Drain::Everything) {
                    act.may(|s, t| {
                        s.threads[t].has_returned = true;
                        s.threads[t].returned = s.known(t);
                    });
                }
            }
            Action::DropLocal => act.may(|s, t| {
                if s.threads[t].has_local {
                    let old = s.exchange(t, 0, SeqCst, |value| value + 1);
                    s.note(t, old);
                }
            }),
            Action::End => {
                if self.is_drained(thread, Drain::Everything) {
                    act.may(|s, t| {
                        s.threads[t].has_ended = true;
                        s.threads[t].ended = s.known(t);
                    });
                }
            }
            _ => unreachable!("not about threads"),
        }
    }

    fn learn_of_returns(&mut self, thread: usize) {
        for other in 1..self.threads.len() {
            let known = self.threads[other].returned;
            self.learn(thread, known);
        }
    }

    // Mutex, condition variable, barrier.

    /// Whether the store buffer allows to take a lock.
    fn can_take(&self, thread: usize) -> bool {
        self.is_drained(thread, Self::drain_of(Acquire, None))
    }

    fn can_release(&self, thread: usize) -> bool {
        self.is_drained(thread, Self::drain_of(Release, None))
    }

    fn take_mutex(&mut self, thread: usize) {
        self.shared.mutex.is_written = true;
        let known = self.shared.mutex.known;
        self.learn(thread, known);
    }

    fn release_mutex(&mut self, thread: usize) {
        self.shared.mutex.is_written = false;
        self.shared.mutex.known = self.known(thread);
    }

    fn increment(&mut self, thread: usize, inner: &'p [Op]) {
        self.take_mutex(thread);
        self.shared.mutex.value += 1;
        let value = self.shared.mutex.value;
        self.note(thread, value);
        self.then_inner(thread, inner, Action::Unlock);
    }

    fn begin_on_locks(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        let is_held = self.shared.mutex.is_written;
        match op {
            Op::Lock(_) | Op::Wait | Op::WaitWhileZero | Op::WaitTimeout if is_held => {}
            Op::Lock(_) | Op::TryLock(_) | Op::Wait | Op::WaitWhileZero | Op::WaitTimeout
                if !self.can_take(thread) => {}
            Op::Lock(inner) => act.may(|s, t| s.increment(t, inner)),
            Op::TryLock(_) if is_held => act.may(|s, t| s.note(t, 0)),
            Op::TryLock(inner) => act.may(|s, t| s.increment(t, inner)),
            Op::Wait => act.may(|s, t| s.lock_and_wait(t, Waiting::Once)),
            Op::WaitWhileZero => act.may(|s, t| s.lock_and_wait(t, Waiting::WhileZero)),
            Op::WaitTimeout => act.may(|s, t| s.lock_and_wait(t, Waiting::WithTimeout)),
            Op::NotifyOne | Op::NotifyAll if self.shared.waiters.is_empty() => act.may(|_, _| ()),
            Op::NotifyOne => {
                for at in 0..self.shared.waiters.len() {
                    act.may(|s, _| {
                        let woken = s.shared.waiters.remove(at);
                        s.threads[woken].is_notified = true;
                    });
                }
            }
            Op::NotifyAll => act.may(|s, _| {
                for woken in std::mem::take(&mut s.shared.waiters) {
                    s.threads[woken].is_notified = true;
                }
            }),
            Op::Barrier => act.may(|s, t| s.arrive(t)),
            _ => unreachable!("not about locks"),
        }
    }

    fn lock_and_wait(&mut self, thread: usize, waiting: Waiting) {
        self.take_mutex(thread);
        self.then(thread, [Action::Wait(waiting)]);
    }

    /// It holds the mutex and waits, unless it need not.
    fn wait(&mut self, thread: usize, waiting: Waiting) {
        if waiting == Waiting::WhileZero && self.shared.mutex.value != 0 {
            let value = self.shared.mutex.value;
            self.note(thread, value);
            return self.then(thread, [Action::Unlock]);
        }
        self.release_mutex(thread);
        self.shared.waiters.push(thread);
        self.shared.waiters.sort_unstable();
        self.then(thread, [Action::AwaitNotification(waiting)]);
    }

    fn act_on_locks(&self, action: &Action<'p>, thread: usize, act: &mut Acting<'_, 'p>) {
        match *action {
            Action::Unlock | Action::UnlockRead | Action::UnlockWrite
                if !self.can_release(thread) => {}
            Action::Unlock => act.may(|s, t| s.release_mutex(t)),
            Action::Wait(waiting) => act.may(|s, t| s.wait(t, waiting)),
            Action::UnlockRead => act.may(|s, t| {
                s.shared.rwlock.readers -= 1;
                let known = s.known(t);
                s.shared.rwlock.known.add(known);
            }),
            Action::UnlockWrite => act.may(|s, t| {
                let known = s.known(t);
                let lock = &mut s.shared.rwlock;
                lock.is_written = false;
                lock.known.add(known);
                lock.known_to_readers.add(known);
            }),
            Action::AwaitNotification(waiting) => {
                let again = |s: &mut State<'p>, t: usize, how: Return| {
                    s.shared.waiters.retain(|&waiter| waiter != t);
                    s.threads[t].is_notified = false;
                    s.then(t, [Action::Relock(waiting, how)]);
                };
                match (self.threads[thread].is_notified, waiting) {
                    (true, _) => act.may(|s, t| again(s, t, Return::Normal)),
                    (false, Waiting::WithTimeout) => {
                        act.may(|s, t| again(s, t, Return::TimedOut));
                        act.may_by_chance(|s, t| again(s, t, Return::Normal));
                    }
                    (false, _) => act.may_by_chance(|s, t| again(s, t, Return::Normal)),
                }
            }
            Action::Relock(waiting, how) => {
                if !self.shared.mutex.is_written {
                    act.may(|s, t| s.return_from_wait(t, waiting, how));
                }
            }
            Action::AwaitOpening(round) => {
                if self.shared.round != round {
                    act.may(|s, t| {
                        let known = s.shared.opened_known[round as usize];
                        s.learn(t, known);
                        s.note(t, 0);
                    });
                }
            }
            _ => unreachable!("not about locks"),
        }
    }

    fn return_from_wait(&mut self, thread: usize, waiting: Waiting, how: Return) {
        self.take_mutex(thread);
        if waiting == Waiting::WhileZero {
            return self.then(thread, [Action::Wait(waiting)]);
        }
        let timed_out = u32::from(how == Return::TimedOut);
        let value = self.shared.mutex.value + 10 * timed_out;
        self.note(thread, value);
        self.then(thread, [Action::Unlock]);
    }

    /// The barrier is for two threads.
    fn arrive(&mut self, thread: usize) {
        let known = self.known(thread);
        self.shared.arrived_known.add(known);
        if self.shared.arrived == 0 {
            self.shared.arrived = 1;
            let round = self.shared.round;
            return self.then(thread, [Action::AwaitOpening(round)]);
        }
        self.shared.arrived = 0;
        self.shared.round += 1;
        let known = std::mem::take(&mut self.shared.arrived_known);
        self.shared.opened_known.push(known);
        self.learn(thread, known);
        self.note(thread, 1);
    }

    // RwLock.

    fn begin_on_rwlock(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        let lock = &self.shared.rwlock;
        let is_free = lock.readers == 0 && !lock.is_written;
        match op {
            Op::TryRead(_) if lock.is_written => act.may(|s, t| s.note(t, EMPTY)),
            Op::TryWrite(_) if !is_free => act.may(|s, t| s.note(t, EMPTY)),
            // A writer that waits may block it.
            Op::TryRead(_) if self.is_writer_waiting() => {
                act.may_by_chance(|s, t| s.note(t, EMPTY));
                self.take_rwlock(op, thread, act);
            }
            Op::Read(_) if lock.is_written => {}
            Op::Write(_) if !is_free => {}
            _ => self.take_rwlock(op, thread, act),
        }
    }

    fn is_writer_waiting(&self) -> bool {
        let lock = &self.shared.rwlock;
        let waits =
            |thread: &Thread<'_>| matches!(thread.todo.last(), Some(Action::Do(Op::Write(_))));
        lock.readers > 0 && self.threads.iter().any(|t| t.is_spawned && waits(t))
    }

    fn take_rwlock(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        if !self.can_take(thread) {
            return;
        }
        act.may(|s, t| match op {
            Op::Read(inner) | Op::TryRead(inner) => {
                let known = s.shared.rwlock.known_to_readers;
                s.learn(t, known);
                s.shared.rwlock.readers += 1;
                let value = s.shared.rwlock.value;
                s.note(t, value);
                s.then_inner(t, inner, Action::UnlockRead);
            }
            Op::Write(inner) | Op::TryWrite(inner) => {
                let known = s.shared.rwlock.known;
                s.learn(t, known);
                s.shared.rwlock.is_written = true;
                s.shared.rwlock.value += 1;
                if matches!(op, Op::TryWrite(_)) {
                    let value = s.shared.rwlock.value;
                    s.note(t, value);
                }
                s.then_inner(t, inner, Action::UnlockWrite);
            }
            _ => unreachable!("not about the RwLock"),
        });
    }

    // Once and its relatives.

    fn begin_on_cells(&self, op: &'p Op, act: &mut Acting<'_, 'p>) {
        let (once, cell, lazy) = (self.shared.once, self.shared.cell, self.shared.lazy);
        match (op, once, cell, lazy) {
            (Op::CallOnce(_), Cell::Running, ..)
            | (Op::SetCell(_) | Op::InitCell(_), _, Cell::Running, _)
            | (Op::ForceLazy, _, _, Cell::Running) => {}
            (Op::CallOnce(inner), Cell::New, ..) => act.may(|s, t| {
                s.shared.once = Cell::Running;
                s.then_inner(t, inner, Action::FinishOnce);
            }),
            (Op::CallOnce(_), Cell::Done(_, known), ..) => act.may(|s, t| {
                s.learn(t, known);
                s.note(t, 0);
            }),
            (Op::IsOnceCompleted, Cell::Done(_, known), ..) => act.may(|s, t| {
                s.learn(t, known);
                s.note(t, 1);
            }),
            (Op::IsOnceCompleted, ..) => act.may(|s, t| s.note(t, 0)),
            (Op::GetCell, _, Cell::Done(value, known), _)
            | (Op::InitCell(_), _, Cell::Done(value, known), _)
            | (Op::ForceLazy, _, _, Cell::Done(value, known)) => act.may(|s, t| {
                s.learn(t, known);
                s.note(t, value);
            }),
            (Op::GetCell, ..) => act.may(|s, t| s.note(t, 0)),
            (Op::SetCell(_), _, Cell::Done(_, known), _) => act.may(|s, t| {
                s.learn(t, known);
                s.note(t, 0);
            }),
            (Op::SetCell(value), ..) => act.may(|s, t| {
                s.shared.cell = Cell::Done(*value, s.known(t));
                s.note(t, 1);
            }),
            (Op::InitCell(value), ..) => act.may(|s, t| {
                s.shared.cell = Cell::Running;
                s.then(t, [Action::AddToValue(0), Action::FinishCell(*value)]);
            }),
            (Op::ForceLazy, ..) => act.may(|s, t| {
                s.shared.lazy = Cell::Running;
                s.then(t, [Action::BeginLazy]);
            }),
            _ => unreachable!("not about cells"),
        }
    }

    fn act_on_cells(&self, action: &Action<'p>, act: &mut Acting<'_, 'p>) {
        match *action {
            Action::FinishOnce => act.may(|s, t| {
                s.shared.once = Cell::Done(0, s.known(t));
                s.note(t, 1);
            }),
            Action::FinishCell(value) => act.may(|s, t| {
                s.shared.cell = Cell::Done(value, s.known(t));
                s.note(t, value);
            }),
            Action::AddToValue(place) => act.may(|s, t| {
                s.exchange(t, place, SeqCst, |value| value + 1);
            }),
            Action::BeginLazy => act.may(|s, t| {
                let value = s.exchange(t, 0, SeqCst, |value| value + 1);
                s.then(t, [Action::FinishLazy(value)]);
            }),
            Action::FinishLazy(value) => act.may(|s, t| {
                s.shared.lazy = Cell::Done(value, s.known(t));
                s.note(t, value);
            }),
            _ => unreachable!("not about cells"),
        }
    }
}
