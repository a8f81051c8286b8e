//! Programs: threads that are lists of instructions, over shared objects and registers of their
//! own.
//!
//! Memory operations, locks and the like are *visible*: a thread can be interrupted before each of
//! them. Registers, jumps, assertions and the making of threads are not; they belong to the
//! operation before them.

use std::fmt;
use std::sync::Arc;

use fencepost_memory::Address;

/// The number of registers of a thread.
pub const REGISTERS: usize = 6;

/// A register of a thread. All begin at 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Register(pub u8);

pub const R0: Register = Register(0);
pub const R1: Register = Register(1);
pub const R2: Register = Register(2);
pub const R3: Register = Register(3);
pub const R4: Register = Register(4);
pub const R5: Register = Register(5);

/// A number that an instruction uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    Constant(u64),
    /// The register and a constant, added.
    Plus(Register, u64),
}

impl Value {
    pub fn of(self, registers: &[u64; REGISTERS]) -> u64 {
        match self {
            Value::Constant(number) => number,
            Value::Plus(register, number) => {
                registers[usize::from(register.0)].wrapping_add(number)
            }
        }
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Constant(number)
    }
}

impl From<Register> for Value {
    fn from(register: Register) -> Self {
        Value::Plus(register, 0)
    }
}

impl From<(Register, u64)> for Value {
    fn from((register, number): (Register, u64)) -> Self {
        Value::Plus(register, number)
    }
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Test {
    Equal,
    Different,
    Below,
}

impl Test {
    pub fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Test::Equal => left == right,
            Test::Different => left != right,
            Test::Below => left < right,
        }
    }
}

/// The ordering of an atomic operation, as far as store buffers know the difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    Relaxed,
    Release,
    SeqCst,
}

/// One instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Instruction {
    Load {
        into: Register,
        cell: Address,
    },
    Store {
        cell: Address,
        value: Value,
        order: Order,
    },
    FetchAdd {
        into: Register,
        cell: Address,
        amount: u64,
        order: Order,
    },
    Swap {
        into: Register,
        cell: Address,
        value: Value,
        order: Order,
    },
    /// The register becomes 1 if the cell was as expected, and else 0.
    CompareExchange {
        into: Register,
        cell: Address,
        expected: Value,
        new: Value,
        order: Order,
    },
    Fence(Order),
    /// Adds 1 to a counter, in a way that commutes with the same by others.
    Update(Address),
    ReadCount {
        into: Register,
        counter: Address,
    },
    Lock(Address),
    /// The register becomes 1 if the mutex was free, and else 0.
    TryLock {
        into: Register,
        mutex: Address,
    },
    Unlock(Address),
    /// The first part of waiting: the thread becomes a waiter of the condition variable.
    Enqueue(Address),
    /// The last part: it has been notified, or wakes without that if `spurious`.
    Wake {
        condvar: Address,
        spurious: bool,
    },
    /// Any one of the waiters is notified. Does nothing if there is none.
    NotifyOne(Address),
    Send(Address),
    Receive(Address),
    /// The thread is in a loop that waits.
    Hint,
    /// The program assumes that no execution gets here.
    Stop,
    Join(usize),
    /// Invisible from here on.
    Spawn(usize),
    Set {
        into: Register,
        value: Value,
    },
    Jump {
        to: usize,
    },
    JumpIf {
        register: Register,
        test: Test,
        value: Value,
        to: usize,
    },
    Assert {
        register: Register,
        test: Test,
        value: Value,
    },
}

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Object {
    /// An atomic variable, with its first value.
    Cell(u64),
    Counter,
    Mutex,
    Condvar,
    Channel {
        /// How much it can hold before a sender waits.
        capacity: Option<u64>,
    },
}

/// A program. Thread 0 is there from the beginning, others are spawned.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Model {
    pub objects: Vec<Object>,
    pub threads: Vec<Vec<Instruction>>,
    /// Whether nothing waits for threads that are blocked when thread 0 has ended.
    pub ends_with_first: bool,
    /// Whether loops are said to go round without end, instead of coming back.
    pub loops_have_no_end: bool,
}

impl Model {
    /// What the waiting thread is notified through. It has an address behind the objects.
    pub fn token(&self, thread: usize) -> Address {
        Address((self.objects.len() + thread) as u32)
    }

    /// The number of objects, with the tokens.
    pub fn object_count(&self) -> usize {
        self.objects.len() + self.threads.len()
    }

    /// Stands for the beginning of a thread, where the memory models are concerned.
    pub fn beginning(&self, thread: usize) -> Address {
        Address((self.object_count() + thread) as u32)
    }

    /// Stands for the end of a thread, where the memory models are concerned.
    pub fn end(&self, thread: usize) -> Address {
        Address((self.object_count() + self.threads.len() + thread) as u32)
    }

