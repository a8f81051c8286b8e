//! Programs from seeds.

use std::fmt;
use std::sync::Arc;

use fencepost_memory::{Address, Random};

use super::language::{
    Builder, Code, Instruction, Model, Object, Order, R4, R5, Register, Test, Value,
};

/// What a thread is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Item {
    Load,
    Store,
    /// Stores what was read before, plus a constant.
    StoreRegister,
    FetchAdd,
    Swap,
    CompareExchange,
    Fence,
    Update,
    ReadCount,
    /// Items under a mutex.
    Section,
    /// Items under a mutex, if it was free.
    TrySection,
    /// Waits under a mutex.
    WaitSection,
    Notify,
    Send,
    Receive,
    /// Items that are skipped or not, by what was read before.
    Guard,
    /// A load and a compare-exchange, twice if the first one fails.
    Retry,
    Assert,
    /// Stops the thread, or not, by what was read before.
    Assume,
    /// Waits in a loop for a cell.
    Spin,
}

/// What random programs are like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The fewest and most threads.
    pub threads: (u64, u64),
    /// The fewest and most items of a thread.
    pub items: (u64, u64),
    /// The most cells. There is at least one.
    pub cells: u64,
    /// How often each item occurs, relative to the others.
    pub weights: Vec<(Item, u64)>,
    /// Whether threads are also spawned late and joined.
    pub has_late_spawns: bool,
    /// Whether some operations are not relaxed.
    pub has_orders: bool,
    /// Whether condition variables wake without reason.
    pub has_spurious_wakes: bool,
}

impl Shape {
    fn new(weights: &[(Item, u64)]) -> Self {
        Shape {
            threads: (2, 4),
            items: (1, 4),
            cells: 3,
            weights: weights.to_vec(),
            has_late_spawns: false,
            has_orders: false,
            has_spurious_wakes: false,
        }
    }

    /// Loads, stores and read-modify-writes.
    pub fn atomics() -> Self {
        Shape::new(&[
            (Item::Load, 6),
            (Item::Store, 6),
            (Item::StoreRegister, 2),
            (Item::FetchAdd, 2),
            (Item::Swap, 1),
            (Item::CompareExchange, 4),
            (Item::Fence, 1),
            (Item::Guard, 4),
            (Item::Retry, 1),
        ])
    }

    /// Mutexes, and some atomics.
    pub fn locks() -> Self {
        Shape::new(&[
            (Item::Load, 3),
            (Item::Store, 3),
            (Item::FetchAdd, 1),
            (Item::CompareExchange, 2),
            (Item::Guard, 2),
            (Item::Section, 6),
            (Item::TrySection, 4),
        ])
    }

    /// Everything that can wait: mutexes, condition variables, channels, joins.
    pub fn blocking() -> Self {
        Shape {
            has_late_spawns: true,
            has_spurious_wakes: true,
            ..Shape::new(&[
                (Item::Load, 2),
                (Item::Store, 2),
                (Item::FetchAdd, 1),
                (Item::Guard, 2),
                (Item::Section, 3),
                (Item::TrySection, 1),
                (Item::WaitSection, 4),
                (Item::Notify, 5),
                (Item::Send, 4),
                (Item::Receive, 3),
            ])
        }
    }

    /// Updates that commute, and reads of what they have counted.
    pub fn counters() -> Self {
        Shape {
            has_late_spawns: true,
            ..Shape::new(&[
                (Item::Load, 2),
                (Item::Store, 2),
                (Item::Guard, 3),
                (Item::Update, 6),
                (Item::ReadCount, 3),
                (Item::Section, 1),
            ])
        }
    }

    /// All items without loops and assertions.
    pub fn everything() -> Self {
        let shapes = [
            Shape::atomics(),
            Shape::locks(),
            Shape::blocking(),
            Shape::counters(),
        ];
        let weights: Vec<(Item, u64)> = shapes
            .iter()
            .flat_map(|shape| shape.weights.iter().copied())
            .collect();
        Shape {
            has_late_spawns: true,
            has_orders: true,
            has_spurious_wakes: true,
            ..Shape::new(&weights)
        }
    }

    /// What store buffers make a difference to, with barriers of all kinds. No counters, which
    /// memory models do not hear of.
    pub fn memory() -> Self {
        let mut shape = Shape::new(&[
            (Item::Load, 20),
            (Item::Store, 20),
            (Item::StoreRegister, 4),
            (Item::FetchAdd, 1),
            (Item::Swap, 1),
            (Item::CompareExchange, 3),
            (Item::Fence, 1),
            (Item::Guard, 3),
            (Item::Section, 1),
            (Item::TrySection, 1),
            (Item::WaitSection, 1),
            (Item::Notify, 1),
            (Item::Send, 1),
            (Item::Receive, 1),
        ]);
        shape.threads = (2, 3);
        shape.items = (2, 5);
        shape.has_late_spawns = true;
        shape.has_orders = true;
        shape
    }

