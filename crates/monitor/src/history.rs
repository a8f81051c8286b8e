//! The writes of an interleaving that a query may still ask for, per address.
//!
//! Memory must not grow with the length of the interleaving, so from time to time the
//! writes that are no clock's latest known write to their address (nor, if that one also reads,
//! the latest before it that only writes) are forgotten. With
//! A addresses there are more than 2A clocks, each with a latest write to each of A
//! addresses; asking each for each would cost A² look-ups. Instead the clocks are put
//! in a tree whose nodes hold the meet and the join of the clocks below: where both
//! have nearly the same latest write, so has every clock between them, and the search
//! stops. What is kept is bounded by the number of clocks and addresses.

use fencepost_memory::Address;

use crate::violation::PlacedEvent;

/// The writes to one address in coherence order: the latest, and those before it that
/// have not been forgotten.
#[derive(Clone, Debug, Default)]
struct Writes {
    latest: Option<PlacedEvent>,
    earlier: Vec<PlacedEvent>,
}

impl Writes {
    /// How many of the writes are known; the latest counts as one more than the earlier ones.
    fn known(&self, is_known: impl Fn(&PlacedEvent) -> bool) -> usize {
        match &self.latest {
            Some(latest) if is_known(latest) => self.earlier.len() + 1,
            _ => known_prefix(&self.earlier, is_known),
        }
    }

    #[inline(never)]
    fn latest_earlier_where(
        &self,
        is_known: impl Fn(&PlacedEvent) -> bool,
    ) -> Option<&PlacedEvent> {
        self.earlier[..known_prefix(&self.earlier, is_known)].last()
    }
}

/// The writes of an interleaving, per address.
#[derive(Clone, Debug)]
pub(crate) struct WriteHistory {
    addresses: Vec<Writes>,
    held: usize,
    limit: usize,
}

/// Below this many writes nothing is ever forgotten.
const SMALL: usize = 1 << 14;
/// The number of writes per address after which writes are forgotten again.
const SLACK_PER_ADDRESS: usize = 32;

impl Default for WriteHistory {
    fn default() -> Self {
        WriteHistory {
            addresses: Vec::new(),
            held: 0,
            limit: SMALL,
        }
    }
}

impl WriteHistory {
    pub(crate) const BYTES_PER_ADDRESS: usize = size_of::<Writes>();

    /// Adds this many addresses.
    pub(crate) fn reserve(&mut self, addresses: usize) {
        self.addresses.reserve(addresses);
    }

    pub(crate) fn add_addresses(&mut self, count: usize) {
        let addresses = self.addresses.len() + count;
        self.addresses.resize_with(addresses, Writes::default);
        self.limit += SLACK_PER_ADDRESS * count;
    }

    #[inline]
    pub(crate) fn push(&mut self, address: Address, write: PlacedEvent) {
        let writes = &mut self.addresses[address.index()];
        if let Some(earlier) = writes.latest.replace(write) {
            writes.earlier.push(earlier);
            self.held += 1;
        }
    }

    /// Removes the latest write.
    pub(crate) fn pop(&mut self, address: Address) {
        let writes = &mut self.addresses[address.index()];
        writes.latest = writes.earlier.pop();
        self.held -= usize::from(writes.latest.is_some());
    }

    /// The number of writes to the address so far, forgotten ones included.
    #[inline]
    pub(crate) fn written(&self, address: Address) -> u64 {
        let latest = &self.addresses[address.index()].latest;
        latest.as_ref().map_or(0, |write| write.event.coherence.0)
    }

    #[inline]
    pub(crate) fn latest(&self, address: Address) -> Option<&PlacedEvent> {
        self.addresses[address.index()].latest.as_ref()
    }

    /// The write with this coherence index, unless it has been forgotten.
    pub(crate) fn find(&self, address: Address, coherence: u64) -> Option<&PlacedEvent> {
        let writes = &self.addresses[address.index()];
        let number = |write: &PlacedEvent| write.event.coherence.0;
        let earlier = writes.earlier.binary_search_by_key(&coherence, number);
        let latest = writes.latest.as_ref().filter(|w| number(w) == coherence);
        latest.or_else(|| earlier.ok().map(|index| &writes.earlier[index]))
    }

    /// The latest write of which `is_known` holds; it holds of a write whenever it holds
    /// of a later one.
    #[inline]
    pub(crate) fn latest_where(
        &self,
        address: Address,
        is_known: impl Fn(&PlacedEvent) -> bool,
    ) -> Option<&PlacedEvent> {
        let writes = &self.addresses[address.index()];
        match &writes.latest {
            Some(latest) if is_known(latest) => Some(latest),
            _ => writes.latest_earlier_where(is_known),
        }
    }

