//! The format of checkpoints, written down a second time: tests take checkpoints apart, change
//! them, and seal them again with a correct checksum.

use fencepost_checkpoint::{Kind, open, seal};
use fencepost_memory::Random;
use serde::{Deserialize, Serialize};

pub const FORMAT_VERSION: u32 = 6;

/// The length of the envelope's header.
const HEADER: usize = 28;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Contents {
    pub version: String,
    pub settings: Vec<(String, String)>,
    pub program: u64,
    pub totals: Totals,
    pub findings: Vec<Finding>,
    pub remaining: Remaining,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Totals {
    /// Executions, abandoned, steps, faults, borderline, violations, pruned, milliseconds.
    pub counts: [u64; 8],
    pub hit_spin_bound: bool,
    pub waits: Vec<Option<u32>>,
    pub tally: Vec<([u64; 3], u64)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Finding {
    pub execution: u64,
    pub failure: Failure,
    pub schedule: Vec<(u32, u32)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Failure {
    StoreBuffer([u64; 3]),
    Fault(Option<u32>),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Remaining {
    Tree(Tree),
    Samples(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tree {
    /// Object, whether it has a condition, touched object.
    pub learned: Vec<(u32, bool, u32)>,
    pub path: Option<Path>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Path {
    pub schedule: Vec<(u32, u32)>,
    pub fingerprint: u64,
    pub settled: Vec<u32>,
    pub nodes: Vec<Node>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Node {
    pub explored: u32,
    pub asleep: Vec<((u32, u32), Option<Intent>, Footprint)>,
    /// With the level first.
    pub planned: Vec<(u32, (u32, u32), Footprint)>,
}

/// Touches, whether it is a barrier, whether it is exact.
pub type Footprint = (Vec<(u32, TouchKind)>, bool, bool);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum TouchKind {
    Read,
    Update,
    Write,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Intent {
    Local,
    SpinHint,
    Stopped,
    Join(u32),
    Access(u32, Effect, bool),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Effect {
    Read,
    Write,
    WriteIf,
    WriteMultiple,
    Update,
}

impl Contents {
    /// Decodes a checkpoint. Fails if these types are not its format.
    pub fn of(bytes: &[u8]) -> Self {
        let contents = open(Kind::Exploration, FORMAT_VERSION, bytes).unwrap();
        assert_eq!(Contents::sealed(&contents), bytes);
        contents
    }

    /// The checkpoint with a correct checksum.
    pub fn sealed(&self) -> Vec<u8> {
        seal(Kind::Exploration, FORMAT_VERSION, self)
    }

    /// The tree of an exhaustive search.
    pub fn tree(&self) -> &Tree {
        match &self.remaining {
            Remaining::Tree(tree) => tree,
            Remaining::Samples(_) => panic!("a sample"),
        }
    }

    /// The tree of an exhaustive search.
    pub fn tree_mut(&mut self) -> &mut Tree {
        match &mut self.remaining {
            Remaining::Tree(tree) => tree,
            Remaining::Samples(_) => panic!("a sample"),
        }
    }

    /// How many kinds of things a checkpoint has that not every one has.
    pub fn variety(&self) -> usize {
        let tree = self.tree();
        let nodes = || tree.path.iter().flat_map(|path| &path.nodes);
        let is_violation = |finding: &Finding| matches!(finding.failure, Failure::StoreBuffer(_));
        let has = [
            self.findings.iter().any(is_violation),
            self.findings.iter().any(|finding| !is_violation(finding)),
            !tree.learned.is_empty(),
            tree.path.is_some(),
            nodes().next().is_some(),
            nodes().any(|node| !node.asleep.is_empty()),
            nodes().any(|node| !node.planned.is_empty()),
            tree.path
                .as_ref()
                .is_some_and(|path| !path.settled.is_empty()),
            !self.totals.tally.is_empty(),
        ];
        has.into_iter().filter(|&has| has).count()
    }
}

/// Replaces the payload of an envelope, with a correct length and checksum.
fn with_payload(bytes: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut forged = bytes[..HEADER].to_vec();
    forged[16..24].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&forged[..24]);
    hasher.update(payload);
    forged[24..].copy_from_slice(&hasher.finalize().to_le_bytes());
    forged.extend_from_slice(payload);
    forged
}

/// Truncates the payload, or changes, removes or inserts some of its bytes, and seals it with a
/// correct checksum. The settings stay: they would be refused before anything else.
pub fn forged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let contents = Contents::of(bytes);
    let settings = (&contents.version, &contents.settings);
    let settings = seal(Kind::Exploration, FORMAT_VERSION, &settings).len() - HEADER;
    let mut payload = bytes[HEADER..].to_vec();
    for _ in 0..1 + random.below(2) {
        let rest = payload.len() - settings;
        if rest == 0 {
            break;
        }
        let at = settings + random.below(rest as u64) as usize;
        let number: &[u8] = match random.below(8) {
            // Varints of u32::MAX, of the first thread id that is too large, and of a huge length.
            0 => &[0xff, 0xff, 0xff, 0xff, 0x0f],
            1 => &[0x80, 0x80, 0x80, 0x08],
            2 => &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            3 => &[payload[at] ^ (1 << random.below(8))],
            _ => &[[0, 1, 2, 3][random.below(4) as usize]],
        };
        let number = number.to_vec();
        match random.below(16) {
            0 => payload.truncate(at),
            1 => drop(payload.remove(at)),
            2 => drop(payload.splice(at..at, number)),
            _ => drop(payload.splice(at..=at, number)),
        }
    }
    with_payload(bytes, &payload)
}
