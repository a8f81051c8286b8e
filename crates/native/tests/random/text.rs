//! Random programs as text in C.

use std::fmt::Write;
use std::sync::atomic::Ordering;

use fencepost_memory::program::StraightLineProgram;
use fencepost_memory::{Operation, Random};

use crate::program::{Fetch, Op, Program};

/// What a file begins with.
pub const HEADER: &str = include_str!("outcomes.h");

/// What a lock attempt that fails is noted as, in the machine too.
const EMPTY: u32 = 101;

const TYPES: [&str; 8] = [
    "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int8_t", "short", "int", "long",
];

fn pick<T: Copy>(random: &mut Random, choices: &[T]) -> T {
    choices[random.below(choices.len() as u64) as usize]
}

/// How an atomic variable is written in C.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `_Atomic`, with the functions of `stdatomic.h`.
    C11,
    /// A plain variable, with `__atomic` builtins.
    Builtins,
    /// A plain variable, with `__sync` builtins where there is one that does it. `__sync_lock_test_and_set` is not used: it is
    /// sequentially consistent with clang, and not with gcc.
    Sync,
}

fn order_of(ordering: Ordering) -> &'static str {
    match ordering {
        Ordering::Relaxed => "relaxed",
        Ordering::Acquire => "acquire",
        Ordering::Release => "release",
        Ordering::AcqRel => "acq_rel",
        _ => "seq_cst",
    }
}

/// An atomic variable.
#[derive(Clone, Copy)]
struct Variable {
    style: Style,
    type_name: &'static str,
}

impl Variable {
    fn random(random: &mut Random) -> Self {
        Variable {
            style: pick(random, &[Style::C11, Style::Builtins, Style::Sync]),
            type_name: pick(random, &TYPES),
        }
    }

    fn declare(self, name: &str) -> String {
        match self.style {
            Style::C11 => format!("_Atomic({}) {name};\n", self.type_name),
            _ => format!("{} {name};\n", self.type_name),
        }
    }

    fn order(self, ordering: Ordering) -> String {
        match self.style {
            Style::C11 => format!("memory_order_{}", order_of(ordering)),
            _ => format!("__ATOMIC_{}", order_of(ordering).to_uppercase()),
        }
    }

    fn load(self, name: &str, ordering: Ordering) -> String {
        let order = self.order(ordering);
        match self.style {
            Style::C11 if ordering == Ordering::SeqCst => name.to_owned(),
            Style::C11 => format!("atomic_load_explicit(&{name}, {order})"),
            _ => format!("__atomic_load_n(&{name}, {order})"),
        }
    }

    fn store(self, name: &str, value: u32, ordering: Ordering) -> String {
        let order = self.order(ordering);
        match self.style {
            Style::C11 if ordering == Ordering::SeqCst => format!("{name} = {value};"),
            Style::C11 => format!("atomic_store_explicit(&{name}, {value}, {order});"),
            _ => format!("__atomic_store_n(&{name}, {value}, {order});"),
        }
    }

    fn swap(self, name: &str, value: u32, ordering: Ordering) -> String {
        let order = self.order(ordering);
        match self.style {
            Style::C11 => format!("atomic_exchange_explicit(&{name}, {value}, {order})"),
            _ => format!("__atomic_exchange_n(&{name}, {value}, {order})"),
        }
    }

    fn fetch(self, fetch: Fetch, name: &str, operand: u32, ordering: Ordering) -> String {
        let order = self.order(ordering);
        let name_of = match fetch {
            Fetch::Add => "add",
            Fetch::And => "and",
            Fetch::Or => "or",
            Fetch::Xor => "xor",
        };
        match self.style {
            Style::C11 => format!("atomic_fetch_{name_of}_explicit(&{name}, {operand}, {order})"),
            Style::Sync if ordering == Ordering::SeqCst => {
                format!("__sync_fetch_and_{name_of}(&{name}, {operand})")
            }
            _ => format!("__atomic_fetch_{name_of}(&{name}, {operand}, {order})"),
        }
    }

