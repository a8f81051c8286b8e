//! A strict order that is known in part and kept transitively closed.
//!
//! Nodes are numbered from 0. Each has a row of bits for what comes after it and one for what comes
//! before it. Beside them are the sets of the nodes that write each cell, in the same shape, so
//! that what a read must come before is a handful of operations on words.

/// The order would have a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contradiction;

/// A partial order of memory accesses, transitively closed, with the writers of each cell.
#[derive(Clone, Debug)]
pub(super) struct Order {
    /// Words per row.
    words: usize,
    length: usize,
    after: Vec<u64>,
    before: Vec<u64>,
    writers: Vec<u64>,
}

impl Order {
    /// No nodes, over a memory of so many cells.
    pub(super) fn new(cells: usize) -> Self {
        Order {
            words: 1,
            length: 0,
            after: Vec::new(),
            before: Vec::new(),
            writers: vec![0; cells],
        }
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// A new node, in no order with the others.
    pub(super) fn add_node(&mut self) -> usize {
        if self.length == self.words * 64 {
            self.widen();
        }
        let node = self.length;
        self.length += 1;
        self.after.resize(self.length * self.words, 0);
        self.before.resize(self.length * self.words, 0);
        node
    }

    fn widen(&mut self) {
        let old = self.words;
        self.words = old * 2;
        for rows in [&mut self.after, &mut self.before, &mut self.writers] {
            let mut wide = Vec::with_capacity(rows.len() * 2);
            for row in rows.chunks_exact(old) {
                wide.extend_from_slice(row);
                wide.resize(wide.len() + old, 0);
            }
            *rows = wide;
        }
    }

    /// Says that a node writes a cell.
    pub(super) fn mark_writer(&mut self, cell: usize, node: usize) {
        self.writers[cell * self.words + node / 64] |= 1 << (node % 64);
    }

    /// Whether one node is known to come before another.
    #[inline]
    pub(super) fn is_before(&self, one: usize, other: usize) -> bool {
        self.after[one * self.words + other / 64] >> (other % 64) & 1 == 1
    }

    /// Puts one node before another, with all that follows from it by transitivity.
    pub(super) fn require(&mut self, first: usize, second: usize) -> Result<(), Contradiction> {
        if first == second || self.is_before(second, first) {
            return Err(Contradiction);
        }
        if self.is_before(first, second) {
            return Ok(());
        }
        let words = self.words;
        spread(&mut self.after, words, &self.before, first, second);
        // The successors of `second` do not change: `second` does not come before `first`.
        spread(&mut self.before, words, &self.after, second, first);
        Ok(())
    }

    /// The nodes that write `cell`.
    pub(super) fn writers(&self, cell: usize) -> impl Iterator<Item = usize> + '_ {
        let row = &self.writers[cell * self.words..][..self.words];
        row.iter()
            .enumerate()
            .flat_map(|(word, &bits)| Bits(bits).map(move |bit| word * 64 + bit))
    }

    /// How many words of bits a row has.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// A word of the set of what comes after a node.
    #[inline]
    pub(super) fn after(&self, node: usize, word: usize) -> u64 {
        self.after[node * self.words + word]
    }

    /// A word of the set of what comes before a node.
    #[inline]
    pub(super) fn before(&self, node: usize, word: usize) -> u64 {
        self.before[node * self.words + word]
    }

    /// A word of the set of the writers of a cell.
    #[inline]
    pub(super) fn writers_word(&self, cell: usize, word: usize) -> u64 {
        self.writers[cell * self.words + word]
    }
}

/// `rows[p] ∪= rows[far] ∪ {far}` for `near` and every `p` beyond `near` on the other side.
fn spread(rows: &mut [u64], words: usize, other_side: &[u64], near: usize, far: usize) {
    for word in 0..words {
        let mut bits = other_side[near * words + word];
        if near / 64 == word {
            bits |= 1 << (near % 64);
        }
        for bit in Bits(bits) {
            let node = word * 64 + bit;
            for column in 0..words {
                let mut added = rows[far * words + column];
                if far / 64 == column {
                    added |= 1 << (far % 64);
                }
                rows[node * words + column] |= added;
            }
        }
    }
}

/// The positions of the ones of a word, lowest first.
pub(super) struct Bits(pub(super) u64);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fencepost_memory::Random;

    #[test]
    fn the_order_is_the_transitive_closure_of_what_was_required() {
        let mut random = Random::new(3);
        for _ in 0..200 {
            let nodes = 2 + random.below(90) as usize;
            let mut order = Order::new(2);
            for node in 0..nodes {
                assert_eq!(order.add_node(), node);
                order.mark_writer(node % 2, node);
            }
            let mut pairs = vec![vec![false; nodes]; nodes];
            for _ in 0..nodes * 2 {
                let (a, b) = (
                    random.below(nodes as u64) as usize,
                    random.below(nodes as u64) as usize,
                );
                let is_cycle = a == b || pairs[b][a];
                assert_eq!(order.require(a, b).is_err(), is_cycle);
                if is_cycle {
                    continue;
                }
                for p in 0..nodes {
                    for s in 0..nodes {
                        if (p == a || pairs[p][a]) && (s == b || pairs[b][s]) {
                            pairs[p][s] = true;
                        }
                    }
                }
            }
            for a in 0..nodes {
                for b in 0..nodes {
                    assert_eq!(order.is_before(a, b), pairs[a][b]);
                    assert_eq!(order.before(b, a / 64) >> (a % 64) & 1 == 1, pairs[a][b]);
                }
            }
            let odd: Vec<usize> = (0..nodes).filter(|node| node % 2 == 1).collect();
            assert_eq!(order.writers(1).collect::<Vec<_>>(), odd);
        }
    }
}
