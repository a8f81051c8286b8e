//! What several workers share: `pool` has the shared nodes of an exhaustive search, `barrier`
//! brings workers together for a checkpoint.

pub(crate) mod barrier;
pub(crate) mod pool;
