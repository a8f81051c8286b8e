//! Operations that touch several objects, some of them depending on the state: every class is run, against all
//! interleavings of small random programs.

use fencepost_explore::Stop;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fencepost_explore::{
    Condition, Effect, Intent, MonitoredModel, Performed, Program, Settings, Strategy,
    ThreadStatus, Touch, TouchKind, explore,
};
use fencepost_memory::{Address, LocationId, Random, ThreadId};

#[derive(Clone, Copy, Debug)]
enum Op {
    Load(u32),
    Store(u32, u64),
    /// Adds to both.
    Both(u32, u32),
    /// Adds to the first, and to the second if the first was this.
    Follow(u32, u64, u32),
    /// Adds to both if the first is this, and else only looks.
    If(u32, u64, u32),
    /// Waits until the first is not 0, and takes one; adds to the second if it was the last.
    Take(u32, u32),
}

impl Op {
    fn intent(self) -> Intent {
        let (object, effect, awaits) = match self {
            Op::Load(a) => (a, Effect::Read, None),
            Op::Store(a, _) => (a, Effect::Write, None),
            Op::Both(a, _) | Op::Follow(a, ..) => (a, Effect::WriteMultiple, None),
            Op::If(a, value, _) => (a, Effect::WriteIf(Condition::Equals(value)), None),
            Op::Take(a, _) => {
                let is_there = Condition::Differs(0);
                (a, Effect::WriteIf(is_there), Some(is_there))
            }
        };
        Intent::Access {
            object: Address(object),
            effect,
            awaits,
        }
    }

    fn is_ready(self, states: &[u64]) -> bool {
        !matches!(self, Op::Take(a, _) if states[a as usize] == 0)
    }

    /// Performs it: what it writes, or looks at.
    fn perform(self, states: &mut [u64]) -> Vec<(u32, TouchKind)> {
        let (first, second) = match self {
            Op::Load(a) => return vec![(a, TouchKind::Read)],
            Op::Store(a, value) => {
                states[a as usize] = value;
                return vec![(a, TouchKind::Write)];
            }
            Op::Both(a, b) => (a, Some(b)),
            Op::Follow(a, value, b) => (a, (states[a as usize] == value).then_some(b)),
            Op::If(a, value, _) if states[a as usize] != value => {
                return vec![(a, TouchKind::Read)];
            }
            Op::If(a, _, b) => (a, Some(b)),
            Op::Take(a, b) => {
                states[a as usize] -= 1;
                let is_last = states[a as usize] == 0;
                let second = is_last.then_some(b);
                if let Some(b) = second {
                    states[b as usize] = (states[b as usize] + 1) % 3;
                }
                return touched(a, second);
            }
        };
        for object in [Some(first), second].into_iter().flatten() {
            states[object as usize] = (states[object as usize] + 1) % 3;
        }
        touched(first, second)
    }
}

fn touched(first: u32, second: Option<u32>) -> Vec<(u32, TouchKind)> {
    let objects = [Some(first), second].into_iter().flatten();
    objects.map(|object| (object, TouchKind::Write)).collect()
}

const OBJECTS: usize = 4;

/// For each object, who wrote to it in which order, with who looked in between; and who is left.
type Class = (Vec<Vec<(bool, Vec<(usize, usize)>)>>, Vec<usize>);

#[derive(Clone)]
struct State {
    states: Vec<u64>,
    at: Vec<usize>,
    class: Class,
}

impl State {
    fn new(threads: usize) -> Self {
        State {
            states: vec![0; OBJECTS],
            at: vec![0; threads],
            class: (vec![Vec::new(); OBJECTS], vec![0; threads]),
        }
    }

    fn next(&self, code: &[Vec<Op>], thread: usize) -> Option<Op> {
        code[thread].get(self.at[thread]).copied()
    }

    fn step(&mut self, op: Op, thread: usize) -> Vec<Touch> {
        let before = self.states.clone();
        let touches = op.perform(&mut self.states);
        for (object, kind) in &touches {
            let orders = &mut self.class.0[*object as usize];
            let who = (thread, self.at[thread]);
            match (kind, orders.last_mut()) {
                (TouchKind::Read, Some((false, readers))) => {
                    readers.push(who);
                    readers.sort_unstable();
                }
                (TouchKind::Read, _) => orders.push((false, vec![who])),
                _ => orders.push((true, vec![who])),
            }
        }
        self.at[thread] += 1;
        self.class.1[thread] += 1;
        let touch = |(object, kind): (u32, TouchKind)| Touch {
            object: Address(object),
            kind,
            before: before[object as usize],
            after: self.states[object as usize],
        };
        touches.into_iter().map(touch).collect()
    }
}

