//! The tests of running litmus tests on the processor: the bytes (`encoding`), what single threads
//! do (`semantics`), what several do beside the model (`models`), and tests that misbehave
//! (`hostile`).
//!
//! None of them waits for an outcome that is only allowed, so they pass on any machine. Where tests
//! cannot be run, `elsewhere` is all that is left.

mod common;
mod encoding;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod hostile;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod models;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod semantics;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
mod elsewhere {
    use fencepost_hardware::{NotHere, Processor};

    #[test]
    fn it_says_so() {
        assert!(matches!(Processor::detect(), Err(NotHere::Platform { .. })));
    }
}
