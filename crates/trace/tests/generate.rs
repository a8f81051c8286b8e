//! What generated traces look like.

use std::collections::HashMap;

use fencepost_memory::{Access, Address, Operation, OperationKind, ThreadId};
use fencepost_trace::{GenerateOptions, Mix, Shape, TraceStatistics};

fn options(shape: Shape) -> GenerateOptions {
    GenerateOptions {
        threads: 6,
        addresses: 100,
        events: 60_000,
        seed: 1,
        shape,
        ..GenerateOptions::default()
    }
}

fn generate(options: &GenerateOptions) -> Vec<Access> {
    options.generate().unwrap().collect()
}

fn statistics(trace: &[Access]) -> TraceStatistics {
    let mut statistics = TraceStatistics::new();
    statistics.add(trace);
    statistics
}

#[test]
fn a_trace_is_named_by_its_options() {
    for shape in Shape::ALL {
        let options = options(shape);
        let trace = generate(&options);
        assert_eq!(trace.len(), 60_000);
        assert_eq!(trace, generate(&options), "{shape}");
        let other = GenerateOptions {
            seed: 2,
            ..options.clone()
        };
        assert_ne!(trace, generate(&other), "{shape}");
        let longer = GenerateOptions {
            events: u64::MAX,
            ..options.clone()
        };
        let start: Vec<Access> = longer.generate().unwrap().take(60_000).collect();
        assert_eq!(trace, start, "{shape}: a longer trace begins the same");

        let (mut batches, mut batch) = (Vec::new(), Vec::new());
        let mut generator = options.generate().unwrap();
        while generator.next_batch(&mut batch) {
            batches.extend_from_slice(&batch);
        }
        assert_eq!(trace, batches, "{shape}: batches are the same trace");
    }
}

/// The sequence is part of the product: benchmarks name traces by their seed.
#[test]
fn the_first_accesses_never_change() {
    let first: Vec<String> = generate(&options(Shape::Uniform))[..6]
        .iter()
        .map(|access| format!("{} {}", access.thread, access.operation))
        .collect();
    assert_eq!(
        first,
        [
            "T4 ld a58",
            "T0 ld a2",
            "T1 st a90",
            "T5 ld a1",
            "T0 ld a93",
            "T5 st a62"
        ]
    );
}

#[test]
fn all_threads_and_addresses_occur_in_range() {
    for shape in Shape::ALL {
        for (threads, addresses) in [(2, 2), (2, 1000), (3, 7), (16, 2), (64, 64), (1024, 5000)] {
            let options = GenerateOptions {
                threads,
                addresses,
                events: 100_000,
                ..options(shape)
            };
            let trace = generate(&options);
            let statistics = statistics(&trace);
            assert_eq!(statistics.threads(), threads as usize, "{shape}");
            assert!(trace.iter().all(|access| access.thread.0 < threads));
            let used = statistics.addresses();
            assert!(used > 0 && used <= addresses as usize, "{shape}");
            let below =
                |access: &Access| access.operation.address().is_none_or(|a| a.0 < addresses);
            assert!(trace.iter().all(below), "{shape}");
            if addresses < 1000 && shape != Shape::MessagePassing {
                assert_eq!(used, addresses as usize, "{shape} {threads} {addresses}");
            }
        }
    }
}

#[test]
fn kinds_follow_the_mix() {
    let mix: Mix = "ld=30,st=20,il=10,lld=10,lst=10,fence=15,stbar=5"
        .parse()
        .unwrap();
    for shape in [
        Shape::Uniform,
        Shape::Private,
        Shape::Hot,
        Shape::StoppedThread,
    ] {
        let trace = generate(&GenerateOptions {
            mix,
            ..options(shape)
        });
        let statistics = statistics(&trace);
        for kind in OperationKind::ALL {
            let expected = 60_000 * u64::from(mix.weight(kind)) / 100;
            let found = statistics.of_kind(kind);
            let slack = expected / 10;
            assert!(found.abs_diff(expected) < slack, "{shape} {kind}: {found}");
        }
    }
    let only: Mix = "st=1".parse().unwrap();
    let trace = generate(&GenerateOptions {
        mix: only,
        ..options(Shape::Uniform)
    });
    assert_eq!(statistics(&trace).of_kind(OperationKind::Store), 60_000);
}

#[test]
fn private_addresses_are_seldom_shared() {
    let trace = generate(&options(Shape::Private));
    let mut by_address: HashMap<Address, HashMap<ThreadId, u32>> = HashMap::new();
    for access in &trace {
        if let Some(address) = access.operation.address() {
            *by_address
                .entry(address)
                .or_default()
                .entry(access.thread)
                .or_default() += 1;
        }
    }
    let counts = by_address.values().filter(|threads| threads.len() > 1);
    let owned = counts
        .clone()
        .map(|threads| threads.values().max().unwrap())
        .sum::<u32>();
    let all = counts
        .map(|threads| threads.values().sum::<u32>())
        .sum::<u32>();
    assert!(owned > all * 9 / 10, "{owned} of {all}");
    assert!(owned < all * 99 / 100, "{owned} of {all}");
}

