//! Checks low-lock Rust code.
