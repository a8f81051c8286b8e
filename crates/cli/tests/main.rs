//! All tests of the command, as one binary.

mod support;

mod bad_bytes;
mod demo;
mod docs;
mod example;
mod examples;
mod hardware;
#[cfg(unix)]
mod interrupt;
mod litmus;
mod litmus_docs;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod native;
mod protocol;
mod protocol_docs;
mod reproduce;
mod results;
