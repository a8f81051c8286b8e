//! All tests of Murphi models and searches, as one binary.

mod both;
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
