//! How much a file may ask for.
//!
//! Each limit is checked before anything is allocated for what it limits, so reading takes memory
//! in proportion to the file, whatever the file says.

/// How large a test may be. Reaching a limit is an error of its own
/// ([`ParseError::is_limit`](crate::ParseError::is_limit)): it says nothing about the test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// Threads.
    pub threads: usize,
    /// Instructions of one thread. Whatever is set here, a thread has at most `u16::MAX`
    /// operations.
    pub instructions: usize,
    /// Cells of memory, each element of an array counted.
    pub cells: usize,
    /// Bytes of one name.
    pub name_bytes: usize,
    /// Parentheses, negations and implications within each other in a proposition. Whatever is
    /// set here, it is at most [`Limits::DEEPEST_NESTING`], because propositions are walked by
    /// recursion.
    pub nesting: usize,
}

impl Limits {
    /// More nesting than this is never read. It fits the 2 MiB that the stack of a thread has, also
    /// without optimisation.
    pub const DEEPEST_NESTING: usize = 256;
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 1 << 20,
            threads: 1024,
            instructions: 8192,
            cells: 1 << 16,
            name_bytes: 255,
            nesting: 128,
        }
    }
}
