//! The programs of the papers, each with its store-buffer bug and without.
//!
//! One file each: a description of the program and its bug, the data structure, and a test with
//! threads that use it and check the results. The code was written for this crate; the algorithms,
//! verdicts and [`figures`] are their authors'.
//!
//! - [`store_buffering`], [`dekker`], [`bakery`], [`take_queue`] and [`idle_consumer`] are unsafe
//!   under TSO and under PSO,
//! - [`msn`], [`ms2`], [`harris`], [`lazylist`] and [`snark`] are safe under TSO and unsafe under
//!   PSO.
//!
//! [`EXAMPLES`] lists them.

pub mod bakery;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod c;
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

/// A version of a program.
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

    /// The ordering of a store by which others may see what was stored before: `Release` in the
    /// fixed version.
    pub fn release(self) -> Ordering {
        match self {
            Version::Original => Relaxed,
            Version::Fixed => Release,
        }
    }
}

/// Whether a program is store-buffer safe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Store buffers add no behaviour.
    Safe,
    /// Store buffers add behaviour that is not sequentially consistent.
    Unsafe,
}

/// The fences and orderings that the fixed version adds, counted by their places in the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fix {
    /// Full fences: `fence(SeqCst)`.
    pub full: usize,
    /// Store barriers, which have no effect under TSO: `fence(Release)` and `Release` stores.
    pub stores: usize,
}

/// One program.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Its name in the papers.
    pub name: &'static str,
    /// A short description.
    pub title: &'static str,
    /// The path of its file in reports.
    pub source_file: &'static str,
    /// The text of the file.
    pub source_text: &'static str,
    /// The program.
    pub program: fn(Version),
    /// The fences and orderings of the fixed version.
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
