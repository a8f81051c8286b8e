//! The figures that the papers publish.
//!
//! - SOBER: Burckhardt and Musuvathi, *Effective program verification for relaxed memory models*
//!   (CAV 2008, and MSR-TR-2008-12), Fig. 4.
//! - BSS: Burnim, Sen and Stergiou, *Sound and complete monitoring of sequential consistency in
//!   relaxed memory models* (UCB/EECS-2010-31), Table 1.
//!
//! Their programs and harnesses are not ours, so their numbers are not either.

/// A line of SOBER's Fig. 4: the original version, explored up to a preemption bound. Times are in
/// seconds, as printed, on a Core Duo with 2.2 GHz.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SoberLine {
    /// The preemption bound; none if all interleavings were run.
    pub bound: Option<u32>,
    /// The interleavings within the bound.
    pub interleavings: u32,
    /// Those that are borderline: a store buffer could take them out of sequential consistency.
    pub borderline: u32,
    /// Until the first borderline one was found.
    pub found_after: &'static str,
    /// To the end of the fixed version, with the monitor.
    pub monitored: &'static str,
    /// The same without the monitor.
    pub unmonitored: &'static str,
}

const fn sober(
    bound: Option<u32>,
    [interleavings, borderline]: [u32; 2],
    [found_after, monitored, unmonitored]: [&'static str; 3],
) -> SoberLine {
    SoberLine {
        bound,
        interleavings,
        borderline,
        found_after,
        monitored,
        unmonitored,
    }
}

/// Store buffering.
pub const SOBER_STORE_BUFFERING: &[SoberLine] =
    &[sober(None, [10, 4], ["< 0.1", "< 0.2", "< 0.2"])];

/// Dekker: 2 threads, 2 critical sections.
pub const SOBER_DEKKER: &[SoberLine] = &[
    sober(Some(1), [5, 4], ["< 0.1", "< 0.2", "< 0.2"]),
    sober(Some(2), [36, 23], ["< 0.1", "0.39", "0.37"]),
    sober(Some(3), [183, 50], ["< 0.1", "1.9", "1.8"]),
    sober(Some(4), [1_219, 124], ["< 0.1", "13.2", "13.0"]),
    sober(Some(5), [8_472, 349], ["< 0.1", "106.0", "100.6"]),
];

/// The bakery: 2 threads, 3 critical sections.
pub const SOBER_BAKERY: &[SoberLine] = &[
    sober(Some(0), [1, 1], ["< 0.1", "< 0.2", "< 0.2"]),
    sober(Some(1), [25, 20], ["< 0.1", "0.47", "0.43"]),
    sober(Some(2), [742, 533], ["< 0.1", "10.3", "9.8"]),
    sober(Some(3), [12_436, 8_599], ["< 0.1", "189.0", "181.0"]),
];

/// The take-queue: 2 threads, 6 operations.
pub const SOBER_TAKE_QUEUE: &[SoberLine] = &[
    sober(Some(0), [3, 0], ["not found", "< 0.3", "< 0.3"]),
    sober(Some(1), [47, 14], ["0.34", "0.72", "0.69"]),
    sober(Some(2), [402, 189], ["0.43", "5.2", "4.9"]),
    sober(Some(3), [2_318, 1_197], ["0.74", "28.9", "27.8"]),
    sober(Some(4), [9_147, 5_321], ["0.84", "125.5", "118.9"]),
    sober(Some(5), [29_821, 17_922], ["0.86", "481.5", "461.6"]),
];

/// A line of BSS's Table 1: 1,000 random executions of the original version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BssLine {
    /// The events of an execution, on average.
    pub events: u32,
    /// The violations that the monitor for TSO found. The paper has a dash for none.
    pub tso: BssFound,
    /// The violations that the monitor for PSO found.
    pub pso: BssFound,
}

/// The violations that a monitor of BSS found in 1,000 random executions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BssFound {
    /// The executions with a violation.
    pub executions: u32,
    /// The violations between different instructions.
    pub distinct: u32,
}

const fn bss(events: u32, tso: [u32; 2], pso: [u32; 2]) -> BssLine {
    const fn found([executions, distinct]: [u32; 2]) -> BssFound {
        BssFound {
            executions,
            distinct,
        }
    }
    BssLine {
        events,
        tso: found(tso),
        pso: found(pso),
    }
}

/// Dekker.
pub const BSS_DEKKER: BssLine = bss(140, [973, 10], [977, 15]);
/// The bakery.
pub const BSS_BAKERY: BssLine = bss(515, [992, 3], [1_000, 4]);
/// Michael and Scott's non-blocking queue.
pub const BSS_MSN: BssLine = bss(337, [0, 0], [943, 3]);
/// Michael and Scott's two-lock queue.
pub const BSS_MS2: BssLine = bss(193, [0, 0], [73, 2]);
/// Harris's set.
pub const BSS_HARRIS: BssLine = bss(1_332, [0, 0], [976, 2]);
/// The lazy list.
pub const BSS_LAZYLIST: BssLine = bss(443, [0, 0], [18, 2]);
/// Snark.
pub const BSS_SNARK: BssLine = bss(376, [0, 0], [951, 10]);
