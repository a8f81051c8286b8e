//! Optimal dynamic partial-order reduction.

pub(crate) mod footprint;
pub(crate) mod learned;
pub(crate) mod optimal;
pub(crate) mod sleep;
pub(crate) mod wakeup;
