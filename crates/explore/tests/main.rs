//! All tests of the explorer against brute force and published counts, as one binary: the model
//! language and the oracle in [`model`] are compiled once.

mod model;
mod saved;

mod assumptions;
mod checkpoints;
mod classes;
mod endings;
mod estimates;
mod model_oracle;
mod pulses;
mod sampled;
mod several_objects;
mod spins;
mod verdicts;
