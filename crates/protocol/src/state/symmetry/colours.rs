//! What is said about each value of a scalarset, as a hash.

use super::shape::{Array, Node, Part};

/// Two numbers made one, so that little of either is lost.
pub(super) fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ 0x9e37_79b9_7f4a_7c15)
        * u128::from(right.rotate_left(32) ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Adds up what is said about each value.
pub(super) struct Signs<'a> {
    pub bytes: &'a [u8],
    pub colours: &'a [u64],
    pub signs: &'a mut [u64],
    pub is_held: &'a mut [bool],
}

impl Signs<'_> {
    /// Goes through a part of the state. `context` is where the part is, with colours in the
    /// place of values.
    pub fn add(&mut self, node: &Node, at: usize, context: u64) {
        match node {
            Node::Run(_) => {}
            Node::Value(value) => {
                let stored = value.read(self.bytes, at);
                if let Some((first, base)) = value.member(stored) {
                    let number = base + (stored - 1 - first) as usize;
                    self.signs[number] = self.signs[number].wrapping_add(mix(context, 0xa1));
                    self.is_held[number] = true;
                }
            }
            Node::Record(parts) => {
                for (number, Part { at: offset, node }) in parts.iter().enumerate() {
                    let within = mix(context, number as u64);
                    self.add(node, at + *offset as usize, within);
                }
            }
            Node::Array(array) => {
                for number in 0..array.length {
                    let element = at + number * array.stride;
                    match array.set {
                        Some(base) => {
                            let hash = self.hash(&array.element, element);
                            let sign = &mut self.signs[base + number];
                            *sign = sign.wrapping_add(mix(context, hash));
                            if array.is_deep {
                                let within = mix(context, self.colours[base + number]);
                                self.add(&array.element, element, within);
                            }
                        }
                        None if array.is_deep => {
                            self.add(&array.element, element, mix(context, number as u64));
                        }
                        None => {}
                    }
                }
            }
            Node::Multiset(array) if array.is_deep => {
                for element in self.elements(array, at) {
                    let hash = self.hash(&array.element, element);
                    self.add(&array.element, element, mix(context, hash));
                }
            }
            Node::Multiset(_) => {}
        }
    }

    /// Where the elements are that a multiset has.
    fn elements(&self, array: &Array, at: usize) -> impl Iterator<Item = usize> + use<> {
        let stride = array.stride;
        // They are sorted: those that are there come first.
        let flags = (0..array.length).map(|number| self.bytes[at + number * stride]);
        let many = flags.take_while(|flag| *flag != 0).count();
        (0..many).map(move |number| at + number * stride + 1)
    }

    /// The hash of a part, with colours in the place of values.
    fn hash(&self, node: &Node, at: usize) -> u64 {
        match node {
            Node::Run(bytes) => self.hash_bytes(at, *bytes),
            Node::Value(value) => {
                let stored = value.read(self.bytes, at);
                match value.member(stored) {
                    Some((first, base)) => {
                        self.colours[base + (stored - 1 - first) as usize]
                    }
                    None => stored,
                }
            }
            Node::Record(parts) => parts.iter().fold(0x33, |hash, part| {
                mix(hash, self.hash(&part.node, at + part.at as usize))
            }),
            Node::Array(array) => match array.set {
                Some(base) => (0..array.length).fold(0x44, |hash, number| {
                    let element = self.hash(&array.element, at + number * array.stride);
                    hash.wrapping_add(mix(self.colours[base + number], element))
                }),
                None => (0..array.length).fold(0x55, |hash, number| {
                    mix(hash, self.hash(&array.element, at + number * array.stride))
                }),
            },
            Node::Multiset(array) => self.elements(array, at).fold(0x66, |hash, element| {
                hash.wrapping_add(mix(0x77, self.hash(&array.element, element)))
            }),
        }
    }

    fn hash_bytes(&self, at: usize, many: usize) -> u64 {
        let (words, rest) = self.bytes[at..at + many].as_chunks::<8>();
        let hash = words.iter().fold(0x22, |hash, word| {
            mix(hash, u64::from_le_bytes(*word))
        });
        if rest.is_empty() {
            return hash;
        }
        let mut last = 0;
        for &byte in rest {
            last = last << 8 | u64::from(byte);
        }
        mix(hash, last)
    }
}