    /// Loops that wait for a cell.
    pub fn spinning() -> Self {
        let mut shape = Shape::memory();
        shape.items = (1, 4);
        shape.cells = 2;
        shape.weights.push((Item::Spin, 15));
        shape
    }

    /// The same with assertions.
    pub fn with_assertions(mut self) -> Self {
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        self.weights.push((Item::Assert, total / 6 + 1));
        self
    }

    /// The same with assumptions.
    pub fn with_assumptions(mut self) -> Self {
        let total: u64 = self.weights.iter().map(|(_, weight)| weight).sum();
        self.weights.push((Item::Assume, total / 6 + 1));
        self
    }

    /// The same with other numbers of threads.
    pub fn with_threads(mut self, fewest: u64, most: u64) -> Self {
        self.threads = (fewest, most);
        self
    }

    /// The same with other numbers of items per thread.
    pub fn with_items(mut self, fewest: u64, most: u64) -> Self {
        self.items = (fewest, most);
        self
    }
}

/// A program and where it comes from.
#[derive(Clone, Debug)]
pub struct Seeded {
    pub seed: u64,
    pub model: Arc<Model>,
}

/// For messages of failed tests.
impl fmt::Display for Seeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seed {}\n{}", self.seed, self.model)
    }
}

/// The program of a seed. It is never one whose threads have nothing to do with each other.
pub fn random_program(seed: u64, shape: &Shape) -> Seeded {
    let mut random = Random::new(seed);
    loop {
        let model = Generator::new(&mut random, shape).program();
        if is_interesting(&model) {
            return Seeded { seed, model };
        }
    }
}

/// Whether two threads use an object, and one of them changes it.
fn is_interesting(model: &Model) -> bool {
    let object_of = |instruction: &Instruction| match *instruction {
        Instruction::Load { cell, .. } => Some((cell, false)),
        Instruction::ReadCount { counter, .. } => Some((counter, false)),
        Instruction::Store { cell, .. }
        | Instruction::FetchAdd { cell, .. }
        | Instruction::Swap { cell, .. }
        | Instruction::CompareExchange { cell, .. } => Some((cell, true)),
        Instruction::Update(object)
        | Instruction::Lock(object)
        | Instruction::TryLock { mutex: object, .. }
        | Instruction::Enqueue(object)
        | Instruction::NotifyOne(object)
        | Instruction::Send(object)
        | Instruction::Receive(object) => Some((object, true)),
        _ => None,
    };
    (0..model.objects.len()).any(|object| {
        let users = model.threads.iter().map(|code| {
            let uses = code.iter().filter_map(object_of);
            let mut uses = uses.filter(|(used, _)| used.index() == object);
            let first = uses.next();
            first.map(|(_, changes)| changes || uses.any(|(_, changes)| changes))
        });
        let users: Vec<bool> = users.flatten().collect();
        let all_update = model.objects[object] == Object::Counter
            && !model.uses(|instruction| matches!(instruction, Instruction::ReadCount { .. }));
        users.len() > 1 && users.contains(&true) && !all_update
    })
}

struct Generator<'a> {
    random: &'a mut Random,
    shape: &'a Shape,
    builder: Builder,
    cells: Vec<Address>,
    counter: Address,
    mutexes: Vec<Address>,
    condvar: Address,
    channel: Address,
    /// The register that something was read into last.
    last_read: Register,
    held: Vec<Address>,
}

impl<'a> Generator<'a> {
    fn new(random: &'a mut Random, shape: &'a Shape) -> Self {
        let mut builder = Builder::new();
        let cells = builder.cells(1 + random.below(shape.cells) as usize);
        let mutexes = (0..1 + random.below(2)).map(|_| builder.mutex()).collect();
        let capacity = [None, Some(1), Some(2)][random.below(3) as usize];
        Generator {
            cells,
            counter: builder.counter(),
            mutexes,
            condvar: builder.condvar(),
            channel: builder.channel(capacity),
            last_read: Register(0),
            held: Vec::new(),
            random,
            shape,
            builder,
        }
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.random.below(one_in) == 0
    }

    fn between(&mut self, (fewest, most): (u64, u64)) -> u64 {
        fewest + self.random.below(most - fewest + 1)
    }

