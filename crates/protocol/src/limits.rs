//! Limits on the size of a model.
//!
//! Each limit is checked before anything is allocated for what it limits, so reading takes memory
//! in proportion to the file, whatever the file says.

/// The largest model that is read. Reaching a limit is an error of its own
/// ([`ModelError::is_limit`](crate::ModelError::is_limit)): the model may be correct.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the file. Whatever is set here, it is at most [`Limits::LARGEST_FILE`].
    pub bytes: usize,
    /// Bytes of one name.
    pub name_bytes: usize,
    /// Parentheses, operators, blocks and types within each other. Whatever is set here, it is at
    /// most [`Limits::DEEPEST_NESTING`], because all of these are walked by recursion.
    pub nesting: usize,
    /// Functions and procedures that call each other in a row.
    pub calls: usize,
    /// Values of one scalarset.
    pub scalarset: u32,
    /// Cells of the state: simple values, each element of an array and a multiset counted.
    pub cells: u64,
    /// Instances of rules, start states and invariants: combinations of their parameters.
    pub instances: u64,
}

impl Limits {
    /// More nesting than this is never read.
    pub const DEEPEST_NESTING: usize = 256;

    /// No larger file is ever read.
    pub const LARGEST_FILE: usize = 1 << 30;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 4 << 20,
            name_bytes: 255,
            nesting: 200,
            calls: 64,
            scalarset: 4096,
            cells: 1 << 20,
            instances: 1 << 24,
        }
    }
}
