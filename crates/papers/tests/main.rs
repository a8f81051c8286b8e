//! All tests of the papers' programs, as one binary.

mod consequences;
mod fences;
mod verdicts;
