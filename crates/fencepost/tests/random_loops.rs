//! Random programs with loops, bounded and unbounded, with hints and without, against brute force.
//!
//! The brute force is a machine with store buffers that carries values. It visits all states, and
//! so needs no bound for loops that only wait. The explored executions must have exactly the
//! outcomes that the machine has without buffers. A program without a violation must have the same
//! outcomes with buffers: a loop is not to be taken for a wait, nor a stale read for a harmless one,
//! where it matters.
//!
//! `FENCEPOST_TEST_SEED` and `FENCEPOST_TEST_PROGRAMS` choose other and more programs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fencepost::sync::atomic::Ordering::{AcqRel, Relaxed, Release, SeqCst};
use fencepost::sync::atomic::{AtomicU64, fence};
use fencepost::{Target, hint, thread};
use fencepost_explore::{Failure, Fault, MonitoredModel, Settings};
use fencepost_memory::{LockedDrains, Random};
use fencepost_runtime::Setup;
use rustc_hash::FxHashMap;

use crate::explorer::explore_with;

const VARIABLES: usize = 3;
const REGISTERS: usize = 4;
/// The register that counts the rounds of a bounded loop, and the one that is set if a thread found
/// what it should not find.
const COUNTER: usize = 2;
const FOUND: usize = 3;
/// How many stores a thread can buffer: a loop can store without end.
const MAX_BUFFERED: usize = 4;

#[derive(Clone, Copy, Debug)]
enum Instruction {
    Load {
        variable: usize,
        to: usize,
    },
    Store {
        variable: usize,
        value: u64,
        is_release: bool,
    },
    Swap {
        variable: usize,
        value: u64,
        to: usize,
    },
    CompareExchange {
        variable: usize,
        expected: u64,
        new: u64,
        to: usize,
    },
    Fence,
    Hint,
    Count,
    Set {
        register: usize,
        value: u64,
    },
    /// Jumps if the register differs from the value.
    Unless {
        register: usize,
        value: u64,
        to: usize,
    },
    Jump {
        to: usize,
    },
}
use Instruction::*;

type Code = Vec<Instruction>;
type Registers = [u64; REGISTERS];
/// The final registers of the threads and the final memory.
type Final = (Vec<Registers>, [u64; VARIABLES]);

// The generator.

fn below(random: &mut Random, bound: u64) -> u64 {
    random.below(bound)
}

fn simple(random: &mut Random) -> Instruction {
    let variable = below(random, VARIABLES as u64) as usize;
    let value = 1 + below(random, 2);
    match below(random, 8) {
        0..=3 => Store {
            variable,
            value,
            is_release: below(random, 2) == 0,
        },
        4 | 5 => Load {
            variable,
            to: below(random, 2) as usize,
        },
        6 => Swap {
            variable,
            value,
            to: below(random, 2) as usize,
        },
        _ => Fence,
    }
}

/// A loop until a register has a value.
fn add_loop(code: &mut Code, random: &mut Random, is_wide: bool) {
    let start = code.len();
    let variable = below(random, VARIABLES as u64) as usize;
    let value = below(random, 3);
    match below(random, 8) {
        0 => code.push(Swap {
            variable,
            value: 1,
            to: 0,
        }),
        1 => code.push(CompareExchange {
            variable,
            expected: value,
            new: 2,
            to: 0,
        }),
        _ => code.push(Load { variable, to: 0 }),
    }
    if below(random, 3) == 0 {
        add_second_load(code, random);
    }
    let mut leaves_unless = vec![code.len()];
    code.push(Unless {
        register: 0,
        value,
        to: 0,
    });
    if is_wide && below(random, 4) == 0 {
        // It waits for a second variable.
        let variable = below(random, VARIABLES as u64) as usize;
        code.push(Load { variable, to: 1 });
        leaves_unless.push(code.len());
        code.push(Unless {
            register: 1,
            value: below(random, 2),
            to: 0,
        });
    }
    let leaves = code.len();
    code.push(Jump { to: 0 });
    let again = code.len();
    for at in leaves_unless {
        if let Unless { to, .. } = &mut code[at] {
            *to = again;
        }
    }
    if is_wide && below(random, 12) == 0 {
        // A store that changes something in the first round only, unless another thread does too.
        code.push(Store {
            variable: below(random, VARIABLES as u64) as usize,
            value: 1 + below(random, 2),
            is_release: below(random, 2) == 0,
        });
    }
    add_next_round(code, random, start);
    code[leaves] = Jump { to: code.len() };
}