    /// Statements that leave in `found` what was there.
    fn compare_exchange(
        self,
        name: &str,
        (expected, new): (u32, u32),
        (success, failure): (Ordering, Ordering),
    ) -> String {
        let type_name = self.type_name;
        let (on_success, on_failure) = (self.order(success), self.order(failure));
        let is_full = success == Ordering::SeqCst && failure == Ordering::SeqCst;
        match self.style {
            Style::Sync if is_full => {
                format!(
                    "{type_name} found = __sync_val_compare_and_swap(&{name}, {expected}, {new});"
                )
            }
            Style::C11 => format!(
                "{type_name} found = {expected}; atomic_compare_exchange_strong_explicit(&{name}, &found, {new}, \
                 {on_success}, {on_failure});"
            ),
            _ => format!(
                "{type_name} found = {expected}; __atomic_compare_exchange_n(&{name}, &found, {new}, 0, {on_success}, \
                 {on_failure});"
            ),
        }
    }

    fn fence(self, ordering: Ordering) -> String {
        let order = self.order(ordering);
        match self.style {
            Style::C11 => format!("atomic_thread_fence({order});"),
            Style::Sync if ordering == Ordering::SeqCst => "__sync_synchronize();".to_owned(),
            _ => format!("__atomic_thread_fence({order});"),
        }
    }
}

/// A plain variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    Number(&'static str),
    Volatile(&'static str),
    /// A structure that is copied and set as a whole.
    Block,
    /// A part of a block of the heap.
    Heap(&'static str),
}

impl Plain {
    fn random(random: &mut Random) -> Self {
        let types = [&TYPES[..], &["float", "double", "_Bool"]].concat();
        let type_name = pick(random, &types);
        match random.below(5) {
            0 | 1 => Plain::Number(type_name),
            2 => Plain::Volatile(type_name),
            3 => Plain::Block,
            _ => Plain::Heap(type_name),
        }
    }

    fn declare(self, name: &str) -> String {
        match self {
            Plain::Number(type_name) => format!("{type_name} {name};\n"),
            Plain::Volatile(type_name) => format!("volatile {type_name} {name};\n"),
            Plain::Block => format!("struct block {name};\n"),
            // The function is in the name of the block.
            Plain::Heap(type_name) => format!(
                "{type_name} *{name};\nstatic __attribute__((noinline)) void {name}_block(void)\n{{\n    \
                 {name} = malloc(3 * sizeof *{name});\n    assert({name});\n}}\n"
            ),
        }
    }

    fn prepare(self, name: &str) -> String {
        match self {
            Plain::Heap(_) => format!("    {name}_block();\n"),
            _ => String::new(),
        }
    }

    fn read(self, name: &str) -> String {
        match self {
            Plain::Number(type_name) | Plain::Volatile(type_name) => {
                format!("{{ {type_name} seen = {name}; USE(seen); }}")
            }
            Plain::Block => {
                format!(
                    "{{ struct block seen; memcpy(&seen, &{name}, sizeof seen); USE_AT(&seen); }}"
                )
            }
            Plain::Heap(type_name) => format!("{{ {type_name} seen = {name}[1]; USE(seen); }}"),
        }
    }

    fn write(self, name: &str, value: u64) -> String {
        match self {
            Plain::Number(_) | Plain::Volatile(_) => format!("{name} = {value};"),
            Plain::Block => format!("memset(&{name}, {value}, sizeof {name});"),
            Plain::Heap(_) => format!("{name}[1] = {value};"),
        }
    }
}

/// Writes one program.
struct Writer<'a> {
    /// What all its names begin with.
    prefix: &'a str,
    variables: [Variable; 2],
    plain: [Plain; 2],
    random: Random,
    /// Functions that are called once.
    functions: String,
    function_count: u32,
}

