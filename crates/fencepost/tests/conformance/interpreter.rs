//! Runs a [`Program`] over `library`, which is `std` or `fencepost`: this file is a module of both `over_std` and
//! `over_fencepost`, so that both run the same text.

use std::cell::RefCell;
use std::time::Duration;

use fencepost_memory::Random;

use super::Cells;
use super::library::sync::atomic::{AtomicU32, Ordering::SeqCst, fence};
use super::library::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError, channel,
    sync_channel,
};
use super::library::sync::{
    Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, TryLockError, Weak,
};
use super::library::thread::{self, JoinHandle, ScopedJoinHandle, Thread};
use super::library::thread_local;
use crate::journal::Journal;
use crate::program::{Fetch, Op, Program};

/// Long enough that something can happen meanwhile.
const TIMEOUT: Duration = Duration::from_micros(100);

type Values = std::sync::Arc<[AtomicU32; 2]>;

/// What the threads share.
struct Shared {
    journal: std::sync::Arc<Journal>,
    values: Values,
    cells: Cells,
    mutex: Mutex<u32>,
    condvar: Condvar,
    rwlock: RwLock<u32>,
    barrier: Barrier,
    once: Once,
    cell: OnceLock<u32>,
    lazy: LazyLock<u32, Box<dyn FnOnce() -> u32 + Send>>,
}

impl Shared {
    fn new(journal: std::sync::Arc<Journal>) -> Self {
        let values = Values::new([AtomicU32::new(0), AtomicU32::new(0)]);
        let counted = values.clone();
        Shared {
            journal,
            values,
            cells: Cells::new(),
            mutex: Mutex::new(0),
            condvar: Condvar::new(),
            rwlock: RwLock::new(0),
            barrier: Barrier::new(2),
            once: Once::new(),
            cell: OnceLock::new(),
            lazy: LazyLock::new(Box::new(move || counted[0].fetch_add(1, SeqCst))),
        }
    }
}

/// What an `Arc` of the program points to.
struct Payload(Values);

impl Drop for Payload {
    fn drop(&mut self) {
        self.0[1].fetch_add(1, SeqCst);
    }
}

/// A thread-local value.
struct Local {
    shared: std::sync::Arc<Shared>,
    thread: usize,
    pace: Pace,
}

