//! Programs by name, whose numbers of classes or verdicts are known.

use std::sync::Arc;

use fencepost_memory::Address;

use super::language::{
    Builder, Code, Instruction, Model, Order, R0, R1, R2, R3, R4, R5, Register, Test, Value,
};

/// Store buffering, as a ring: each thread stores to its own cell and loads the next one's.
/// 2^n - 1 classes.
pub fn store_buffering(threads: usize, is_fenced: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let cells = builder.cells(threads);
    for thread in 0..threads {
        builder.thread(|code| {
            code.store(cells[thread], 1);
            if is_fenced {
                code.fence();
            }
            code.load(R0, cells[(thread + 1) % threads]);
        });
    }
    builder.parallel()
}

/// Each thread adds to one cell several times. (nk)! / (k!)^n classes.
pub fn counter(threads: usize, additions: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let cell = builder.cell(0);
    for _ in 0..threads {
        builder.thread(|code| {
            for _ in 0..additions {
                code.fetch_add(R0, cell, 1);
            }
        });
    }
    builder.parallel()
}

/// A thread that stores, and so many that load. 2^n classes.
pub fn readers(readers: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let cell = builder.cell(0);
    builder.thread(|code| code.store(cell, 1));
    for _ in 0..readers {
        builder.thread(|code| code.load(R0, cell));
    }
    builder.parallel()
}

/// Abdulla and others' benchmark: a thread looks for the last zero of an array, while each of
/// the others sets its element to that of the left neighbour plus 1. 64 classes for 5.
pub fn last_zero(elements: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let array = builder.cells(elements + 1);
    builder.thread(|code| {
        let end = code.label();
        for element in array.iter().rev() {
            code.load(R0, *element);
            code.jump_if(R0, Test::Equal, 0, end);
        }
        code.place(end);
    });
    for element in 1..=elements {
        builder.thread(|code| {
            code.load(R0, array[element - 1]);
            code.store(array[element], (R0, 1));
        });
    }
    builder.parallel()
}

/// Each thread has a cell of its own. One class.
pub fn private_cells(threads: usize, stores: u64) -> Arc<Model> {
    let mut builder = Builder::new();
    let cells = builder.cells(threads);
    for cell in cells {
        builder.thread(|code| {
            for value in 1..=stores {
                code.store(cell, value);
                code.load(R0, cell);
            }
        });
    }
    builder.parallel()
}

/// Each thread takes one mutex several times. (nk)! / (k!)^n classes.
pub fn critical_sections(threads: usize, rounds: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let mutex = builder.mutex();
    for _ in 0..threads {
        builder.thread(|code| {
            for _ in 0..rounds {
                code.lock(mutex);
                code.unlock(mutex);
            }
        });
    }
    builder.parallel()
}

/// Threads around a table take the mutexes on both sides, left one first: they can deadlock.
pub fn philosophers(threads: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let forks: Vec<Address> = (0..threads).map(|_| builder.mutex()).collect();
    for thread in 0..threads {
        let (left, right) = (forks[thread], forks[(thread + 1) % threads]);
        builder.thread(|code| {
            code.lock(left);
            code.lock(right);
            code.unlock(right);
            code.unlock(left);
        });
    }
    builder.parallel()
}

/// Fails if another thread is in its critical section too.
fn critical_section(code: &mut Code, owner: Address, me: u64) {
    code.store(owner, me);
    code.load(R5, owner);
    code.assert(R5, Test::Equal, me);
}

fn fence_if(code: &mut Code, is_fenced: bool) {
    if is_fenced {
        code.fence();
    }
}

