//! The monitors against their definitions, computed from the relations themselves: for
//! interleavings with many threads and addresses, which are too large for the brute-force
//! oracle. For relaxed-order that is `H > max(R, O)`; for the published monitors it is the
//! papers' pseudo-code, taken literally, on the papers' three kinds of operation.

use fencepost_memory::{
    Access, Address, Event, LockedDrains, MemoryModel, Operation, OperationKind, Random, ThreadId,
    Trace, order,
};

use crate::clocks::ThreadClocks;
use crate::runner::{MonitorLimits, MonitorRunner};
use crate::{BssPso, BssTso, Monitor, RelaxedOrderMonitor, Sober};

/// A set of events of a short interleaving, as bits.
type Set = Vec<u64>;

fn insert(set: &mut Set, index: usize) {
    set[index / 64] |= 1 << (index % 64);
}

fn contains(set: &Set, index: usize) -> bool {
    set[index / 64] >> (index % 64) & 1 == 1
}

fn unite(set: &mut Set, other: &Set) {
    set.iter_mut().zip(other).for_each(|(a, b)| *a |= b);
}

/// The relations of an interleaving, written down as the definitions have them.
struct Relations<'a> {
    model: MemoryModel,
    events: &'a [Event],
}

impl Relations<'_> {
    fn barrier_between(&self, earlier: usize, later: usize) -> bool {
        let thread = self.events[earlier].thread();
        self.events[earlier + 1..later]
            .iter()
            .any(|event| event.thread() == thread && event.operation() == Operation::StoreBarrier)
    }

    fn keeps(&self, earlier: usize, later: usize) -> bool {
        let (x, y) = (&self.events[earlier], &self.events[later]);
        x.thread() == y.thread()
            && self.model.keeps(
                x.operation(),
                y.operation(),
                self.barrier_between(earlier, later),
            )
    }

    /// Whether a plain load reads its own thread's store.
    fn reads_own_store(&self, load: usize) -> bool {
        let event = &self.events[load];
        matches!(event.operation(), Operation::Load(_))
            && self.events[..load].iter().any(|write| {
                write.operation().writes()
                    && write.operation().address() == event.operation().address()
                    && write.coherence == event.coherence
                    && write.thread() == event.thread()
            })
    }

    fn happens_before(&self, earlier: usize, later: usize) -> bool {
        order::happens_before(&self.events[earlier], &self.events[later])
    }

    fn relaxed_happens_before(&self, earlier: usize, later: usize) -> bool {
        let (x, y) = (&self.events[earlier], &self.events[later]);
        if x.thread() == y.thread() {
            return self.keeps(earlier, later);
        }
        order::conflict_order(x, y) && !(x.operation().writes() && self.reads_own_store(later))
    }

    /// For each event, itself and everything before it in the closure of the relation.
    fn closure(&self, related: impl Fn(&Self, usize, usize) -> bool) -> Vec<Set> {
        let count = self.events.len();
        let mut before: Vec<Set> = Vec::with_capacity(count);
        for later in 0..count {
            let mut set = vec![0; count.div_ceil(64)];
            insert(&mut set, later);
            for earlier in (0..later).rev() {
                if !contains(&set, earlier) && related(self, earlier, later) {
                    unite(&mut set, &before[earlier]);
                }
            }
            before.push(set);
        }
        before
    }

    /// For each event, whether it shows a violation.
    fn violations(&self) -> Vec<bool> {
        let hb = self.closure(Self::happens_before);
        let rhb = self.closure(Self::relaxed_happens_before);
        (0..self.events.len())
            .map(|next| {
                let event = &self.events[next];
                let Some(address) = event.operation().address() else {
                    return false;
                };
                let own = |index: &usize| self.events[*index].thread() == event.thread();
                let latest = |chosen: &dyn Fn(usize) -> bool| {
                    let writes = (0..next).filter(|&index| {
                        let operation = self.events[index].operation();
                        operation.writes() && operation.address() == Some(address) && chosen(index)
                    });
                    writes.map(|index| self.events[index].coherence.0).max()
                };
                let Some(last) = (0..next).rev().find(own) else {
                    return false;
                };
                let kept: Vec<usize> = (0..next).filter(|&x| self.keeps(x, next)).collect();
                let h = latest(&|write| contains(&hb[last], write));
                let r = latest(&|write| kept.iter().any(|&x| contains(&rhb[x], write)));
                let o = latest(&|write| own(&write));
                if matches!(event.operation(), Operation::Load(_)) {
                    return h > r.max(o);
                }
                // Only before a write that does not read.
                let stores = (0..next).filter(|&index| {
                    let operation = self.events[index].operation();
                    let is_store = operation.writes() && !operation.reads();
                    is_store && operation.address() == Some(address)
                });
                let mut numbers = stores.map(|index| Some(self.events[index].coherence.0));
                numbers.any(|number| number > r.max(o) && number <= h)
            })
            .collect()
    }
}

