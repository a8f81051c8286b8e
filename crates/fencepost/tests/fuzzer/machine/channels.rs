//! Channels. A rendezvous channel holds the offers of senders that wait until one is taken.

use crate::program::Op;

use super::actions::{Acting, EMPTY};
use super::state::{Action, Message, Patience, State};

const DISCONNECTED: u32 = 100;
const FULL: u32 = 2;

impl<'p> State<'p> {
    pub fn begin_on_channel(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        let own = &self.threads[thread];
        match *op {
            Op::DropSender => act.may(|s, t| s.drop_sender(t)),
            Op::DropReceiver => act.may(|s, t| s.drop_receiver(t)),
            Op::Send(value) if own.has_sender => act.may(|s, t| {
                if !s.send(t, value) {
                    let wait = match s.shared.channel.bound {
                        Some(0) => s.offer(t, value),
                        _ => Action::AwaitRoom(value),
                    };
                    s.then(t, [wait]);
                }
            }),
            Op::TrySend(value) if own.has_sender => act.may(|s, t| {
                if !s.send(t, value) {
                    s.note(t, FULL);
                }
            }),
            Op::Receive | Op::TryReceive | Op::ReceiveTimeout if own.has_receiver => {
                act.may(|s, t| match s.receive(t) {
                    true => {}
                    false if *op == Op::TryReceive => s.note(t, EMPTY),
                    false => {
                        s.await_senders(t);
                        s.then(t, [Action::AwaitSender(Self::patience(op))]);
                    }
                });
            }
            _ => act.may(|_, _| ()),
        }
    }

    fn patience(op: &Op) -> Patience {
        match op {
            Op::ReceiveTimeout => Patience::Limited,
            _ => Patience::Unlimited,
        }
    }

    pub fn act_on_channel(&self, action: &Action<'p>, thread: usize, act: &mut Acting<'_, 'p>) {
        let channel = &self.shared.channel;
        match *action {
            Action::AwaitRoom(value) => {
                if !channel.has_receiver || self.has_room() {
                    act.may(|s, t| {
                        s.send(t, value);
                        s.then(t, [Action::EndParking]);
                    });
                }
            }
            Action::AwaitReceiver => {
                let is_taken = channel.taken.iter().any(|&(sender, _)| sender == thread);
                if is_taken || !channel.has_receiver {
                    act.may(|s, t| s.end_offer(t, is_taken));
                }
            }
            Action::AwaitSender(patience) => {
                let can_receive = !channel.queue.is_empty() || channel.senders == 0;
                if can_receive || patience == Patience::Limited {
                    act.may(|s, t| {
                        s.shared.channel.is_awaited = false;
                        if !s.receive(t) {
                            s.note(t, EMPTY);
                        }
                        s.then(t, [Action::EndParking]);
                    });
                }
            }
            Action::EndParking => {
                act.may(|_, _| ());
                if self.threads[thread].park_token {
                    act.may(|s, t| s.take_token(t));
                }
            }
            Action::DropSender => act.may(|s, t| s.drop_sender(t)),
            Action::DropReceiver => act.may(|s, t| s.drop_receiver(t)),
            _ => unreachable!("not about channels"),
        }
    }

    fn has_room(&self) -> bool {
        let channel = &self.shared.channel;
        match channel.bound {
            None => true,
            Some(0) => channel.is_awaited,
            Some(bound) => channel.queue.len() < bound,
        }
    }

    /// Sends without waiting, if that is possible or fails. Returns whether it did.
    fn send(&mut self, thread: usize, value: u32) -> bool {
        if !self.shared.channel.has_receiver {
            // With a buffer, the implementation does not synchronize with the drop.
            if matches!(self.shared.channel.bound, None | Some(0)) {
                let known = self.shared.channel.dropped_receiver;
                self.learn(thread, known);
            }
            self.note(thread, 0);
            return true;
        }
        if !self.has_room() {
            return false;
        }
        let message = Message {
            value,
            known: self.known(thread),
            offered_by: None,
        };
        let channel = &mut self.shared.channel;
        channel.queue.push(message);
        if std::mem::take(&mut channel.is_awaited) {
            let known = channel.awaited_known;
            self.learn(thread, known);
        }
        self.note(thread, 1);
        true
    }

    fn offer(&mut self, thread: usize, value: u32) -> Action<'p> {
        let message = Message {
            value,
            known: self.known(thread),
            offered_by: Some(thread),
        };
        self.shared.channel.queue.push(message);
        Action::AwaitReceiver
    }

    fn end_offer(&mut self, thread: usize, is_taken: bool) {
        let channel = &mut self.shared.channel;
        let known = match is_taken {
            true => {
                let mut taken = channel.taken.iter();
                let place = taken.position(|&(sender, _)| sender == thread);
                channel.taken.remove(place.expect("it is taken")).1
            }
            false => {
                let is_mine = |message: &Message| message.offered_by == Some(thread);
                channel.queue.retain(|message| !is_mine(message));
                channel.dropped_receiver
            }
        };
        self.learn(thread, known);
        self.note(thread, u32::from(is_taken));
        self.then(thread, [Action::EndParking]);
    }

    /// Receives without waiting, if that is possible or fails for ever. Returns whether it did.
    fn receive(&mut self, thread: usize) -> bool {
        let receiver = self.known(thread);
        let channel = &mut self.shared.channel;
        if channel.queue.is_empty() {
            if channel.senders > 0 {
                return false;
            }
            let known = channel.dropped_senders;
            self.learn(thread, known);
            self.note(thread, DISCONNECTED);
            return true;
        }
        let message = channel.queue.remove(0);
        if let Some(sender) = message.offered_by {
            channel.taken.push((sender, receiver));
        }
        self.learn(thread, message.known);
        self.note(thread, message.value);
        true
    }

    fn await_senders(&mut self, thread: usize) {
        let known = self.known(thread);
        let channel = &mut self.shared.channel;
        if channel.bound == Some(0) {
            channel.is_awaited = true;
            channel.awaited_known = known;
        }
    }

    fn drop_sender(&mut self, thread: usize) {
        if std::mem::take(&mut self.threads[thread].has_sender) {
            let known = self.known(thread);
            let channel = &mut self.shared.channel;
            channel.senders -= 1;
            channel.dropped_senders.add(known);
        }
    }

    fn drop_receiver(&mut self, thread: usize) {
        if std::mem::take(&mut self.threads[thread].has_receiver) {
            let known = self.known(thread);
            let channel = &mut self.shared.channel;
            channel.has_receiver = false;
            channel.dropped_receiver = known;
            // Senders take back what they have offered.
            channel.queue.retain(|message| message.offered_by.is_some());
        }
    }
}
