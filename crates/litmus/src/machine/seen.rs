//! The states that were reached: their bytes one after the other, and a table of hashes.

use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// A set of byte strings, numbered in the order in which they came.
#[derive(Default)]
pub(super) struct ByteStrings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable<u32>,
    hasher: BuildHasherDefault<FxHasher>,
}

impl ByteStrings {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// About how many bytes of memory it takes.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity() + 8 * self.ends.capacity() + 5 * self.table.capacity()
    }

    pub(super) fn get(&self, number: u32) -> &[u8] {
        slice(&self.bytes, &self.ends, number)
    }

    /// Adds a string. Returns whether it is new.
    pub(super) fn insert(&mut self, string: &[u8]) -> bool {
        let ByteStrings {
            bytes,
            ends,
            table,
            hasher,
        } = self;
        let hash = hasher.hash_one(string);
        if table
            .find(hash, |&other| slice(bytes, ends, other) == string)
            .is_some()
        {
            return false;
        }
        let number = ends.len() as u32;
        bytes.extend_from_slice(string);
        ends.push(bytes.len());
        table.insert_unique(hash, number, |&other| {
            hasher.hash_one(slice(bytes, ends, other))
        });
        true
    }
}

fn slice<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let begin = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[begin..ends[number]]
}