fn random_interleaving(random: &mut Random) -> Vec<Access> {
    let threads = 2 + random.below(18);
    let addresses = 1 + random.below(40);
    let length = 20 + random.below(200);
    // Few fences in some, many in others; some threads seldom run.
    let fences = random.below(20);
    (0..length)
        .map(|_| {
            let kind = match random.below(100) {
                n if n < fences => OperationKind::ALL[random.below(7) as usize],
                n if n < 2 * fences => OperationKind::Interlocked,
                n if n % 2 == 0 => OperationKind::Load,
                _ => OperationKind::Store,
            };
            let thread = random.below(threads).min(random.below(threads) + 2);
            let address = Address(random.below(addresses) as u32);
            Access::new(ThreadId(thread as u32), kind.at(address))
        })
        .collect()
}

fn follows_its_definition<M: Monitor, C: ThreadClocks>(
    runner: &mut MonitorRunner<M, C>,
    accesses: &[Access],
    forget_every: usize,
) -> usize {
    let trace = Trace::of_interleaving(accesses);
    let relations = Relations {
        model: runner.monitor().model(),
        events: trace.events(),
    };
    runner.reset();
    let mut count = 0;
    for (index, expected) in relations.violations().into_iter().enumerate() {
        let violation = runner.observe(accesses[index]).expect("no limit");
        assert_eq!(
            violation.is_some(),
            expected,
            "event {index} of {accesses:?}"
        );
        if let Some(violation) = violation {
            count += 1;
            if count <= 2 {
                let explained = runner.explain(&violation);
                assert!(explained.is_ok(), "{explained:?} in {accesses:?}");
            }
        }
        if index % forget_every == 0 {
            runner.forget_unreachable_writes_now();
        }
    }
    count
}

#[test]
fn relaxed_order_follows_its_definition_on_wide_interleavings() {
    let limits = MonitorLimits {
        witness_window: 256,
        ..MonitorLimits::default()
    };
    let mut random = Random::new(77);
    let mut violations = 0;
    for _ in 0..1000 {
        let accesses = random_interleaving(&mut random);
        let forget_every = 1 + random.below(20) as usize;
        let mut tso = MonitorRunner::with_limits(RelaxedOrderMonitor::tso(), limits);
        violations += follows_its_definition(&mut tso, &accesses, forget_every);
        let short = RelaxedOrderMonitor::tso_for_short_interleavings();
        let mut short = MonitorRunner::rewindable(short, limits);
        violations += follows_its_definition(&mut short, &accesses, forget_every);
        for locked in [LockedDrains::Everything, LockedDrains::OwnAddress] {
            let mut pso = MonitorRunner::with_limits(RelaxedOrderMonitor::pso(locked), limits);
            violations += follows_its_definition(&mut pso, &accesses, forget_every);
            let mut short = MonitorRunner::rewindable(RelaxedOrderMonitor::pso(locked), limits);
            violations += follows_its_definition(&mut short, &accesses, forget_every);
        }
    }
    assert!(violations > 1000, "{violations}");
}

/// SOBER section 3.2 as printed: happens-before without program order from stores to loads.
fn printed_relaxed_happens_before(relations: &Relations, earlier: usize, later: usize) -> bool {
    let (x, y) = (&relations.events[earlier], &relations.events[later]);
    let is_relaxed = order::program_order(x, y)
        && matches!(
            (x.operation(), y.operation()),
            (Operation::Store(_), Operation::Load(_))
        );
    order::happens_before(x, y) && !is_relaxed
}

