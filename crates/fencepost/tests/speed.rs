//! How fast the runtime alone is. Nothing is asserted: run it by hand.
//!
//! ```sh
//! cargo test --release -p fencepost --test speed -- --ignored --nocapture
//! ```

mod support;

use std::sync::Arc;
use std::time::Instant;

use fencepost::sync::atomic::{AtomicUsize, Ordering};
use fencepost::thread;
use fencepost_explore::{Performed, Program};
use fencepost_memory::Random;
use fencepost_runtime::{Registry, Runtime, Setup};

#[test]
#[ignore = "a measurement"]
fn executions_per_second() {
    let program = || {
        let counter = Arc::new(AtomicUsize::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counter = counter.clone();
                thread::spawn(move || {
                    counter.fetch_add(1, Ordering::Relaxed);
                    counter.fetch_add(1, Ordering::Relaxed);
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    };
    let registry = Arc::new(Registry::new(fencepost_runtime::LocationRef::caller()));
    let mut runtime = Runtime::new(Arc::new(program), Setup::default(), registry);
    let mut performed = Performed::default();
    let mut random = Random::new(1);
    const EXECUTIONS: u32 = 300_000;
    for _ in 0..5 {
        let begin = Instant::now();
        let mut steps = 0_u64;
        for _ in 0..EXECUTIONS {
            performed.clear();
            runtime.start(&mut performed).unwrap();
            while let Some(thread) = support::pick(&runtime, &mut random) {
                performed.clear();
                runtime.step(thread, 0, &mut performed).unwrap();
                steps += 1;
            }
            runtime.finish(true).unwrap();
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{:.0} executions per second, {:.1} steps each, {:.0} ns per step",
            f64::from(EXECUTIONS) / seconds,
            steps as f64 / f64::from(EXECUTIONS),
            seconds * 1e9 / steps as f64
        );
    }
}
