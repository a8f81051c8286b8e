//! Symmetry reduction: one state represents all its permutations.
//!
//! Ip and Dill, "Better Verification Through Symmetry", prove that this is sound. The
//! representative is found as in graph canonicalisation (McKay, "Practical Graph Isomorphism"):
//! each value of a scalarset gets a *colour*, a hash of all that is said about it, made of the
//! colours of the other values, again and again until no more values are told apart. Sorted by
//! colour, the values have new numbers. Where values still have the same colour, either any order
//! will do because exchanging them changes nothing, or each is tried first in turn, and the least
//! state of all is taken.
//!
//! Colours depend only on what is the same in all permutations of a state. So what is found
//! is the same for all of them. If different values happen to get the same colour, more is
//! tried, and nothing goes wrong.

mod colours;
mod shape;

use fencepost_memory::random::SplitMix64;

use super::multisets::sort;
use super::{bytes_of, bytes_of_mut};
use crate::compile::Layout;
use crate::model::Model;
use colours::NO_VALUE;
use shape::{Array, Node, Part, Shapes};

/// How thoroughly symmetric states are recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// One order of the indistinguishable values is taken.
    Fast,
    /// All orders that make a difference are tried.
    Full,
}

/// No more orders are tried for one state: all of seven values. Then symmetric states may count
/// several times, as with [`Effort::Fast`].
const MOST_TRIES: u32 = 5040;

/// So few colours are compared each with each.
const FEW: usize = 16;

/// Computes the representative of a state.
pub(crate) struct Canonical {
    shapes: Shapes,
    effort: Effort,
    /// The colour of each value of each scalarset.
    colours: Vec<u64>,
    /// What is added up for each value in a round.
    signs: Vec<u64>,
    /// Whether a value occurs in the state.
    is_held: Vec<bool>,
    /// For each kind and each value that can be stored: its colour, or a hash of it.
    of_stored: Vec<u64>,
    /// For each kind and each value that can be stored: its number among those of all scalarsets.
    number_of: Vec<u32>,
    /// For each kind and each value that can be stored: what is stored for its new number.
    new_stored: Vec<u8>,
    /// The new number of each value.
    image: Vec<u32>,
    best: Vec<u64>,
    tried: Vec<u64>,
    order: Vec<u32>,
    /// The number of orders tried for the state.
    tries: u32,
    /// Where values of scalarsets are in the tables for what can be stored: the place, the number
    /// of the value, that of the first one of its scalarset, and what is stored for that.
    held_stored: Vec<(usize, usize, usize, usize)>,
}

impl Canonical {
    /// Nothing if the model has no scalarset with something to permute.
    pub fn new(model: &Model, layout: &Layout, effort: Effort) -> Option<Canonical> {
        let shapes = Shapes::new(model, layout)?;
        let values = shapes.values;
        let stored = shapes.kinds.last().map_or(0, |kind| kind.at + kind.size);
        let mut number_of = vec![NO_VALUE; stored];
        let mut of_stored = vec![0; stored];
        for kind in &shapes.kinds {
            for stored in 0..kind.size {
                of_stored[kind.at + stored] = stored as u64;
                if let Some((number, ..)) = kind.value(stored) {
                    number_of[kind.at + stored] = number as u32;
                }
            }
        }
        Some(Canonical {
            of_stored,
            number_of,
            new_stored: (0..stored).map(|at| at as u8).collect(),
            held_stored: shapes.held_stored(),
            shapes,
            effort,
            colours: vec![0; values],
            signs: vec![0; values],
            is_held: vec![false; values],
            image: vec![0; values],
            best: vec![0; layout.masks.len()],
            tried: vec![0; layout.masks.len()],
            order: Vec::with_capacity(values),
            tries: 0,
        })
    }

    /// Replaces a state by its representative. Its multisets are sorted before and after. Returns
    /// whether the representative is certainly the same for all permutations.
    pub fn canonicalise(&mut self, state: &mut [u64]) -> bool {
        for (number, set) in self.shapes.sets.iter().enumerate() {
            let first = colours::mix(number as u64 + 1, 0x51);
            self.colours[set.values()].fill(first);
        }
        self.refine(state);
        let tied = self.first_tie();
        if tied.is_none() || self.effort == Effort::Fast {
            self.rank();
            if !self.is_identity() {
                self.permute(state);
                state.copy_from_slice(&self.tried);
            }
            return tied.is_none();
        }
        let mut has_best = false;
        self.tries = 0;
        let colours = self.colours.clone();
        self.try_all(state, &colours, &mut has_best);
        state.copy_from_slice(&self.best);
        self.tries < MOST_TRIES
    }

