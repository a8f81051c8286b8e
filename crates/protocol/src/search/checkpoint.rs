//! Checkpoints of breadth-first searches.
//!
//! The header identifies the search (model, constants, and the options that decide which states there
//! are) and its progress. The stream of 64-bit words after it holds all states block by block with
//! their parents, then the queues. The format is that of `fencepost-checkpoint`. A file may be
//! damaged or written by anyone: a state with a value that its type excludes is refused, because
//! compiled code must not see it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use fencepost_checkpoint::{Kind, OpenError, StreamError, StreamReader, StreamWriter};
use serde::{Deserialize, Serialize};

use super::breadth::{Chunk, Stage};
use super::worker::Plan;
use super::{SearchError, SearchErrorKind};
use crate::state::Store;
use crate::state::store::{Number, fingerprint};

/// Increase this whenever the header or the order of the words changes.
const FORMAT_VERSION: u32 = 3;

/// The value before the states.
#[derive(Serialize, Deserialize)]
struct Header {
    identity: [u64; 2],
    depth: u64,
    rules_fired: u64,
    hits: Vec<u64>,
}

/// A search that has paused to be saved.
pub struct SearchCheckpoint<'s> {
    pub(super) plan: &'s Plan<'s>,
    pub(super) store: &'s Store,
    pub(super) level: &'s [Chunk],
    pub(super) more: &'s [Chunk],
    pub(super) depth: u64,
    pub(super) rules_fired: u64,
    pub(super) hits: &'s [u64],
}

/// Identifies the search: two searches with the same identity visit the same states.
fn identity(plan: &Plan<'_>) -> [u64; 2] {
    let mut words = vec![
        plan.symmetry as u64,
        plan.deadlock as u64,
        u64::from(plan.is_compact),
        plan.rounds,
        plan.build_id,
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

impl SearchCheckpoint<'_> {
    /// The number of states.
    pub fn states(&self) -> u64 {
        self.store.count()
    }

    /// Writes the checkpoint. Pass a buffered writer.
    pub fn write_to(&self, to: &mut dyn Write) -> io::Result<()> {
        let header = Header {
            identity: identity(self.plan),
            depth: self.depth,
            rules_fired: self.rules_fired,
            hits: self.hits.to_vec(),
        };
        let mut output = StreamWriter::new(to, Kind::ProtocolSearch, FORMAT_VERSION, &header)?;
        let blocks: Vec<_> = self.store.numbers().collect();
        output.write(&[blocks.len() as u64])?;
        let mut words = vec![0; self.store.width()];
        for numbers in blocks {
            output.write(&[numbers.len() as u64])?;
            for number in numbers {
                self.store.read(number, &mut words);
                output.write(&words)?;
                let parent = self.store.parent(number);
                output.write(&[parent.map_or(u64::MAX, u64::from)])?;
            }
        }
        for chunks in [self.level, self.more] {
            output.write(&[chunks.len() as u64])?;
            for chunk in chunks {
                output.write(&[chunk.numbers.start.into(), chunk.numbers.len() as u64])?;
                if let Some((queue, at)) = &chunk.packed {
                    let words = chunk.numbers.len() * self.plan.packer.words();
                    output.write(&queue[*at..at + words])?;
                }
            }
        }
        output.finish()
    }
}

/// The checkpoint is intact, but cannot be resumed now.
fn lacks_resources(reason: &str) -> SearchError {
    SearchError {
        kind: SearchErrorKind::Resources,
        ..refuse(reason)
    }
}

fn refuse(reason: &str) -> SearchError {
    SearchError {
        message: format!("cannot resume: {reason}"),
        span: None,
        help: None,
        kind: SearchErrorKind::Checkpoint,
    }
}

/// The checksums match, but the words do not describe a search of this model.
fn malformed() -> SearchError {
    refuse(&OpenError::Malformed.to_string())
}

impl From<StreamError> for SearchError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Io(error) => lacks_resources(&error.to_string()),
            error => refuse(&error.to_string()),
        }
    }
}

