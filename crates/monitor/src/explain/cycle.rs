//! The happens-before cycle that a witness closes.

use fencepost_memory::{Event, MemoryModel, Operation, order};

use super::slice::Slice;
use super::{CycleEvent, ExplainError, Relation, unsound};

impl Slice {
    /// A shortest happens-before cycle through the pending write and the overtaking event.
    pub(super) fn cycle(
        &self,
        model: MemoryModel,
        in_trace: &[&Event],
    ) -> Result<Vec<CycleEvent>, ExplainError> {
        let path = self.shortest_path();
        let mut cycle = Vec::with_capacity(path.len());
        for (at, &index) in path.iter().enumerate() {
            let next = path[(at + 1) % path.len()];
            let (from, to) = (in_trace[index], in_trace[next]);
            let Some(relation) = relation_between(from, to) else {
                return Err(unsound(format!("{from} is not ordered before {to}")));
            };
            let is_kept = match relation {
                Relation::ProgramOrder => self.is_program_order_kept(model, index, next),
                // The path takes no edge into a load that may read its own thread's buffer.
                Relation::ReadsFrom
                | Relation::Coherence
                | Relation::FromRead
                | Relation::CoherenceThenReadsFrom => true,
            };
            cycle.push(CycleEvent {
                event: self.events[index].placed,
                relation,
                is_kept,
            });
        }
        Ok(cycle)
    }

    /// Whether the model keeps two events of one thread in order: by itself, or because of what the
    /// thread does in between, such as a fence.
    fn is_program_order_kept(&self, model: MemoryModel, from: usize, to: usize) -> bool {
        let thread = self.events[from].thread;
        // What is kept after `from`, and how many barriers came before it. Of equal operations the
        // earliest is enough: it has all the barriers that a later one has.
        let mut after = vec![(self.events[from].operation(), 0)];
        let mut barriers = 0;
        for index in from + 1..=to {
            let event = &self.events[index];
            if event.thread != thread {
                continue;
            }
            let operation = event.operation();
            let is_kept = after.iter().any(|&(earlier, barriers_before)| {
                model.keeps(earlier, operation, barriers > barriers_before)
            });
            if index == to {
                return is_kept;
            }
            if is_kept && after.iter().all(|&(known, _)| known != operation) {
                after.push((operation, barriers));
            }
            barriers += u64::from(operation == Operation::StoreBarrier);
        }
        false
    }

    /// The fewest events from the pending write to the overtaking one, each ordered before the next
    /// by program order or conflict order. Where a load reads its own thread's store, that store is
    /// ordered before it: the model may not keep the order of other threads' writes before a load
    /// that reads its buffer, and then the order that a fence could keep is that of the two.
    fn shortest_path(&self) -> Vec<usize> {
        /// The best predecessor so far: how far from the start, and which event. Of equally
        /// near ones the latest, because it is the one whose value is read.
        #[derive(Clone, Copy)]
        struct Nearest(Option<(usize, usize)>);
        impl Nearest {
            fn offer(&mut self, distance: usize, index: usize) {
                if self.0.is_none_or(|(best, _)| distance <= best) {
                    self.0 = Some((distance, index));
                }
            }
            fn or(self, other: Nearest) -> Nearest {
                match (self.0, other.0) {
                    (Some(a), Some(b)) if b.0 < a.0 => other,
                    (None, _) => other,
                    _ => self,
                }
            }
        }
        #[derive(Clone, Copy)]
        struct OfAddress {
            writes: Nearest,
            accesses: Nearest,
            last_writer: Option<usize>,
        }
        let none = Nearest(None);
        let unused = OfAddress {
            writes: none,
            accesses: none,
            last_writer: None,
        };
        let mut of_thread = vec![none; self.threads];
        let mut of_address = vec![unused; self.addresses];
        let mut predecessor = vec![usize::MAX; self.events.len()];
        for (index, event) in self.events.iter().enumerate() {
            let last = index + 1 == self.events.len();
            let mut nearest = of_thread[event.thread];
            // In the witness the overtaking event is ordered before, not after, the
            // writes that it overtakes; it is reached by program order.
            let writes = event.operation().writes();
            let mut of_address = event.address.map(|address| &mut of_address[address]);
            if let Some(of_address) = &mut of_address {
                let conflicting = match writes {
                    true => of_address.accesses,
                    false if of_address.last_writer == Some(event.thread) => none,
                    false => of_address.writes,
                };
                if !last {
                    nearest = nearest.or(conflicting);
                }
                if writes {
                    of_address.last_writer = Some(event.thread);
                }
            }
            let distance = match nearest.0 {
                _ if index == 0 => 0,
                None => continue,
                Some((distance, from)) => {
                    predecessor[index] = from;
                    distance + 1
                }
            };
            of_thread[event.thread].offer(distance, index);
            if let Some(of_address) = of_address {
                of_address.accesses.offer(distance, index);
                if writes {
                    of_address.writes.offer(distance, index);
                }
            }
        }
        let mut path = Vec::with_capacity(8);
        let mut index = self.events.len() - 1;
        while index != usize::MAX {
            path.push(index);
            index = predecessor[index];
        }
        path.reverse();
        path
    }
}

/// How `from` is ordered directly before `to`, if it is.
fn relation_between(from: &Event, to: &Event) -> Option<Relation> {
    if order::program_order(from, to) {
        return Some(Relation::ProgramOrder);
    }
    if !order::conflict_order(from, to) {
        return None;
    }
    Some(match (from.operation().writes(), to.operation().writes()) {
        (true, true) => Relation::Coherence,
        (false, _) => Relation::FromRead,
        (true, false) if from.coherence == to.coherence => Relation::ReadsFrom,
        (true, false) => Relation::CoherenceThenReadsFrom,
    })
}
