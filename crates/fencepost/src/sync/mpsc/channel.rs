//! A channel in a check is an object. Every wait and every failure is a condition on its state:
//!
//! | state | meaning |
//! | --- | --- |
//! | below [`FULL`] | something can be received: one less than how many there are |
//! | [`FULL`] | so many that nothing more can be sent |
//! | [`DISCONNECTED`] | nothing to receive, and no sender left |
//! | above, up to [`WAITING`] | nothing to receive: so many senders are there |
//! | [`WAITING`] | the same, and the receiver waits: a rendezvous channel can be sent to |
//! | [`GONE`] | there is no receiver |
//!
//! Sending and receiving are writes; an operation that fails is a read. The drops of senders are
//! updates, which commute, since no thread can observe their order. No thread can observe the clone
//! of a sender, since the cloning thread has one.
//!
//! **A rendezvous channel** (capacity 0) holds the offers of waiting senders. A sender waits until
//! its *wait token* is 1: its offer was received, or the receiver was dropped. A receiver that
//! finds no offer announces that it waits, and the next sender passes its message to it.
//!
//! **Park tokens.** `std` waits by parking, which may take the thread's park token
//! ([`end_parking_wait`]). If that matters, an operation that waits first tries whether it has to:
//! otherwise it parks for certain not.
//!
//! A message carries the clock of its sender, so that receiving it happens after sending it, and
//! not after later messages of other senders. A send to a rendezvous channel returns after the receive
//! has begun, or has taken the message. A send to a channel with a buffer does not happen after the
//! receive that freed its slot: `std` does not promise that.

use std::collections::VecDeque;
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fencepost_explore::{Condition, Effect, Intent, OptimisticLoad};
use fencepost_memory::{Address, Operation, ThreadId};

use crate::thread::end_parking_wait;
use fencepost_runtime::{Current, Events, LocationRef, Object, Outcomes, Step};

const FULL: u64 = (1 << 32) - 1;
const DISCONNECTED: u64 = 1 << 32;
const WAITING: u64 = u64::MAX - 1;
const GONE: u64 = u64::MAX;

/// There is a message to receive.
const CAN_RECEIVE: Condition = Condition::Below(DISCONNECTED);
/// There is a message to receive, or there will never be one.
const RECEIVE_RETURNS: Condition = Condition::Below(DISCONNECTED + 1);

/// The token of a sender whose offer is pending.
const OFFERED: u64 = 0;
/// The token of a sender whose offer was received, or cannot be received any more.
const ANSWERED: u64 = 1;

pub(super) struct Channel<T> {
    object: Object,
    capacity: Option<usize>,
    contents: Mutex<Contents<T>>,
}

struct Contents<T> {
    queue: VecDeque<Message<T>>,
    senders: usize,
    has_receiver: bool,
    /// Whether the receiver of a rendezvous channel waits for a message.
    is_awaited: bool,
    /// The clock at which that receiver began to wait, if the execution has cells.
    awaited_since: Vec<u32>,
    offers: u64,
    /// The threads that have dropped senders, with the addresses of their events: as for the
    /// references to an `Arc`.
    droppers: Vec<(ThreadId, Address)>,
}

struct Message<T> {
    value: T,
    /// The clock of the sender, if the execution has cells.
    clock: Vec<u32>,
    /// The number of an offer, and the token of its sender.
    offer: Option<(u64, Address)>,
}

/// What the intent of an operation says.
#[derive(Clone, Copy)]
enum Declared {
    /// It writes if it can send or receive, and else reads.
    WriteIfPossible,
    /// It writes.
    Write,
}

/// The result of an attempt to send.
enum Sent<T> {
    Done,
    /// The offer is pending.
    Offered(u64),
    Full(T),
    Disconnected(T),
}

impl<T> Channel<T> {
    pub(super) fn new(capacity: Option<usize>, location: LocationRef) -> Self {
        let contents = Contents {
            queue: VecDeque::new(),
            senders: 1,
            has_receiver: true,
            is_awaited: false,
            awaited_since: Vec::new(),
            offers: 0,
            droppers: Vec::new(),
        };
        let state = contents.state(capacity);
        Channel {
            object: Object::new("channel", state, location),
            capacity,
            contents: Mutex::new(contents),
        }
    }