/// Another load in a loop, perhaps only after some value of the first, and perhaps one that matters.
fn add_second_load(code: &mut Code, random: &mut Random) {
    let skip = code.len();
    code.push(Unless {
        register: 0,
        value: below(random, 3),
        to: 0,
    });
    let variable = below(random, VARIABLES as u64) as usize;
    code.push(Load { variable, to: 1 });
    if below(random, 2) == 0 {
        let to = code.len() + 2;
        code.push(Unless {
            register: 1,
            value: below(random, 2),
            to,
        });
        code.push(Set {
            register: FOUND,
            value: 1,
        });
    }
    if let Unless {
        register, value, ..
    } = code[skip]
    {
        let to = code.len();
        code[skip] = Unless {
            register,
            value,
            to,
        };
    }
}

/// The next round of a loop, or its end after some rounds.
fn add_next_round(code: &mut Code, random: &mut Random, start: usize) {
    if below(random, 3) == 0 {
        code.push(Count);
        let bound = 1 + below(random, 3);
        let to = code.len() + 2;
        code.push(Unless {
            register: COUNTER,
            value: bound,
            to,
        });
        let end = code.len() + 1 + 2;
        code.push(Jump { to: end });
        code.push(Hint);
        code.push(Jump { to: start });
    } else {
        if below(random, 2) == 0 {
            code.push(Hint);
        }
        code.push(Jump { to: start });
    }
}

/// A wide one has loops that wait for two variables, or store, and threads with two loops.
fn program(random: &mut Random, is_wide: bool) -> Vec<Code> {
    let threads = 2 + usize::from(below(random, 4) == 0);
    let thread = |random: &mut Random| {
        let mut code = Vec::new();
        for _ in 0..below(random, 3) {
            code.push(simple(random));
        }
        if below(random, 4) != 0 {
            add_loop(&mut code, random, is_wide);
        }
        if is_wide && below(random, 16) == 0 {
            code.push(Set {
                register: COUNTER,
                value: 0,
            });
            add_loop(&mut code, random, is_wide);
        }
        for _ in 0..below(random, 2) + u64::from(code.is_empty()) {
            code.push(simple(random));
        }
        code
    };
    (0..threads).map(|_| thread(random)).collect()
}

// The program as a closure.

fn run(code: &[Instruction], memory: &[AtomicU64]) -> Registers {
    let mut registers = [0; REGISTERS];
    let mut at = 0;
    while at < code.len() {
        let instruction = code[at];
        at += 1;
        match instruction {
            Load { variable, to } => registers[to] = memory[variable].load(Relaxed),
            Store {
                variable,
                value,
                is_release,
            } => {
                let ordering = if is_release { Release } else { Relaxed };
                memory[variable].store(value, ordering);
            }
            Swap {
                variable,
                value,
                to,
            } => {
                registers[to] = memory[variable].swap(value, AcqRel);
            }
            CompareExchange {
                variable,
                expected,
                new,
                to,
            } => {
                let result = memory[variable].compare_exchange(expected, new, AcqRel, Relaxed);
                registers[to] = result.unwrap_or_else(|found| found);
            }
            Fence => fence(SeqCst),
            Hint => hint::spin_loop(),
            Count => registers[COUNTER] += 1,
            Set { register, value } => registers[register] = value,
            Unless {
                register,
                value,
                to,
            } => {
                if registers[register] != value {
                    at = to;
                }
            }
            Jump { to } => at = to,
        }
    }
    registers
}