/// Reads a search into an empty store.
pub(super) fn load(
    plan: &Plan<'_>,
    store: &Store,
    from: &mut dyn Read,
) -> Result<Stage, SearchError> {
    let (mut input, header) =
        StreamReader::new::<Header>(from, Kind::ProtocolSearch, FORMAT_VERSION)?;
    if header.identity != identity(plan) {
        return Err(SearchError {
            help: Some("resume with the same model, constants and options"),
            ..refuse(
                "the checkpoint is of another model, of other constants or options, or of another build of Fencepost",
            )
        });
    }
    if header.hits.len() != plan.model.points.len() {
        return Err(malformed());
    }
    load_states(plan, store, &mut input)?;
    let level = load_chunks(plan, store, &mut input)?;
    let more = load_chunks(plan, store, &mut input)?;
    input.finish()?;
    Ok(Stage {
        level,
        more,
        depth: header.depth,
        rules_fired: header.rules_fired,
        hits: header.hits,
    })
}

fn load_states(
    plan: &Plan<'_>,
    store: &Store,
    input: &mut StreamReader<'_>,
) -> Result<(), SearchError> {
    let blocks = input.read_one()?;
    let mut words = vec![0; store.width()];
    let mut state = vec![0; plan.program.layout.masks.len()];
    for _ in 0..blocks {
        let used = input.read_one()?;
        let mut writer = store.writer();
        if used > store.block_states() as u64 {
            return Err(malformed());
        }
        if used == 0 {
            store
                .skip_block()
                .map_err(|_| refuse("the checkpoint has too many states"))?;
        }
        for _ in 0..used {
            input.read(&mut words)?;
            if !plan.is_compact {
                check(plan, &words, &mut state)?;
            }
            let parent = match input.read_one()? {
                u64::MAX => crate::state::store::NONE,
                parent => Number::try_from(parent).map_err(|_| malformed())?,
            };
            writer.set_parent(parent);
            store
                .append(&words, &mut writer)
                .map_err(|_| lacks_resources("the system has too little memory for the states"))?;
        }
        if store.bytes() > plan.memory {
            return Err(lacks_resources(
                "the states take more memory than the limit allows",
            ));
        }
    }
    store
        .make_room(1, plan.memory, plan.workers)
        .map_err(|_| lacks_resources("the states take more memory than the limit allows"))?;
    // `append` fills no table, so it is rebuilt even if it is large enough.
    store.rebuild(plan.workers);
    match store.parents_are_there() {
        true => Ok(()),
        false => Err(malformed()),
    }
}

/// Whether every part of a state has a value of its type.
fn check(plan: &Plan<'_>, packed: &[u64], state: &mut [u64]) -> Result<(), SearchError> {
    plan.packer.unpack(packed, state);
    match plan.program.layout.is_valid(plan.model, state) {
        true => Ok(()),
        false => Err(malformed()),
    }
}

fn load_chunks(
    plan: &Plan<'_>,
    store: &Store,
    input: &mut StreamReader<'_>,
) -> Result<Vec<Chunk>, SearchError> {
    let many = input.read_one()?;
    let mut chunks = Vec::new();
    let mut state = vec![0; plan.program.layout.masks.len()];
    for _ in 0..many {
        let (start, length) = (input.read_one()?, input.read_one()?);
        let start = Number::try_from(start).map_err(|_| malformed())?;
        let is_there = length <= store.block_states() as u64
            && store.has(start)
            && (length == 0 || store.has_range(start, length as u32));
        if !is_there {
            return Err(malformed());
        }
        let numbers = start..start + length as u32;
        let mut packed = None;
        if plan.is_compact {
            let width = plan.packer.words();
            let mut queue = vec![0; numbers.len() * width];
            input.read(&mut queue)?;
            for each in queue.chunks_exact(width) {
                check(plan, each, &mut state)?;
            }
            packed = Some((Arc::new(queue), 0));
        }
        chunks.push(Chunk { numbers, packed });
    }
    Ok(chunks)
}
