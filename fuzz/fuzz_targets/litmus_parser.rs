//! Any bytes, read as a litmus test: an error with a message, or a test that the engines can rely on.
//!
//! ```text
//! cargo +nightly fuzz run litmus_parser fuzz/corpus/litmus_parser litmus
//! ```

#![no_main]

use fencepost_litmus::code::Operation;
use fencepost_litmus::thread::{Layout, Pending, Runner};
use fencepost_litmus::{Limits, parse};
use libfuzzer_sys::fuzz_target;

/// Loops are not followed to their end.
const MOST_STEPS: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let limits = Limits {
        bytes: 1 << 16,
        cells: 1 << 10,
        ..Limits::default()
    };
    let test = match parse(bytes, &limits) {
        Ok(test) => test,
        Err(error) => {
            assert!(!error.errors.is_empty());
            assert!(!error.to_string().is_empty());
            assert!(!error.render("fuzz").is_empty());
            return;
        }
    };
    let state = vec![0; test.observables().count()];
    test.format_state(&state);
    test.passes_filter(&state);
    test.condition.holds(&state);
    let layout = Layout::new(&test);
    for (index, thread) in test.threads.iter().enumerate() {
        assert_eq!(thread.operations.last(), Some(&Operation::End));
        assert_eq!(thread.operations.len(), thread.instruction_of.len());
        let mut registers: Vec<u64> = thread.registers.iter().map(|r| r.initial).collect();
        let mut position = 0;
        let mut runner = Runner {
            thread: index,
            test: &test,
            layout: &layout,
            position: &mut position,
            registers: &mut registers,
        };
        for _ in 0..MOST_STEPS {
            match runner.advance() {
                Ok(Pending::Load(_)) => runner.loaded(0),
                Ok(Pending::Ended) | Err(_) => break,
                Ok(_) => runner.passed(),
            }
        }
    }
});
