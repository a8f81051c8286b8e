//! All tests of trace files, as one binary.

mod support;

mod binary_errors;
mod compression;
mod corpus;
mod documentation;
mod generate;
mod robustness;
mod round_trip;
mod text_errors;
mod text_format;
