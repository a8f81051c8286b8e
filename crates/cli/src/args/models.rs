//! Memory models, as several commands name them.

use clap::ValueEnum;

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum PsoLocked {
    /// The whole buffer of the thread
    Everything,
    /// Only the stores to its own address (Burnim, Sen and Stergiou)
    OwnAddress,
}