// The machine.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Buffers {
    None,
    Tso,
    Pso,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ThreadState {
    at: usize,
    registers: Registers,
    /// Variable, value, and the number of barriers before.
    buffer: Vec<(usize, u64, u8)>,
    barriers: u8,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    memory: [u64; VARIABLES],
    threads: Vec<ThreadState>,
}

impl ThreadState {
    /// Counts barriers from the first buffered store on, so that there are finitely many states.
    fn renumber_barriers(&mut self) {
        let first = self.buffer.iter().map(|entry| entry.2).min();
        let first = first.unwrap_or(self.barriers);
        self.barriers -= first;
        self.buffer.iter_mut().for_each(|entry| entry.2 -= first);
    }
}

impl State {
    fn first(threads: usize) -> Self {
        let thread = ThreadState {
            at: 0,
            registers: [0; REGISTERS],
            buffer: Vec::new(),
            barriers: 0,
        };
        State {
            memory: [0; VARIABLES],
            threads: vec![thread; threads],
        }
    }

    fn is_final(&self, code: &[Code]) -> bool {
        let mut threads = self.threads.iter().zip(code);
        threads.all(|(thread, code)| thread.at >= code.len() && thread.buffer.is_empty())
    }

    fn outcome(&self) -> Final {
        let registers = self.threads.iter().map(|thread| thread.registers);
        (registers.collect(), self.memory)
    }

    /// The states after one step: an instruction or a commit.
    fn successors(&self, code: &[Code], buffers: Buffers) -> Vec<State> {
        let mut all = Vec::new();
        for (number, thread) in self.threads.iter().enumerate() {
            for entry in 0..thread.buffer.len() {
                let (variable, value, barriers) = thread.buffer[entry];
                let is_held = thread.buffer[..entry].iter().any(|&(other, _, earlier)| {
                    buffers == Buffers::Tso || other == variable || earlier < barriers
                });
                if !is_held {
                    let mut next = self.clone();
                    next.threads[number].buffer.remove(entry);
                    next.memory[variable] = value;
                    next.threads[number].renumber_barriers();
                    all.push(next);
                }
            }
            if let Some(&instruction) = code[number].get(thread.at) {
                let room = match instruction {
                    Swap { .. } | CompareExchange { .. } | Fence => 0,
                    Store { .. } => MAX_BUFFERED - 1,
                    _ => MAX_BUFFERED,
                };
                if thread.buffer.len() <= room {
                    let mut next = self.clone();
                    next.perform(number, instruction, buffers);
                    all.push(next);
                }
            }
        }
        all
    }

    fn perform(&mut self, number: usize, instruction: Instruction, buffers: Buffers) {
        let (memory, thread) = (&mut self.memory, &mut self.threads[number]);
        thread.at += 1;
        match instruction {
            Load { variable, to } => {
                let mut own = thread.buffer.iter().rev();
                let own = own.find(|entry| entry.0 == variable).map(|entry| entry.1);
                thread.registers[to] = own.unwrap_or(memory[variable]);
            }
            Store {
                variable,
                value,
                is_release,
            } => {
                thread.barriers += u8::from(is_release && !thread.buffer.is_empty());
                match buffers {
                    Buffers::None => memory[variable] = value,
                    _ => thread.buffer.push((variable, value, thread.barriers)),
                }
            }
            Swap {
                variable,
                value,
                to,
            } => {
                thread.registers[to] = std::mem::replace(&mut memory[variable], value);
            }
            CompareExchange {
                variable,
                expected,
                new,
                to,
            } => {
                thread.registers[to] = memory[variable];
                if memory[variable] == expected {
                    memory[variable] = new;
                }
            }
            Fence | Hint => {}
            Count => thread.registers[COUNTER] += 1,
            Set { register, value } => thread.registers[register] = value,
            Unless {
                register,
                value,
                to,
            } => {
                if thread.registers[register] != value {
                    thread.at = to;
                }
            }
            Jump { to } => thread.at = to,
        }
    }
}

