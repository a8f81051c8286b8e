//! Internal crate of Fencepost: compiles C and C++ programs for a check, with the user's own compiler.
//!
//! `-fsanitize=thread` makes gcc and clang call a function before each access. Linked with our runtime library instead
//! of theirs, the program can be checked; without a check it runs as it always did. The compiler is used like this:
//!
//! | step | gets |
//! | --- | --- |
//! | compile, `-S` | `-g -fsanitize=thread`, and what keeps volatile accesses and reads before writes apart |
//! | preprocess | `-fsanitize=thread`, for the macro that comes with it |
//! | link | the runtime library before all others; never `-fsanitize=thread`, which would add the compiler's own |
//!
//! A command that compiles and links at once is therefore taken apart.
//!
//! Read in this order: [`Compiler`] (which compiler), `command_line` (what its arguments mean), `steps` (what is run
//! instead), `wrapper` (a whole command), `program` (`fencepost cc`), [`find_runtime`] and [`linked_with`].
#![cfg(unix)]

mod command_line;
mod compiler;
mod elf;
mod error;
mod headers;
mod program;
mod response_file;
mod run_steps;
mod runtime;
mod steps;
mod temporary;
mod words;
mod wrapper;

pub use compiler::{Compiler, Language};
pub use elf::{Linked, linked_with};
pub use error::DriverError;
pub use program::{Program, build};
pub use runtime::{RUNTIME_FILE, find_runtime};
pub use temporary::TemporaryFolder;
pub use words::split_words;
pub use wrapper::run_wrapper;