    /// The number of addresses, with beginnings and ends.
    pub fn address_count(&self) -> usize {
        self.object_count() + 2 * self.threads.len()
    }

    pub fn uses(&self, is_meant: impl Fn(&Instruction) -> bool) -> bool {
        self.threads.iter().flatten().any(is_meant)
    }

    /// Whether a thread waits in a loop. Such a program has no end of interleavings.
    pub fn spins(&self) -> bool {
        self.uses(|instruction| matches!(instruction, Instruction::Hint))
    }

    /// Whether what an operation touches besides its object depends on the state. Then the explorer may run a
    /// class several times.
    pub fn has_partners(&self) -> bool {
        self.uses(|instruction| {
            matches!(
                instruction,
                Instruction::NotifyOne(_) | Instruction::Wake { spurious: true, .. }
            )
        })
    }
}

/// Puts a [`Model`] together.
#[derive(Default)]
pub struct Builder {
    objects: Vec<Object>,
    threads: Vec<Vec<Instruction>>,
}

impl Builder {
    pub fn new() -> Self {
        Self::default()
    }

    fn object(&mut self, object: Object) -> Address {
        self.objects.push(object);
        Address(self.objects.len() as u32 - 1)
    }

    pub fn cell(&mut self, first: u64) -> Address {
        self.object(Object::Cell(first))
    }

    /// So many cells that begin at 0.
    pub fn cells(&mut self, count: usize) -> Vec<Address> {
        (0..count).map(|_| self.cell(0)).collect()
    }

    pub fn counter(&mut self) -> Address {
        self.object(Object::Counter)
    }

    pub fn mutex(&mut self) -> Address {
        self.object(Object::Mutex)
    }

    pub fn condvar(&mut self) -> Address {
        self.object(Object::Condvar)
    }

    pub fn channel(&mut self, capacity: Option<u64>) -> Address {
        self.object(Object::Channel { capacity })
    }

    /// The next thread.
    pub fn thread(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::default();
        write(&mut code);
        self.threads.push(code.finish());
    }

    /// The program as it was written: threads run if they are spawned.
    pub fn model(self) -> Arc<Model> {
        Arc::new(Model {
            objects: self.objects,
            threads: self.threads,
            ends_with_first: false,
            loops_have_no_end: false,
        })
    }

    /// The program in which thread 0 first spawns all others.
    pub fn parallel(mut self) -> Arc<Model> {
        let others = self.threads.len() - 1;
        for instruction in &mut self.threads[0] {
            if let Instruction::Jump { to } | Instruction::JumpIf { to, .. } = instruction {
                *to += others;
            }
        }
        self.threads[0].splice(0..0, (1..=others).map(Instruction::Spawn));
        self.model()
    }
}

/// A place to jump to.
#[derive(Clone, Copy, Debug)]
pub struct Label(usize);

/// The code of one thread, as it is written.
#[derive(Default)]
pub struct Code {
    instructions: Vec<Instruction>,
    labels: Vec<Option<usize>>,
}

impl Code {
    /// A place further on.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// The place is here.
    pub fn place(&mut self, label: Label) {
        let former = self.labels[label.0].replace(self.instructions.len());
        assert_eq!(former, None, "a label is placed once");
    }

    /// A place that is here.
    pub fn here(&mut self) -> Label {
        let label = self.label();
        self.place(label);
        label
    }

