//! The cost of monitoring, compared to the happens-before clock alone, over the same binary trace:
//! `cargo bench --profile dist -p fencepost-benches --bench monitor`.

use std::hint::black_box;

use fencepost_benches::{Candidate, best_times, binary_trace, decode_trace, monitor_trace};
use fencepost_memory::{LockedDrains, MemoryModel};
use fencepost_monitor::{BssTso, HappensBeforeOnly, RelaxedOrderMonitor};
use fencepost_trace::{GenerateOptions, Shape};

const EVENTS: u64 = 2_000_000;
const ROUNDS: usize = 7;
/// The default of `fencepost monitor`.
const WINDOW: usize = 1 << 16;

fn main() {
    println!(
        "ns per event, best of {ROUNDS} runs; in brackets: times the happens-before clock alone"
    );
    println!();
    println!(
        "{:34} {:>8} {:>8} {:>15} {:>15} {:>15}",
        "trace", "decode", "hb", "tso", "pso", "bss-tso"
    );
    let base = GenerateOptions {
        events: EVENTS,
        seed: 1,
        ..GenerateOptions::default()
    };
    for threads in [2, 4, 8, 16, 32, 64] {
        measure(&GenerateOptions {
            threads,
            ..base.clone()
        });
    }
    for addresses in [4, 1 << 10, 1 << 14, 1 << 17] {
        measure(&GenerateOptions {
            addresses,
            ..base.clone()
        });
    }
    for shape in Shape::ALL
        .into_iter()
        .filter(|&shape| shape != Shape::Uniform)
    {
        measure(&GenerateOptions {
            shape,
            ..base.clone()
        });
    }
}

fn measure(options: &GenerateOptions) {
    let trace = binary_trace(options);
    let trace = trace.as_slice();
    let mut candidates = vec![
        Candidate::new("decode", || {
            decode_trace(trace, |access| _ = black_box(access))
        }),
        Candidate::new("hb", || {
            black_box(monitor_trace(trace, HappensBeforeOnly(MemoryModel::TSO), 0));
        }),
        Candidate::new("tso", || {
            black_box(monitor_trace(trace, RelaxedOrderMonitor::tso(), WINDOW));
        }),
    ];
    // The clocks of PSO have a group per address: with many addresses it takes its time.
    if options.addresses <= 1 << 10 {
        candidates.push(Candidate::new("pso", || {
            let monitor = RelaxedOrderMonitor::pso(LockedDrains::Everything);
            black_box(monitor_trace(trace, monitor, WINDOW));
        }));
        candidates.push(Candidate::new("bss-tso", || {
            black_box(monitor_trace(trace, BssTso::default(), WINDOW));
        }));
    }
    let times = best_times(&mut candidates, ROUNDS);
    let per_event = |index: usize| times[index].as_secs_f64() * 1e9 / options.events as f64;
    let name = format!(
        "{}, {} threads, {} addresses",
        options.shape, options.threads, options.addresses
    );
    print!("{name:34} {:8.1} {:8.1}", per_event(0), per_event(1));
    for index in 2..times.len() {
        let ratio = per_event(index) / per_event(1);
        print!(" {:7.1} ({ratio:4.2}×)", per_event(index));
    }
    println!();
}
