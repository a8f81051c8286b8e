//! A breadth-first search in a file, to go on later.
//!
//! Numbers of 64 bits, little end first: what the search is of (model, constants, what changes
//! which states there are), how far it is, all states block by block with their parents, what is
//! still to be looked at, and a sum over everything. A file may be damaged or made by anyone:
//! whatever would let compiled code see a value that it cannot have is refused.

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::breadth::{Chunk, Stage};
use super::worker::Plan;
use super::{About, Refusal};
use crate::state::Store;
use crate::state::store::{Number, fingerprint};

const MAGIC: u64 = u64::from_le_bytes(*b"FENCEPM2");

/// A search that waits to be saved.
pub struct Saved<'s> {
    pub(super) plan: &'s Plan<'s>,
    pub(super) store: &'s Store,
    pub(super) level: &'s [Chunk],
    pub(super) more: &'s [Chunk],
    pub(super) depth: u64,
    pub(super) rules_fired: u64,
    pub(super) hits: &'s [u64],
}

/// What a saved search is of.
fn identity(plan: &Plan<'_>) -> [u64; 2] {
    let mut words = vec![
        plan.symmetry as u64,
        plan.deadlock as u64,
        u64::from(plan.is_compact),
        plan.rounds,
        plan.made_by,
        u64::from(plan.coverage),
    ];
    for constant in &plan.model.constants {
        words.push(constant.value as u64);
    }
    let source = plan.model.source.as_bytes();
    words.push(source.len() as u64);
    words.extend(source.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    }));
    fingerprint(&words)
}

/// Adds up what is written or read.
#[derive(Default)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

struct Output<'w> {
    to: &'w mut dyn Write,
    sum: Sum,
}

impl Output<'_> {
    fn word(&mut self, word: u64) -> io::Result<()> {
        self.sum.add(word);
        self.to.write_all(&word.to_le_bytes())
    }

    fn words(&mut self, words: &[u64]) -> io::Result<()> {
        words.iter().try_for_each(|&word| self.word(word))
    }
}

impl Saved<'_> {
    /// How many states it has.
    pub fn states(&self) -> u64 {
        self.store.count()
    }

    /// Writes the search. Give it a buffered writer.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        let mut output = Output {
            to,
            sum: Sum::default(),
        };
        output.word(MAGIC)?;
        output.words(&identity(self.plan))?;
        output.words(&[self.depth, self.rules_fired, self.hits.len() as u64])?;
        output.words(self.hits)?;
        let blocks: Vec<_> = self.store.numbers().collect();
        output.word(blocks.len() as u64)?;
        let mut words = vec![0; self.store.width()];
        for numbers in blocks {
            output.word(numbers.len() as u64)?;
            for number in numbers {
                self.store.read(number, &mut words);
                output.words(&words)?;
                let parent = self.store.parent(number);
                output.word(parent.map_or(u64::MAX, u64::from))?;
            }
        }
        for chunks in [self.level, self.more] {
            output.word(chunks.len() as u64)?;
            for chunk in chunks {
                output.word(chunk.numbers.start.into())?;
                output.word(chunk.numbers.len() as u64)?;
                if let Some((queue, at)) = &chunk.packed {
                    let words = chunk.numbers.len() * self.plan.packer.words();
                    output.words(&queue[*at..at + words])?;
                }
            }
        }
        let sum = output.sum.0;
        output.to.write_all(&sum.to_le_bytes())?;
        output.to.flush()
    }
}

struct Input<'r> {
    from: &'r mut dyn Read,
    sum: Sum,
}

/// Nothing is wrong with it, but it cannot be used now.
fn postpone(message: &str) -> Refusal {
    Refusal {
        about: About::Room,
        ..refuse(message)
    }
}

fn refuse(message: &str) -> Refusal {
    Refusal {
        message: format!("the saved search cannot be used: {message}"),
        span: None,
        help: None,
        about: About::Saved,
    }
}

impl Input<'_> {
    fn plain_word(&mut self) -> Result<u64, Refusal> {
        let mut bytes = [0; 8];
        match self.from.read_exact(&mut bytes) {
            Ok(()) => Ok(u64::from_le_bytes(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(refuse("it ends too early"))
            }
            Err(error) => Err(postpone(&error.to_string())),
        }
    }

    fn word(&mut self) -> Result<u64, Refusal> {
        let word = self.plain_word()?;
        self.sum.add(word);
        Ok(word)
    }

    fn words(&mut self, words: &mut [u64]) -> Result<(), Refusal> {
        for word in words {
            *word = self.word()?;
        }
        Ok(())
    }
}