    fn cell(&mut self) -> Address {
        self.cells[self.random.below(self.cells.len() as u64) as usize]
    }

    fn constant(&mut self) -> u64 {
        self.random.below(3)
    }

    fn order(&mut self) -> Order {
        if !self.shape.has_orders {
            return Order::Relaxed;
        }
        match self.random.below(8) {
            0..6 => Order::Relaxed,
            6 => Order::Release,
            _ => Order::SeqCst,
        }
    }

    /// A register to read into.
    fn into(&mut self) -> Register {
        self.last_read = Register(self.random.below(3) as u8);
        self.last_read
    }

    /// A register that something may have been read into.
    fn source(&mut self) -> Register {
        if self.chance(4) {
            return Register(self.random.below(3) as u8);
        }
        self.last_read
    }

    fn test(&mut self) -> Test {
        [Test::Equal, Test::Different][self.random.below(2) as usize]
    }

    /// A mutex that the thread does not hold.
    fn free_mutex(&mut self) -> Option<Address> {
        let mutex = self.mutexes[self.random.below(self.mutexes.len() as u64) as usize];
        (!self.held.contains(&mutex)).then_some(mutex)
    }

    fn program(mut self) -> Arc<Model> {
        let threads = self.between(self.shape.threads) as usize;
        let is_parallel = !self.shape.has_late_spawns || self.chance(2);
        let mut children = vec![Vec::new(); threads];
        for thread in 1..threads {
            let parent = match is_parallel {
                true => 0,
                false => self.random.below(thread as u64) as usize,
            };
            children[parent].push(thread);
        }
        for children in children {
            let mut code = Code::default();
            self.thread(&mut code, &children, is_parallel);
            self.builder.thread(|empty| *empty = code);
        }
        self.builder.model()
    }

    fn thread(&mut self, code: &mut Code, children: &[usize], spawns_first: bool) {
        self.last_read = Register(0);
        let mut unborn = children.iter();
        let mut items = self.between(self.shape.items);
        if spawns_first {
            unborn
                .by_ref()
                .for_each(|&child| code.push(Instruction::Spawn(child)));
        }
        while items > 0 {
            if self.chance(2) {
                if let Some(&child) = unborn.next() {
                    code.push(Instruction::Spawn(child));
                }
            }
            items = items.saturating_sub(self.item(code, items));
        }
        for &child in unborn {
            code.push(Instruction::Spawn(child));
        }
        if self.shape.has_late_spawns && self.chance(2) {
            for &child in children {
                if !self.chance(3) {
                    code.push(Instruction::Join(child));
                }
            }
            if !children.is_empty() && self.chance(2) {
                self.item(code, 1);
            }
        }
    }

    /// Writes an item that holds at most `room` items, itself included. Says how many.
    fn item(&mut self, code: &mut Code, room: u64) -> u64 {
        let total = self.shape.weights.iter().map(|(_, weight)| weight).sum();
        let mut number = self.random.below(total);
        let chosen = self.shape.weights.iter().find(|(_, weight)| {
            let is_chosen = number < *weight;
            number = number.wrapping_sub(*weight);
            is_chosen
        });
        let (item, _) = chosen.expect("the number is below the sum");
        self.write(*item, code, room)
    }

    /// Some items inside another one.
    fn inner(&mut self, code: &mut Code, room: u64) -> u64 {
        let mut items = 0;
        let wanted = self.random.below(3).min(room.saturating_sub(1));
        while items < wanted {
            items += self.item(code, wanted - items);
        }
        items
    }

    /// Writes an item of this kind; says how many it holds, itself included.
    fn write(&mut self, item: Item, code: &mut Code, room: u64) -> u64 {
        match item {
            Item::Section => self.section(code, room),
            Item::TrySection => self.try_section(code, room),
            Item::WaitSection => self.wait_section(code),
            Item::Guard => self.guard(code, room),
            Item::Retry => self.retry(code),
            Item::Assert => self.assertion(code),
            Item::Assume => self.assumption(code),
            Item::Spin => self.spin(code),
            single => {
                let instruction = self.instruction(single);
                code.push(instruction);
                1
            }
        }
    }