impl Writer<'_> {
    fn ops(&mut self, ops: &[Op], thread: usize) -> String {
        let mut text = String::new();
        for op in ops {
            text += "    ";
            text += &self.op(op, thread);
            text.push('\n');
        }
        text
    }

    fn op(&mut self, op: &Op, thread: usize) -> String {
        let prefix = self.prefix;
        let name = |place: usize| format!("{prefix}_x{place}");
        let cell = |cell: usize| format!("{prefix}_c{cell}");
        let note = |value: &str| format!("note({thread}, {value});");
        let seq_cst = Ordering::SeqCst;
        match op {
            &Op::Load(place) => note(&self.variables[place].load(&name(place), seq_cst)),
            &Op::Store(place, value) => self.variables[place].store(&name(place), value, seq_cst),
            &Op::Add(place) => {
                note(&self.variables[place].fetch(Fetch::Add, &name(place), 1, seq_cst))
            }
            &Op::LoadWith(place, ordering) => {
                note(&self.variables[place].load(&name(place), ordering))
            }
            &Op::StoreWith(place, value, ordering) => {
                self.variables[place].store(&name(place), value, ordering)
            }
            &Op::SwapWith(place, value, ordering) => {
                note(&self.variables[place].swap(&name(place), value, ordering))
            }
            &Op::FetchWith(fetch, place, operand, ordering) => {
                note(&self.variables[place].fetch(fetch, &name(place), operand, ordering))
            }
            &Op::CompareExchange {
                place,
                expected,
                new,
                success,
                failure,
            } => {
                let exchange = self.variables[place].compare_exchange(
                    &name(place),
                    (expected, new),
                    (success, failure),
                );
                format!("{{ {exchange} {} }}", note("found"))
            }
            &Op::Fence(ordering) => self.variables[0].fence(ordering),
            Op::IfSet(place, ordering, inner) => {
                let load = self.variables[*place].load(&name(*place), *ordering);
                let inner = self.ops(inner, thread);
                format!(
                    "{{ int found = (int){load}; note({thread}, found); if (found) {{\n{inner}    }} }}"
                )
            }
            &Op::ReadCell(place) => self.plain[place].read(&cell(place)),
            &Op::WriteCell(place) => self.plain[place].write(&cell(place), self.random.below(2)),
            &Op::PanicIf(place, value) => {
                let load = self.variables[place].load(&name(place), seq_cst);
                format!("if ({load} == {value}) assert(!\"thread {thread} found {value}\");")
            }
            op => self.waiting_op(op, thread),
        }
    }

    /// As [`op`](Self::op), for locks and what else may wait.
    fn waiting_op(&mut self, op: &Op, thread: usize) -> String {
        let prefix = self.prefix;
        let note = |value: &str| format!("note({thread}, {value});");
        match op {
            Op::Lock(inner) => self.guarded("mutex_lock", "mutex", Some(true), inner, thread, None),
            Op::TryLock(inner) => {
                self.guarded("mutex_trylock", "mutex", Some(true), inner, thread, Some(0))
            }
            Op::Write(inner) => self.guarded("rwlock_wrlock", "rwlock", None, inner, thread, None),
            Op::TryWrite(inner) => {
                let (call, failed) = ("rwlock_trywrlock", Some(EMPTY));
                self.guarded(call, "rwlock", Some(true), inner, thread, failed)
            }
            Op::Read(inner) => {
                self.guarded("rwlock_rdlock", "rwlock", Some(false), inner, thread, None)
            }
            Op::TryRead(inner) => {
                let (call, failed) = ("rwlock_tryrdlock", Some(EMPTY));
                self.guarded(call, "rwlock", Some(false), inner, thread, failed)
            }
            Op::Wait => self.waiting(thread, "", "pthread_cond_wait(&C, &M); ", "V"),
            Op::WaitWhileZero => self.waiting(
                thread,
                "while (V == 0) ",
                "pthread_cond_wait(&C, &M); ",
                "V",
            ),
            Op::WaitTimeout => self.waiting(
                thread,
                "",
                "int late = pthread_cond_timedwait(&C, &M, &LATER) == ETIMEDOUT; ",
                "V + 10 * late",
            ),
            Op::NotifyOne => format!("pthread_cond_signal(&{prefix}_condvar);"),
            Op::NotifyAll => format!("pthread_cond_broadcast(&{prefix}_condvar);"),
            Op::Barrier => note(&format!(
                "pthread_barrier_wait(&{prefix}_barrier) == PTHREAD_BARRIER_SERIAL_THREAD"
            )),
            Op::CallOnce(inner) => {
                let body = self.ops(inner, thread);
                let function = format!("{prefix}_once_{}", self.function_count);
                self.function_count += 1;
                let _ = write!(
                    self.functions,
                    "static void {function}(void)\n{{\n{body}    note({thread}, 1);\n}}\n"
                );
                format!(
                    "{{ int before = noted({thread}); pthread_once(&{prefix}_once, {function}); if (noted({thread}) == \
                     before) note({thread}, 0); }}"
                )
            }
            op => unreachable!("{op:?} is not of C"),
        }
    }

    /// What is done while a lock is held. `adds` is none if the value is increased and not noted.
    fn guarded(
        &mut self,
        call: &str,
        lock: &str,
        adds: Option<bool>,
        inner: &[Op],
        thread: usize,
        failed: Option<u32>,
    ) -> String {
        let prefix = self.prefix;
        let inner = self.ops(inner, thread);
        let value = match adds {
            None => format!("++{prefix}_{lock}_value;"),
            Some(true) => format!("note({thread}, ++{prefix}_{lock}_value);"),
            Some(false) => format!("note({thread}, {prefix}_{lock}_value);"),
        };
        let unlock = format!("pthread_{}_unlock(&{prefix}_{lock});", lock);
        let body = format!("{value}\n{inner}    {unlock}");
        match failed {
            None => format!("pthread_{call}(&{prefix}_{lock}); {body}"),
            Some(failed) => format!(
                "if (!pthread_{call}(&{prefix}_{lock})) {{ {body} }} else {{ note({thread}, {failed}); }}"
            ),
        }
    }

    fn waiting(&mut self, thread: usize, condition: &str, wait: &str, value: &str) -> String {
        let prefix = self.prefix;
        let text = format!(
            "{{ pthread_mutex_lock(&M); {condition}{wait}note({thread}, {value}); pthread_mutex_unlock(&M); }}"
        );
        text.replace("&M", &format!("&{prefix}_mutex"))
            .replace("&C", &format!("&{prefix}_condvar"))
            .replace("(V ", &format!("({prefix}_mutex_value "))
            .replace(", V", &format!(", {prefix}_mutex_value"))
    }

    /// What the first thread does between the starts of the others and their ends.
    fn with_joins(&mut self, ops: &[Op], thread_count: usize) -> String {
        let mut is_joined = vec![false; thread_count];
        let mut text = String::new();
        for op in ops {
            match *op {
                Op::Join(other) if other == 0 || other >= thread_count || is_joined[other] => {}
                Op::Join(other) => {
                    is_joined[other] = true;
                    let _ = writeln!(
                        text,
                        "    pthread_join(threads[{other}], NULL); note(0, 1);"
                    );
                }
                _ => text += &self.ops(std::slice::from_ref(op), 0),
            }
        }
        text
    }
}