/// Reads a search into an empty store.
pub(super) fn load(plan: &Plan<'_>, store: &Store, from: &mut dyn Read) -> Result<Stage, Refusal> {
    let mut input = Input {
        from,
        sum: Sum::default(),
    };
    if input.word()? != MAGIC {
        return Err(refuse("it is not a search that was saved by this version"));
    }
    let mut of = [0; 2];
    input.words(&mut of)?;
    if of != identity(plan) {
        return Err(refuse(
            "it is of another model, or of other constants or options, or another build of Fencepost saved it; \
             use the same ones",
        ));
    }
    let (depth, rules_fired) = (input.word()?, input.word()?);
    if input.word()? != plan.model.points.len() as u64 {
        return Err(refuse("it is damaged"));
    }
    let mut hits = vec![0; plan.model.points.len()];
    input.words(&mut hits)?;
    load_states(plan, store, &mut input)?;
    let level = load_chunks(plan, store, &mut input)?;
    let more = load_chunks(plan, store, &mut input)?;
    let sum = input.sum.0;
    let is_at_end = |input: &mut Input<'_>| matches!(input.from.read(&mut [0]), Ok(0));
    if input.plain_word()? != sum || !is_at_end(&mut input) {
        return Err(refuse("it is damaged"));
    }
    Ok(Stage {
        level,
        more,
        depth,
        rules_fired,
        hits,
    })
}

fn load_states(plan: &Plan<'_>, store: &Store, input: &mut Input<'_>) -> Result<(), Refusal> {
    let blocks = input.word()?;
    let mut words = vec![0; store.width()];
    let mut state = vec![0; plan.program.layout.masks.len()];
    for _ in 0..blocks {
        let used = input.word()?;
        let mut writer = store.writer();
        if used > store.block_states() as u64 {
            return Err(refuse("it is damaged"));
        }
        if used == 0 {
            store.skip_block().map_err(|_| refuse("it is too large"))?;
        }
        for _ in 0..used {
            input.words(&mut words)?;
            if !plan.is_compact {
                check(plan, &words, &mut state)?;
            }
            let parent = match input.word()? {
                u64::MAX => crate::state::store::NONE,
                parent => Number::try_from(parent).map_err(|_| refuse("it is damaged"))?,
            };
            writer.set_parent(parent);
            store
                .append(&words, &mut writer)
                .map_err(|_| postpone("there is not enough memory for it"))?;
        }
        if store.bytes() > plan.memory {
            return Err(postpone("it takes more memory than is allowed"));
        }
    }
    store
        .make_room(1, plan.memory, plan.workers)
        .map_err(|_| postpone("it takes more memory than is allowed"))?;
    // The table is made of what is there, also if it is large enough.
    store.rebuild(plan.workers);
    match store.parents_are_there() {
        true => Ok(()),
        false => Err(refuse("it is damaged")),
    }
}

/// Whether every part of a state has a value of its type.
fn check(plan: &Plan<'_>, packed: &[u64], state: &mut [u64]) -> Result<(), Refusal> {
    plan.packer.unpack(packed, state);
    match plan.program.layout.is_valid(plan.model, state) {
        true => Ok(()),
        false => Err(refuse("it is damaged")),
    }
}

fn load_chunks(
    plan: &Plan<'_>,
    store: &Store,
    input: &mut Input<'_>,
) -> Result<Vec<Chunk>, Refusal> {
    let many = input.word()?;
    let mut chunks = Vec::new();
    let mut state = vec![0; plan.program.layout.masks.len()];
    for _ in 0..many {
        let (start, length) = (input.word()?, input.word()?);
        let start = Number::try_from(start).map_err(|_| refuse("it is damaged"))?;
        let is_there = length <= store.block_states() as u64
            && store.has(start)
            && (length == 0 || store.has_range(start, length as u32));
        if !is_there {
            return Err(refuse("it is damaged"));
        }
        let numbers = start..start + length as u32;
        let mut packed = None;
        if plan.is_compact {
            let width = plan.packer.words();
            let mut queue = vec![0; numbers.len() * width];
            input.words(&mut queue)?;
            for each in queue.chunks_exact(width) {
                check(plan, each, &mut state)?;
            }
            packed = Some((Arc::new(queue), 0));
        }
        chunks.push(Chunk { numbers, packed });
    }
    Ok(chunks)
}