#[test]
fn hot_addresses_get_most_accesses() {
    let trace = generate(&options(Shape::Hot));
    let hot = |access: &&Access| access.operation.address().is_some_and(|a| a.0 < 6);
    let share = trace.iter().filter(hot).count() * 100 / trace.len();
    assert!((88..96).contains(&share), "{share} %");
}

#[test]
fn messages_are_written_before_their_flag_and_read_after_it() {
    let mix: Mix = "ld=1,st=1".parse().unwrap();
    let trace = generate(&GenerateOptions {
        mix,
        ..options(Shape::MessagePassing)
    });
    let is_flag = |access: &Access| access.operation.address().is_some_and(|a| a.0 < 3);
    for thread in (0..6).map(ThreadId) {
        let own: Vec<&Access> = trace.iter().filter(|a| a.thread == thread).collect();
        let produces = thread.0 % 2 == 0;
        assert!(
            own.iter()
                .all(|access| access.operation.writes() == produces)
        );
        for (place, access) in own.iter().enumerate() {
            let expected = place % 5 == if produces { 4 } else { 0 };
            assert_eq!(is_flag(access), expected, "{thread} at {place}");
        }
    }
    // A producer and its consumer use the same flag.
    let flag_of = |thread| {
        let mut flags = trace
            .iter()
            .filter(|a| a.thread == ThreadId(thread) && is_flag(a));
        flags.next().unwrap().operation.address()
    };
    for producer in [0, 2, 4] {
        assert_eq!(flag_of(producer), flag_of(producer + 1));
    }
}

#[test]
fn one_thread_at_a_time_is_in_a_lock() {
    let options = options(Shape::Locks);
    let locks = options.addresses / 8;
    let mut owners: HashMap<u32, ThreadId> = HashMap::new();
    let (mut taken, mut waited) = (0, 0);
    for access in generate(&options) {
        let Some(address) = access.operation.address() else {
            continue;
        };
        let lock = address.0 % locks;
        if address.0 >= locks {
            assert_eq!(owners.get(&lock), Some(&access.thread), "{access:?}");
            continue;
        }
        match access.operation {
            Operation::Interlocked(_) => {
                assert_eq!(owners.insert(lock, access.thread), None);
                taken += 1;
            }
            Operation::Store(_) => assert_eq!(owners.remove(&lock), Some(access.thread)),
            _ => {
                assert_ne!(owners[&lock], access.thread, "the owner waits for itself");
                waited += 1;
            }
        }
    }
    assert!(taken > 5000, "{taken}");
    assert!(waited > 300, "{waited}");
}

#[test]
fn a_stopped_thread_has_only_the_first_event() {
    let trace = generate(&options(Shape::StoppedThread));
    assert_eq!(trace[0].thread, ThreadId(5));
    assert!(trace[1..].iter().all(|access| access.thread.0 < 5));
}

#[test]
fn impossible_options_have_their_messages() {
    let message = |threads, addresses, shape| {
        let options = GenerateOptions {
            threads,
            addresses,
            ..options(shape)
        };
        options.generate().unwrap_err().to_string()
    };
    let cases = [
        (
            message(0, 1, Shape::Uniform),
            "0 threads, expected 1 to 1024 for the shape uniform",
        ),
        (
            message(1025, 1, Shape::Hot),
            "1025 threads, expected 1 to 1024 for the shape hot",
        ),
        (
            message(1, 1, Shape::StoppedThread),
            "1 threads, expected 2 to 1024 for the shape stopped-thread",
        ),
        (
            message(1, 0, Shape::Private),
            "0 addresses, expected 1 to 16777216 for the shape private",
        ),
        (
            message(1, 16_777_217, Shape::Uniform),
            "16777217 addresses, expected 1 to 16777216 for the shape uniform",
        ),
        (
            message(2, 1, Shape::Locks),
            "1 addresses, expected 2 to 16777216 for the shape locks",
        ),
        (
            message(2, 1, Shape::MessagePassing),
            "1 addresses, expected 2 to 16777216 for the shape message-passing",
        ),
        (
            "circle".parse::<Shape>().unwrap_err().to_string(),
            "unknown shape `circle`, expected one of uniform, private, hot, message-passing, \
             locks, stopped-thread",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
    for shape in Shape::ALL {
        assert_eq!(shape.to_string().parse(), Ok(shape));
    }
    let empty = GenerateOptions {
        events: 0,
        ..options(Shape::StoppedThread)
    };
    assert_eq!(generate(&empty), []);
}