    /// An item that is one instruction.
    fn instruction(&mut self, item: Item) -> Instruction {
        match item {
            Item::Load => Instruction::Load {
                into: self.into(),
                cell: self.cell(),
            },
            Item::Store => {
                let value = Value::Constant(1 + self.random.below(2));
                let (cell, order) = (self.cell(), self.order());
                Instruction::Store { cell, value, order }
            }
            Item::StoreRegister => {
                let value = Value::Plus(self.source(), self.random.below(2));
                let (cell, order) = (self.cell(), self.order());
                Instruction::Store { cell, value, order }
            }
            Item::FetchAdd => Instruction::FetchAdd {
                into: self.into(),
                cell: self.cell(),
                amount: 1,
                order: self.order(),
            },
            Item::Swap => Instruction::Swap {
                into: self.into(),
                cell: self.cell(),
                value: Value::Constant(self.constant()),
                order: self.order(),
            },
            Item::CompareExchange => Instruction::CompareExchange {
                into: self.into(),
                cell: self.cell(),
                expected: Value::Constant(self.random.below(2)),
                new: Value::Constant(self.constant()),
                order: self.order(),
            },
            Item::Fence => match self.shape.has_orders && self.chance(3) {
                true => Instruction::Fence(Order::Release),
                false => Instruction::Fence(Order::SeqCst),
            },
            Item::Update => Instruction::Update(self.counter),
            Item::ReadCount => Instruction::ReadCount {
                into: self.into(),
                counter: self.counter,
            },
            Item::Notify => Instruction::NotifyOne(self.condvar),
            Item::Send => Instruction::Send(self.channel),
            Item::Receive => Instruction::Receive(self.channel),
            several => unreachable!("{several:?} is not one instruction"),
        }
    }

    fn section(&mut self, code: &mut Code, room: u64) -> u64 {
        let Some(mutex) = self.free_mutex() else {
            return 0;
        };
        code.lock(mutex);
        self.held.push(mutex);
        let inner = self.inner(code, room);
        self.held.pop();
        code.unlock(mutex);
        1 + inner
    }

    fn try_section(&mut self, code: &mut Code, room: u64) -> u64 {
        let Some(mutex) = self.free_mutex() else {
            return 0;
        };
        let (into, end) = (self.into(), code.label());
        code.push(Instruction::TryLock { into, mutex });
        code.jump_if(into, Test::Equal, 0, end);
        self.held.push(mutex);
        let inner = self.inner(code, room);
        self.held.pop();
        code.unlock(mutex);
        code.place(end);
        1 + inner
    }

    fn wait_section(&mut self, code: &mut Code) -> u64 {
        let Some(mutex) = self.free_mutex() else {
            return 0;
        };
        let spurious = self.shape.has_spurious_wakes && self.chance(2);
        code.lock(mutex);
        let end = code.label();
        if self.chance(2) {
            let (into, cell) = (self.into(), self.cell());
            code.load(into, cell);
            code.jump_if(into, Test::Different, 0, end);
        }
        code.wait(self.condvar, mutex, spurious);
        code.place(end);
        code.unlock(mutex);
        2
    }

    fn guard(&mut self, code: &mut Code, room: u64) -> u64 {
        if room < 2 {
            return 0;
        }
        let end = code.label();
        let (register, test) = (self.source(), self.test());
        code.jump_if(register, test, self.random.below(2), end);
        let inner = self.item(code, room - 1);
        code.place(end);
        1 + inner
    }

    fn retry(&mut self, code: &mut Code) -> u64 {
        let (tries, cell, end) = (R4, self.cell(), code.label());
        let (seen, succeeds) = (Register(0), Register(1));
        self.last_read = succeeds;
        code.set(tries, 0);
        let top = code.here();
        code.load(seen, cell);
        code.compare_exchange(succeeds, cell, seen, (seen, 1));
        code.jump_if(succeeds, Test::Equal, 1, end);
        code.set(tries, (tries, 1));
        code.jump_if(tries, Test::Below, 2, top);
        code.place(end);
        2
    }

    /// It does not count as an item.
    fn assertion(&mut self, code: &mut Code) -> u64 {
        let register = self.source();
        let test = match self.chance(4) {
            true => Test::Equal,
            false => Test::Different,
        };
        let value = match test {
            Test::Equal => self.random.below(2),
            _ => 1 + self.random.below(2),
        };
        code.assert(register, test, value);
        0
    }

    /// It does not count as an item.
    fn assumption(&mut self, code: &mut Code) -> u64 {
        let (register, test, holds) = (self.source(), self.test(), code.label());
        code.jump_if(register, test, self.random.below(2), holds);
        code.push(Instruction::Stop);
        code.place(holds);
        0
    }

    fn spin(&mut self, code: &mut Code) -> u64 {
        let (cell, test) = (self.cell(), self.test());
        let value = match test {
            Test::Equal => 1 + self.random.below(2),
            _ => 0,
        };
        code.spin_until(R5, cell, test, value);
        1
    }
}
