//! Threads that wait in loops while others change something and change it back, and then go on although nothing has
//! changed, because nobody else can: what each thread may read is read in some execution.

use fencepost_explore::Stop;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fencepost_explore::program::{
    Effect, Intent, Performed, Program, ThreadStatus, Touch, TouchKind,
};
use fencepost_explore::{MonitoredModel, Report, Settings, Strategy, explore};
use fencepost_memory::{Address, LocationId, Random, ThreadId};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    Write(u32, u64),
    Read(u32),
    Hint,
}

/// What each thread has read, in order.
type Seen = Vec<Vec<u64>>;

#[derive(Clone)]
struct Pulses {
    code: Arc<Vec<Vec<Op>>>,
    at: Vec<usize>,
    states: [u64; 2],
    seen: Seen,
    all: Arc<Mutex<BTreeSet<Seen>>>,
}

impl Program for Pulses {
    type Error = ();
    type Restart = Infallible;

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<(), Infallible>> {
        let threads = self.code.len();
        self.at = vec![0; threads];
        self.states = [0; 2];
        self.seen = vec![Vec::new(); threads];
        performed.spawned.extend((1..threads as u32).map(ThreadId));
        Ok(())
    }

    fn thread_bound(&self) -> usize {
        self.code.len()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        let Some(code) = self.code.get(thread.index()) else {
            return ThreadStatus::NotSpawned;
        };
        let access = |object, effect| Intent::Access {
            object: Address(object),
            effect,
            awaits: None,
        };
        let intent = match code.get(self.at[thread.index()]) {
            None => return ThreadStatus::Finished,
            Some(&Op::Write(object, _)) => access(object, Effect::Write),
            Some(&Op::Read(object)) => access(object, Effect::Read),
            Some(Op::Hint) => Intent::SpinHint,
        };
        ThreadStatus::Pending {
            intent,
            outcomes: 1,
        }
    }

    fn state(&self, object: Address) -> u64 {
        self.states.get(object.index()).copied().unwrap_or(0)
    }

    /// All hints of a thread are those of one loop.
    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        Some(LocationId::from_index(thread.0))
    }

    fn step(
        &mut self,
        thread: ThreadId,
        _: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<(), Infallible>> {
        let index = thread.index();
        let op = self.code[index][self.at[index]];
        self.at[index] += 1;
        let (object, kind, after) = match op {
            Op::Write(object, value) => (object, TouchKind::Write, value),
            Op::Read(object) => (object, TouchKind::Read, self.states[object as usize]),
            Op::Hint => return Ok(()),
        };
        let before = std::mem::replace(&mut self.states[object as usize], after);
        if kind == TouchKind::Read {
            self.seen[index].push(before);
        }
        performed.touches.push(Touch {
            object: Address(object),
            kind,
            before,
            after,
        });
        Ok(())
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<(), Infallible>> {
        if is_complete {
            self.all.lock().unwrap().insert(self.seen.clone());
        }
        Ok(())
    }
}

fn run(code: &[Vec<Op>], strategy: Strategy) -> (Report<()>, BTreeSet<Seen>) {
    let program = Pulses {
        code: Arc::new(code.to_vec()),
        at: Vec::new(),
        states: [0; 2],
        seen: Vec::new(),
        all: Arc::default(),
    };
    let settings = Settings {
        strategy,
        monitored_model: MonitoredModel::None,
        continue_after_failure: true,
        ..Settings::default()
    };
    let report = explore(|| program.clone(), &settings, &mut |_| {
        ControlFlow::Continue(())
    });
    let all = program.all.lock().unwrap().clone();
    (report, all)
}

const ALL: Strategy = Strategy::Bounded { preemptions: 1000 };

/// A lock that is taken and released beside a thread that waits with a time-out.
#[test]
fn a_pulse_is_seen_by_who_waits() {
    use Op::{Hint, Read, Write};
    let pulse = vec![Write(0, 1), Write(0, 0)];
    for (code, executions) in [
        ([pulse.clone(), vec![Hint, Read(0), Hint]], 4),
        ([pulse.clone(), vec![Hint, Read(0), Hint, Read(0)]], 5),
    ] {
        let (exhaustive, seen) = run(&code, Strategy::Exhaustive);
        let (bounded, also) = run(&code, ALL);
        assert_eq!(seen, also);
        assert_eq!(exhaustive.executions, executions);
        assert_eq!(bounded.executions, executions);
    }
    let (_, seen) = run(
        &[pulse, vec![Hint, Read(0), Hint, Read(0)]],
        Strategy::Exhaustive,
    );
    assert!(seen.contains(&vec![vec![], vec![0, 1]]), "{seen:?}");
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

fn random_code(seed: u64) -> Vec<Vec<Op>> {
    let mut random = Random::new(seed);
    let objects = 1 + random.below(2);
    let threads = 2 + random.below(2);
    let of_thread = |_| {
        let hints = random.below(2) == 0;
        let length = 1 + random.below(if threads == 2 { 5 } else { 3 });
        let mut op = || {
            let object = random.below(objects) as u32;
            match random.below(if hints { 5 } else { 3 }) {
                0 | 1 => Op::Write(object, random.below(2)),
                2 | 3 => Op::Read(object),
                _ => Op::Hint,
            }
        };
        let mut code: Vec<Op> = (0..length).map(|_| op()).collect();
        if hints {
            let object = code.len() as u32 % objects as u32;
            code.extend([Op::Hint, Op::Read(object), Op::Hint]);
        }
        code
    };
    (0..threads).map(of_thread).collect()
}

/// The search within a bound plans nothing that it does not see, so it is the measure.
#[test]
fn nothing_that_can_be_read_is_missed() {
    let first = number_from("FENCEPOST_SEED", 0);
    for seed in first..first + number_from("FENCEPOST_PROGRAMS", 2000) {
        let code = random_code(seed);
        let (bounded, expected) = run(&code, ALL);
        let (exhaustive, seen) = run(&code, Strategy::Exhaustive);
        assert!(bounded.is_complete() && exhaustive.is_complete());
        assert_eq!(seen, expected, "seed {seed}: {code:?}");
    }
}
