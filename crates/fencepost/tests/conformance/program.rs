//! Random small programs over all types, as data.
#![allow(dead_code)] // Not every test uses all of it.

use std::sync::atomic::Ordering;

use fencepost_memory::Random;

/// What a thread does. Numbers name threads (0 is the first one) and values.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// These three are sequentially consistent.
    Load(usize),
    Store(usize, u32),
    Add(usize),
    LoadWith(usize, Ordering),
    StoreWith(usize, u32, Ordering),
    SwapWith(usize, u32, Ordering),
    CompareExchange {
        place: usize,
        expected: u32,
        new: u32,
        success: Ordering,
        failure: Ordering,
    },
    /// An atomic operation that returns the value before it.
    FetchWith(Fetch, usize, u32, Ordering),
    Fence(Ordering),
    /// Loads, and does this if the value is not 0.
    IfSet(usize, Ordering, Vec<Op>),
    /// Accesses to a cell, which may race. They have no results.
    ReadCell(usize),
    WriteCell(usize),
    /// Panics if an atomic variable has this value.
    PanicIf(usize, u32),
    Park,
    ParkTimeout,
    Unpark(usize),
    IsFinished(usize),
    Join(usize),
    /// Initializes a thread-local value, whose destructor changes an atomic variable.
    UseLocal,
    Send(u32),
    TrySend(u32),
    Receive,
    TryReceive,
    ReceiveTimeout,
    DropSender,
    DropReceiver,
    /// Locks the mutex, increments its value, and does this before it unlocks the mutex.
    Lock(Vec<Op>),
    TryLock(Vec<Op>),
    Wait,
    /// Waits until the value of the mutex is not 0.
    WaitWhileZero,
    WaitTimeout,
    NotifyOne,
    NotifyAll,
    Read(Vec<Op>),
    Write(Vec<Op>),
    TryRead(Vec<Op>),
    TryWrite(Vec<Op>),
    Barrier,
    CallOnce(Vec<Op>),
    IsOnceCompleted,
    GetCell,
    SetCell(u32),
    InitCell(u32),
    ForceLazy,
    StrongCount,
    WeakCount,
    CloneArc,
    DropArc,
    TryUnwrapArc,
    IntoInnerArc,
    GetMutArc,
    Upgrade,
    DropWeak,
}

/// What an atomic variable is changed to, with a second number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Fetch {
    Add,
    And,
    Or,
    Xor,
}

impl Fetch {
    /// The new value.
    pub fn of(self, old: u32, operand: u32) -> u32 {
        match self {
            Fetch::Add => old + operand,
            Fetch::And => old & operand,
            Fetch::Or => old | operand,
            Fetch::Xor => old ^ operand,
        }
    }
}

/// How the program has a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ChannelUse {
    /// None is unbounded.
    pub bound: Option<usize>,
    /// The thread that has the receiver. The others have senders, and so does the first thread.
    pub receiver: usize,
}

/// A program. The first thread does `before`, spawns the other threads, does `between`, and `after`; if the threads
/// are scoped, the scope ends before `after`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Program {
    pub is_scoped: bool,
    pub channel: Option<ChannelUse>,
    pub has_arc: bool,
    pub before: Vec<Op>,
    pub threads: Vec<Vec<Op>>,
    pub between: Vec<Op>,
    pub after: Vec<Op>,
}

impl Program {
    /// The number of threads, including the first one.
    pub fn thread_count(&self) -> usize {
        self.threads.len() + 1
    }

    fn parts_mut(&mut self) -> impl Iterator<Item = &mut Vec<Op>> {
        let first = [&mut self.before, &mut self.between, &mut self.after];
        first.into_iter().chain(&mut self.threads)
    }

    /// The same program with stores that release nothing.
    pub fn with_relaxed_stores(&self) -> Program {
        fn relax(op: &mut Op) {
            match op {
                Op::StoreWith(_, _, ordering) => *ordering = Ordering::Relaxed,
                Op::Store(place, value) => *op = Op::StoreWith(*place, *value, Ordering::Relaxed),
                _ => {}
            }
        }
        let mut program = self.clone();
        program.parts_mut().flatten().for_each(relax);
        program
    }