    pub(super) fn set_name(&self, name: &str) {
        self.object.set_name(name);
    }

    fn contents(&self) -> MutexGuard<'_, Contents<T>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn intent(&self, effect: Effect, awaits: Option<Condition>) -> Intent {
        Intent::Access {
            object: self.object.address(),
            effect,
            awaits,
        }
    }

    /// Records a change of the channel.
    fn record_change(&self, step: &mut Step<'_>, contents: &Contents<T>) {
        let object = self.object.address();
        let state = contents.state(self.capacity);
        step.write(object, state);
        let events = step.target().draining(Operation::Interlocked(object));
        step.emit(events, state);
    }

    /// Records a send that fails because the receiver was dropped: a load; for a rendezvous, under
    /// a lock.
    fn record_gone(&self, step: &mut Step<'_>, optimistic_load: OptimisticLoad) {
        let object = self.object.address();
        match self.capacity {
            Some(0) => {
                let events = step.target().draining(Operation::LockedLoad(object));
                step.emit(events, GONE);
            }
            _ => step.emit_optimistic_load(object, GONE, optimistic_load),
        }
        // If the channel has a buffer, `std` loads without `Acquire`.
        if self.capacity.is_none_or(|capacity| capacity == 0) {
            step.acquire(object);
        }
    }

    /// Records that the state of the channel does not allow the operation. If the intent says that
    /// it writes in any state, it does.
    fn record_failure(&self, step: &mut Step<'_>, declared: Declared) {
        let object = self.object.address();
        let state = step.state(object);
        match declared {
            Declared::WriteIfPossible => step.read(object),
            Declared::Write => step.write(object, state),
        };
        let events = step.target().draining(Operation::LockedLoad(object));
        step.emit(events, state);
        // Only a disconnected channel tells that senders were dropped.
        if state == DISCONNECTED {
            step.acquire(object);
        }
    }
}

impl<T> Contents<T> {
    fn state(&self, capacity: Option<usize>) -> u64 {
        let held = self.queue.len() as u64;
        match capacity {
            _ if !self.has_receiver => GONE,
            _ if held == 0 && self.senders == 0 => DISCONNECTED,
            _ if held == 0 && self.is_awaited => WAITING,
            _ if held == 0 => DISCONNECTED + self.senders as u64,
            Some(capacity) if capacity > 0 && held >= capacity as u64 => FULL,
            _ => held - 1,
        }
    }

    fn push(&mut self, step: &mut Step<'_>, value: T, offer: Option<(u64, Address)>) {
        let mut clock = Vec::new();
        let thread = step.thread();
        if let Some(races) = step.races() {
            races.publish(thread, &mut clock);
            // What the sender does next happens after the receiver has begun to wait.
            if self.is_awaited {
                races.learn(thread, &self.awaited_since);
            }
        }
        self.queue.push_back(Message {
            value,
            clock,
            offer,
        });
    }
}

/// Sending.
impl<T> Channel<T> {
    pub(super) fn send(&self, value: T, location: LocationRef) -> Result<(), SendError<T>> {
        let Some(current) = self.object.current(location) else {
            return Err(SendError(value));
        };
        let may_wait = self.capacity.is_some_and(|capacity| capacity > 0);
        let value = match may_wait && current.do_waits_take_tokens() {
            false => value,
            true => match self.attempt(current, value, OptimisticLoad::Retries, location) {
                Err(TrySendError::Full(value)) => value,
                Err(TrySendError::Disconnected(value)) => return Err(SendError(value)),
                Ok(()) => return Ok(()),
            },
        };
        let awaits = may_wait.then_some(Condition::Differs(FULL));
        let intent = self.intent(Effect::WriteIf(Condition::Differs(GONE)), awaits);
        let sent = current.operation(intent, Outcomes::One, location, |step| {
            let mut contents = self.contents();
            match contents.state(self.capacity) {
                GONE => {
                    step.read(self.object.address());
                    self.record_gone(step, OptimisticLoad::Retries);
                    Sent::Disconnected(value)
                }
                FULL => Sent::Full(value),
                state => {
                    let is_offer = self.capacity == Some(0) && state != WAITING;
                    let sent = self.put(step, &mut contents, value, is_offer);
                    self.record_change(step, &contents);
                    sent
                }
            }
        });
        if may_wait {
            end_parking_wait(current, location);
        }
        match sent {
            Sent::Done => Ok(()),
            Sent::Offered(offer) => self.wait_for_answer(current, offer, location),
            Sent::Disconnected(value) => Err(SendError(value)),
            Sent::Full(_) => current.cannot_wait(),
        }
    }

