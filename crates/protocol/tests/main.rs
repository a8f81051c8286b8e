//! All tests of Murphi models and searches, as one binary.

mod both;
// The unit tests use it too, and are in the package.
#[path = "../src/compile/tests/generate.rs"]
mod generate;

mod corpus;
mod language;
mod large;
mod messages;
mod models;
mod mutations;
mod projection;
mod random_models;
mod search;