    /// The same program with what it does under its mutex done without.
    pub fn without_mutex(&self) -> Program {
        fn unlocked(ops: &mut Vec<Op>) {
            let all = std::mem::take(ops).into_iter();
            *ops = all.flat_map(without).collect();
        }
        fn without(op: Op) -> Vec<Op> {
            match op {
                Op::Lock(inner) | Op::TryLock(inner) => inner,
                other => vec![other],
            }
        }
        let mut program = self.clone();
        program.parts_mut().for_each(unlocked);
        program
    }

    /// The programs with one operation less.
    pub fn smaller(&self) -> Vec<Program> {
        let mut smaller = Vec::new();
        for part in 0..3 + self.threads.len() {
            for at in 0.. {
                let mut program = self.clone();
                let Some(ops) = program.parts_mut().nth(part).filter(|ops| at < ops.len()) else {
                    break;
                };
                ops.remove(at);
                smaller.push(program);
            }
        }
        smaller
    }
}

/// What the operations of a program are about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Family {
    Atomics,
    Orderings,
    Cells,
    Parking,
    Ends,
    Channel,
    Mutex,
    Condvar,
    RwLock,
    Barrier,
    Once,
    Arc,
}

const FAMILIES: [Family; 9] = [
    Family::Parking,
    Family::Ends,
    Family::Channel,
    Family::Mutex,
    Family::Condvar,
    Family::RwLock,
    Family::Barrier,
    Family::Once,
    Family::Arc,
];

/// Those that C has.
const FAMILIES_OF_C: [Family; 7] = [
    Family::Atomics,
    Family::Ends,
    Family::Mutex,
    Family::Condvar,
    Family::RwLock,
    Family::Barrier,
    Family::Once,
];

const LOADS: [Ordering; 3] = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
const STORES: [Ordering; 3] = [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst];
const EXCHANGES: [Ordering; 5] = [
    Ordering::Relaxed,
    Ordering::Acquire,
    Ordering::Release,
    Ordering::AcqRel,
    Ordering::SeqCst,
];

/// Which programs are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Programs {
    /// Over all types, with atomics that are sequentially consistent, so that every outcome on real threads is one of an
    /// interleaving.
    OfAllTypes,
    /// Of locks, and atomics and fences with any ordering.
    OfOrderings,
    /// Of all types, with cells that may race, and panics.
    WithFailures,
    /// Of what C has. The first thread joins the others.
    OfC,
    /// Of locks in C, and atomics and fences with any ordering.
    OfOrderingsOfC,
    /// Of what C has, with cells that may race, and panics.
    OfCWithFailures,
}

impl Programs {
    fn are_of_c(self) -> bool {
        use Programs::{OfC, OfCWithFailures, OfOrderingsOfC};
        matches!(self, OfC | OfOrderingsOfC | OfCWithFailures)
    }
}

/// Makes random programs.
pub struct Generator {
    random: Random,
    programs: Programs,
}

