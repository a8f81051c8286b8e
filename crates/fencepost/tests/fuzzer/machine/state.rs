//! What a state is.

use crate::journal::Results;
use crate::program::{ChannelUse, Op, Program};

use super::memory::{Buffers, Failure, Known, Memory, Own};

/// The next actions of a thread. Each is one step, unless it is done at once.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Action<'p> {
    Do(&'p Op),
    /// What the first thread does to start and wait for the others.
    Spawn(usize),
    EndScope,
    /// The scope waits. If it has to, the thread may park.
    LeaveScope,
    Unlock,
    UnlockRead,
    UnlockWrite,
    /// It holds the mutex, and waits for a notification.
    Wait(Waiting),
    AwaitNotification(Waiting),
    Relock(Waiting, Return),
    AwaitOpening(u32),
    FinishOnce,
    FinishCell(u32),
    AddToValue(usize),
    BeginLazy,
    FinishLazy(u32),
    AwaitSender(Patience),
    AwaitRoom(u32),
    AwaitReceiver,
    /// The wait parks in `std`, and may take the token of the thread.
    EndParking,
    DropSender,
    DropReceiver,
    DropArcs,
    DropUpgraded,
    DropPayload,
    DropImplicitWeak,
    DropWeak,
    Return,
    DropLocal,
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Waiting {
    Once,
    WhileZero,
    WithTimeout,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Return {
    Normal,
    TimedOut,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Patience {
    Unlimited,
    Limited,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Thread<'p> {
    /// The next action is the last.
    pub todo: Vec<Action<'p>>,
    pub is_spawned: bool,
    pub has_returned: bool,
    pub has_ended: bool,
    pub is_joined: bool,
    pub has_local: bool,
    pub has_sender: bool,
    pub has_receiver: bool,
    pub arcs: u32,
    pub has_weak: bool,
    pub park_token: bool,
    pub park_known: Known,
    /// Whether it waits on the condition variable, and was notified.
    pub is_notified: bool,
    pub results: Vec<u32>,
    pub own: Own,
    /// What those know that wait for its function, and for its end.
    pub returned: Known,
    pub ended: Known,
}

/// A lock that remembers what its holders knew.
#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Lock {
    pub is_written: bool,
    pub readers: u32,
    pub value: u32,
    pub known: Known,
    pub known_to_readers: Known,
}

/// A value that is initialized once.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) enum Cell {
    #[default]
    New,
    Running,
    Done(u32, Known),
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Message {
    pub value: u32,
    pub known: Known,
    /// The thread that waits until it is taken.
    pub offered_by: Option<usize>,
}

#[derive(Clone, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Channel {
    pub bound: Option<usize>,
    pub queue: Vec<Message>,
    pub senders: u32,
    pub has_receiver: bool,
    pub is_awaited: bool,
    pub awaited_known: Known,
    /// The offers that were taken, by thread.
    pub taken: Vec<(usize, Known)>,
    pub dropped_senders: Known,
    pub dropped_receiver: Known,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shared {
    pub memory: Memory,
    pub mutex: Lock,
    /// The threads that wait on the condition variable.
    pub waiters: Vec<usize>,
    pub rwlock: Lock,
    pub arrived: u32,
    pub round: u32,
    pub arrived_known: Known,
    pub opened_known: Vec<Known>,
    pub once: Cell,
    pub cell: Cell,
    pub lazy: Cell,
    pub channel: Channel,
    pub strong: u32,
    pub weak: u32,
    pub strong_known: Known,
    pub weak_known: Known,
}

/// A state of the program.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct State<'p> {
    pub program: &'p Program,
    pub threads: Vec<Thread<'p>>,
    pub shared: Shared,
}

/// A state after one more action.
pub(super) struct Next<'p> {
    pub state: State<'p>,
    /// Whether it need not happen, however long one waits.
    pub is_optional: bool,
}

impl<'p> State<'p> {
    pub fn first(program: &'p Program, buffers: Buffers) -> Self {
        let count = program.thread_count();
        let channel = program.channel;
        let sends = |thread: usize| {
            channel.is_some_and(|ChannelUse { receiver, .. }| thread == 0 || thread != receiver)
        };
        let threads = (0..count).map(|thread| Thread {
            todo: Vec::new(),
            is_spawned: thread == 0,
            has_returned: false,
            has_ended: false,
            is_joined: false,
            has_local: false,
            has_sender: sends(thread),
            has_receiver: channel.is_some_and(|used| used.receiver == thread),
            arcs: u32::from(program.has_arc),
            has_weak: program.has_arc,
            park_token: false,
            park_known: Known::default(),
            is_notified: false,
            results: Vec::new(),
            own: Own::default(),
            returned: Known::default(),
            ended: Known::default(),
        });
        let mut threads: Vec<Thread<'p>> = threads.collect();
        for (thread, ops) in threads[1..].iter_mut().zip(&program.threads) {
            thread.todo = ends_with(&ops[..], true);
        }
        threads[0].todo = first_thread(program);
        let channel = Channel {
            bound: channel.and_then(|used| used.bound),
            senders: threads.iter().filter(|t| t.has_sender).count() as u32,
            has_receiver: true,
            ..Channel::default()
        };
        // The strong references have one weak reference in common.
        let strong = if program.has_arc { count as u32 } else { 0 };
        let shared = Shared {
            memory: Memory::new(buffers),
            mutex: Lock::default(),
            waiters: Vec::new(),
            rwlock: Lock::default(),
            arrived: 0,
            round: 0,
            arrived_known: Known::default(),
            opened_known: Vec::new(),
            once: Cell::New,
            cell: Cell::New,
            lazy: Cell::New,
            channel,
            strong,
            weak: strong + 1,
            strong_known: Known::default(),
            weak_known: Known::default(),
        };
        State {
            program,
            threads,
            shared,
        }
    }

    pub fn has_ended(&self) -> bool {
        self.threads.iter().all(|thread| thread.has_ended)
    }

    /// The results of the threads, without those at the end that have none.
    pub fn results(&self) -> Results {
        let mut results: Results = self.threads.iter().map(|t| t.results.clone()).collect();
        while results.last().is_some_and(Vec::is_empty) {
            results.pop();
        }
        results
    }

    pub fn failures(&self) -> &[Failure] {
        &self.shared.memory.failures
    }

    /// The states after one more action.
    pub fn successors(&self) -> Vec<Next<'p>> {
        let mut all = self.after_commits();
        for (thread, actor) in self.threads.iter().enumerate() {
            if actor.is_spawned && !actor.has_ended {
                self.act(thread, &mut all);
            }
        }
        all
    }
}

/// Operations, and what a thread does at its end.
fn ends_with(ops: &[Op], is_child: bool) -> Vec<Action<'_>> {
    let mut actions: Vec<Action<'_>> = ops.iter().map(Action::Do).collect();
    actions.extend([
        Action::DropSender,
        Action::DropReceiver,
        Action::DropArcs,
        Action::DropWeak,
    ]);
    if is_child {
        actions.push(Action::Return);
    }
    actions.extend([Action::DropLocal, Action::End]);
    actions.reverse();
    actions
}

fn first_thread(program: &Program) -> Vec<Action<'_>> {
    let mut actions = ends_with(&program.after, false);
    let mut first: Vec<Action<'_>> = program.before.iter().map(Action::Do).collect();
    first.extend((1..program.thread_count()).map(Action::Spawn));
    first.extend(program.between.iter().map(Action::Do));
    if program.is_scoped {
        first.push(Action::EndScope);
    }
    first.reverse();
    actions.append(&mut first);
    actions
}