    fn put(
        &self,
        step: &mut Step<'_>,
        contents: &mut Contents<T>,
        value: T,
        is_offer: bool,
    ) -> Sent<T> {
        if !is_offer {
            contents.push(step, value, None);
            contents.is_awaited = false;
            return Sent::Done;
        }
        let number = contents.offers;
        contents.offers += 1;
        let token = step.tokens(step.thread()).wait;
        contents.push(step, value, Some((number, token)));
        Sent::Offered(number)
    }

    /// Waits until an offer is received, or the receiver was dropped.
    fn wait_for_answer(
        &self,
        current: Current,
        number: u64,
        location: LocationRef,
    ) -> Result<(), SendError<T>> {
        let token = current.tokens(current.thread()).wait;
        let intent = Intent::Access {
            object: token,
            effect: Effect::Write,
            awaits: Some(Condition::Equals(ANSWERED)),
        };
        let (is_answered, returned) = current.operation(intent, Outcomes::One, location, |step| {
            let is_answered = step.write_in_wait(token, OFFERED) == ANSWERED;
            let events = step.target().draining(Operation::Interlocked(token));
            step.emit(events, OFFERED);
            step.acquire(token);
            let mut contents = self.contents();
            let queue = &mut contents.queue;
            let is_mine =
                |message: &Message<T>| matches!(message.offer, Some((n, _)) if n == number);
            let place = queue.iter().position(is_mine);
            (is_answered, place.and_then(|place| queue.remove(place)))
        });
        end_parking_wait(current, location);
        match returned {
            Some(message) => Err(SendError(message.value)),
            None if is_answered => Ok(()),
            None => current.cannot_wait(),
        }
    }

    pub(super) fn try_send(&self, value: T, location: LocationRef) -> Result<(), TrySendError<T>> {
        let Some(current) = self.object.current(location) else {
            return Err(TrySendError::Disconnected(value));
        };
        // A sender that reads too early that there is a receiver may find the channel full. But
        // `std` looks for a free slot only after a fence.
        let stale = OptimisticLoad::FailsOnPrevious(Condition::Equals(FULL));
        self.attempt(current, value, stale, location)
    }

    /// Sends a value if that is possible without waiting. `stale` is the effect of reading too early
    /// that there is a receiver.
    fn attempt(
        &self,
        current: Current,
        value: T,
        stale: OptimisticLoad,
        location: LocationRef,
    ) -> Result<(), TrySendError<T>> {
        let condition = match self.capacity {
            Some(0) => Condition::Equals(WAITING),
            _ => Condition::Differs(FULL),
        };
        let intent = self.intent(Effect::WriteIf(condition), None);
        let sent = current.operation(intent, Outcomes::One, location, |step| {
            let mut contents = self.contents();
            let state = contents.state(self.capacity);
            if condition.holds(state) && state != GONE {
                let sent = self.put(step, &mut contents, value, false);
                self.record_change(step, &contents);
                return sent;
            }
            let object = self.object.address();
            match state {
                GONE => {
                    // The intent says that it writes under this condition, so it does.
                    match condition.holds(state) {
                        true => step.write(object, state),
                        false => step.read(object),
                    };
                    self.record_gone(step, stale);
                    Sent::Disconnected(value)
                }
                _ => {
                    self.record_failure(step, Declared::WriteIfPossible);
                    Sent::Full(value)
                }
            }
        });
        match sent {
            Sent::Done | Sent::Offered(_) => Ok(()),
            Sent::Full(value) => Err(TrySendError::Full(value)),
            Sent::Disconnected(value) => Err(TrySendError::Disconnected(value)),
        }
    }

