//! Internal crate of Fencepost: the runtime library that C and C++ programs are linked with.
//!
//! The user's compiler instruments the program as for ThreadSanitizer, and the program is linked with this library instead of
//! ThreadSanitizer's. It runs `main` again and again, in one process and on one OS thread, once per interleaving.
//!
//! Read in this order:
//! 1. `start`: from the start of the program to the end of the check. `state`: what is known meanwhile.
//! 2. `world`: what separates the program from Fencepost. `blocks`: thread-local storage of the program's threads.
//! 3. `hooks`: what each function that the program calls begins with. `operations`: how it performs an operation.
//! 4. `atomics`, `accesses` (of plain memory), `threads`, `locks`: the functions.
//!    `locals` and `leaving`: what belongs to a thread, and its end. `time`, `random`, `strings`, `refused`: other functions.
//! 5. `heap`, `memory` (the functions of the heap), `image` (global variables), `objects`, `leaks`.
//! 6. `output`: what the program prints. `failures`: how it fails.
//! 7. `symbols`: source lines and names of variables. `names`: those of all memory.
//! 8. `assembly`: what compilers do not announce.
//! 9. `real`: the functions of the C library that have look-alikes here.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(unsafe_code)]
// In tests, nobody calls what programs call.
#![cfg_attr(test, allow(dead_code))]
// Functions of C++ have the names that compilers give them.
#![allow(non_snake_case)]

mod accesses;
mod assembly;
pub mod atomics;
mod blocks;
#[cfg(test)]
mod compiled;
pub mod double;
pub mod failures;
pub mod heap;
mod hooks;
pub mod image;
mod leaks;
pub mod leaving;
pub mod locals;
pub mod locks;
pub mod memory;
mod names;
pub mod objects;
mod operations;
pub mod output;
mod pages;
pub mod random;
mod real;
pub mod refused;
pub mod start;
mod state;
pub mod strings;
pub mod symbols;
pub mod threads;
pub mod time;
pub mod verifier;
mod world;
