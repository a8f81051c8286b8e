//! Internal crate of Fencepost: the runtime library that C and C++ programs are linked with.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]

mod accesses;
mod atomics;
mod blocks;
mod hooks;
mod objects;
mod operations;
mod real;
mod start;
mod state;
mod threads;
mod world;
