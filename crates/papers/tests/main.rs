//! All tests of the papers' programs, as one binary.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod c;
mod consequences;
mod fences;
mod verdicts;
