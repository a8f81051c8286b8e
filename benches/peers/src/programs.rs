//! The programs that are measured, by name. In all of them the main thread only spawns
//! the others and joins them. They are those of `crates/fencepost/tests/families.rs`.

use std::fmt;

/// A program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Program {
    /// Each thread stores to its own variable, then loads the next thread's. Not store-buffer safe.
    StoreBuffering {
        /// How many threads.
        threads: usize,
    },
    /// The same with accesses that are sequentially consistent, and so store-buffer safe.
    SafeStoreBuffering {
        /// How many threads.
        threads: usize,
    },
    /// Each thread adds to one variable several times.
    Counter {
        /// How many threads.
        threads: usize,
        /// How often each adds.
        additions: usize,
    },
    /// One thread stores, the others load.
    Readers {
        /// How many threads load.
        readers: usize,
    },
    /// One thread searches the last zero of an array, while each other one sets its element to
    /// that of the left neighbour plus 1.
    LastZero {
        /// How many elements are set.
        elements: usize,
    },
}

const fn counter(threads: usize) -> Program {
    let additions = 2;
    Program::Counter { threads, additions }
}

/// All that are measured.
pub const PROGRAMS: [Program; 17] = [
    Program::StoreBuffering { threads: 2 },
    Program::StoreBuffering { threads: 3 },
    Program::StoreBuffering { threads: 4 },
    Program::StoreBuffering { threads: 6 },
    Program::SafeStoreBuffering { threads: 2 },
    Program::SafeStoreBuffering { threads: 3 },
    Program::SafeStoreBuffering { threads: 4 },
    Program::SafeStoreBuffering { threads: 6 },
    counter(3),
    counter(4),
    counter(5),
    Program::Readers { readers: 3 },
    Program::Readers { readers: 8 },
    Program::Readers { readers: 13 },
    Program::LastZero { elements: 5 },
    Program::LastZero { elements: 10 },
    Program::LastZero { elements: 15 },
];

impl Program {
    /// The number of threads, with the main one.
    pub fn threads(self) -> usize {
        match self {
            Program::StoreBuffering { threads }
            | Program::SafeStoreBuffering { threads }
            | Program::Counter { threads, .. } => threads + 1,
            Program::Readers { readers } => readers + 2,
            Program::LastZero { elements } => elements + 2,
        }
    }

    /// The number of classes of sequentially consistent executions.
    pub fn classes(self) -> u64 {
        let factorial = |number: usize| (1..=number as u64).product::<u64>();
        match self {
            // All loads but those of a cycle of zeros.
            Program::StoreBuffering { threads } | Program::SafeStoreBuffering { threads } => {
                (1 << threads) - 1
            }
            Program::Counter { threads, additions } => {
                factorial(threads * additions) / factorial(additions).pow(threads as u32)
            }
            Program::Readers { readers } => 1 << readers,
            // 64 for 5 and 3,328 for 10 (Abdulla and others, JACM 2017).
            Program::LastZero { elements } => (elements as u64 + 3) << (elements - 2),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Program::StoreBuffering { threads } => write!(f, "sb({threads})"),
            Program::SafeStoreBuffering { threads } => write!(f, "sb-seqcst({threads})"),
            Program::Counter { threads, additions } => write!(f, "counter({threads},{additions})"),
            Program::Readers { readers } => write!(f, "readers({readers})"),
            Program::LastZero { elements } => write!(f, "lastzero({elements})"),
        }
    }
}
