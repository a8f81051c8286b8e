//! What several workers share.

pub(crate) mod barrier;
pub(crate) mod pool;
