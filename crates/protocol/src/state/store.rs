//! The concurrent set of all states that were found.
//!
//! States are stored in blocks, each of which belongs to one thread, and never move. A flat hash
//! table finds them: each entry is the number of a state with 32 bits of its hash. A thread writes
//! a state to its own block first, and then tries to put its number into the table; if another
//! thread was faster, the next state overwrites it. The table grows when it is nearly full, while
//! no thread uses it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crossbeam_utils::CachePadded;
use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard};

use super::early::{self, Prefetcher};
use super::zeros::Zeros;

/// The number of a state.
pub(crate) type Number = u32;

/// No state.
pub(crate) const NONE: Number = u32::MAX;

/// A block takes about this many bytes.
const BLOCK_BYTES: usize = 1 << 16;

/// A thread asks for memory for this many blocks at a time, so that it comes in large pages, once
/// it has had that many.
const TOGETHER_BLOCKS: usize = 64;

/// The number of blocks in a table of blocks.
const SHELF: usize = 1 << 12;

/// The table is at most this full, in tenths.
const FULL_TENTHS: usize = 8;

/// The number of entries that are prefetched at a time.
const TOGETHER: usize = 32;

/// States of one thread.
struct Block {
    words: Zeros,
    /// In another cache line: other threads read the words while this changes.
    changing: Box<CachePadded<Changing>>,
}

/// The part of a block that changes with each added state.
struct Changing {
    /// The predecessor of each state.
    parents: Box<[AtomicU32]>,
    used: AtomicU32,
}

impl Block {
    /// The number of states in the block.
    fn used(&self) -> u32 {
        self.changing.used.load(Ordering::Acquire)
    }
}

type BlockTable = Box<[OnceLock<Block>]>;

/// All states that were found.
pub(crate) struct Store {
    /// Words of one state.
    width: usize,
    /// States of one block, as a power of 2.
    block_bits: u32,
    shelves: Box<[OnceLock<BlockTable>]>,
    next_block: AtomicU32,
    /// The hash table. Threads read it without blocking each other.
    table: ShardedLock<Zeros>,
    /// The number of states, in a cache line of its own, since all threads update it.
    count: CachePadded<AtomicU64>,
    memory: CachePadded<Memory>,
}

/// The bytes in use, in a cache line of their own.
#[derive(Default)]
struct Memory {
    bytes: AtomicU64,
    most_bytes: AtomicU64,
    /// With hash compaction: the bytes of the states in the queue.
    queue: AtomicU64,
}

/// Where a thread writes the states that it adds.
pub(crate) struct Writer {
    next: Number,
    end: Number,
    /// The states that it added since the last call of `take_added`.
    added: Vec<std::ops::Range<Number>>,
    parent: Number,
    /// The number of added states that are not counted yet.
    uncounted: u64,
    /// How many blocks it has had, and memory for the next ones.
    blocks: usize,
    ahead: Option<Arc<Zeros>>,
}

/// Access to the hash table, which does not grow meanwhile.
pub(crate) struct VisitedTable<'s> {
    store: &'s Store,
    table: ShardedLockReadGuard<'s, Zeros>,
    shift: u32,
}

/// The store is full: no memory or no state number is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StoreFull {
    Memory,
    Numbers,
}

/// The hash of a packed state.
pub(crate) fn hash(words: &[u64]) -> u64 {
    const FACTORS: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93];
    let mut hash = 0x2545_f491_4f6c_dd1d_u64;
    for &word in words {
        hash = folded(hash ^ word, FACTORS[0]);
    }
    folded(hash, FACTORS[1])
}