/// All outcomes, and whether each state can still reach one.
fn outcomes(code: &[Code], buffers: Buffers) -> (BTreeSet<Final>, bool) {
    // `std`'s hashing took half of the time of the test.
    let mut numbers = FxHashMap::default();
    numbers.insert(State::first(code.len()), 0_usize);
    let mut states = vec![State::first(code.len())];
    let mut before: Vec<Vec<usize>> = vec![Vec::new()];
    let mut at = 0;
    while at < states.len() {
        for next in states[at].successors(code, buffers) {
            let number = match numbers.get(&next) {
                Some(&number) => number,
                None => {
                    numbers.insert(next.clone(), states.len());
                    states.push(next);
                    before.push(Vec::new());
                    states.len() - 1
                }
            };
            before[number].push(at);
        }
        at += 1;
    }
    let is_final: Vec<bool> = states.iter().map(|state| state.is_final(code)).collect();
    let mut ends = is_final.clone();
    let mut open: Vec<usize> = (0..states.len()).filter(|&state| ends[state]).collect();
    while let Some(state) = open.pop() {
        for &earlier in &before[state] {
            if !std::mem::replace(&mut ends[earlier], true) {
                open.push(earlier);
            }
        }
    }
    let finals = states
        .iter()
        .zip(&is_final)
        .filter(|(_, is_final)| **is_final);
    let finals = finals.map(|(state, _)| state.outcome()).collect();
    (finals, ends.into_iter().all(|ends| ends))
}

// The comparison.

/// What was explored.
struct Explored {
    outcomes: BTreeSet<Final>,
    is_safe: bool,
    has_livelock: bool,
    waits: bool,
}

/// None if there are too many executions: threads write each other's variables in endless loops.
fn explored(code: &[Code], target: Target) -> Option<Explored> {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let (code, seen) = (Arc::new(code.to_vec()), outcomes.clone());
    let closure = move || {
        let memory: Arc<[AtomicU64; VARIABLES]> = Arc::new([0; VARIABLES].map(AtomicU64::new));
        let threads: Vec<_> = (0..code.len())
            .map(|number| {
                let (code, memory) = (code.clone(), memory.clone());
                thread::spawn(move || run(&code[number], &memory[..]))
            })
            .collect();
        let registers = threads.into_iter().map(|thread| thread.join().unwrap());
        let registers: Vec<Registers> = registers.collect();
        let memory = [0, 1, 2].map(|variable: usize| memory[variable].load(Relaxed));
        seen.lock().unwrap().insert((registers, memory));
    };
    let monitored_model = match target {
        Target::Pso => MonitoredModel::Pso(LockedDrains::OwnAddress),
        _ => MonitoredModel::Tso,
    };
    let settings = Settings {
        monitored_model,
        continue_after_failure: true,
        livelock_after: 3,
        max_steps: 200,
        max_executions: Some(500),
        ..Settings::default()
    };
    let setup = Setup {
        target,
        ..Setup::default()
    };
    let report = explore_with(setup, &settings, closure).report;
    let has_too_many_steps = (report.findings.iter())
        .any(|found| matches!(found.failure, Failure::Fault(Fault::StepLimit { .. })));
    if has_too_many_steps || !report.limits.is_empty() {
        return None;
    }
    let stopped = (report.findings.iter())
        .filter(|found| matches!(&found.failure, Failure::Fault(fault) if !matches!(fault, Fault::Livelock(_))));
    let stopped: Vec<_> = stopped.map(|found| &found.failure).collect();
    assert!(stopped.is_empty(), "{stopped:?} {:?}", report.limits);
    let mut failures = report.findings.iter().map(|found| &found.failure);
    let has_livelock =
        (failures.clone()).any(|failure| matches!(failure, Failure::Fault(Fault::Livelock(_))));
    let is_safe = !failures.any(|failure| matches!(failure, Failure::StoreBuffer(_)));
    Some(Explored {
        outcomes: std::mem::take(&mut outcomes.lock().unwrap()),
        is_safe,
        has_livelock,
        waits: !report.waits.is_empty(),
    })
}

