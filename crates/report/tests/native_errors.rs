//! Errors of made-up programs in C and C++, as users see them.

use crate::support;

use fencepost_memory::MemoryModel;
use fencepost_report::check::{
    AccessKind, BadMemory, BadMemoryKind, BlockPosition, FailureKind, LeakedBlocks, LockMisuse,
    Problem, RaceAccess, RacedCell, Signal, ThreadPlace,
};
use fencepost_report::json::check::FindingObject;
use support::{Program, expect, plain};

const STACK: &str = "\
struct node *pop(struct stack *stack) {
    struct node *head = atomic_load(&stack->head);
    while (head && !cas(&stack->head, &head, head->next)) {}
    return head;
}

void push(struct stack *stack, int value) {
    struct node *node = malloc(sizeof *node);
    pthread_mutex_lock(&stack->lock);
    node->value = value;
    stack->count++;
    pthread_mutex_unlock(&stack->lock);
    assert(stack->count > 0);
}

void destroy(struct stack *stack) {
    free(pop(stack));
    pthread_mutex_destroy(&stack->lock);
}
";

fn stack() -> Program {
    Program::new("stack.c", STACK).in_c().run(&[
        ("T1 ld head 1", "|atomic_load"),
        ("T2 il lock 1", "|pthread_mutex_lock"),
        ("T2 il lock 0", "|pthread_mutex_unlock"),
    ])
}

/// All these problems as text and as JSON in one file.
fn check(name: &str, make: impl Fn(&mut Program) -> Vec<Problem>) {
    let mut program = stack();
    let mut all = String::new();
    for problem in make(&mut program) {
        let kind = problem.kind();
        let finding = program.with_problem(problem);
        let reporter = program.reporter(MemoryModel::TSO);
        let text = plain(&reporter.finding(&finding));
        let text = text.split("\nexecution 12").next().unwrap_or_default();
        assert!(text.starts_with("error: "), "{text}");
        let json = FindingObject::new(1, &finding, &reporter);
        let json = serde_json::to_value(&json.problem).expect("it is JSON");
        assert_eq!(json["problem"], kind);
        all.push_str(&format!("{text}json: {json}\n\n"));
    }
    expect(name, &all);
}

fn by(program: &mut Program, thread: &str, place: &str) -> ThreadPlace {
    ThreadPlace {
        thread: program.thread_id(thread),
        location: Some(program.find(place)),
    }
}

fn race(
    program: &mut Program,
    cell: RacedCell,
    accesses: [(&str, AccessKind, u32, &str); 2],
) -> Problem {
    let [first, second] = accesses.map(|(thread, kind, size, place)| {
        let by = by(program, thread, place);
        RaceAccess {
            thread: by.thread,
            kind,
            size: Some(size),
            location: by.location,
        }
    });
    Problem::Race {
        cell,
        first,
        second,
    }
}

#[test]
fn races_on_memory() {
    check("memory-races.txt", |program| {
        let named = || RacedCell::Named("stack->count".into());
        let write = ("T1", AccessKind::Write, 4, "stack->|count++");
        let read = ("T2", AccessKind::Read, 4, "assert(stack->|count");
        let atomic = ("T2", AccessKind::AtomicRead, 8, "|atomic_load");
        let update = ("T2", AccessKind::AtomicWrite, 8, "&& !|cas");
        let free = ("T1", AccessKind::Free, 16, "|free(");
        let allocation = ("T1", AccessKind::Allocation, 16, "|malloc");
        vec![
            race(program, named(), [write, read]),
            race(program, RacedCell::At(0x7f00_1000), [write, atomic]),
            race(program, named(), [update, write]),
            race(program, named(), [read, free]),
            race(program, named(), [allocation, update]),
        ]
    });
}