/// Peterson's mutual exclusion for two threads. Correct under sequential consistency; with
/// fences, store-buffer safe as well.
pub fn peterson(rounds: usize, is_fenced: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let flags = builder.cells(2);
    let (turn, owner) = (builder.cell(0), builder.cell(0));
    for me in 0..2 {
        builder.thread(|code| {
            let other = 1 - me;
            for _ in 0..rounds {
                code.store(flags[me], 1);
                fence_if(code, is_fenced);
                code.store(turn, other as u64);
                fence_if(code, is_fenced);
                let (top, out) = (code.here(), code.label());
                code.load(R0, flags[other]);
                code.jump_if(R0, Test::Equal, 0, out);
                code.load(R0, turn);
                code.jump_if(R0, Test::Equal, me as u64, out);
                code.push(Instruction::Hint);
                code.jump(top);
                code.place(out);
                critical_section(code, owner, me as u64 + 1);
                fence_if(code, is_fenced);
                code.store(flags[me], 0);
                fence_if(code, is_fenced);
            }
        });
    }
    builder.parallel()
}

/// Dekker's mutual exclusion for two threads.
pub fn dekker(rounds: usize, is_fenced: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let flags = builder.cells(2);
    let (turn, owner) = (builder.cell(0), builder.cell(0));
    for me in 0..2 {
        builder.thread(|code| {
            let other = 1 - me;
            for _ in 0..rounds {
                let (ask, is_mine, enter) = (code.label(), code.label(), code.label());
                code.store(flags[me], 1);
                fence_if(code, is_fenced);
                code.place(ask);
                code.load(R0, flags[other]);
                code.jump_if(R0, Test::Equal, 0, enter);
                code.load(R0, turn);
                code.jump_if(R0, Test::Equal, me as u64, is_mine);
                code.store(flags[me], 0);
                fence_if(code, is_fenced);
                code.spin_until(R0, turn, Test::Equal, me as u64);
                code.store(flags[me], 1);
                fence_if(code, is_fenced);
                code.jump(ask);
                code.place(is_mine);
                code.push(Instruction::Hint);
                code.jump(ask);
                code.place(enter);
                critical_section(code, owner, me as u64 + 1);
                fence_if(code, is_fenced);
                code.store(turn, other as u64);
                fence_if(code, is_fenced);
                code.store(flags[me], 0);
                fence_if(code, is_fenced);
            }
        });
    }
    builder.parallel()
}

/// Lamport's bakery.
pub fn bakery(threads: usize, rounds: usize, is_fenced: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let choosing = builder.cells(threads);
    let numbers = builder.cells(threads);
    let owner = builder.cell(0);
    let (largest, mine) = (R1, R2);
    for me in 0..threads {
        builder.thread(|code| {
            for _ in 0..rounds {
                code.store(choosing[me], 1);
                fence_if(code, is_fenced);
                code.set(largest, 0);
                for number in &numbers {
                    let keep = code.label();
                    code.load(R0, *number);
                    code.jump_if(R0, Test::Below, largest, keep);
                    code.set(largest, R0);
                    code.place(keep);
                }
                code.set(mine, (largest, 1));
                code.store(numbers[me], mine);
                fence_if(code, is_fenced);
                code.store(choosing[me], 0);
                fence_if(code, is_fenced);
                for other in (0..threads).filter(|&other| other != me) {
                    code.spin_until(R0, choosing[other], Test::Equal, 0);
                    let (top, out) = (code.here(), code.label());
                    code.load(R0, numbers[other]);
                    code.jump_if(R0, Test::Equal, 0, out);
                    // The thread with the smaller number is first, or the smaller number itself.
                    let before_other = match me < other {
                        true => Value::Plus(R0, 1),
                        false => Value::Plus(R0, 0),
                    };
                    code.jump_if(mine, Test::Below, before_other, out);
                    code.push(Instruction::Hint);
                    code.jump(top);
                    code.place(out);
                }
                critical_section(code, owner, me as u64 + 1);
                fence_if(code, is_fenced);
                code.store(numbers[me], 0);
                fence_if(code, is_fenced);
            }
        });
    }
    builder.parallel()
}

/// A ticket lock.
pub fn ticket_lock(threads: usize, rounds: usize) -> Arc<Model> {
    let mut builder = Builder::new();
    let (next, serving, owner) = (builder.cell(0), builder.cell(0), builder.cell(0));
    for me in 0..threads {
        builder.thread(|code| {
            for _ in 0..rounds {
                code.fetch_add(R1, next, 1);
                code.spin_until(R0, serving, Test::Equal, R1);
                critical_section(code, owner, me as u64 + 1);
                code.push(Instruction::Store {
                    cell: serving,
                    value: Value::Plus(R1, 1),
                    order: Order::Release,
                });
            }
        });
    }
    builder.parallel()
}

