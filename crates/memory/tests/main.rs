//! All tests of the models, as one binary.

mod common;

mod litmus;
mod load_buffer;
mod machine_equals_axioms;
mod machine_steps;
