//! This library is empty. `tests` has a file for each crate that is checked, and `loom` is the shim that they use.
