//! The storage of states: canonical form, packing, and the hash table.
//!
//! Read in this order: `multisets` (sorts elements), `symmetry` (permutes scalarsets), `pack`
//! (drops unused bits), `store` (all states that were found), `zeros` (its memory), `early`
//! (prefetching).
//!
//! Nothing here runs a model: it depends only on the [`Layout`](crate::compile::Layout).

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
