//! Strings numbered from 0 in the order they were added.
//!
//! All strings share one buffer, and the index over them holds only numbers, so a
//! name costs its bytes and about 20 more, and the memory in use is known exactly.

use std::hash::{BuildHasher, RandomState};

/// A set of strings with dense numbers. An empty string stands for "no name".
#[derive(Clone, Debug)]
pub(crate) struct StringTable {
    text: String,
    /// Where each string ends in `text`; it begins where the one before it ends.
    ends: Vec<u32>,
    /// An open-addressing hash table.
    slots: Vec<Slot>,
    /// How many strings are in `slots`, which leaves out the nameless.
    indexed: usize,
    /// Keyed randomly, because a trace may come from an attacker who wants
    /// all names to collide.
    hasher: RandomState,
}

/// A slot of the hash table.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Part of the hash, to pass over most other strings without looking at them.
    tag: u32,
    /// The number of the string plus one; 0 is a free slot.
    stored: u32,
}

impl StringTable {
    pub(crate) fn new() -> Self {
        StringTable {
            text: String::new(),
            ends: Vec::new(),
            slots: Vec::new(),
            indexed: 0,
            hasher: RandomState::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with this number: empty if it has no name, `None` if there is no such number.
    pub(crate) fn get(&self, number: usize) -> Option<&str> {
        let end = *self.ends.get(number)? as usize;
        let start = match number {
            0 => 0,
            _ => self.ends[number - 1] as usize,
        };
        Some(&self.text[start..end])
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let (slot, _) = self.slot_of(name);
        match self.slots[slot].stored {
            0 => None,
            stored => Some(stored as usize - 1),
        }
    }

    /// The slot that holds `name`, or the free one where it belongs, and its tag.
    fn slot_of(&self, name: &str) -> (usize, u32) {
        let hash = self.hasher.hash_one(name);
        let (mask, tag) = (self.slots.len() - 1, (hash >> 32) as u32);
        let mut slot = hash as usize & mask;
        loop {
            match self.slots[slot] {
                Slot { stored: 0, .. } => return (slot, tag),
                found if found.tag == tag && self.get(found.stored as usize - 1) == Some(name) => {
                    return (slot, tag);
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// How many bytes [`StringTable::add`] would allocate on top of [`StringTable::memory`].
    pub(crate) fn growth(&self, name: &str) -> u64 {
        let mut bytes = 0;
        if self.text.len() + name.len() > self.text.capacity() {
            bytes += text_step(&self.text, name.len());
        }
        if self.ends.len() == self.ends.capacity() {
            bytes += ends_step(&self.ends, 1) * size_of::<u32>();
        }
        if self.must_grow_slots() {
            bytes += self.grown_slots() * size_of::<Slot>();
        }
        bytes as u64
    }

    /// Whether another name of this length still fits the 32-bit offsets.
    pub(crate) fn has_room(&self, name: &str) -> bool {
        u32::try_from(self.text.len() + name.len()).is_ok()
    }

    /// Adds a string that is not empty and not yet in the table.
    pub(crate) fn add(&mut self, name: &str) -> usize {
        if self.must_grow_slots() {
            self.rebuild_slots();
        }
        let (slot, tag) = self.slot_of(name);
        debug_assert_eq!(self.slots[slot].stored, 0, "{name:?} is in the table");
        if self.text.len() + name.len() > self.text.capacity() {
            self.text.reserve_exact(text_step(&self.text, name.len()));
        }
        self.text.push_str(name);
        let number = self.push_end();
        let stored = number as u32 + 1;
        self.slots[slot] = Slot { tag, stored };
        self.indexed += 1;
        number
    }

    /// How many bytes [`StringTable::add_nameless`] would allocate.
    pub(crate) fn nameless_growth(&self, count: usize) -> u64 {
        let free = self.ends.capacity() - self.ends.len();
        match count > free {
            true => (ends_step(&self.ends, count) * size_of::<u32>()) as u64,
            false => 0,
        }
    }

    /// Adds `count` numbers without a name.
    pub(crate) fn add_nameless(&mut self, count: usize) {
        if self.ends.capacity() - self.ends.len() < count {
            self.ends.reserve_exact(ends_step(&self.ends, count));
        }
        let end = self.text.len() as u32;
        self.ends.resize(self.ends.len() + count, end);
    }

    fn push_end(&mut self) -> usize {
        if self.ends.len() == self.ends.capacity() {
            self.ends.reserve_exact(ends_step(&self.ends, 1));
        }
        self.ends.push(self.text.len() as u32);
        self.ends.len() - 1
    }

    fn must_grow_slots(&self) -> bool {
        (self.indexed + 1) * 4 > self.slots.len() * 3
    }

    fn grown_slots(&self) -> usize {
        (self.slots.len() * 2).max(16)
    }

    fn rebuild_slots(&mut self) {
        self.slots = vec![Slot::default(); self.grown_slots()];
        for number in 0..self.ends.len() {
            let name = self.get(number).unwrap_or_default();
            if !name.is_empty() {
                let (slot, tag) = self.slot_of(name);
                let stored = number as u32 + 1;
                self.slots[slot] = Slot { tag, stored };
            }
        }
    }

    /// The bytes allocated.
    pub(crate) fn memory(&self) -> u64 {
        let ends = self.ends.capacity() * size_of::<u32>();
        let slots = self.slots.capacity() * size_of::<Slot>();
        (self.text.capacity() + ends + slots) as u64
    }
}

/// Growth by a quarter keeps the memory in use near what is needed, at the price
/// of copying each byte a few times more than doubling would.
fn text_step(text: &str, needed: usize) -> usize {
    needed.max(text.len() / 4).max(1024)
}

fn ends_step(ends: &[u32], needed: usize) -> usize {
    needed.max(ends.len() / 4).max(64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_numbered_in_order_and_found_again() {
        let mut table = StringTable::new();
        for number in 0..10_000 {
            let name = format!("name{number}");
            assert_eq!(table.find(&name), None);
            let (before, growth) = (table.memory(), table.growth(&name));
            assert_eq!(table.add(&name), number);
            assert!(table.memory() <= before + growth, "{name}");
        }
        for number in 0..10_000 {
            let name = format!("name{number}");
            assert_eq!(table.find(&name), Some(number));
            assert_eq!(table.get(number), Some(name.as_str()));
        }
        assert_eq!(table.get(10_000), None);
    }

    #[test]
    fn the_nameless_have_numbers_but_are_never_found() {
        let mut table = StringTable::new();
        table.add("x");
        let (before, growth) = (table.memory(), table.nameless_growth(1000));
        table.add_nameless(1000);
        assert!(table.memory() <= before + growth);
        assert_eq!(table.add("y"), 1001);
        assert_eq!(table.get(1000), Some(""));
        assert_eq!(table.get(1001), Some("y"));
        assert_eq!(table.find(""), None);
        assert_eq!(table.find("y"), Some(1001));
    }
}