    /// How many permutations there are, or the greatest number if there are more.
    pub fn permutations(&self) -> u64 {
        let factors = self
            .shapes
            .sets
            .iter()
            .flat_map(|set| 1..=u64::from(set.size));
        factors.fold(1, u64::saturating_mul)
    }

    /// Replaces a state by a permutation of it, by its number.
    pub fn permute_by_number(&mut self, state: &mut [u64], mut number: u64) {
        self.permute_by(state, |many| {
            let choice = number % many;
            number /= many;
            choice
        });
    }

    /// Replaces a state by some permutation of it.
    pub fn shuffle(&mut self, state: &mut [u64], random: &mut SplitMix64) {
        self.permute_by(state, |many| random.below(many));
    }

    /// Replaces a state by a permutation of it. Each choice is one of so many.
    fn permute_by(&mut self, state: &mut [u64], mut choose: impl FnMut(u64) -> u64) {
        for set in &self.shapes.sets {
            let image = &mut self.image[set.values()];
            for (value, number) in (0..).zip(image.iter_mut()) {
                *number = value;
            }
            for at in (1..image.len()).rev() {
                image.swap(at, choose(at as u64 + 1) as usize);
            }
        }
        self.permute(state);
        state.copy_from_slice(&self.tried);
    }

    /// The values with the least colour that several have, if any order of them may matter.
    fn first_tie(&mut self) -> Option<Vec<u32>> {
        let sets = std::mem::take(&mut self.shapes.sets);
        let mut found = None;
        for set in &sets {
            self.order.clear();
            self.order.extend(set.first..set.first + set.size);
            let colours = &self.colours;
            self.order
                .sort_unstable_by_key(|&value| colours[value as usize]);
            let classes = self
                .order
                .chunk_by(|&a, &b| colours[a as usize] == colours[b as usize]);
            for class in classes.filter(|class| class.len() > 1) {
                let is_free = set.is_plain && class.iter().all(|&v| !self.is_held[v as usize]);
                if !is_free {
                    found = Some(class.to_vec());
                    break;
                }
            }
            if found.is_some() {
                break;
            }
        }
        self.shapes.sets = sets;
        found
    }

    /// Tries each value of the first tie before the others of it. `colours` are those now.
    fn try_all(&mut self, state: &[u64], colours: &[u64], has_best: &mut bool) {
        self.colours.copy_from_slice(colours);
        let Some(tied) = self.first_tie() else {
            self.tries += 1;
            self.rank();
            self.permute(state);
            if !*has_best || self.tried < self.best {
                std::mem::swap(&mut self.tried, &mut self.best);
                *has_best = true;
            }
            return;
        };
        let mut different: Vec<u32> = Vec::new();
        for &value in &tied {
            if self.tries >= MOST_TRIES {
                return;
            }
            let is_like_another = different
                .iter()
                .any(|&other| self.exchange_changes_nothing(state, value, other));
            if is_like_another {
                continue;
            }
            different.push(value);
            self.colours.copy_from_slice(colours);
            let colour = &mut self.colours[value as usize];
            *colour = colours::mix(*colour, 0x0dd);
            self.refine(state);
            let refined = self.colours.clone();
            self.try_all(state, &refined, has_best);
        }
    }

    /// Whether a state is the same after two values of a scalarset are exchanged.
    fn exchange_changes_nothing(&mut self, state: &[u64], left: u32, right: u32) -> bool {
        for set in &self.shapes.sets {
            for value in set.values() {
                self.image[value] = value as u32 - set.first;
            }
        }
        self.image.swap(left as usize, right as usize);
        self.permute(state);
        self.tried == state
    }

    /// Tells values apart by what is said about them, until no more are told apart.
    fn refine(&mut self, state: &[u64]) {
        let bytes = bytes_of(state);
        let mut told_apart = self.count_colours();
        let mut is_first = true;
        loop {
            self.signs.fill(0);
            for &(at, number, ..) in &self.held_stored {
                self.of_stored[at] = self.colours[number];
            }
            if is_first {
                self.is_held.fill(false);
            }
            let mut signs = colours::Signatures {
                bytes,
                colours: &self.colours,
                of_stored: &self.of_stored,
                number_of: &self.number_of,
                signs: &mut self.signs,
                is_held: &mut self.is_held,
            };
            for (number, part) in self.shapes.parts.iter().enumerate() {
                // What does not depend on colours is said once.
                if is_first || part.node.is_deep_below() {
                    signs.add(
                        &part.node,
                        part.at as usize,
                        colours::mix(number as u64, 0x70),
                    );
                }
            }
            is_first = false;
            for (colour, sign) in self.colours.iter_mut().zip(&self.signs) {
                *colour = colours::mix(*colour, *sign);
            }
            let now = self.count_colours();
            if now == told_apart || now == self.colours.len() {
                return;
            }
            told_apart = now;
        }
    }