    /// Adds a sender.
    pub(super) fn add_sender(&self) {
        let mut contents = self.contents();
        contents.senders += 1;
        if self.object.is_of_current() {
            if let Some(current) = Current::get() {
                current.set_state(self.object.address(), contents.state(self.capacity));
            }
        }
    }

    /// The address of the event by which the calling thread drops a sender. None if no other thread
    /// can observe it.
    fn place_of_drop(&self) -> Option<Address> {
        let current = Current::get().filter(|_| self.object.is_of_current())?;
        if current.is_alone() || current.is_tearing_down() {
            return None;
        }
        let thread = current.thread();
        let mut contents = self.contents();
        let known = contents.droppers.iter().find(|(known, _)| *known == thread);
        if let Some(&(_, place)) = known {
            return Some(place);
        }
        let place = Object::new("sender", 0, self.object.created_at()).address();
        contents.droppers.push((thread, place));
        Some(place)
    }

    /// Removes a sender.
    pub(super) fn remove_sender(&self) {
        let object = self.object.address();
        let place = self.place_of_drop();
        let remove = |step: &mut Step<'_>| {
            let mut contents = self.contents();
            contents.senders -= 1;
            step.release(object);
            match place {
                Some(place) => {
                    let events = step.target().draining(Operation::LockedStore(place));
                    step.emit(events, 1);
                }
                None => step.emit(Events::only(Operation::Fence), 0),
            }
            contents.state(self.capacity)
        };
        let location = self.object.created_at();
        match Current::get().filter(|_| self.object.is_of_current()) {
            None => self.contents().senders -= 1,
            Some(current) if current.is_alone() => current.local(location, |step| {
                let state = remove(step);
                step.set_state(object, state);
            }),
            Some(current) => {
                let intent = self.intent(Effect::Update, None);
                current.operation(intent, Outcomes::One, location, |step| {
                    let state = remove(step);
                    step.update(object, state);
                });
            }
        }
    }
}

/// Receiving.
impl<T> Channel<T> {
    /// Takes the first message, and notifies its sender.
    fn take(&self, step: &mut Step<'_>, declared: Declared) -> Result<T, TryRecvError> {
        let mut contents = self.contents();
        let Some(message) = contents.queue.pop_front() else {
            self.record_failure(step, declared);
            if contents.senders > 0 {
                return Err(TryRecvError::Empty);
            }
            for &(_, place) in &contents.droppers {
                step.emit(Events::only(Operation::LockedLoad(place)), 1);
            }
            return Err(TryRecvError::Disconnected);
        };
        self.record_change(step, &contents);
        let thread = step.thread();
        if let Some(races) = step.races() {
            races.learn(thread, &message.clock);
        }
        if let Some((_, token)) = message.offer {
            answer(step, token);
        }
        Ok(message.value)
    }

    pub(super) fn try_recv(&self, location: LocationRef) -> Result<T, TryRecvError> {
        let Some(current) = self.object.current(location) else {
            return Err(TryRecvError::Disconnected);
        };
        let intent = self.intent(Effect::WriteIf(CAN_RECEIVE), None);
        current.operation(intent, Outcomes::One, location, |step| {
            self.take(step, Declared::WriteIfPossible)
        })
    }

    pub(super) fn recv(&self, location: LocationRef) -> Result<T, RecvError> {
        let current = self.object.current(location).ok_or(RecvError)?;
        if let Some(received) = self.arrive(current, location) {
            return received;
        }
        let effect = Effect::WriteIf(CAN_RECEIVE);
        let intent = self.intent(effect, Some(RECEIVE_RETURNS));
        let received = current.operation(intent, Outcomes::One, location, |step| {
            self.take(step, Declared::WriteIfPossible)
        });
        end_parking_wait(current, location);
        match received {
            Ok(value) => Ok(value),
            Err(TryRecvError::Disconnected) => Err(RecvError),
            Err(TryRecvError::Empty) => current.cannot_wait(),
        }
    }