    /// As [`latest_where`](Self::latest_where), among the writes that do not read.
    pub(crate) fn latest_store_where(
        &self,
        address: Address,
        is_known: impl Fn(&PlacedEvent) -> bool,
    ) -> Option<&PlacedEvent> {
        let writes = &self.addresses[address.index()];
        let known = writes.known(is_known);
        let earlier = &writes.earlier[..known.min(writes.earlier.len())];
        let latest = writes.latest.iter().filter(|_| known > earlier.len());
        let mut newest_first = latest.chain(earlier.iter().rev());
        newest_first.find(|write| only_writes(write))
    }

    /// Whether it is time to forget.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.held >= self.limit
    }

    /// Forgets every write that is not the latest known write of one of the `clocks`
    /// (values by thread).
    pub(crate) fn forget_all_but_latest_of(&mut self, clocks: &[&[u64]]) {
        let tree = ClockTree::new(clocks);
        let mut keep = Vec::new();
        self.held = 0;
        for writes in &mut self.addresses {
            if writes.earlier.is_empty() {
                continue;
            }
            keep.clear();
            keep.resize(writes.earlier.len(), false);
            tree.mark_latest(writes, &mut keep);
            keep_stores_below(writes, &mut keep);
            let mut flags = keep.iter();
            writes
                .earlier
                .retain(|_| *flags.next().expect("as many flags as writes"));
            if writes.earlier.capacity() > 64.max(4 * writes.earlier.len()) {
                writes.earlier.shrink_to(2 * writes.earlier.len());
            }
            self.held += writes.earlier.len();
        }
        self.limit = SMALL + 2 * self.held + SLACK_PER_ADDRESS * self.addresses.len();
    }

    pub(crate) fn reset(&mut self) {
        for writes in &mut self.addresses {
            writes.latest = None;
            writes.earlier.clear();
        }
        self.held = 0;
    }

    /// The bytes held beyond [`Self::BYTES_PER_ADDRESS`].
    pub(crate) fn memory(&self) -> usize {
        // Twice what is in use: the lists grow by doubling.
        2 * self.held.max(self.limit.min(SMALL)) * size_of::<PlacedEvent>()
    }

    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

/// Whether a write is no read-modify-write.
fn only_writes(write: &PlacedEvent) -> bool {
    !write.event.operation().reads()
}

/// The length of the prefix of `writes` that is known, looking from the end in growing
/// strides, because the answer is mostly near the end.
#[inline]
fn known_prefix(writes: &[PlacedEvent], is_known: impl Fn(&PlacedEvent) -> bool) -> usize {
    let mut unknown = writes.len();
    let mut stride = 1;
    while unknown > 0 {
        let probe = unknown.saturating_sub(stride);
        if is_known(&writes[probe]) {
            return probe + 1 + writes[probe + 1..unknown].partition_point(is_known);
        }
        unknown = probe;
        stride *= 2;
    }
    0
}

/// Keeps, below each read-modify-write that is kept, the latest write that only writes.
fn keep_stores_below(writes: &Writes, keep: &mut [bool]) {
    let mut is_wanted = writes.latest.as_ref().is_some_and(|w| !only_writes(w));
    for (write, keep) in writes.earlier.iter().zip(keep).rev() {
        let is_store = only_writes(write);
        *keep |= is_wanted && is_store;
        is_wanted = (is_wanted || *keep) && !is_store;
    }
}

/// The number of clocks at a leaf, which are searched one by one.
const LEAF: usize = 8;

/// Up to this many writes are kept without searching which of them are needed.
const NEARLY_THE_SAME: usize = 12;

/// A binary tree over clocks with the meet and the join of each subtree.
struct ClockTree<'a> {
    clocks: &'a [&'a [u64]],
    /// Nodes in the order of a heap: the children of `n` are `2n` and `2n + 1`; the
    /// leaves are the last half.
    bounds: Vec<u64>,
    leaves: usize,
    groups: usize,
}