/// SOBER Fig. 2.
fn sober_violations(relations: &Relations) -> Vec<bool> {
    let events = relations.events;
    let hb = relations.closure(Relations::happens_before);
    let rhb = relations.closure(printed_relaxed_happens_before);
    let judge = |k: usize| {
        let Operation::Load(a) = events[k].operation() else {
            return false;
        };
        let of_thread = |x: &usize| events[*x].thread() == events[k].thread();
        let last = (0..k).rev().find(of_thread);
        let last_read = (0..k)
            .rev()
            .find(|x| of_thread(x) && events[*x].operation().reads());
        let writes = (0..k).rev().filter(|&x| {
            let operation = events[x].operation();
            operation.writes() && operation.address() == Some(a)
        });
        for write in writes {
            if of_thread(&write) || last_read.is_some_and(|r| contains(&rhb[r], write)) {
                return false;
            }
            if last.is_some_and(|l| contains(&hb[l], write)) {
                return true;
            }
        }
        false
    };
    (0..events.len()).map(judge).collect()
}

/// BSS Fig. 4 and Fig. 5; `per_address` chooses the second.
fn bss_violations(relations: &Relations, per_address: bool) -> Vec<bool> {
    let events = relations.events;
    let hb = relations.closure(Relations::happens_before);
    // What is buffered, oldest first, of all threads.
    let mut buffered: Vec<usize> = Vec::new();
    let judge = |i: usize| {
        let event = &events[i];
        let address = event.operation().address();
        let on_address = |x: usize| events[x].operation().address() == address;
        let pending = buffered.iter().rev().copied().find(|&x| on_address(x));
        let mut violated = false;
        if let Some(e) = pending {
            let is_other = events[e].thread() != event.thread();
            let previous = (0..i).rev().find(|&x| events[x].thread() == event.thread());
            violated = is_other && previous.is_some_and(|prev| contains(&hb[prev], e));
            if per_address && (is_other || event.operation().writes()) {
                buffered.retain(|&x| events[x].thread() != events[e].thread() || !on_address(x));
            } else if !per_address && is_other {
                buffered.retain(|&x| events[x].thread() != events[e].thread() || x > e);
            }
        }
        match event.operation() {
            Operation::Interlocked(_) => buffered
                .retain(|&x| events[x].thread() != event.thread() || per_address && !on_address(x)),
            Operation::Store(_) => buffered.push(i),
            _ => {}
        }
        violated
    };
    (0..events.len()).map(judge).collect()
}

fn reported<M: Monitor>(monitor: M, accesses: &[Access]) -> Vec<bool> {
    let mut runner = MonitorRunner::new(monitor);
    let mut observe = |&access| runner.observe(access).expect("no limit").is_some();
    accesses.iter().map(&mut observe).collect()
}

#[test]
fn the_published_monitors_follow_their_pseudo_code() {
    let mut random = Random::new(4);
    let mut violations = [0; 3];
    for _ in 0..1000 {
        let mut accesses = random_interleaving(&mut random);
        accesses.retain(|access| {
            let kind = access.operation.kind();
            kind <= OperationKind::Interlocked
        });
        let trace = Trace::of_interleaving(&accesses);
        let relations = Relations {
            model: MemoryModel::TSO,
            events: trace.events(),
        };
        let expected = [
            sober_violations(&relations),
            bss_violations(&relations, false),
            bss_violations(&relations, true),
        ];
        let found = [
            reported(Sober::default(), &accesses),
            reported(BssTso::default(), &accesses),
            reported(BssPso::default(), &accesses),
        ];
        for (count, verdicts) in violations.iter_mut().zip(&expected) {
            *count += verdicts.iter().filter(|&&violated| violated).count();
        }
        for (name, (found, expected)) in ["sober", "bss-tso", "bss-pso"]
            .into_iter()
            .zip(found.iter().zip(&expected))
        {
            let differs = (0..accesses.len()).find(|&i| found[i] != expected[i]);
            assert_eq!(differs, None, "{name} at this event of {accesses:?}");
        }
    }
    assert!(violations.iter().all(|&n| n > 300), "{violations:?}");
}
