//! Why nothing can be run here, and why a test cannot be run.

use thiserror::Error;

/// Why no test can be run on this machine.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum NotHere {
    /// The processor or the operating system is another one.
    #[error(
        "litmus tests run on the processor only on Linux on x86-64; this is {system} on {architecture}"
    )]
    Platform {
        /// The operating system.
        system: &'static str,
        /// The processor's architecture.
        architecture: &'static str,
    },
    /// The time-stamp counter does not run at one rate on all processors.
    #[error(
        "the time-stamp counter of this machine does not run at a constant rate (no `constant_tsc`), and threads start by it"
    )]
    Counter,
    /// The kernel does not say on which processors this process may run.
    #[error("cannot find out on which processors this process may run: {0}")]
    Affinity(String),
}

/// Why a test cannot be run on the processor. Threads and instructions are indices.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// A thread uses more registers than there are.
    #[error("a thread uses more than the 16 registers of the processor")]
    TooManyRegisters {
        /// The thread.
        thread: usize,
    },
    /// The processor has no such instruction.
    #[error("the processor has no such instruction ({why})")]
    NoSuchInstruction {
        /// The thread.
        thread: usize,
        /// The instruction.
        instruction: usize,
        /// What is wrong.
        why: String,
    },
    /// The harness has too little room.
    #[error("the test needs more than {most} {what}")]
    TooLarge {
        /// Of what.
        what: &'static str,
        /// How many there may be.
        most: u64,
    },
    /// Memory that the test must have at fixed addresses is taken.
    #[error("cannot map memory at the addresses of the test: {0}")]
    Memory(String),
    /// No child process could be started.
    #[error("cannot start a process for the test: {0}")]
    Process(String),
}
