//! What a runner keeps besides the monitor: memory within its limit, and enough to explain a violation.

use fencepost_memory::{Access, Address, Operation, ThreadId};

use crate::explain::Action;
use crate::monitor::Monitor;
use crate::relaxed_order::RelaxedOrderMonitor;
use crate::runner::{MemoryLimitExceeded, MonitorLimits, MonitorRunner};

fn load(thread: u32, address: u32) -> Access {
    Access::new(ThreadId(thread), Operation::Load(Address(address)))
}

fn store(thread: u32, address: u32) -> Access {
    Access::new(ThreadId(thread), Operation::Store(Address(address)))
}

fn limited(memory: usize) -> MonitorRunner<impl Monitor> {
    let limits = MonitorLimits {
        witness_window: 0,
        memory,
    };
    MonitorRunner::with_limits(RelaxedOrderMonitor::tso(), limits)
}

/// What the overtaking load reads in the witness is known although it was written before the witness window.
#[test]
fn a_witness_names_what_was_written_before_its_window() {
    let limits = MonitorLimits {
        witness_window: 4,
        ..MonitorLimits::default()
    };
    let (x, y) = (0, 1);
    let mut runner = MonitorRunner::with_limits(RelaxedOrderMonitor::tso(), limits);
    let observed = [store(2, x), store(0, x), load(0, y), store(1, y)];
    for access in observed {
        assert_eq!(runner.observe(access), Ok(None));
    }
    let violation = runner.observe(load(1, x)).unwrap().expect("a violation");
    assert_eq!(violation.span(), 4);
    let finding = runner.explain(&violation).unwrap();
    let reads = finding.witness.steps.iter().filter_map(|step| {
        let is_overtaking = step.event.thread() == ThreadId(1);
        match step.action {
            Action::Read(read) if is_overtaking => Some(read),
            _ => None,
        }
    });
    let reads: Vec<_> = reads.collect();
    let [Some(read)] = reads[..] else {
        panic!("{reads:?}");
    };
    assert_eq!((read.position, read.thread()), (0, ThreadId(2)));
    assert_eq!(read.event.access, store(2, x));
}

#[test]
fn accessed_addresses_are_counted_once_and_until_a_reset() {
    let mut runner = limited(usize::MAX);
    for access in [store(0, 3), load(1, 3), load(1, 7)] {
        assert_eq!(runner.observe(access), Ok(None));
    }
    let before = runner.happens_before();
    assert_eq!(
        (before.accessed_addresses(), before.address_count()),
        (2, 8)
    );
    assert_eq!((before.active_threads(), before.thread_count()), (2, 2));
    runner.reset();
    let before = runner.happens_before();
    assert_eq!(
        (before.accessed_addresses(), before.address_count()),
        (0, 8)
    );
    assert_eq!((before.active_threads(), before.thread_count()), (0, 2));
}

/// Each address has a clock of a word per thread, at least for its last write and for all its accesses.
#[test]
fn memory_grows_with_threads_and_addresses() {
    let (threads, addresses) = (40, 300);
    let mut runner = limited(usize::MAX);
    for thread in 0..threads {
        assert_eq!(runner.observe(load(thread, addresses - 1)), Ok(None));
    }
    let clocks = 2 * (threads * addresses) as usize * size_of::<u64>();
    assert!(runner.happens_before().memory() >= clocks);
    assert!(runner.memory() >= 2 * clocks, "the monitor has clocks, too");
}

/// What a new thread or address needs is known before, and the limit is exact.
#[test]
fn growth_beyond_the_limit_is_refused() {
    for (access, threads, addresses) in [(load(60, 0), 61, 9), (load(0, 5000), 3, 5001)] {
        let observe = |memory: usize| -> (_, usize) {
            let mut runner = limited(memory);
            let first = runner.observe(load(2, 8));
            let before = runner.memory();
            (first.and_then(|_| runner.observe(access)), before)
        };
        let (_, before) = observe(usize::MAX);
        let (refused, _) = observe(before);
        let Err(MemoryLimitExceeded {
            threads: told_threads,
            addresses: told_addresses,
            needed,
            limit,
        }) = refused
        else {
            panic!("{refused:?}");
        };
        assert_eq!((told_threads, told_addresses), (threads, addresses));
        assert_eq!(limit, before);
        // Two clocks of happens-before, and two of the monitor.
        let clocks = 4 * threads * addresses * size_of::<u64>();
        assert!(needed >= clocks, "{needed} for {clocks}");
        assert_eq!(observe(needed).0, Ok(None));
        let too_little = observe(needed - 1).0;
        assert_eq!(too_little.map_err(|error| error.needed), Err(needed));
    }
}
