//! States as the search keeps them: sorted, permuted, packed, and found again.
//!
//! Read in this order: `multisets` (elements have no order), `symmetry` (values of scalarsets have
//! none either), `pack` (only the bits that matter), `store` (all states that were found), in
//! `zeros`, asked for `early`.
//!
//! Nothing here runs a model: it is about [`Layout`](crate::compile::Layout)s only.

pub(crate) mod early;
mod multisets;
mod pack;
pub(crate) mod store;
pub(crate) mod symmetry;
mod zeros;

pub(crate) use multisets::Multisets;
pub(crate) use pack::Packer;
pub(crate) use store::Store;
pub(crate) use symmetry::Canonical;

/// The bytes of some words, as they are in memory.
pub(crate) fn bytes_of(words: &[u64]) -> &[u8] {
    bytemuck::cast_slice(words)
}

/// The bytes of some words, to be changed.
pub(crate) fn bytes_of_mut(words: &mut [u64]) -> &mut [u8] {
    bytemuck::cast_slice_mut(words)
}
