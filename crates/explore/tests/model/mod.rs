//! A small concurrent language, and the truth about programs in it.
//!
//! Read in this order: [`language`] (what a program is), [`running`] (a program as the explorer
//! sees it), [`class`] (which executions are the same, and a recorder of them), [`oracle`] (every
//! interleaving, by brute force), [`buffers`] (every run on machines with store buffers),
//! [`random`] (programs from seeds), [`families`] (programs by name), [`driver`] (runs programs
//! without an explorer) and [`exploring`] (runs them with it).
//!
//! `oracle`, `buffers` and `running` interpret the same instructions and share no code that
//! does, so that one of them checks the other.

// Each test file uses its own part of this.

pub mod buffers;
pub mod class;
pub mod driver;
pub mod exploring;
pub mod families;
pub mod language;
pub mod oracle;
pub mod random;
pub mod running;