impl Drop for Local {
    fn drop(&mut self) {
        self.pace.wait();
        let before = self.shared.values[0].fetch_add(1, SeqCst);
        self.shared.journal.add(self.thread, before);
        self.shared.journal.end();
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// Delays a thread at random, or never.
#[derive(Clone)]
struct Pace(Option<Random>);

impl Pace {
    fn of_thread(seed: Option<u64>, thread: usize) -> Self {
        Pace(seed.map(|seed| Random::new(seed ^ (thread as u64 + 1).wrapping_mul(0x9E37_79B9))))
    }

    fn wait(&mut self) {
        let Some(random) = &mut self.0 else {
            return;
        };
        match random.below(8) {
            0 => std::thread::yield_now(),
            1 => std::thread::sleep(Duration::from_micros(random.below(100))),
            2 | 3 => (0..random.below(2000)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
}

enum AnySender {
    Unbounded(Sender<u32>),
    Bounded(SyncSender<u32>),
}

impl AnySender {
    fn send(&self, value: u32) -> bool {
        match self {
            AnySender::Unbounded(sender) => sender.send(value).is_ok(),
            AnySender::Bounded(sender) => sender.send(value).is_ok(),
        }
    }

    fn try_send(&self, value: u32) -> u32 {
        let AnySender::Bounded(sender) = self else {
            return u32::from(self.send(value));
        };
        match sender.try_send(value) {
            Ok(()) => 1,
            Err(TrySendError::Full(_)) => 2,
            Err(TrySendError::Disconnected(_)) => 0,
        }
    }
}

impl Clone for AnySender {
    fn clone(&self) -> Self {
        match self {
            AnySender::Unbounded(sender) => AnySender::Unbounded(sender.clone()),
            AnySender::Bounded(sender) => AnySender::Bounded(sender.clone()),
        }
    }
}

enum Handle<'scope> {
    Free(JoinHandle<()>),
    Scoped(ScopedJoinHandle<'scope, ()>),
}

impl Handle<'_> {
    fn thread(&self) -> &Thread {
        match self {
            Handle::Free(handle) => handle.thread(),
            Handle::Scoped(handle) => handle.thread(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Handle::Free(handle) => handle.is_finished(),
            Handle::Scoped(handle) => handle.is_finished(),
        }
    }

    fn join(self) {
        let result = match self {
            Handle::Free(handle) => handle.join(),
            Handle::Scoped(handle) => handle.join(),
        };
        result.expect("no thread panics");
    }
}

/// What a thread has for itself.
struct Own {
    shared: std::sync::Arc<Shared>,
    thread: usize,
    pace: Pace,
    sender: Option<AnySender>,
    receiver: Option<Receiver<u32>>,
    arcs: Vec<Arc<Payload>>,
    weak: Option<Weak<Payload>>,
    /// The threads that it can unpark, by number.
    threads: Vec<Thread>,
}

const DISCONNECTED: u32 = 100;
const EMPTY: u32 = 101;

impl Own {
    fn note(&self, result: u32) {
        self.shared.journal.add(self.thread, result);
    }

    fn perform_all(&mut self, ops: &[Op], handles: &mut [Option<Handle<'_>>]) {
        for op in ops {
            self.pace.wait();
            match op {
                Op::IsFinished(thread) => {
                    if let Some(Some(handle)) = handles.get(*thread) {
                        self.note(u32::from(handle.is_finished()));
                    }
                }
                Op::Join(thread) => {
                    if let Some(handle) = handles.get_mut(*thread).and_then(Option::take) {
                        handle.join();
                        self.note(1);
                    }
                }
                op => self.perform(op),
            }
        }
    }

    fn perform_inner(&mut self, ops: &[Op]) {
        self.perform_all(ops, &mut []);
    }

    fn perform(&mut self, op: &Op) {
        let shared = self.shared.clone();
        match op {
            Op::Load(place) => self.note(shared.values[*place].load(SeqCst)),
            Op::Store(place, value) => shared.values[*place].store(*value, SeqCst),
            Op::Add(place) => self.note(shared.values[*place].fetch_add(1, SeqCst)),
            Op::ReadCell(cell) => shared.cells.read(*cell),
            Op::WriteCell(cell) => shared.cells.write(*cell),
            Op::IfSet(place, ordering, inner) => {
                let found = shared.values[*place].load(*ordering);
                self.note(found);
                if found != 0 {
                    self.perform_inner(inner);
                }
            }
            Op::PanicIf(place, value) => {
                let found = shared.values[*place].load(SeqCst);
                assert!(found != *value, "thread {} found {found}", self.thread);
            }
            Op::Park => {
                thread::park();
                self.note(1);
            }
            Op::ParkTimeout => thread::park_timeout(TIMEOUT),
            Op::Unpark(thread) => {
                if let Some(thread) = self.threads.get(*thread) {
                    thread.unpark();
                }
            }
            Op::UseLocal => LOCAL.with_borrow_mut(|local| {
                local.get_or_insert_with(|| {
                    shared.journal.begin();
                    Local {
                        shared: shared.clone(),
                        thread: self.thread,
                        pace: self.pace.clone(),
                    }
                });
            }),
            Op::Barrier => {
                let result = shared.barrier.wait();
                self.note(u32::from(result.is_leader()));
            }
            Op::CallOnce(inner) => {
                let mut was_called = false;
                shared.once.call_once(|| {
                    self.perform_inner(inner);
                    was_called = true;
                });
                self.note(u32::from(was_called));
            }
            Op::IsOnceCompleted => self.note(u32::from(shared.once.is_completed())),
            Op::GetCell => self.note(shared.cell.get().copied().unwrap_or(0)),
            Op::SetCell(value) => self.note(u32::from(shared.cell.set(*value).is_ok())),
            Op::InitCell(value) => self.note(*shared.cell.get_or_init(|| {
                shared.values[0].fetch_add(1, SeqCst);
                *value
            })),
            Op::ForceLazy => self.note(*shared.lazy),
            op => {
                self.perform_with_ordering(op, &shared.values);
                self.perform_with_lock(op, &shared);
                self.perform_with_channel(op);
                self.perform_with_arc(op);
            }
        }
    }

    fn perform_with_ordering(&mut self, op: &Op, values: &[AtomicU32; 2]) {
        match *op {
            Op::LoadWith(place, ordering) => self.note(values[place].load(ordering)),
            Op::StoreWith(place, value, ordering) => values[place].store(value, ordering),
            Op::SwapWith(place, value, ordering) => self.note(values[place].swap(value, ordering)),
            Op::CompareExchange {
                place,
                expected,
                new,
                success,
                failure,
            } => {
                let result = values[place].compare_exchange(expected, new, success, failure);
                self.note(result.unwrap_or_else(|found| found));
            }
            Op::FetchWith(fetch, place, operand, ordering) => {
                let variable = &values[place];
                self.note(match fetch {
                    Fetch::Add => variable.fetch_add(operand, ordering),
                    Fetch::And => variable.fetch_and(operand, ordering),
                    Fetch::Or => variable.fetch_or(operand, ordering),
                    Fetch::Xor => variable.fetch_xor(operand, ordering),
                });
            }
            Op::Fence(ordering) => fence(ordering),
            _ => {}
        }
    }

    fn perform_with_lock(&mut self, op: &Op, shared: &Shared) {
        match op {
            Op::Lock(inner) => {
                let mut guard = shared.mutex.lock().unwrap();
                *guard += 1;
                self.note(*guard);
                self.perform_inner(inner);
            }
            Op::TryLock(inner) => match shared.mutex.try_lock() {
                Ok(mut guard) => {
                    *guard += 1;
                    self.note(*guard);
                    self.perform_inner(inner);
                }
                Err(TryLockError::WouldBlock) => self.note(0),
                Err(TryLockError::Poisoned(_)) => unreachable!("no thread panics"),
            },
            Op::Wait => {
                let guard = shared.mutex.lock().unwrap();
                let guard = shared.condvar.wait(guard).unwrap();
                self.note(*guard);
            }
            Op::WaitWhileZero => {
                let guard = shared.mutex.lock().unwrap();
                let guard = shared.condvar.wait_while(guard, |value| *value == 0);
                self.note(*guard.unwrap());
            }
            Op::WaitTimeout => {
                let guard = shared.mutex.lock().unwrap();
                let (guard, result) = shared.condvar.wait_timeout(guard, TIMEOUT).unwrap();
                self.note(*guard + 10 * u32::from(result.timed_out()));
            }
            Op::NotifyOne => shared.condvar.notify_one(),
            Op::NotifyAll => shared.condvar.notify_all(),
            Op::Read(inner) => {
                let guard = shared.rwlock.read().unwrap();
                self.note(*guard);
                self.perform_inner(inner);
            }
            Op::Write(inner) => {
                let mut guard = shared.rwlock.write().unwrap();
                *guard += 1;
                self.perform_inner(inner);
            }
            Op::TryRead(inner) => match shared.rwlock.try_read() {
                Ok(guard) => {
                    self.note(*guard);
                    self.perform_inner(inner);
                }
                Err(_) => self.note(EMPTY),
            },
            Op::TryWrite(inner) => match shared.rwlock.try_write() {
                Ok(mut guard) => {
                    *guard += 1;
                    self.note(*guard);
                    self.perform_inner(inner);
                }
                Err(_) => self.note(EMPTY),
            },
            _ => {}
        }
    }

    fn perform_with_channel(&mut self, op: &Op) {
        let result = match (op, &self.sender, &self.receiver) {
            (Op::Send(value), Some(sender), _) => u32::from(sender.send(*value)),
            (Op::TrySend(value), Some(sender), _) => sender.try_send(*value),
            (Op::Receive, _, Some(receiver)) => receiver.recv().unwrap_or(DISCONNECTED),
            (Op::TryReceive, _, Some(receiver)) => match receiver.try_recv() {
                Ok(value) => value,
                Err(TryRecvError::Disconnected) => DISCONNECTED,
                Err(TryRecvError::Empty) => EMPTY,
            },
            (Op::ReceiveTimeout, _, Some(receiver)) => match receiver.recv_timeout(TIMEOUT) {
                Ok(value) => value,
                Err(RecvTimeoutError::Disconnected) => DISCONNECTED,
                Err(RecvTimeoutError::Timeout) => EMPTY,
            },
            (Op::DropSender, ..) => return self.sender = None,
            (Op::DropReceiver, ..) => return self.receiver = None,
            _ => return,
        };
        self.note(result);
    }

    fn perform_with_arc(&mut self, op: &Op) {
        let weak = self.weak.as_ref();
        let result = match (op, self.arcs.last_mut()) {
            (Op::StrongCount, Some(arc)) => Arc::strong_count(arc) as u32,
            (Op::WeakCount, Some(arc)) => Arc::weak_count(arc) as u32,
            (Op::GetMutArc, Some(arc)) => u32::from(Arc::get_mut(arc).is_some()),
            (Op::CloneArc, Some(arc)) => {
                let clone = arc.clone();
                return self.arcs.push(clone);
            }
            (Op::DropArc, _) => return drop(self.arcs.pop()),
            (Op::TryUnwrapArc, _) => {
                let Some(arc) = self.arcs.pop() else {
                    return;
                };
                match Arc::try_unwrap(arc) {
                    Ok(_) => 1,
                    Err(arc) => {
                        self.arcs.push(arc);
                        0
                    }
                }
            }
            (Op::IntoInnerArc, _) => match self.arcs.pop() {
                Some(arc) => u32::from(Arc::into_inner(arc).is_some()),
                None => return,
            },
            (Op::Upgrade, _) => u32::from(weak.and_then(Weak::upgrade).is_some()),
            (Op::DropWeak, _) => return self.weak = None,
            _ => return,
        };
        self.note(result);
    }
}

/// Runs the program. With a seed, threads are delayed at random.
pub fn run(program: &Program, journal: std::sync::Arc<Journal>, seed: Option<u64>) {
    let shared = std::sync::Arc::new(Shared::new(journal));
    let mut owns: Vec<Own> = (0..program.thread_count())
        .map(|thread| Own {
            shared: shared.clone(),
            thread,
            pace: Pace::of_thread(seed, thread),
            sender: None,
            receiver: None,
            arcs: Vec::new(),
            weak: None,
            threads: vec![thread::current()],
        })
        .collect();
    if let Some(used) = program.channel {
        let (sender, receiver) = match used.bound {
            None => {
                let (sender, receiver) = channel();
                (AnySender::Unbounded(sender), receiver)
            }
            Some(bound) => {
                let (sender, receiver) = sync_channel(bound);
                (AnySender::Bounded(sender), receiver)
            }
        };
        for own in &mut owns {
            let sends = own.thread == 0 || own.thread != used.receiver;
            own.sender = sends.then(|| sender.clone());
        }
        owns[used.receiver].receiver = Some(receiver);
    }
    if program.has_arc {
        let arc = Arc::new(Payload(shared.values.clone()));
        for own in &mut owns {
            own.weak = Some(Arc::downgrade(&arc));
            own.arcs.push(arc.clone());
        }
    }
    shared.journal.begin();
    drop(shared);
    let children = owns.split_off(1);
    let mut first = owns.pop().expect("the first thread");
    first.perform_all(&program.before, &mut []);
    match program.is_scoped {
        true => thread::scope(|scope| {
            let spawn = |body| Handle::Scoped(scope.spawn(body));
            spawn_and_continue(program, &mut first, children, spawn);
        }),
        false => {
            let spawn = |body| Handle::Free(thread::spawn(body));
            spawn_and_continue(program, &mut first, children, spawn);
        }
    }
    first.perform_all(&program.after, &mut []);
    first.shared.journal.end();
}

type Body = Box<dyn FnOnce() + Send>;

/// Spawns the threads, and does what the first one does before the scope ends.
fn spawn_and_continue<'scope>(
    program: &Program,
    first: &mut Own,
    children: Vec<Own>,
    spawn: impl Fn(Body) -> Handle<'scope>,
) {
    let mut handles = vec![None];
    for (ops, mut own) in program.threads.iter().zip(children) {
        let ops = ops.clone();
        own.threads = first.threads.clone();
        first.shared.journal.begin();
        let handle = spawn(Box::new(move || {
            own.perform_all(&ops, &mut []);
            own.shared.journal.end();
        }));
        first.threads.push(handle.thread().clone());
        handles.push(Some(handle));
    }
    first.perform_all(&program.between, &mut handles);
}
