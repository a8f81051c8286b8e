//! Which executions are the same: Mazurkiewicz classes, with a recorder for what an explorer
//! runs.
//!
//! Two executions are in one class if each thread does the same, every operation that reads
//! reads from the same write, and the writes to each object come in the same order. Locks,
//! condition variables, channels and tokens are objects, and successful operations on them are
//! writes. An update commutes with updates, so of those only the set matters that a read or a
//! write comes after.

use fencepost_explore::Stop;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use fencepost_explore::program::{
    Effect, Intent, Performed, Program, ThreadStatus, Touch, TouchKind,
};
use fencepost_memory::{Address, LocationId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

/// A step: the thread, and which of its steps, from 0.
pub type StepName = (u32, u32);

/// How an execution ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    Finished,
    Deadlocked,
    /// An assumption has stopped a thread, and no other can continue.
    Stopped,
    /// An assertion failed.
    Failed,
}

/// How a step touched an object, and after what.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Link {
    object: u32,
    kind: TouchKind,
    /// The last write before it.
    after: Option<StepName>,
    /// The updates since then, unless this is one.
    updates: Vec<StepName>,
}

/// A step of a thread, and one object that it touched, if any.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct KeyEntry {
    step: u32,
    link: Option<Link>,
}

/// What all executions of a class have in common, and only they.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClassKey {
    threads: Vec<Vec<KeyEntry>>,
    status: Status,
}

impl ClassKey {
    pub fn status(&self) -> Status {
        self.status
    }
}

/// Per thread its steps: `store-like a0 after T1.0`.
impl fmt::Display for ClassKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.status)?;
        for (thread, entries) in self.threads.iter().enumerate() {
            write!(f, "T{thread}:")?;
            for KeyEntry { step, link } in entries {
                write!(f, "  [{step}")?;
                if let Some(link) = link {
                    let kind = match link.kind {
                        TouchKind::Read => "reads",
                        TouchKind::Update => "updates",
                        TouchKind::Write => "writes",
                    };
                    write!(f, " {kind} a{}", link.object)?;
                    if let Some((thread, step)) = link.after {
                        write!(f, " after T{thread}.{step}")?;
                    }
                    for (thread, step) in &link.updates {
                        write!(f, " +T{thread}.{step}")?;
                    }
                }
                f.write_str("]")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Fails if the classes that were run are not those that there are, and says which differ.
pub fn assert_same_classes<'a>(
    found: impl IntoIterator<Item = &'a ClassKey>,
    expected: impl IntoIterator<Item = &'a ClassKey>,
    program: &impl fmt::Display,
) {
    let found: FxHashSet<&ClassKey> = found.into_iter().collect();
    let expected: FxHashSet<&ClassKey> = expected.into_iter().collect();
    if found == expected {
        return;
    }
    let mut message = format!(
        "{} classes were run and there are {}\n{program}",
        found.len(),
        expected.len()
    );
    for class in expected.difference(&found).take(3) {
        message += &format!("missing: {class}");
    }
    for class in found.difference(&expected).take(3) {
        message += &format!("too many: {class}");
    }
    panic!("{message}");
}

/// The class of an execution, as far as it has come.
#[derive(Clone, Default, Debug)]
pub struct Tracker {
    threads: Vec<Vec<KeyEntry>>,
    steps: Vec<u32>,
    objects: FxHashMap<u32, Frontier>,
}

#[derive(Clone, Default, Debug)]
struct Frontier {
    last_write: Option<StepName>,
    updates: Vec<StepName>,
}

/// Two beginnings of executions are the same if they are in one class. The other fields follow
/// from the entries.
impl PartialEq for Tracker {
    fn eq(&self, other: &Self) -> bool {
        self.threads == other.threads
    }
}

impl Eq for Tracker {}

impl std::hash::Hash for Tracker {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.threads.hash(state);
    }
}

impl Tracker {
    /// An empty execution of a program with this many threads.
    pub fn new(threads: usize) -> Self {
        Tracker {
            threads: vec![Vec::new(); threads],
            steps: vec![0; threads],
            objects: FxHashMap::default(),
        }
    }