fn without_joins(ops: &[Op]) -> Vec<Op> {
    let mut ops = ops.to_vec();
    ops.retain(|op| !matches!(op, Op::Join(_)));
    ops
}

/// A program, as a function that is called as the prefix.
pub fn program(program: &Program, prefix: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut writer = Writer {
        prefix,
        variables: [0; 2].map(|_| Variable::random(&mut random)),
        plain: [0; 2].map(|_| Plain::random(&mut random)),
        random,
        functions: String::new(),
        function_count: 0,
    };
    let threads = program.threads.iter().enumerate().map(|(number, ops)| {
        let body = writer.ops(&without_joins(ops), number + 1);
        format!(
            "static void *{prefix}_t{}(void *unused)\n{{\n{body}    return unused;\n}}\n",
            number + 1
        )
    });
    let threads: String = threads.collect();
    let before = writer.ops(&without_joins(&program.before), 0);
    let between = writer.with_joins(&program.between, program.thread_count());
    let after = writer.ops(&without_joins(&program.after), 0);
    let spawns: String = (1..program.thread_count())
        .map(|number| {
            format!("    pthread_create(&threads[{number}], NULL, {prefix}_t{number}, NULL);\n")
        })
        .collect();
    let (mut declared, mut prepared) = (String::new(), String::new());
    for place in 0..2 {
        declared += &writer.variables[place].declare(&format!("{prefix}_x{place}"));
        let cell = format!("{prefix}_c{place}");
        declared += &writer.plain[place].declare(&cell);
        prepared += &writer.plain[place].prepare(&cell);
    }
    // A writer that waits keeps readers out, as with Rust's locks.
    let _ = write!(
        declared,
        "static pthread_mutex_t {prefix}_mutex = PTHREAD_MUTEX_INITIALIZER;\n\
         static unsigned {prefix}_mutex_value, {prefix}_rwlock_value;\n\
         static pthread_cond_t {prefix}_condvar = PTHREAD_COND_INITIALIZER;\n\
         static pthread_rwlock_t {prefix}_rwlock = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;\n\
         static pthread_once_t {prefix}_once = PTHREAD_ONCE_INIT;\n\
         static pthread_barrier_t {prefix}_barrier;\n"
    );
    let functions = writer.functions;
    format!(
        "{declared}{functions}{threads}static void {prefix}(void)\n{{\n    pthread_t threads[4];\n    \
         pthread_barrier_init(&{prefix}_barrier, NULL, 2);\n{prepared}{before}{spawns}{between}{after}}}\n\n"
    )
}

