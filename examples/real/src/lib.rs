//! Nothing is here: see `tests`, a file for each crate that is checked, and `loom`, by which they are.