fn every_class(code: &[Vec<Op>], state: &State, classes: &mut BTreeMap<Class, u32>) {
    let mut is_end = true;
    for thread in 0..code.len() {
        if let Some(op) = state.next(code, thread) {
            if op.is_ready(&state.states) {
                is_end = false;
                let mut next = state.clone();
                next.step(op, thread);
                every_class(code, &next, classes);
            }
        }
    }
    if is_end {
        *classes.entry(state.class.clone()).or_default() += 1;
    }
}

#[derive(Clone)]
struct Toy {
    code: Arc<Vec<Vec<Op>>>,
    state: State,
    run: Arc<Mutex<BTreeMap<Class, u32>>>,
}

impl Program for Toy {
    type Error = ();
    type Restart = Infallible;

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<(), Infallible>> {
        self.state = State::new(self.code.len());
        let others = 1..self.code.len() as u32;
        performed.spawned.extend(others.map(ThreadId));
        Ok(())
    }

    fn thread_bound(&self) -> usize {
        self.code.len()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        if thread.index() >= self.code.len() {
            return ThreadStatus::NotSpawned;
        }
        match self.state.next(&self.code, thread.index()) {
            None => ThreadStatus::Finished,
            Some(op) => ThreadStatus::Pending {
                intent: op.intent(),
                outcomes: 1,
            },
        }
    }

    fn state(&self, object: Address) -> u64 {
        let states = &self.state.states;
        states.get(object.index()).copied().unwrap_or(0)
    }

    fn location(&self, _: ThreadId) -> Option<LocationId> {
        None
    }

    fn step(
        &mut self,
        thread: ThreadId,
        _: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<(), Infallible>> {
        let thread = thread.index();
        let op = self
            .state
            .next(&self.code, thread)
            .expect("it stands there");
        performed.touches.extend(self.state.step(op, thread));
        Ok(())
    }

    fn finish(&mut self, _: bool) -> Result<(), Stop<(), Infallible>> {
        // An abandoned execution is not at its end.
        let is_left = (0..self.code.len()).any(|thread| {
            let op = self.state.next(&self.code, thread);
            op.is_some_and(|op| op.is_ready(&self.state.states))
        });
        if !is_left {
            let mut run = self.run.lock().unwrap();
            *run.entry(self.state.class.clone()).or_default() += 1;
        }
        Ok(())
    }
}

fn classes_run(code: &[Vec<Op>], strategy: Strategy) -> BTreeMap<Class, u32> {
    let toy = Toy {
        code: Arc::new(code.to_vec()),
        state: State::new(code.len()),
        run: Arc::default(),
    };
    let settings = Settings {
        strategy,
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    let report = explore(
        || toy.clone(),
        &settings,
        &mut |_| ControlFlow::Continue(()),
    );
    assert!(report.is_complete());
    Arc::try_unwrap(toy.run).map_or_else(
        |shared| shared.lock().unwrap().clone(),
        |run| run.into_inner().unwrap(),
    )
}

fn random_code(seed: u64) -> Vec<Vec<Op>> {
    let mut random = Random::new(seed);
    let mut below = |n: u64| random.below(n);
    let objects = 2 + below(OBJECTS as u64 - 1);
    let waits = below(3) == 0;
    let threads = 2 + below(3);
    (0..threads)
        .map(|_| {
            let most = if threads > 3 { 2 } else { 3 };
            (0..1 + below(most))
                .map(|_| {
                    let first = below(objects) as u32;
                    let second = (first + 1 + below(objects - 1) as u32) % objects as u32;
                    match below(if waits { 8 } else { 7 }) {
                        0 => Op::Load(first),
                        1 | 2 => Op::Store(first, below(3)),
                        3 | 4 => Op::Both(first, second),
                        5 => Op::Follow(first, below(3), second),
                        6 => Op::If(first, below(3), second),
                        _ => Op::Take(first, second),
                    }
                })
                .collect()
        })
        .collect()
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

#[test]
fn no_class_is_missed() {
    let first = number_from("FENCEPOST_SEED", 0);
    let mut most = 0;
    for seed in first..first + number_from("FENCEPOST_PROGRAMS", 2000) {
        let code = random_code(seed);
        let mut expected = BTreeMap::new();
        every_class(&code, &State::new(code.len()), &mut expected);
        most = most.max(expected.len());
        for strategy in [
            Strategy::Exhaustive,
            Strategy::Bounded { preemptions: 1000 },
        ] {
            let run = classes_run(&code, strategy.clone());
            let counts = (run.len(), expected.len());
            assert!(
                run.keys().eq(expected.keys()),
                "{strategy:?} seed {seed}: {counts:?} {code:?}"
            );
        }
    }
    assert!(most > 300, "{most}");
}

/// Two operations on the same object that touch others besides, and who touches those.
#[test]
fn guesses_do_not_send_each_other_away() {
    let code = [
        vec![Op::Both(0, 1)],
        vec![Op::Store(1, 0)],
        vec![Op::Store(0, 0)],
        vec![Op::Both(0, 2)],
    ];
    assert_eq!(classes_run(&code, Strategy::Exhaustive).len(), 12);
}