/// A program for the machines with store buffers. What its operations read does not matter.
pub fn straight_line(program: &StraightLineProgram, prefix: &str, seed: u64) -> String {
    let mut random = Random::new(seed);
    let mut text = String::new();
    let mut variables = Vec::new();
    for address in 0..program.address_count() {
        let variable = Variable::random(&mut random);
        text += &variable.declare(&format!("{prefix}_x{address}"));
        variables.push(variable);
    }
    let fences = Variable::random(&mut random);
    let (relaxed, release) = (Ordering::Relaxed, Ordering::Release);
    let seq_cst = Ordering::SeqCst;
    for (number, operations) in program.threads.iter().enumerate() {
        let _ = write!(text, "static void *{prefix}_t{number}(void *unused)\n{{\n");
        for operation in operations {
            let address = operation.address().map_or(0, |address| address.index());
            let variable = variables.get(address).copied().unwrap_or(fences);
            let name = format!("{prefix}_x{address}");
            let line = match operation {
                Operation::Load(_) => format!("USE({});", variable.load(&name, relaxed)),
                Operation::Store(_) => variable.store(&name, 1, relaxed),
                Operation::Interlocked(_) => {
                    format!("USE({});", variable.fetch(Fetch::Add, &name, 1, relaxed))
                }
                // No variable has this value.
                Operation::LockedLoad(_) => {
                    let exchange = variable.compare_exchange(&name, (77, 0), (relaxed, relaxed));
                    format!("{{ {exchange} assert(found != 77); }}")
                }
                Operation::LockedStore(_) => variable.store(&name, 2, seq_cst),
                Operation::Fence => fences.fence(seq_cst),
                Operation::StoreBarrier => fences.fence(release),
            };
            let _ = writeln!(text, "    {line}");
        }
        text += "    return unused;\n}\n";
    }
    let count = program.threads.len();
    let each = |call: &str| -> String {
        (0..count)
            .map(|number| call.replace('#', &number.to_string()))
            .collect()
    };
    let spawns = each(&format!(
        "    pthread_create(&threads[#], NULL, {prefix}_t#, NULL);\n"
    ));
    let joins = each("    pthread_join(threads[#], NULL);\n");
    let _ = write!(
        text,
        "static void {prefix}(void)\n{{\n    pthread_t threads[{count}];\n{spawns}{joins}}}\n\n"
    );
    text
}

/// The end of a file: `main` runs the function that its argument is the number of.
pub fn main(prefixes: &[String]) -> String {
    format!(
        "static void (*const PROGRAMS[])(void) = {{ {} }};\n\nint main(int count, char **arguments)\n{{\n    \
         if (count != 2)\n        return 93;\n    PROGRAMS[atoi(arguments[1])]();\n    end_execution();\n    return 0;\n}}\n",
        prefixes.join(", ")
    )
}