#[derive(Default, Debug)]
struct Counts {
    programs: u64,
    too_large: u64,
    hang: u64,
    wait: u64,
    safe: u64,
    safe_and_wait: u64,
    unsafe_without_other_outcomes: u64,
}

fn compare(code: &[Code], target: Target, counts: &mut Counts) {
    let (expected, ends) = outcomes(code, Buffers::None);
    counts.programs += 1;
    let Some(found) = explored(code, target) else {
        counts.too_large += 1;
        return;
    };
    let shown = || format!("{target:?} {code:#?}");
    assert_eq!(found.has_livelock, !ends, "a livelock: {}", shown());
    assert_eq!(found.outcomes, expected, "{}", shown());
    counts.hang += u64::from(!ends);
    counts.wait += u64::from(found.waits);
    counts.safe += u64::from(found.is_safe);
    counts.safe_and_wait += u64::from(found.is_safe && found.waits);
    let buffers = match target {
        Target::Pso => Buffers::Pso,
        _ => Buffers::Tso,
    };
    let (with_buffers, ends_with_buffers) = outcomes(code, buffers);
    match found.is_safe {
        true => {
            assert_eq!(with_buffers, expected, "called safe: {}", shown());
            assert_eq!(ends_with_buffers, ends, "called safe: {}", shown());
        }
        false => {
            counts.unsafe_without_other_outcomes += u64::from(with_buffers == expected);
        }
    }
}

fn number_from(variable: &str, otherwise: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(otherwise, |text| text.parse().expect("a number"))
}

/// A round that stores the value that another thread has just stored is not without effect: the
/// thread may read its own store before that of the other one is in memory.
#[test]
fn a_round_that_stores_what_is_there_has_an_effect() {
    let (x, go, after) = (0, 1, 2);
    let store = |variable, value| Store {
        variable,
        value,
        is_release: false,
    };
    let load = |variable, to| Load { variable, to };
    let waits = vec![
        load(go, 0),
        Unless {
            register: 0,
            value: 1,
            to: 3,
        },
        Jump { to: 5 },
        store(x, 1),
        Jump { to: 0 },
        load(x, 0),
        load(after, 1),
    ];
    let lets_go = vec![load(x, 0), store(go, 1)];
    let exchange = CompareExchange {
        variable: x,
        expected: 2,
        new: 1,
        to: 0,
    };
    let writes = vec![store(x, 2), store(after, 1), exchange];
    let code = [waits, lets_go, writes];
    let mut counts = Counts::default();
    compare(&code, Target::X86, &mut counts);
    let is_unsafe = counts.safe == 0 && counts.unsafe_without_other_outcomes == 0;
    assert!(is_unsafe && counts.wait == 1, "{counts:?}");
}

#[test]
fn loops_agree_with_brute_force() {
    let seed = number_from("FENCEPOST_TEST_SEED", 19);
    let programs = number_from("FENCEPOST_TEST_PROGRAMS", 20_000);
    let half = |which: u64| {
        let mut counts = Counts::default();
        for number in (which..programs).step_by(2) {
            let mut random = Random::new(seed.wrapping_mul(1 << 32) + number);
            // Wide programs have ten times as many executions.
            let code = program(&mut random, number / 4 % 6 == 0);
            let target = if number % 4 < 2 {
                Target::X86
            } else {
                Target::Pso
            };
            compare(&code, target, &mut counts);
        }
        counts
    };
    let counts = std::thread::scope(|scope| {
        let threads = [0, 1].map(|which| scope.spawn(move || half(which)));
        threads.map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    println!("seed {seed}: {counts:?}");
    for counts in counts {
        assert!(counts.too_large * 20 < counts.programs, "{counts:?}");
        assert!(counts.wait * 4 > counts.programs, "{counts:?}");
        assert!(counts.safe_and_wait * 10 > counts.programs, "{counts:?}");
    }
}