#[test]
fn failures_that_end_the_process() {
    check("failed.txt", |program| {
        let place = program.find("|assert(");
        let thread = program.thread_id("T2");
        let failed = |kind, message: &str| Problem::Failed {
            thread,
            kind,
            message: message.into(),
            location: Some(place.clone()),
        };
        vec![
            failed(FailureKind::Assertion, "stack->count > 0"),
            failed(FailureKind::Abort, ""),
            failed(FailureKind::UncaughtException, "std::runtime_error: full"),
            failed(FailureKind::ExitStatus(3), ""),
            failed(FailureKind::VerifierError, ""),
            failed(FailureKind::Signal(Signal::Segv(Some(8))), ""),
            failed(FailureKind::Signal(Signal::Segv(None)), ""),
            failed(FailureKind::Signal(Signal::Bus(Some(8))), ""),
            failed(FailureKind::Signal(Signal::Fpe), ""),
            failed(FailureKind::Signal(Signal::Ill), ""),
            failed(FailureKind::Other, ""),
        ]
    });
}

#[test]
fn bad_uses_of_memory() {
    check("bad-memory.txt", |program| {
        let used = by(program, "T2", "head->|next");
        let freed = by(program, "T1", "|free(");
        let allocated = program.find("|malloc");
        let misuse = BadMemory {
            kind: BadMemoryKind::UseAfterFree,
            by: used,
            size: 8,
            writes: false,
            block: Some(BlockPosition {
                size: 16,
                offset: 8,
            }),
            allocated: Some(allocated),
            freed: Some(freed.clone()),
            name: Some("head->next".into()),
        };
        let unknown = BadMemory {
            block: None,
            allocated: None,
            freed: None,
            name: None,
            ..misuse.clone()
        };
        let beyond = |offset| BadMemory {
            kind: BadMemoryKind::OutOfBounds,
            writes: true,
            size: 1,
            block: Some(BlockPosition { size: 16, offset }),
            freed: None,
            ..misuse.clone()
        };
        let of_kind = |misuse: &BadMemory, kind| BadMemory {
            kind,
            size: 0,
            by: freed.clone(),
            ..misuse.clone()
        };
        let all = [
            misuse.clone(),
            unknown.clone(),
            beyond(16),
            beyond(-1),
            BadMemory {
                kind: BadMemoryKind::OutOfBounds,
                ..unknown.clone()
            },
            BadMemory {
                name: None,
                ..beyond(20)
            },
            of_kind(&misuse, BadMemoryKind::DoubleFree),
            of_kind(&unknown, BadMemoryKind::DoubleFree),
            of_kind(&beyond(8), BadMemoryKind::InvalidFree),
            of_kind(&unknown, BadMemoryKind::InvalidFree),
        ];
        all.into_iter().map(Problem::BadMemory).collect()
    });
}

#[test]
fn leaked_blocks() {
    check("leaked-blocks.txt", |program| {
        let leak = |place: Option<&str>, count, bytes| LeakedBlocks {
            location: place.map(|place| program.find(place)),
            count,
            bytes,
        };
        vec![
            Problem::LeakedBlocks(vec![leak(Some("|malloc"), 1, 16)]),
            Problem::LeakedBlocks(vec![
                leak(None, 1, 8),
                leak(Some("|malloc"), 2, 32),
                leak(Some("|pop(stack)"), 1000, 1_000_000),
            ]),
            Problem::LeakedBlocks(vec![leak(Some("|malloc"), u64::MAX, 16); 10]),
        ]
    });
}

#[test]
fn misuses_of_locks() {
    check("lock-misuse.txt", |program| {
        let locked = by(program, "T1", "|pthread_mutex_lock");
        let unlocks = by(program, "T2", "|pthread_mutex_unlock");
        let destroys = by(program, "T2", "|pthread_mutex_destroy");
        let misuse = |misuse, by: &ThreadPlace| Problem::LockMisuse {
            misuse,
            lock: "mutex `stack->lock`".into(),
            by: by.clone(),
        };
        vec![
            misuse(LockMisuse::NotHeld(Some(locked.clone())), &unlocks),
            misuse(LockMisuse::NotHeld(None), &unlocks),
            misuse(LockMisuse::DestroyedWhileHeld(locked.clone()), &destroys),
            misuse(LockMisuse::Destroyed(destroys.clone()), &locked),
            misuse(LockMisuse::Uninitialized, &locked),
        ]
    });
}