    pub fn push(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    pub fn load(&mut self, into: Register, cell: Address) {
        self.push(Instruction::Load { into, cell });
    }

    pub fn store(&mut self, cell: Address, value: impl Into<Value>) {
        self.push(Instruction::Store {
            cell,
            value: value.into(),
            order: Order::Relaxed,
        });
    }

    pub fn fetch_add(&mut self, into: Register, cell: Address, amount: u64) {
        self.push(Instruction::FetchAdd {
            into,
            cell,
            amount,
            order: Order::Relaxed,
        });
    }

    pub fn compare_exchange(
        &mut self,
        into: Register,
        cell: Address,
        expected: impl Into<Value>,
        new: impl Into<Value>,
    ) {
        self.push(Instruction::CompareExchange {
            into,
            cell,
            expected: expected.into(),
            new: new.into(),
            order: Order::Relaxed,
        });
    }

    pub fn fence(&mut self) {
        self.push(Instruction::Fence(Order::SeqCst));
    }

    pub fn lock(&mut self, mutex: Address) {
        self.push(Instruction::Lock(mutex));
    }

    pub fn unlock(&mut self, mutex: Address) {
        self.push(Instruction::Unlock(mutex));
    }

    /// The four operations that waiting is. The mutex is held before and after.
    pub fn wait(&mut self, condvar: Address, mutex: Address, spurious: bool) {
        self.push(Instruction::Enqueue(condvar));
        self.push(Instruction::Unlock(mutex));
        self.push(Instruction::Wake { condvar, spurious });
        self.push(Instruction::Lock(mutex));
    }

    pub fn set(&mut self, into: Register, value: impl Into<Value>) {
        let value = value.into();
        self.push(Instruction::Set { into, value });
    }

    pub fn jump(&mut self, label: Label) {
        self.push(Instruction::Jump { to: label.0 });
    }

    pub fn jump_if(
        &mut self,
        register: Register,
        test: Test,
        value: impl Into<Value>,
        label: Label,
    ) {
        self.push(Instruction::JumpIf {
            register,
            test,
            value: value.into(),
            to: label.0,
        });
    }

    pub fn assert(&mut self, register: Register, test: Test, value: impl Into<Value>) {
        self.push(Instruction::Assert {
            register,
            test,
            value: value.into(),
        });
    }

    /// Waits in a loop, with a hint, until the cell is as it should be.
    pub fn spin_until(
        &mut self,
        scratch: Register,
        cell: Address,
        test: Test,
        value: impl Into<Value>,
    ) {
        let (top, out) = (self.here(), self.label());
        self.load(scratch, cell);
        self.jump_if(scratch, test, value, out);
        self.push(Instruction::Hint);
        self.jump(top);
        self.place(out);
    }

    /// Replaces labels by positions.
    fn finish(mut self) -> Vec<Instruction> {
        for instruction in &mut self.instructions {
            if let Instruction::Jump { to } | Instruction::JumpIf { to, .. } = instruction {
                *to = self.labels[*to].expect("the label has been placed");
            }
        }
        self.instructions
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Constant(number) => write!(f, "{number}"),
            Value::Plus(register, 0) => write!(f, "{register}"),
            Value::Plus(register, number) => write!(f, "{register} + {number}"),
        }
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Test::Equal => "==",
            Test::Different => "!=",
            Test::Below => "<",
        })
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Relaxed => "relaxed",
            Order::Release => "release",
            Order::SeqCst => "seqcst",
        })
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Instruction::Load { into, cell } => write!(f, "{into} = load {cell}"),
            Instruction::Store { cell, value, order } => {
                write!(f, "store {cell}, {value} ({order})")
            }
            Instruction::FetchAdd {
                into,
                cell,
                amount,
                order,
            } => write!(f, "{into} = fetch_add {cell}, {amount} ({order})"),
            Instruction::Swap {
                into,
                cell,
                value,
                order,
            } => write!(f, "{into} = swap {cell}, {value} ({order})"),
            Instruction::CompareExchange {
                into,
                cell,
                expected,
                new,
                order,
            } => write!(
                f,
                "{into} = compare_exchange {cell}, {expected} -> {new} ({order})"
            ),
            Instruction::Fence(order) => write!(f, "fence ({order})"),
            Instruction::Update(counter) => write!(f, "update {counter}"),
            Instruction::ReadCount { into, counter } => write!(f, "{into} = read_count {counter}"),
            Instruction::Lock(mutex) => write!(f, "lock {mutex}"),
            Instruction::TryLock { into, mutex } => write!(f, "{into} = try_lock {mutex}"),
            Instruction::Unlock(mutex) => write!(f, "unlock {mutex}"),
            Instruction::Enqueue(condvar) => write!(f, "enqueue {condvar}"),
            Instruction::Wake {
                condvar,
                spurious: true,
            } => write!(f, "wake {condvar} (or spuriously)"),
            Instruction::Wake { condvar, .. } => write!(f, "wake {condvar}"),
            Instruction::NotifyOne(condvar) => write!(f, "notify_one {condvar}"),
            Instruction::Send(channel) => write!(f, "send {channel}"),
            Instruction::Receive(channel) => write!(f, "receive {channel}"),
            Instruction::Hint => f.write_str("hint"),
            Instruction::Stop => f.write_str("stop"),
            Instruction::Join(thread) => write!(f, "join T{thread}"),
            Instruction::Spawn(thread) => write!(f, "spawn T{thread}"),
            Instruction::Set { into, value } => write!(f, "{into} = {value}"),
            Instruction::Jump { to } => write!(f, "goto {to}"),
            Instruction::JumpIf {
                register,
                test,
                value,
                to,
            } => write!(f, "if {register} {test} {value} goto {to}"),
            Instruction::Assert {
                register,
                test,
                value,
            } => write!(f, "assert {register} {test} {value}"),
        }
    }
}

/// The whole program, for messages of failed tests.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (address, object) in self.objects.iter().enumerate() {
            writeln!(f, "a{address}: {object:?}")?;
        }
        for (thread, code) in self.threads.iter().enumerate() {
            writeln!(f, "T{thread}:")?;
            for (position, instruction) in code.iter().enumerate() {
                writeln!(f, "  {position:>2}  {instruction}")?;
            }
        }
        Ok(())
    }
}