    /// A thread does its next step.
    pub fn add(&mut self, thread: usize, touches: impl IntoIterator<Item = (u32, TouchKind)>) {
        let step = self.steps[thread];
        self.steps[thread] += 1;
        let name = (thread as u32, step);
        let mut is_local = true;
        for (object, kind) in touches {
            is_local = false;
            let frontier = self.objects.entry(object).or_default();
            let mut updates = Vec::new();
            if kind != TouchKind::Update {
                updates.clone_from(&frontier.updates);
                updates.sort_unstable();
            }
            let link = Some(Link {
                object,
                kind,
                after: frontier.last_write,
                updates,
            });
            self.threads[thread].push(KeyEntry { step, link });
            match kind {
                TouchKind::Read => {}
                TouchKind::Update => frontier.updates.push(name),
                TouchKind::Write => {
                    frontier.last_write = Some(name);
                    frontier.updates.clear();
                }
            }
        }
        if is_local {
            self.threads[thread].push(KeyEntry { step, link: None });
        }
    }

    /// The class of the execution, if it ended so.
    pub fn finish(self, status: Status) -> ClassKey {
        ClassKey {
            threads: self.threads,
            status,
        }
    }
}

/// One step of an execution that was run through [`Program`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedStep {
    pub thread: ThreadId,
    pub outcome: u32,
    pub touches: Vec<Touch>,
}

/// The class of an execution that consists of these steps. `threads` is a number above that of
/// every thread of the program.
pub fn class_of_steps(threads: usize, steps: &[RecordedStep], status: Status) -> ClassKey {
    let mut tracker = Tracker::new(threads);
    for step in steps {
        let touches = step.touches.iter();
        let touches = touches.map(|touch| (touch.object.0, touch.kind));
        tracker.add(step.thread.index(), touches);
    }
    tracker.finish(status)
}

/// Whether the thread can do its next operation now.
pub fn is_resumable<P: Program>(program: &P, thread: ThreadId) -> bool {
    match program.status(thread) {
        ThreadStatus::NotSpawned | ThreadStatus::Finished => false,
        ThreadStatus::Pending { intent, .. } => match intent {
            Intent::Local | Intent::SpinHint => true,
            Intent::Access { object, awaits, .. } => {
                awaits.is_none_or(|condition| condition.holds(program.state(object)))
            }
            Intent::Join(other) => program.status(other) == ThreadStatus::Finished,
            Intent::Stopped => false,
        },
    }
}

/// Whether the thread is about to join another.
pub fn is_before_join<P: Program>(program: &P, thread: ThreadId) -> bool {
    let standing = program.status(thread);
    matches!(standing, ThreadStatus::Pending { intent, .. } if matches!(intent, Intent::Join(_)))
}

/// The enabled threads of the program. If one can join another, only that one: it is done
/// as soon as it can be.
pub fn enabled_threads<P: Program>(program: &P) -> Vec<ThreadId> {
    let threads = (0..program.thread_bound()).map(|thread| ThreadId(thread as u32));
    let mut enabled: Vec<ThreadId> = threads
        .filter(|&thread| is_resumable(program, thread))
        .collect();
    let joins = |&thread: &ThreadId| is_before_join(program, thread);
    if let Some(at) = enabled.iter().position(joins) {
        enabled = vec![enabled[at]];
    }
    enabled
}

/// How the execution ended, or `None` if a thread is enabled.
pub fn status_of<P: Program>(program: &P) -> Option<Status> {
    let mut threads = (0..program.thread_bound()).map(|thread| ThreadId(thread as u32));
    if threads.clone().any(|thread| is_resumable(program, thread)) {
        return None;
    }
    let is_stopped = |thread| {
        let status = program.status(thread);
        matches!(status, ThreadStatus::Pending { intent, .. } if intent == Intent::Stopped)
    };
    let waits = |thread| matches!(program.status(thread), ThreadStatus::Pending { .. });
    Some(if threads.clone().any(is_stopped) {
        Status::Stopped
    } else if threads.any(waits) {
        Status::Deadlocked
    } else {
        Status::Finished
    })
}

/// What a [`Recording`] has seen.
#[derive(Clone, Default, Debug)]
pub struct Log {
    /// How often each class was run.
    pub classes: FxHashMap<ClassKey, u64>,
    /// The executions that were begun and not brought to an end.
    pub abandoned: u64,
    /// All executions.
    pub executions: u64,
}

impl Log {
    /// The classes that were run more than once.
    pub fn repeated(&self) -> impl Iterator<Item = (&ClassKey, u64)> {
        let classes = self.classes.iter().map(|(class, &times)| (class, times));
        classes.filter(|&(_, times)| times > 1)
    }

    /// Whether an execution ended like this.
    pub fn has(&self, status: Status) -> bool {
        self.classes.keys().any(|class| class.status() == status)
    }
}