/// Runs the body again until it succeeds, so often at most. The body sets the register to 1 if it
/// succeeds.
fn retry(code: &mut Code, succeeds: Register, attempts: u64, body: impl FnOnce(&mut Code)) {
    let tries = R4;
    code.set(tries, 0);
    let (top, out) = (code.here(), code.label());
    body(code);
    code.jump_if(succeeds, Test::Equal, 1, out);
    code.set(tries, (tries, 1));
    code.jump_if(tries, Test::Below, attempts, top);
    code.place(out);
}

/// A Treiber stack: some threads push a node each, another one pops once. Nodes are numbered from
/// 1 and have one successor field each. Gives up after so many attempts, so there is no loop
/// without end.
pub fn treiber(pushers: usize, attempts: u64, has_popper: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let top = builder.cell(0);
    let nexts = builder.cells(pushers);
    for pusher in 0..pushers {
        builder.thread(|code| {
            retry(code, R1, attempts, |code| {
                code.load(R0, top);
                code.store(nexts[pusher], R0);
                code.compare_exchange(R1, top, R0, pusher as u64 + 1);
            });
        });
    }
    if has_popper {
        builder.thread(|code| {
            let end = code.label();
            retry(code, R1, attempts, |code| {
                code.load(R0, top);
                code.jump_if(R0, Test::Equal, 0, end);
                let found = code.label();
                for (pusher, next) in nexts.iter().enumerate() {
                    let skip = code.label();
                    code.jump_if(R0, Test::Different, pusher as u64 + 1, skip);
                    code.load(R2, *next);
                    code.jump(found);
                    code.place(skip);
                }
                code.place(found);
                code.compare_exchange(R1, top, R0, R2);
            });
            code.place(end);
            // A node is not its own successor; there is no node 0.
            let is_empty = code.label();
            code.jump_if(R0, Test::Equal, 0, is_empty);
            code.assert(R2, Test::Different, R0);
            code.place(is_empty);
        });
    }
    builder.parallel()
}

/// A consumer waits until there is something; the producers notify it under the mutex.
/// With `has_check` it looks before it waits, and no wake-up is lost; with spurious wake-ups it
/// then has no end of executions.
pub fn producer_consumer(producers: usize, has_check: bool, spurious: bool) -> Arc<Model> {
    let mut builder = Builder::new();
    let (mutex, condvar, ready) = (builder.mutex(), builder.condvar(), builder.cell(0));
    builder.thread(|code| {
        code.lock(mutex);
        if has_check {
            let (top, out) = (code.here(), code.label());
            code.load(R3, ready);
            code.jump_if(R3, Test::Different, 0, out);
            code.wait(condvar, mutex, spurious);
            code.jump(top);
            code.place(out);
        } else {
            code.wait(condvar, mutex, spurious);
        }
        code.unlock(mutex);
    });
    for _ in 0..producers {
        builder.thread(|code| {
            code.lock(mutex);
            code.store(ready, 1);
            code.push(Instruction::NotifyOne(condvar));
            code.unlock(mutex);
        });
    }
    builder.parallel()
}

/// A thread counts a cell up to `last`, another one fails if it reads the cell as these numbers,
/// one after the other. For that the two must be interrupted.
pub fn interrupted(numbers: &[u64], last: u64) -> Arc<Model> {
    let mut builder = Builder::new();
    let (cell, idle) = (builder.cell(0), builder.cell(0));
    builder.thread(|code| {
        let end = code.label();
        for (index, &number) in numbers.iter().enumerate() {
            code.load(R0, cell);
            match index + 1 == numbers.len() {
                true => code.assert(R0, Test::Different, number),
                false => code.jump_if(R0, Test::Different, number, end),
            }
        }
        code.place(end);
    });
    builder.thread(|code| {
        for number in 1..=last {
            code.store(cell, number);
        }
        code.load(R1, idle);
    });
    builder.parallel()
}
