//! The programs of the papers, each with its store-buffer bug and without.
//!
//! One file each, to be read from top to bottom: what the program is and what is wrong with it, the data
//! structure, and threads that use it and check what they get. The code was written for this crate; the
//! algorithms, verdicts and [`figures`] are their authors'.
//!
//! - [`store_buffering`], [`dekker`], [`bakery`], [`take_queue`] and [`idle_consumer`] are unsafe under TSO and
//!   under PSO,
//! - [`msn`], [`ms2`], [`harris`], [`lazylist`] and [`snark`] are safe under TSO and unsafe under PSO.
//!
//! [`EXAMPLES`] lists them.

pub mod bakery;
pub mod dekker;
pub mod harris;
pub mod idle_consumer;
pub mod lazylist;
pub mod ms2;
pub mod msn;
pub mod snark;
pub mod store_buffering;
pub mod take_queue;

use fencepost::sync::atomic::Ordering::{self, Relaxed, Release};
use fencepost::sync::atomic::fence;

use crate::figures::{self, BssLine, SoberLine};

/// Which of the two programs in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// As the paper has it: every access is `Relaxed`.
    Original,
    /// With the fences and orderings that make it safe.
    Fixed,
}

impl Version {
    /// A fence, in the fixed version.
    #[track_caller]
    pub fn fence(self, order: Ordering) {
        if self == Version::Fixed {
            fence(order);
        }
    }

    /// The ordering of a store by which others may see what was stored before: `Release` in the fixed version.
    pub fn release(self) -> Ordering {
        match self {
            Version::Original => Relaxed,
            Version::Fixed => Release,
        }
    }
}

/// Whether store buffers can take a program out of sequential consistency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// They cannot.
    Safe,
    /// They can.
    Unsafe,
}

/// What the fixed version of a program has and the original one has not. Some of it is in a loop or in a function that
/// several threads call; what is counted is places in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Full fences: `fence(SeqCst)`.
    pub full: usize,
    /// What keeps stores in order, and changes nothing under TSO: `fence(Release)`, and stores that are `Release`.
    pub stores: usize,
}

/// One program.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name in the papers.
    pub name: &'static str,
    /// What it is.
    pub title: &'static str,
    /// Its file, as reports call it.
    pub source_file: &'static str,
    /// The text of the file.
    pub source_text: &'static str,
    /// The program, to be checked.
    pub program: fn(Version),
    /// What makes the fixed version safe, under TSO and under PSO.
    pub fix: Fix,
    /// The papers' verdict on the original version under TSO.
    pub tso: Verdict,
    /// The papers' verdict on the original version under PSO.
    pub pso: Verdict,
    /// SOBER's measurements, if it has any.
    pub sober: &'static [SoberLine],
    /// BSS's measurements, if it has any.
    pub bss: Option<BssLine>,
}

impl Example {
    const fn new(
        [name, title]: [&'static str; 2],
        (source_file, source_text): (&'static str, &'static str),
        program: fn(Version),
        fix: Fix,
        tso: Verdict,
    ) -> Self {
        Example {
            name,
            title,
            source_file,
            source_text,
            program,
            fix,
            tso,
            // All of them are.
            pso: Verdict::Unsafe,
            sober: &[],
            bss: None,
        }
    }

    const fn in_sober(self, sober: &'static [SoberLine]) -> Self {
        Example { sober, ..self }
    }

    const fn in_bss(self, line: BssLine) -> Self {
        Example {
            bss: Some(line),
            ..self
        }
    }
}

/// The programs, those of SOBER first.
pub static EXAMPLES: [Example; 10] = [
    Example::new(
        ["store-buffering", "store buffering"],
        store_buffering::SOURCE,
        store_buffering::program,
        Fix { full: 2, stores: 0 },
        Verdict::Unsafe,
    )
    .in_sober(figures::SOBER_STORE_BUFFERING),
    Example::new(
        ["dekker", "Dekker's lock"],
        dekker::SOURCE,
        dekker::program,
        Fix { full: 3, stores: 1 },
        Verdict::Unsafe,
    )
    .in_sober(figures::SOBER_DEKKER)
    .in_bss(figures::BSS_DEKKER),
    Example::new(
        ["bakery", "Lamport's bakery"],
        bakery::SOURCE,
        bakery::program,
        Fix { full: 2, stores: 2 },
        Verdict::Unsafe,
    )
    .in_sober(figures::SOBER_BAKERY)
    .in_bss(figures::BSS_BAKERY),
    Example::new(
        ["takequeue", "a work-stealing queue"],
        take_queue::SOURCE,
        take_queue::program,
        Fix { full: 2, stores: 1 },
        Verdict::Unsafe,
    )
    .in_sober(figures::SOBER_TAKE_QUEUE),
    Example::new(
        ["idle-consumer", "a consumer that sleeps"],
        idle_consumer::SOURCE,
        idle_consumer::program,
        Fix { full: 2, stores: 0 },
        Verdict::Unsafe,
    ),
    Example::new(
        ["msn", "Michael and Scott's non-blocking queue"],
        msn::SOURCE,
        msn::program,
        Fix { full: 0, stores: 1 },
        Verdict::Safe,
    )
    .in_bss(figures::BSS_MSN),
    Example::new(
        ["ms2", "Michael and Scott's two-lock queue"],
        ms2::SOURCE,
        ms2::program,
        Fix { full: 0, stores: 1 },
        Verdict::Safe,
    )
    .in_bss(figures::BSS_MS2),
    Example::new(
        ["harris", "Harris's non-blocking set"],
        harris::SOURCE,
        harris::program,
        Fix { full: 0, stores: 1 },
        Verdict::Safe,
    )
    .in_bss(figures::BSS_HARRIS),
    Example::new(
        ["lazylist", "the lazy list of Heller and others"],
        lazylist::SOURCE,
        lazylist::program,
        Fix { full: 0, stores: 1 },
        Verdict::Safe,
    )
    .in_bss(figures::BSS_LAZYLIST),
    Example::new(
        ["snark", "Snark, a deque with double compare-and-swap"],
        snark::SOURCE,
        snark::program,
        Fix { full: 0, stores: 1 },
        Verdict::Safe,
    )
    .in_bss(figures::BSS_SNARK),
];
