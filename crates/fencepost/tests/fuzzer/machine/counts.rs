//! `Arc`: two counts, as in the implementation of the standard library. All strong references together have a weak one.

use std::sync::atomic::Ordering::SeqCst;

use crate::program::Op;

use super::actions::Acting;
use super::state::{Action, State};

impl<'p> State<'p> {
    pub fn begin_on_counts(&self, op: &'p Op, thread: usize, act: &mut Acting<'_, 'p>) {
        let has_arc = self.threads[thread].arcs > 0;
        match op {
            Op::StrongCount if has_arc => act.may(|s, t| s.note(t, s.shared.strong)),
            Op::WeakCount if has_arc => act.may(|s, t| s.note(t, s.shared.weak - 1)),
            Op::GetMutArc if has_arc => act.may(|s, t| {
                let is_unique = s.shared.weak == 1 && s.shared.strong == 1;
                if s.shared.weak == 1 {
                    let known = s.shared.weak_known;
                    s.learn(t, known);
                }
                if is_unique {
                    let known = s.shared.strong_known;
                    s.learn(t, known);
                }
                s.note(t, u32::from(is_unique));
            }),
            Op::CloneArc if has_arc => act.may(|s, t| {
                s.threads[t].arcs += 1;
                s.shared.strong += 1;
            }),
            Op::DropArc if has_arc => act.may(|s, t| {
                s.threads[t].arcs -= 1;
                s.drop_reference(t);
            }),
            Op::TryUnwrapArc if has_arc => act.may(|s, t| {
                let is_unique = s.shared.strong == 1;
                s.note(t, u32::from(is_unique));
                if is_unique {
                    s.threads[t].arcs -= 1;
                    s.shared.strong = 0;
                    let known = s.shared.strong_known;
                    s.learn(t, known);
                    s.then(t, [Action::DropPayload]);
                }
            }),
            Op::IntoInnerArc if has_arc => act.may(|s, t| {
                s.threads[t].arcs -= 1;
                let is_last = s.drop_reference(t);
                s.note(t, u32::from(is_last));
            }),
            Op::Upgrade => act.may(|s, t| {
                let is_there = s.threads[t].has_weak && s.shared.strong > 0;
                s.note(t, u32::from(is_there));
                if is_there {
                    s.shared.strong += 1;
                    let known = s.shared.strong_known;
                    s.learn(t, known);
                    s.then(t, [Action::DropUpgraded]);
                }
            }),
            Op::DropWeak => act.may(|s, t| s.drop_weak(t)),
            _ => act.may(|_, _| ()),
        }
    }

    pub fn act_on_counts(&self, action: &Action<'p>, act: &mut Acting<'_, 'p>) {
        match *action {
            Action::DropArcs => act.may(|s, t| {
                if s.threads[t].arcs > 0 {
                    s.threads[t].arcs -= 1;
                    s.then(t, [Action::DropArcs]);
                    s.drop_reference(t);
                }
            }),
            Action::DropUpgraded => act.may(|s, t| {
                s.drop_reference(t);
            }),
            Action::DropPayload => act.may(|s, t| {
                s.exchange(t, 1, SeqCst, |value| value + 1);
                s.then(t, [Action::DropImplicitWeak]);
            }),
            Action::DropImplicitWeak => act.may(|s, t| s.release_weak(t)),
            Action::DropWeak => act.may(|s, t| s.drop_weak(t)),
            _ => unreachable!("not about counts"),
        }
    }

    /// Returns whether it was the last one.
    fn drop_reference(&mut self, thread: usize) -> bool {
        let known = self.known(thread);
        self.shared.strong_known.add(known);
        self.shared.strong -= 1;
        let is_last = self.shared.strong == 0;
        if is_last {
            let known = self.shared.strong_known;
            self.learn(thread, known);
            self.then(thread, [Action::DropPayload]);
        }
        is_last
    }

    fn drop_weak(&mut self, thread: usize) {
        if std::mem::take(&mut self.threads[thread].has_weak) {
            self.release_weak(thread);
        }
    }

    fn release_weak(&mut self, thread: usize) {
        let known = self.known(thread);
        self.shared.weak_known.add(known);
        self.shared.weak -= 1;
    }
}
