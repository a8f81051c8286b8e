//! All executions that the judge accepts, found by trying everything: every value for every read, every
//! write for every read, and every order of all accesses.

use std::collections::BTreeSet;

use fencepost_litmus::code::Operation;
use fencepost_litmus::execution::{Action, Candidate, Event, EventId, Execution};
use fencepost_litmus::judge;
use fencepost_litmus::test::{CellId, Test};
use fencepost_litmus::thread::{Layout, Pending, Runner};
use fencepost_memory::MemoryModel;

/// What each read reads from, and the writes to each cell in memory order.
pub type ReadsFromAndCoherence = (Vec<Event>, Vec<Option<EventId>>, Vec<Vec<EventId>>);

/// What brute force finds.
#[derive(Default)]
pub struct Everything {
    /// The observed final states.
    pub states: BTreeSet<Vec<u64>>,
    /// The executions, without what memory orders differ in besides.
    pub executions: BTreeSet<ReadsFromAndCoherence>,
    /// Whether happens-before of one of them has a cycle.
    pub has_cyclic_trace: bool,
}

/// Everything that the judge accepts. The test has no loops and few accesses.
pub fn everything(test: &Test, model: &MemoryModel) -> Everything {
    let mut found = Everything::default();
    for events in event_lists(test) {
        let accesses: Vec<EventId> = (0..events.len() as u32)
            .map(EventId)
            .filter(|id| events[id.index()].action.cell().is_some())
            .collect();
        let mut orders = Vec::new();
        permutations(&mut accesses.clone(), 0, &mut |order| {
            orders.push(order.to_vec())
        });
        for reads_from in reads_from_maps(test, &events) {
            for memory_order in &orders {
                let execution = Execution {
                    events: events.clone(),
                    reads_from: reads_from.clone(),
                    memory_order: memory_order.clone(),
                };
                if let Ok(state) = judge::check(test, model, &execution) {
                    found.states.insert(state.observed(test));
                    let key = key(test, &execution);
                    if !found.executions.contains(&key) {
                        found.has_cyclic_trace |= is_cyclic(&key);
                        found.executions.insert(key);
                    }
                }
            }
        }
    }
    found
}

/// All candidates: every value for every read, every write for every read, except its own of a
/// locked instruction, and every order of the writes to each cell. The test has no loops.
pub fn candidates(test: &Test) -> Vec<Candidate> {
    let mut found = Vec::new();
    for events in event_lists(test) {
        let mut orders = vec![Vec::new()];
        for cell in 0..test.cells.len() as u32 {
            let is_write = |id: &EventId| {
                let action = events[id.index()].action;
                action.is_write() && action.cell() == Some(CellId(cell))
            };
            let mut writes: Vec<EventId> = (0..events.len() as u32)
                .map(EventId)
                .filter(is_write)
                .collect();
            let mut of_cell = Vec::new();
            permutations(&mut writes, 0, &mut |order| of_cell.push(order.to_vec()));
            orders = orders
                .iter()
                .flat_map(|others: &Vec<Vec<EventId>>| {
                    of_cell.iter().map(move |order| {
                        let mut all = others.clone();
                        all.push(order.clone());
                        all
                    })
                })
                .collect();
        }
        let reads_itself = |map: &[Option<EventId>]| {
            map.iter().enumerate().any(|(read, source)| {
                let write = source.map(|source| &events[source.index()]);
                let read = &events[read];
                write.is_some_and(|write| {
                    write.locked && (write.thread, write.instance) == (read.thread, read.instance)
                })
            })
        };
        for reads_from in reads_from_maps(test, &events) {
            if reads_itself(&reads_from) {
                continue;
            }
            found.extend(orders.iter().map(|coherence| Candidate {
                events: events.clone(),
                reads_from: reads_from.clone(),
                coherence: coherence.clone(),
            }));
        }
    }
    found
}

/// What makes two executions the same.
pub fn key(test: &Test, execution: &Execution) -> ReadsFromAndCoherence {
    let mut coherence = vec![Vec::new(); test.cells.len()];
    for &id in &execution.memory_order {
        if let Action::Write(cell, _) = execution.event(id).action {
            coherence[cell.index()].push(id);
        }
    }
    (
        execution.events.clone(),
        execution.reads_from.clone(),
        coherence,
    )
}

/// Whether happens-before, which is program order, reads-from, coherence and from-reads, has a cycle.
/// Events of one locked instruction are one.
pub fn is_cyclic((events, reads_from, coherence): &ReadsFromAndCoherence) -> bool {
    let count = events.len();
    let node_of = |index: usize| {
        let same = |other: &Event| {
            other.locked
                && (other.thread, other.instance) == (events[index].thread, events[index].instance)
        };
        match events[index].locked {
            true => events.iter().position(same).unwrap_or(index),
            false => index,
        }
    };
    let mut before = vec![vec![false; count]; count];
    let mut add = |one: usize, other: usize| {
        if node_of(one) != node_of(other) {
            before[node_of(one)][node_of(other)] = true;
        }
    };
    for later in 0..count {
        for earlier in 0..later {
            if events[earlier].thread == events[later].thread {
                add(earlier, later);
            }
        }
    }
    for writes in coherence {
        for pair in writes.windows(2) {
            add(pair[0].index(), pair[1].index());
        }
    }
    for read in 0..count {
        let Action::Read(cell, _) = events[read].action else {
            continue;
        };
        let writes = &coherence[cell.index()];
        let mut newer = 0;
        if let Some(source) = reads_from[read] {
            add(source.index(), read);
            newer = 1 + writes.iter().position(|&write| write == source).unwrap();
        }
        for write in &writes[newer..] {
            add(read, write.index());
        }
    }
    for middle in 0..count {
        for one in 0..count {
            for other in 0..count {
                before[one][other] |= before[one][middle] && before[middle][other];
            }
        }
    }
    (0..count).any(|node| before[node][node])
}