impl Generator {
    pub fn new(programs: Programs, seed: u64) -> Self {
        Generator {
            random: Random::new(seed),
            programs,
        }
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.random.below(choices.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    /// The next program.
    pub fn program(&mut self) -> Program {
        let families = match (self.programs, self.random.below(4)) {
            // The combination of parking and channels is where threads wait in two ways.
            (Programs::OfAllTypes, 0) => vec![Family::Parking, Family::Channel, Family::Ends],
            (Programs::OfAllTypes, _) => {
                vec![self.pick(&FAMILIES), self.pick(&FAMILIES), Family::Atomics]
            }
            (Programs::OfOrderings | Programs::OfOrderingsOfC | Programs::OfC, 0) => {
                vec![Family::Orderings]
            }
            (Programs::OfOrderings | Programs::OfOrderingsOfC, _) => {
                let locks = self.pick(&[Family::Mutex, Family::RwLock]);
                vec![Family::Orderings, Family::Orderings, locks]
            }
            (Programs::OfC, _) => vec![
                self.pick(&FAMILIES_OF_C),
                self.pick(&FAMILIES_OF_C),
                Family::Orderings,
            ],
            (Programs::WithFailures | Programs::OfCWithFailures, 0) => {
                vec![Family::Orderings, Family::Cells]
            }
            (Programs::OfCWithFailures, _) => {
                vec![self.pick(&FAMILIES_OF_C), Family::Orderings, Family::Cells]
            }
            (Programs::WithFailures, _) => vec![
                self.pick(&FAMILIES),
                self.pick(&[Family::Orderings, Family::Atomics]),
                Family::Cells,
            ],
        };
        let children = 1 + self.random.below(2) as usize;
        let has_channel = families.contains(&Family::Channel);
        let channel = has_channel.then(|| ChannelUse {
            bound: self.pick(&[None, None, Some(0), Some(0), Some(1), Some(2)]),
            receiver: self.random.below(children as u64 + 1) as usize,
        });
        let mut program = Program {
            is_scoped: !self.programs.are_of_c() && self.chance(2),
            channel,
            has_arc: families.contains(&Family::Arc),
            before: Vec::new(),
            threads: Vec::new(),
            between: Vec::new(),
            after: Vec::new(),
        };
        let longest = 5 - children as u64;
        for thread in 1..=children {
            let ops = self.ops(&program, &families, thread, longest);
            program.threads.push(ops);
        }
        program.before = self.ops(&program, &families, 0, 1);
        program.between = self.ops(&program, &families, 0, longest);
        if self.programs.are_of_c() {
            let ends = (1..program.thread_count()).map(Op::Join);
            program.between.extend(ends);
        }
        program.after = self.ops(&program, &families, 0, 2);
        program
    }

    fn ops(&mut self, program: &Program, families: &[Family], thread: usize, most: u64) -> Vec<Op> {
        let count = self.random.below(most + 1);
        let mut ops = Vec::new();
        for _ in 0..count {
            let family = self.pick(families);
            let op = match family == Family::Cells && self.chance(3) {
                true => self.if_set(program, families, thread),
                false => self.op(program, family, thread, true),
            };
            ops.push(op);
        }
        ops
    }

    /// The operations that are done while a lock is held.
    fn inner(&mut self, program: &Program, thread: usize) -> Vec<Op> {
        match self.chance(2) {
            true => Vec::new(),
            false => {
                let family = match self.programs {
                    Programs::OfAllTypes => Family::Atomics,
                    Programs::OfOrderings | Programs::OfOrderingsOfC | Programs::OfC => {
                        Family::Orderings
                    }
                    Programs::WithFailures | Programs::OfCWithFailures => {
                        self.pick(&[Family::Cells, Family::Orderings])
                    }
                };
                vec![self.op(program, family, thread, false)]
            }
        }
    }

    /// An access to a cell if a variable is set, perhaps after an operation of these families.
    fn if_set(&mut self, program: &Program, families: &[Family], thread: usize) -> Op {
        let (place, ordering) = (self.random.below(2) as usize, self.pick(&LOADS));
        let mut inner = Vec::new();
        let family = self.pick(families);
        // Threads are joined only by handles, which are not there in a nested operation.
        if self.chance(2) && family != Family::Ends {
            inner.push(self.op(program, family, thread, true));
        }
        inner.push(self.op(program, Family::Cells, thread, true));
        Op::IfSet(place, ordering, inner)
    }

    /// C has no failure ordering that is stronger than that of success.
    fn op_with_ordering_of_c(&mut self, place: usize, value: u32) -> Op {
        let success = self.pick(&EXCHANGES);
        let failures = match success {
            Ordering::SeqCst => &LOADS[..],
            Ordering::Acquire | Ordering::AcqRel => &LOADS[..2],
            _ => &LOADS[..1],
        };
        match self.random.below(3) {
            0 => {
                let fetch = self.pick(&[Fetch::Add, Fetch::And, Fetch::Or, Fetch::Xor]);
                Op::FetchWith(fetch, place, value, success)
            }
            1 => Op::CompareExchange {
                place,
                expected: self.random.below(2) as u32,
                new: value,
                success,
                failure: self.pick(failures),
            },
            _ => Op::SwapWith(place, value, success),
        }
    }

    fn op_with_ordering(&mut self, place: usize, value: u32) -> Op {
        if self.programs.are_of_c() && self.chance(6) {
            return self.op_with_ordering_of_c(place, value);
        }
        match self.random.below(8) {
            6 if self.programs.are_of_c() => self.op_with_ordering_of_c(place, value),
            0..=2 => Op::LoadWith(place, self.pick(&LOADS)),
            3 | 4 => Op::StoreWith(place, value, self.pick(&STORES)),
            5 => Op::SwapWith(place, value, self.pick(&EXCHANGES)),
            6 => Op::CompareExchange {
                place,
                expected: self.random.below(2) as u32,
                new: value,
                success: self.pick(&EXCHANGES),
                failure: self.pick(&LOADS),
            },
            _ => Op::Fence(self.pick(&EXCHANGES[1..])),
        }
    }

    fn op(&mut self, program: &Program, family: Family, thread: usize, is_outer: bool) -> Op {
        let value = 1 + self.random.below(3) as u32;
        let place = self.random.below(2) as usize;
        let other = self.random.below(program.thread_count().max(2) as u64) as usize;
        match family {
            Family::Atomics => match self.random.below(3) {
                0 => Op::Load(place),
                1 => Op::Store(place, value),
                _ => Op::Add(place),
            },
            Family::Orderings => self.op_with_ordering(place, value),
            Family::Cells => match self.random.below(8) {
                0 => Op::PanicIf(place, value),
                1..=4 => Op::ReadCell(place),
                _ => Op::WriteCell(place),
            },
            Family::Parking => match self.random.below(5) {
                0 | 1 => Op::Park,
                2 => Op::ParkTimeout,
                _ => Op::Unpark(other),
            },
            Family::Ends => match self.random.below(5) {
                0 | 1 if !self.programs.are_of_c() => Op::UseLocal,
                0..=2 => Op::Join(other),
                3 if !self.programs.are_of_c() => Op::IsFinished(other),
                _ => Op::Load(0),
            },
            Family::Channel => self.channel_op(program, thread, value),
            Family::Mutex => match self.random.below(3) {
                0 | 1 if is_outer => Op::Lock(self.inner(program, thread)),
                _ => Op::TryLock(self.inner(program, thread)),
            },
            Family::Condvar => match self.random.below(7) {
                0 => Op::Wait,
                1 => Op::WaitWhileZero,
                2 => Op::WaitTimeout,
                3 => Op::NotifyAll,
                4 | 5 => Op::NotifyOne,
                _ => Op::Lock(Vec::new()),
            },
            Family::RwLock => {
                let inner = self.inner(program, thread);
                match self.random.below(5) {
                    0 => Op::Read(vec![Op::TryRead(inner)]),
                    1 => Op::Read(inner),
                    2 => Op::Write(inner),
                    3 => Op::TryRead(inner),
                    _ => Op::TryWrite(inner),
                }
            }
            Family::Barrier => Op::Barrier,
            Family::Once => self.once_op(program, thread, value),
            Family::Arc => self.arc_op(),
        }
    }

    fn channel_op(&mut self, program: &Program, thread: usize, value: u32) -> Op {
        let receives = program.channel.is_some_and(|c| c.receiver == thread);
        if receives && !(thread == 0 && self.chance(3)) {
            return match self.random.below(7) {
                0..=2 => Op::Receive,
                3 => Op::TryReceive,
                4 | 5 => Op::ReceiveTimeout,
                _ => Op::DropReceiver,
            };
        }
        match self.random.below(5) {
            0..=2 => Op::Send(value),
            3 => Op::TrySend(value),
            _ => Op::DropSender,
        }
    }

    fn once_op(&mut self, program: &Program, thread: usize, value: u32) -> Op {
        if self.programs.are_of_c() {
            return Op::CallOnce(self.inner(program, thread));
        }
        match self.random.below(7) {
            0 | 1 => Op::CallOnce(self.inner(program, thread)),
            2 => Op::IsOnceCompleted,
            3 => Op::GetCell,
            4 => Op::SetCell(value),
            5 => Op::InitCell(value),
            _ => Op::ForceLazy,
        }
    }

    fn arc_op(&mut self) -> Op {
        match self.random.below(10) {
            0 => Op::StrongCount,
            1 => Op::WeakCount,
            2 => Op::CloneArc,
            3 | 4 => Op::DropArc,
            5 => Op::TryUnwrapArc,
            6 => Op::IntoInnerArc,
            7 => Op::GetMutArc,
            8 => Op::Upgrade,
            _ => Op::DropWeak,
        }
    }
}
