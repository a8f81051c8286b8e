//! Internal crate of Fencepost: the runtime library that C and C++ programs are linked with.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

#[cfg(test)]
mod compiled;
pub mod heap;
pub mod image;
pub mod objects;
mod pages;
pub mod symbols;
