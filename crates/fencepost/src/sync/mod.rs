//! What threads share, as in [`std::sync`].

pub mod atomic;