fn permutations(ids: &mut [EventId], from: usize, visit: &mut impl FnMut(&[EventId])) {
    if from == ids.len() {
        visit(ids);
        return;
    }
    for index in from..ids.len() {
        ids.swap(from, index);
        permutations(ids, from + 1, visit);
        ids.swap(from, index);
    }
}

/// Every way to give each read a write of the same cell and value, or the initial content.
fn reads_from_maps(test: &Test, events: &[Event]) -> Vec<Vec<Option<EventId>>> {
    let mut maps = vec![vec![None; events.len()]];
    for (read, event) in events.iter().enumerate() {
        let Action::Read(cell, value) = event.action else {
            continue;
        };
        let ids = (0..events.len() as u32).map(EventId);
        let mut sources: Vec<Option<EventId>> = ids
            .filter(|id| events[id.index()].action == Action::Write(cell, value))
            .map(Some)
            .collect();
        if test.cells[cell.index()].initial == value {
            sources.push(None);
        }
        maps = sources
            .iter()
            .flat_map(|&source| {
                maps.iter().map(move |map| {
                    let mut map = map.clone();
                    map[read] = source;
                    map
                })
            })
            .collect();
    }
    maps
}

/// The events of all threads, for all values that reads may have.
fn event_lists(test: &Test) -> Vec<Vec<Event>> {
    let mut values: Vec<BTreeSet<u64>> = test
        .cells
        .iter()
        .map(|cell| BTreeSet::from([cell.initial]))
        .collect();
    // A chain of writes is no longer than there are stores. Some more values do no harm.
    let operations = test.threads.iter().flat_map(|thread| &thread.operations);
    let stores = operations.filter(|operation| matches!(operation, Operation::Store { .. }));
    let most_rounds = stores.count() + 2;
    let mut runs = Vec::new();
    for _ in 0..most_rounds {
        runs = (0..test.threads.len())
            .map(|thread| thread_runs(test, thread, &values))
            .collect();
        let before = values.clone();
        for event in runs.iter().flatten().flatten() {
            if let Action::Write(cell, value) = event.action {
                values[cell.index()].insert(value);
            }
        }
        if values == before {
            break;
        }
    }
    let mut lists = vec![Vec::new()];
    for runs in &runs {
        lists = lists
            .iter()
            .flat_map(|list: &Vec<Event>| {
                runs.iter().map(move |run| {
                    let mut list = list.clone();
                    list.extend(run);
                    list
                })
            })
            .collect();
    }
    // Only those whose reads can have their values from somewhere.
    lists.retain(|list| !reads_from_maps(test, list).is_empty());
    lists
}

#[derive(Clone)]
struct Partial {
    position: u32,
    registers: Vec<u64>,
    events: Vec<Event>,
    locked: bool,
}

fn thread_runs(test: &Test, thread: usize, values: &[BTreeSet<u64>]) -> Vec<Vec<Event>> {
    let layout = Layout::new(test);
    let source = &test.threads[thread];
    let mut stack = vec![Partial {
        position: 0,
        registers: source.registers.iter().map(|r| r.initial).collect(),
        events: Vec::new(),
        locked: false,
    }];
    let mut runs = Vec::new();
    while let Some(mut partial) = stack.pop() {
        let mut runner = Runner {
            thread,
            test,
            layout: &layout,
            position: &mut partial.position,
            registers: &mut partial.registers,
        };
        let actions: Vec<Action> = match runner.advance().expect("no faults") {
            Pending::Ended => {
                runs.push(partial.events);
                continue;
            }
            pending @ (Pending::BeginLocked | Pending::EndLocked) => {
                runner.passed();
                partial.locked = pending == Pending::BeginLocked;
                stack.push(partial);
                continue;
            }
            Pending::Load(cell) => {
                let values = values[cell.index()].iter();
                values.map(|&value| Action::Read(cell, value)).collect()
            }
            Pending::Store(cell, value) => vec![Action::Write(cell, value)],
            Pending::Fence(fence) => vec![Action::Fence(fence)],
        };
        for action in actions {
            let mut next = partial.clone();
            let instruction = source.instruction_of[next.position as usize];
            let instance = match next.events.last() {
                None => 0,
                Some(last) if last.instruction == instruction => last.instance,
                Some(last) => last.instance + 1,
            };
            next.events.push(Event {
                thread: thread as u32,
                instance,
                instruction,
                locked: next.locked,
                action,
            });
            let mut runner = Runner {
                thread,
                test,
                layout: &layout,
                position: &mut next.position,
                registers: &mut next.registers,
            };
            match action {
                Action::Read(_, value) => runner.loaded(value),
                _ => runner.passed(),
            }
            stack.push(next);
        }
    }
    runs
}