/// A program that notes what is done to it, and checks that both sides keep to the contract.
///
/// Clones note in the same log.
#[derive(Clone, Debug)]
pub struct Recording<P> {
    program: P,
    steps: Vec<RecordedStep>,
    is_running: bool,
    log: Arc<Mutex<Log>>,
}

impl<P: Program> Recording<P> {
    pub fn new(program: P) -> Self {
        Recording {
            program,
            steps: Vec::new(),
            is_running: false,
            log: Arc::default(),
        }
    }

    /// What has been seen so far.
    pub fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().expect("no test has panicked in here")
    }

    /// The log, which outlives the program.
    pub fn shared_log(&self) -> Arc<Mutex<Log>> {
        Arc::clone(&self.log)
    }

    fn end(&mut self, status: Option<Status>) {
        if !std::mem::replace(&mut self.is_running, false) {
            return;
        }
        let class =
            status.map(|status| class_of_steps(self.program.thread_bound(), &self.steps, status));
        let mut log = self.log();
        log.executions += 1;
        match class {
            Some(class) => *log.classes.entry(class).or_default() += 1,
            None => log.abandoned += 1,
        }
    }
}

/// Whether what an operation did is what it was about to do.
fn keeps_to_intent<P: Program>(program: &P, intent: Intent, touches: &[Touch]) -> bool {
    let is_current = |touch: &Touch| program.state(touch.object) == touch.after;
    if !touches.iter().all(is_current) {
        return false;
    }
    match intent {
        Intent::Local | Intent::Join(_) | Intent::SpinHint | Intent::Stopped => touches.is_empty(),
        Intent::Access { object, effect, .. } => touches.first().is_some_and(|touch| {
            let kind = match effect {
                Effect::Read => TouchKind::Read,
                Effect::Write | Effect::WriteMultiple => TouchKind::Write,
                Effect::WriteIf(condition) if condition.holds(touch.before) => TouchKind::Write,
                Effect::WriteIf(_) => TouchKind::Read,
                Effect::Update => TouchKind::Update,
            };
            let stays = kind != TouchKind::Read || touch.before == touch.after;
            touch.object == object && touch.kind == kind && stays
        }),
    }
}

impl<P: Program> Program for Recording<P> {
    type Error = P::Error;
    type Restart = P::Restart;

    fn start(&mut self, performed: &mut Performed) -> Result<(), Stop<P::Error, P::Restart>> {
        assert!(!self.is_running, "an execution has not been finished");
        self.steps.clear();
        self.is_running = true;
        let result = self.program.start(performed);
        if result.is_err() {
            self.end(Some(Status::Failed));
        }
        assert_eq!(performed.touches, [], "a start touches nothing");
        result
    }

    fn thread_bound(&self) -> usize {
        self.program.thread_bound()
    }

    fn status(&self, thread: ThreadId) -> ThreadStatus {
        self.program.status(thread)
    }

    fn state(&self, object: Address) -> u64 {
        self.program.state(object)
    }

    fn location(&self, thread: ThreadId) -> Option<LocationId> {
        self.program.location(thread)
    }

    fn step(
        &mut self,
        thread: ThreadId,
        outcome: u32,
        performed: &mut Performed,
    ) -> Result<(), Stop<P::Error, P::Restart>> {
        assert!(self.is_running, "a step outside an execution");
        assert!(
            is_resumable(&self.program, thread),
            "{thread} is not enabled: {:?}",
            self.program.status(thread)
        );
        let ThreadStatus::Pending { intent, outcomes } = self.program.status(thread) else {
            unreachable!("it is enabled");
        };
        assert!(
            outcome < outcomes,
            "outcome {outcome} of {outcomes}: {intent:?}"
        );
        let before = performed.touches.len();
        let result = self.program.step(thread, outcome, performed);
        let touches = &performed.touches[before..];
        assert!(
            keeps_to_intent(&self.program, intent, touches),
            "{intent:?} turned out as {touches:?}"
        );
        // A join is no step.
        if !matches!(intent, Intent::Join(_)) {
            self.steps.push(RecordedStep {
                thread,
                outcome,
                touches: touches.to_vec(),
            });
        }
        if result.is_err() {
            self.end(Some(Status::Failed));
        }
        result
    }

    fn finish(&mut self, is_complete: bool) -> Result<(), Stop<P::Error, P::Restart>> {
        let status = status_of(&self.program);
        assert!(
            !is_complete || status == Some(Status::Finished),
            "said to be complete, but {status:?}"
        );
        self.end(status);
        self.program.finish(is_complete)
    }
}
