//! Colours: a hash of the occurrences of each scalarset value.

use super::shape::{Array, Node, Part, is_zero};

/// Two numbers made one, so that little of either is lost.
pub(super) fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ 0x9e37_79b9_7f4a_7c15)
        * u128::from(right.rotate_left(32) ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Accumulates the hash of each value.
pub(super) struct Signatures<'a> {
    pub bytes: &'a [u8],
    pub colours: &'a [u64],
    /// For each kind and each value that can be stored: its colour, or a hash of it.
    pub of_stored: &'a [u64],
    /// For each kind and each value that can be stored: its number.
    pub number_of: &'a [u32],
    pub signs: &'a mut [u64],
    pub is_held: &'a mut [bool],
}

/// Not the number of a value.
pub(super) const NO_VALUE: u32 = u32::MAX;

impl Signatures<'_> {
    fn held(&mut self, number: usize, context: u64) {
        self.signs[number] = self.signs[number].wrapping_add(mix(context, 0xa1));
        self.is_held[number] = true;
    }

    fn held_byte(&mut self, kind: usize, at: usize, context: u64) {
        let number = self.number_of[kind + usize::from(self.bytes[at])];
        if number != NO_VALUE {
            self.held(number as usize, context);
        }
    }

    /// Goes through a part of the state. `context` is where the part is, with colours in the
    /// place of values.
    pub fn add(&mut self, node: &Node, at: usize, context: u64) {
        match node {
            Node::Run(_) => {}
            Node::Byte(kind) => self.held_byte(*kind, at, context),
            Node::Wide(wide) => {
                let stored = wide.read(self.bytes, at);
                if let Some((first, base)) = wide.member(stored) {
                    self.held(base + (stored - 1 - first) as usize, context);
                }
            }
            Node::Record(parts) => {
                for (number, Part { at: offset, node }) in parts.iter().enumerate() {
                    let at = at + *offset as usize;
                    match node {
                        Node::Run(_) => {}
                        Node::Byte(kind) => {
                            self.held_byte(*kind, at, mix(context, number as u64));
                        }
                        _ => self.add(node, at, mix(context, number as u64)),
                    }
                }
            }
            Node::Array(array) => self.add_array(array, at, context),
            Node::Multiset(array) if array.is_deep => {
                for element in self.elements(array, at) {
                    let hash = self.hash(&array.element, element);
                    self.add(&array.element, element, mix(context, hash));
                }
            }
            Node::Multiset(_) => {}
        }
    }

    fn add_array(&mut self, array: &Array, at: usize, context: u64) {
        let Some(base) = array.set else {
            if array.is_deep {
                for number in 0..array.length {
                    let element = at + number * array.stride;
                    if !self.is_only_bytes(array, element) {
                        self.add(&array.element, element, mix(context, number as u64));
                    }
                }
            }
            return;
        };
        // Arrays of single bytes are frequent, and short work.
        if array.is_of_bytes() {
            for number in 0..array.length {
                let byte = usize::from(self.bytes[at + number]);
                if byte == 0 {
                    continue;
                }
                let mut hash = byte as u64;
                if let Node::Byte(kind) = *array.element {
                    hash = self.of_stored[kind + byte];
                    let within = mix(context, self.colours[base + number]);
                    self.held_byte(kind, at + number, within);
                }
                let sign = &mut self.signs[base + number];
                *sign = sign.wrapping_add(mix(context, hash));
            }
            return;
        }
        for number in 0..array.length {
            let element = at + number * array.stride;
            if self.is_empty(array, element) {
                continue;
            }
            let is_only_bytes = self.is_only_bytes(array, element);
            let hash = match is_only_bytes {
                true => self.hash_bytes(element, array.stride),
                false => self.hash(&array.element, element),
            };
            let sign = &mut self.signs[base + number];
            *sign = sign.wrapping_add(mix(context, hash));
            if array.is_deep && !is_only_bytes {
                let within = mix(context, self.colours[base + number]);
                self.add(&array.element, element, within);
            }
        }
    }

    fn is_empty(&self, array: &Array, at: usize) -> bool {
        is_zero(&self.bytes[at..at + array.stride])
    }

    fn is_only_bytes(&self, array: &Array, at: usize) -> bool {
        array.is_only_bytes(&self.bytes[at..at + array.stride])
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
            Node::Run(1) => self.bytes[at].into(),
            Node::Run(bytes) => self.hash_bytes(at, *bytes),
            Node::Byte(kind) => self.of_stored[kind + usize::from(self.bytes[at])],
            Node::Wide(wide) => {
                let stored = wide.read(self.bytes, at);
                match wide.member(stored) {
                    Some((first, base)) => self.colours[base + (stored - 1 - first) as usize],
                    None => stored,
                }
            }
            Node::Record(parts) => parts.iter().fold(0x33, |hash, part| {
                let at = at + part.at as usize;
                let of_part = match part.node {
                    Node::Run(1) => self.bytes[at].into(),
                    Node::Byte(kind) => self.of_stored[kind + usize::from(self.bytes[at])],
                    _ => self.hash(&part.node, at),
                };
                mix(hash, of_part)
            }),
            Node::Array(array) => self.hash_array(array, at),
            Node::Multiset(array) => self.elements(array, at).fold(0x66, |hash, element| {
                hash.wrapping_add(mix(0x77, self.hash(&array.element, element)))
            }),
        }
    }

    fn hash_array(&self, array: &Array, at: usize) -> u64 {
        let mut hash = 0x44_u64;
        for number in 0..array.length {
            let element = at + number * array.stride;
            if self.is_empty(array, element) {
                continue;
            }
            let of_index = match array.set {
                Some(base) => self.colours[base + number],
                None => number as u64,
            };
            let of_element = match self.is_only_bytes(array, element) {
                true => self.hash_bytes(element, array.stride),
                false => self.hash(&array.element, element),
            };
            // A sum, because elements that belong to values of scalarsets have no order.
            hash = hash.wrapping_add(mix(of_index, of_element));
        }
        hash
    }

    fn hash_bytes(&self, at: usize, many: usize) -> u64 {
        let (words, rest) = self.bytes[at..at + many].as_chunks::<8>();
        let hash = words
            .iter()
            .fold(0x22, |hash, word| mix(hash, u64::from_le_bytes(*word)));
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