/// Both halves of a product, mixed.
fn folded(left: u64, right: u64) -> u64 {
    let product = u128::from(left) * u128::from(right);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The 128-bit fingerprint of a state for hash compaction. It uses other factors than [`hash`], and
/// different ones for each half.
pub(crate) fn fingerprint(words: &[u64]) -> [u64; 2] {
    let mut halves = [0x6a09_e667_f3bc_c908_u64, 0xbb67_ae85_84ca_a73b];
    for &word in words {
        halves[0] = folded(halves[0] ^ word, 0xa076_1d64_78bd_642f).wrapping_add(halves[1]);
        halves[1] = folded(halves[1].rotate_left(29) ^ word, 0xe703_7ed1_a0b4_28db) ^ halves[0];
    }
    [
        folded(halves[0], 0x8ebc_6af0_9c88_c6e3),
        folded(halves[1] ^ halves[0], 0x5899_65cc_7537_4cc3),
    ]
}

impl Store {
    /// A store for states of this many words.
    pub fn new(width: usize) -> Store {
        let states = (BLOCK_BYTES / (8 * width)).max(4);
        let block_bits = states.ilog2();
        let shelves = (1_usize << 32 >> block_bits).div_ceil(SHELF);
        let table = 1 << 12;
        let store = Store {
            width,
            block_bits,
            shelves: std::iter::repeat_with(OnceLock::new)
                .take(shelves)
                .collect(),
            next_block: AtomicU32::new(0),
            table: ShardedLock::new(Zeros::few(table)),
            count: CachePadded::new(AtomicU64::new(0)),
            memory: CachePadded::default(),
        };
        store.charge(8 * table as u64);
        store
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// The bytes in use, including the queue.
    pub fn bytes(&self) -> u64 {
        self.memory.bytes.load(Ordering::Relaxed) + self.memory.queue.load(Ordering::Relaxed)
    }

    /// Sets the bytes that the states of the queue take.
    pub fn set_queue(&self, bytes: u64) {
        self.memory.queue.store(bytes, Ordering::Relaxed);
    }

    pub fn add_to_queue(&self, bytes: u64) {
        self.memory.queue.fetch_add(bytes, Ordering::Relaxed);
        self.charge(0);
    }

    /// The most bytes that were in use.
    pub fn most_bytes(&self) -> u64 {
        self.memory.most_bytes.load(Ordering::Relaxed)
    }

    pub fn writer(&self) -> Writer {
        Writer {
            next: 0,
            end: 0,
            added: Vec::new(),
            parent: NONE,
            uncounted: 0,
            blocks: 0,
            ahead: None,
        }
    }

    /// Counts the states that a writer added.
    pub fn settle(&self, writer: &mut Writer) {
        let added = std::mem::take(&mut writer.uncounted);
        if added > 0 {
            self.count.fetch_add(added, Ordering::Relaxed);
        }
    }

    fn charge(&self, bytes: u64) {
        self.memory.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.memory
            .most_bytes
            .fetch_max(self.bytes(), Ordering::Relaxed);
    }

    fn block(&self, number: Number) -> &Block {
        let block = (number >> self.block_bits) as usize;
        let shelf = self.shelves[block / SHELF].get();
        match shelf.and_then(|shelf| shelf[block % SHELF].get()) {
            Some(block) => block,
            None => unreachable!("state {number} was never added"),
        }
    }

    fn within_block(&self, number: Number) -> usize {
        (number & ((1 << self.block_bits) - 1)) as usize
    }

    /// Opens a new block for a thread.
    fn open_block(&self, writer: &mut Writer) -> Result<(), StoreFull> {
        let states = 1_usize << self.block_bits;
        // Before it has a number: if there is no memory, there is no gap.
        let made = Block {
            words: writer.room(states * self.width)?,
            changing: Box::new(CachePadded::new(Changing {
                parents: std::iter::repeat_with(|| AtomicU32::new(NONE))
                    .take(states)
                    .collect(),
                used: AtomicU32::new(0),
            })),
        };
        let block = self.next_block.fetch_add(1, Ordering::Relaxed);
        // The last block is not used, so that no state has the number that means none.
        if u64::from(block) + 1 >= 1 << (32 - self.block_bits) {
            self.next_block.fetch_sub(1, Ordering::Relaxed);
            return Err(StoreFull::Numbers);
        }
        self.charge((states * (8 * self.width + 4)) as u64);
        let shelf = self.shelves[block as usize / SHELF]
            .get_or_init(|| std::iter::repeat_with(OnceLock::new).take(SHELF).collect());
        let _ = shelf[block as usize % SHELF].set(made);
        writer.next = block << self.block_bits;
        writer.end = (block + 1) << self.block_bits;
        writer.added.push(writer.next..writer.next);
        Ok(())
    }

    /// Writes a state where the next one is added.
    fn write(&self, words: &[u64], writer: &mut Writer) -> Result<(), StoreFull> {
        if writer.next == writer.end {
            self.open_block(writer)?;
        }
        let block = self.block(writer.next);
        let within = self.within_block(writer.next);
        let start = within * self.width;
        for (stored, &word) in block.words[start..].iter().zip(words) {
            stored.store(word, Ordering::Relaxed);
        }
        block.changing.parents[within].store(writer.parent, Ordering::Relaxed);
        Ok(())
    }

    /// Adds the state that was written.
    fn keep(&self, writer: &mut Writer) {
        let block = self.block(writer.next);
        let used = self.within_block(writer.next) as u32 + 1;
        block.changing.used.store(used, Ordering::Release);
        writer.next += 1;
        if let Some(range) = writer.added.last_mut() {
            range.end = writer.next;
        }
        writer.uncounted += 1;
    }

    /// The words of a state.
    pub fn read(&self, number: Number, words: &mut [u64]) {
        let block = self.block(number);
        let start = self.within_block(number) * self.width;
        for (word, stored) in words.iter_mut().zip(&block.words[start..]) {
            *word = stored.load(Ordering::Relaxed);
        }
    }

    /// The first predecessor of a state; nothing for a start state.
    pub fn parent(&self, number: Number) -> Option<Number> {
        let parent =
            self.block(number).changing.parents[self.within_block(number)].load(Ordering::Relaxed);
        (parent != NONE).then_some(parent)
    }

    /// The table, to find states and to add some.
    pub fn seen(&self) -> VisitedTable<'_> {
        let table = match self.table.read() {
            Ok(table) => table,
            Err(poisoned) => poisoned.into_inner(),
        };
        let shift = 64 - table.len().ilog2();
        VisitedTable {
            store: self,
            table,
            shift,
        }
    }

    fn is_crowded(&self, entries: usize, more: usize) -> bool {
        (self.count() as usize + more) * 10 >= entries * FULL_TENTHS
    }

    /// Grows the table if `more` states could make it too full. `allowed` bounds the bytes of the
    /// store.
    pub fn make_room(&self, more: usize, allowed: u64, threads: usize) -> Result<(), StoreFull> {
        let mut table = match self.table.write() {
            Ok(table) => table,
            Err(poisoned) => poisoned.into_inner(),
        };
        let mut entries = table.len();
        while self.is_crowded(entries, more) {
            entries *= 2;
        }
        if entries == table.len() {
            return Ok(());
        }
        let (old, new) = (8 * table.len() as u64, 8 * entries as u64);
        if self.bytes() + new > allowed {
            return Err(StoreFull::Memory);
        }
        let larger = Zeros::new(entries)?;
        self.charge(new);
        self.refill(&larger, threads);
        *table = larger;
        self.memory.bytes.fetch_sub(old, Ordering::Relaxed);
        Ok(())
    }

    /// Puts the numbers of all states into an empty table.
    fn refill(&self, table: &[AtomicU64], threads: usize) {
        let blocks = self.next_block.load(Ordering::Relaxed);
        let next = AtomicU32::new(0);
        let work = || {
            let mut words = vec![0; self.width];
            let mut hashes = [0; TOGETHER];
            let whereabouts = Prefetcher::new(table, 64 - table.len().ilog2());
            loop {
                let block = next.fetch_add(1, Ordering::Relaxed);
                if block >= blocks {
                    return;
                }
                let first = block << self.block_bits;
                let last = first + self.block(first).used();
                for first in (first..last).step_by(TOGETHER) {
                    let numbers = first..last.min(first + TOGETHER as u32);
                    for (number, hash_here) in numbers.clone().zip(&mut hashes) {
                        self.read(number, &mut words);
                        *hash_here = hash(&words);
                        whereabouts.ask_for(*hash_here);
                    }
                    for (number, &hash) in numbers.zip(&hashes) {
                        place(table, hash, number);
                    }
                }
            }
        };
        if threads < 2 || self.count() < 1 << 16 {
            return work();
        }
        std::thread::scope(|scope| {
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
    }

    /// Rebuilds the table from all states.
    pub fn rebuild(&self, threads: usize) {
        let table = match self.table.write() {
            Ok(table) => table,
            Err(poisoned) => poisoned.into_inner(),
        };
        table
            .iter()
            .for_each(|entry| entry.store(0, Ordering::Relaxed));
        self.refill(&table, threads);
    }

    /// The number of states per block.
    pub fn block_states(&self) -> usize {
        1 << self.block_bits
    }

    /// Leaves a block unused.
    pub fn skip_block(&self) -> Result<(), StoreFull> {
        self.open_block(&mut self.writer())
    }

    /// Adds a state without a lookup, and without an entry in the table.
    pub fn append(&self, words: &[u64], writer: &mut Writer) -> Result<(), StoreFull> {
        self.write(words, writer)?;
        self.keep(writer);
        self.settle(writer);
        Ok(())
    }

    /// Whether a state has this number.
    pub fn has(&self, number: Number) -> bool {
        let block = number >> self.block_bits;
        block < self.next_block.load(Ordering::Relaxed)
            && (self.within_block(number) as u32) < self.block(number).used()
    }

    /// Whether numbers from one on are those of states, all in one block.
    pub fn has_range(&self, first: Number, length: u32) -> bool {
        let within = self.within_block(first) as u64 + u64::from(length);
        self.has(first) && within <= u64::from(self.block(first).used())
    }

    /// Whether the predecessors of all states exist.
    pub fn parents_are_there(&self) -> bool {
        let mut numbers = self.numbers().flatten();
        numbers.all(|number| self.parent(number).is_none_or(|parent| self.has(parent)))
    }

    /// All states, in blocks of numbers.
    pub fn numbers(&self) -> impl Iterator<Item = std::ops::Range<Number>> {
        let blocks = self.next_block.load(Ordering::Relaxed);
        (0..blocks).map(|block| {
            let first = block << self.block_bits;
            first..first + self.block(first).used()
        })
    }
}

fn entry(hash: u64, number: Number) -> u64 {
    hash << 32 | (u64::from(number) + 1)
}

/// Puts a number into the first free entry.
fn place(table: &[AtomicU64], hash: u64, number: Number) {
    let entry = entry(hash, number);
    let mut at = (hash >> (64 - table.len().ilog2())) as usize;
    while table[at]
        .compare_exchange(0, entry, Ordering::Relaxed, Ordering::Relaxed)
        .is_err()
    {
        at = (at + 1) & (table.len() - 1);
    }
}

impl Writer {
    /// Words for one more block. All blocks have the same number of them.
    fn room(&mut self, words: usize) -> Result<Zeros, StoreFull> {
        let place = self.blocks % TOGETHER_BLOCKS;
        if place == 0 && self.blocks > 0 {
            // If there is not so much at once, there may be enough for one.
            let many = Zeros::new(words.saturating_mul(TOGETHER_BLOCKS));
            self.ahead = many.ok().map(Arc::new);
        }
        let room = match &self.ahead {
            Some(ahead) => Zeros::part(ahead, place * words..(place + 1) * words),
            None => Zeros::new(words)?,
        };
        self.blocks += 1;
        Ok(room)
    }

    /// The states that were added since this was last asked, in order.
    pub fn take_added(&mut self) -> Vec<std::ops::Range<Number>> {
        let next = self.next;
        let mut added = std::mem::take(&mut self.added);
        added.retain(|range| !range.is_empty());
        if self.next < self.end {
            self.added.push(next..next);
        }
        added
    }

    /// The number of states added since they were last counted.
    pub fn uncounted(&self) -> u64 {
        self.uncounted
    }

    /// Sets the predecessor of the states added next.
    pub fn set_parent(&mut self, parent: Number) {
        self.parent = parent;
    }
}

impl VisitedTable<'_> {
    /// Whether `more` states fit.
    pub fn has_room(&self, more: usize) -> bool {
        !self.store.is_crowded(self.table.len(), more)
    }

    /// A prefetcher of the entries.
    pub fn whereabouts(&self) -> Prefetcher {
        Prefetcher::new(&self.table, self.shift)
    }

    /// Prefetches the state that the first entry for a hash refers to.
    pub fn ask_for_state(&self, hash: u64) {
        let entry = self.table[(hash >> self.shift) as usize].load(Ordering::Acquire);
        if entry != 0 && (entry >> 32) as u32 == hash as u32 {
            let number = (entry as u32) - 1;
            let words = &self.store.block(number).words;
            let first = self.store.within_block(number) * self.store.width;
            early::ask_for(words[first..].as_ptr().addr());
        }
    }

    fn is_state(&self, number: Number, words: &[u64]) -> bool {
        let block = self.store.block(number);
        let start = self.store.within_block(number) * self.store.width;
        let stored = &block.words[start..start + words.len()];
        let mut stored = stored.iter().zip(words);
        stored.all(|(stored, &word)| stored.load(Ordering::Relaxed) == word)
    }

    /// The number of a state, if it was found before.
    pub fn find(&self, words: &[u64], hash: u64) -> Option<Number> {
        let mut at = (hash >> self.shift) as usize;
        loop {
            let entry = self.table[at].load(Ordering::Acquire);
            if entry == 0 {
                return None;
            }
            let number = (entry as u32).wrapping_sub(1);
            if (entry >> 32) as u32 == hash as u32 && self.is_state(number, words) {
                return Some(number);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    /// Adds a state, unless it was found before. There must be room.
    pub fn add(
        &self,
        words: &[u64],
        hash: u64,
        writer: &mut Writer,
    ) -> Result<Option<Number>, StoreFull> {
        let mut at = (hash >> self.shift) as usize;
        let mut is_written = false;
        loop {
            let mut found = self.table[at].load(Ordering::Acquire);
            if found == 0 {
                if !is_written {
                    self.store.write(words, writer)?;
                    is_written = true;
                }
                let number = writer.next;
                match self.table[at].compare_exchange(
                    0,
                    entry(hash, number),
                    Ordering::AcqRel,
                    Ordering::Acquire,
                ) {
                    Ok(_) => {
                        self.store.keep(writer);
                        return Ok(Some(number));
                    }
                    Err(other) => found = other,
                }
            }
            let number = (found as u32).wrapping_sub(1);
            if (found >> 32) as u32 == hash as u32 && self.is_state(number, words) {
                return Ok(None);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }
}