impl<'a> ClockTree<'a> {
    fn new(clocks: &'a [&'a [u64]]) -> Self {
        let groups = clocks.first().map_or(0, |clock| clock.len());
        let leaves = clocks.len().div_ceil(LEAF).next_power_of_two();
        let mut tree = ClockTree {
            clocks,
            bounds: Vec::new(),
            leaves,
            groups,
        };
        // An empty subtree has an empty range of clocks: meet above join.
        tree.bounds.resize(2 * leaves * 2 * groups, 0);
        for node in (1..2 * leaves).rev() {
            let start = node * 2 * groups;
            for group in 0..groups {
                let (meet, join) = if node >= leaves {
                    let values = || tree.leaf(node).iter().map(|clock| clock[group]);
                    (
                        values().min().unwrap_or(u64::MAX),
                        values().max().unwrap_or(0),
                    )
                } else {
                    let (left, right) = (2 * node * 2 * groups, (2 * node + 1) * 2 * groups);
                    (
                        tree.bounds[left + group].min(tree.bounds[right + group]),
                        tree.bounds[left + groups + group].max(tree.bounds[right + groups + group]),
                    )
                };
                tree.bounds[start + group] = meet;
                tree.bounds[start + groups + group] = join;
            }
        }
        tree
    }

    fn leaf(&self, node: usize) -> &'a [&'a [u64]] {
        let start = ((node - self.leaves) * LEAF).min(self.clocks.len());
        &self.clocks[start..self.clocks.len().min(start + LEAF)]
    }

    /// How many of the writes a clock knows.
    fn known(writes: &Writes, clock: &[u64]) -> usize {
        writes.known(|write| write.event.issue.0 <= clock[write.thread().index()])
    }

    /// Sets the flags of the earlier writes that are some clock's latest known one, and of
    /// some more where that saves a search.
    fn mark_latest(&self, writes: &Writes, keep: &mut [bool]) {
        let mut mark = |known: usize| {
            // The latest write of all, and none at all, need no flag.
            if (1..=keep.len()).contains(&known) {
                keep[known - 1] = true;
            }
        };
        let mut pending = vec![1];
        while let Some(node) = pending.pop() {
            let bounds = &self.bounds[node * 2 * self.groups..][..2 * self.groups];
            let (meet, join) = bounds.split_at(self.groups);
            if self.is_empty(node) {
                continue;
            }
            let (least, most) = (Self::known(writes, meet), Self::known(writes, join));
            if most - least <= NEARLY_THE_SAME {
                (least..=most).for_each(&mut mark);
            } else if node >= self.leaves {
                let clocks = self.leaf(node).iter();
                clocks.for_each(|clock| mark(Self::known(writes, clock)));
            } else {
                pending.extend([2 * node, 2 * node + 1]);
            }
        }
    }

    fn is_empty(&self, node: usize) -> bool {
        // The leftmost leaf below `node`.
        let mut leaf = node;
        while leaf < self.leaves {
            leaf *= 2;
        }
        (leaf - self.leaves) * LEAF >= self.clocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::happens_before::HappensBefore;
    use fencepost_memory::{Access, OperationKind, Random, ThreadId};

    /// A history that forgets answers every query like one that does not.
    #[test]
    fn forgetting_changes_no_answer() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let threads = 2 + random.below(5);
            let addresses = 1 + random.below(40);
            let mut forgetful: HappensBefore = HappensBefore::default();
            let mut complete: HappensBefore = HappensBefore::default();
            for step in 0..3000 {
                // Thread 0 pauses for long stretches, so that old clocks come back.
                let thread = match step % 1000 {
                    0..10 => 0,
                    _ => 1 + random.below(threads - 1),
                };
                let kind = OperationKind::ALL[random.below(7) as usize];
                let address = Address(random.below(addresses) as u32);
                let access = Access::new(ThreadId(thread as u32), kind.at(address));
                for before in [&mut forgetful, &mut complete] {
                    before.admit(&access);
                    let placed = before.place(access);
                    before.add(placed);
                }
                if step % 50 == 0 {
                    forgetful.forget_unreachable_writes_now();
                }
                for thread in 0..forgetful.thread_count() {
                    for address in 0..forgetful.address_count() {
                        let (thread, address) = (ThreadId(thread as u32), Address(address as u32));
                        assert_eq!(
                            forgetful.latest_known_write(thread, address),
                            complete.latest_known_write(thread, address),
                            "seed {seed}, step {step}"
                        );
                        assert_eq!(
                            forgetful.latest_known_store(thread, address),
                            complete.latest_known_store(thread, address),
                            "seed {seed}, step {step}"
                        );
                    }
                }
            }
            assert!(forgetful.writes_held() < complete.writes_held());
        }
    }

    /// A thread that stops after its first event does not keep history alive.
    #[test]
    fn the_history_is_bounded() {
        let mut before: HappensBefore = HappensBefore::default();
        let mut random = Random::new(3);
        let mut most = 0;
        for step in 0..2_000_000 {
            let thread = if step == 0 { 3 } else { random.below(3) };
            let kind = [OperationKind::Load, OperationKind::Store][random.below(2) as usize];
            let access = Access::new(
                ThreadId(thread as u32),
                kind.at(Address(random.below(32) as u32)),
            );
            before.admit(&access);
            let placed = before.place(access);
            before.add(placed);
            most = most.max(before.writes_held());
        }
        assert!(most < 2 * SMALL, "{most} writes held");
        before.forget_unreachable_writes_now();
        assert!(before.writes_held() < 32 * 150, "{}", before.writes_held());
    }
}