    pub(super) fn recv_timeout(&self, location: LocationRef) -> Result<T, RecvTimeoutError> {
        let Some(current) = self.object.current(location) else {
            return Err(RecvTimeoutError::Disconnected);
        };
        if let Some(received) = self.arrive(current, location) {
            return received.map_err(RecvTimeoutError::from);
        }
        let received = match self.capacity {
            Some(0) => self.stop_waiting(current, location),
            _ => self.try_recv(location),
        };
        end_parking_wait(current, location);
        match received {
            Ok(value) => Ok(value),
            Err(TryRecvError::Disconnected) => Err(RecvTimeoutError::Disconnected),
            Err(TryRecvError::Empty) => {
                // A wait with a timeout is mostly in a loop.
                crate::thread::hint(current, location);
                Err(RecvTimeoutError::Timeout)
            }
        }
    }

    /// Receives without waiting, if it matters whether the receiver waits. None if it has to, or if
    /// it does not matter.
    fn arrive(&self, current: Current, location: LocationRef) -> Option<Result<T, RecvError>> {
        let received = match self.capacity {
            Some(0) => self.start_waiting(current, location),
            _ if current.do_waits_take_tokens() => self.try_recv(location),
            _ => return None,
        };
        match received {
            Ok(value) => Some(Ok(value)),
            Err(TryRecvError::Disconnected) => Some(Err(RecvError)),
            Err(TryRecvError::Empty) => None,
        }
    }

    /// The receiver of a rendezvous channel takes the first offer, or announces that it waits.
    fn start_waiting(&self, current: Current, location: LocationRef) -> Result<T, TryRecvError> {
        let intent = self.intent(Effect::WriteMultiple, None);
        current.operation(intent, Outcomes::One, location, |step| {
            let mut contents = self.contents();
            if !contents.queue.is_empty() || contents.senders == 0 {
                drop(contents);
                return self.take(step, Declared::Write);
            }
            contents.is_awaited = true;
            let thread = step.thread();
            if let Some(races) = step.races() {
                races.publish(thread, &mut contents.awaited_since);
            }
            self.record_change(step, &contents);
            Err(TryRecvError::Empty)
        })
    }

    /// The receiver of a rendezvous channel stops waiting, with or without a message.
    fn stop_waiting(&self, current: Current, location: LocationRef) -> Result<T, TryRecvError> {
        let intent = self.intent(Effect::WriteMultiple, None);
        current.operation(intent, Outcomes::One, location, |step| {
            let mut contents = self.contents();
            let is_empty = contents.queue.is_empty() && contents.senders > 0;
            contents.is_awaited = false;
            if is_empty {
                self.record_change(step, &contents);
                return Err(TryRecvError::Empty);
            }
            drop(contents);
            self.take(step, Declared::Write)
        })
    }

    /// The receiver is dropped: its senders are notified, and the messages dropped.
    pub(super) fn remove_receiver(&self) {
        let remove = || {
            let mut contents = self.contents();
            contents.has_receiver = false;
            contents.is_awaited = false;
            // The senders take their offers back.
            let is_offer = |message: &Message<T>| message.offer.is_some();
            let (offers, messages) = contents.queue.drain(..).partition(is_offer);
            contents.queue = offers;
            messages
        };
        let messages: VecDeque<Message<T>> =
            match Current::get().filter(|_| self.object.is_of_current()) {
                None => remove(),
                Some(current) => {
                    let location = self.object.created_at();
                    let intent = self.intent(Effect::WriteMultiple, None);
                    current.operation(intent, Outcomes::One, location, |step| {
                        let messages = remove();
                        let contents = self.contents();
                        step.release(self.object.address());
                        self.record_change(step, &contents);
                        for (_, token) in contents.queue.iter().filter_map(|m| m.offer) {
                            answer(step, token);
                        }
                        messages
                    })
                }
            };
        // Their destructors may run any code, so they do not run in the step.
        drop(messages);
    }
}

/// Notifies the sender with this token that its offer was received, or cannot be.
fn answer(step: &mut Step<'_>, token: Address) {
    step.write(token, ANSWERED);
    step.release(token);
    step.emit(Events::only(Operation::Interlocked(token)), ANSWERED);
}