    /// The number of different colours.
    fn count_colours(&mut self) -> usize {
        let mut different = 0;
        for set in &self.shapes.sets {
            let colours = &self.colours[set.values()];
            if colours.len() > FEW {
                let mut sorted = colours.to_vec();
                sorted.sort_unstable();
                sorted.dedup();
                different += sorted.len();
                continue;
            }
            for (at, colour) in colours.iter().enumerate() {
                different += usize::from(!colours[..at].contains(colour));
            }
        }
        different
    }

    /// Numbers the values of each scalarset by their colours.
    fn rank(&mut self) {
        for set in &self.shapes.sets {
            self.order.clear();
            self.order.extend(set.first..set.first + set.size);
            let colours = &self.colours;
            self.order.sort_by_key(|&value| colours[value as usize]);
            for (rank, &value) in (0..).zip(&self.order) {
                self.image[value as usize] = rank;
            }
        }
    }

    /// Whether all values keep their numbers.
    fn is_identity(&self) -> bool {
        let mut sets = self.shapes.sets.iter();
        sets.all(|set| self.image[set.values()].iter().copied().eq(0..set.size))
    }

    /// Makes the state with the values of scalarsets renumbered.
    fn permute(&mut self, state: &[u64]) {
        self.tried.copy_from_slice(state);
        for &(at, number, _, first) in &self.held_stored {
            self.new_stored[at] = (first + self.image[number] as usize) as u8;
        }
        let permutation = Permutation {
            from: bytes_of(state),
            image: &self.image,
            new_stored: &self.new_stored,
        };
        let to = bytes_of_mut(&mut self.tried);
        for Part { at, node } in &self.shapes.parts {
            permutation.apply(node, *at as usize, *at as usize, to);
        }
    }
}

struct Permutation<'a> {
    from: &'a [u8],
    image: &'a [u32],
    new_stored: &'a [u8],
}

impl Permutation<'_> {
    /// An array of single bytes.
    fn apply_bytes(&self, array: &Array, from: usize, at: usize, to: &mut [u8]) {
        let kind = match *array.element {
            Node::Byte(kind) => Some(kind),
            _ => None,
        };
        for number in 0..array.length {
            let place = match array.set {
                Some(base) => self.image[base + number] as usize,
                None => number,
            };
            let byte = self.from[from + number];
            to[at + place] = match kind {
                Some(kind) => self.new_stored[kind + usize::from(byte)],
                None => byte,
            };
        }
    }

    fn apply(&self, node: &Node, from: usize, at: usize, to: &mut [u8]) {
        match node {
            Node::Run(1) => to[at] = self.from[from],
            Node::Run(bytes) => to[at..at + bytes].copy_from_slice(&self.from[from..from + bytes]),
            Node::Byte(kind) => to[at] = self.new_stored[kind + usize::from(self.from[from])],
            Node::Wide(wide) => {
                let stored = wide.read(self.from, from);
                let stored = match wide.member(stored) {
                    Some((first, base)) => {
                        let number = stored - 1 - first;
                        u64::from(self.image[base + number as usize]) + first + 1
                    }
                    None => stored,
                };
                wide.write(to, at, stored);
            }
            Node::Record(parts) => {
                for Part { at: offset, node } in parts {
                    let (from, at) = (from + *offset as usize, at + *offset as usize);
                    match node {
                        Node::Run(1) => to[at] = self.from[from],
                        Node::Byte(kind) => {
                            to[at] = self.new_stored[kind + usize::from(self.from[from])];
                        }
                        _ => self.apply(node, from, at, to),
                    }
                }
            }
            Node::Array(array) => {
                let stride = array.stride;
                if array.is_of_bytes() {
                    return self.apply_bytes(array, from, at, to);
                }
                for number in 0..array.length {
                    let place = match array.set {
                        Some(base) => self.image[base + number] as usize,
                        None => number,
                    };
                    let (source, target) = (from + number * stride, at + place * stride);
                    let element = &self.from[source..source + stride];
                    if stride > 1 && array.is_only_bytes(element) {
                        to[target..target + stride].copy_from_slice(element);
                    } else {
                        self.apply(&array.element, source, target, to);
                    }
                }
            }
            Node::Multiset(array) => {
                let mut many = 0;
                while many < array.length && self.from[from + many * array.stride] != 0 {
                    let offset = many * array.stride + 1;
                    self.apply(&array.element, from + offset, at + offset, to);
                    to[at + offset - 1] = 1;
                    many += 1;
                }
                let end = at + array.length * array.stride;
                to[at + many * array.stride..end].fill(0);
                sort(&mut to[at..at + many * array.stride], array.stride);
            }
        }
    }
}
