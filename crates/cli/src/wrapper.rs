//! What `fencepost-cc` and `fencepost-cxx` do.

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(unix)]
pub use fencepost_driver::Language;

/// The languages, where there is no runtime.
#[cfg(not(unix))]
pub enum Language {
    C,
    Cxx,
}

static WAS_STOPPED: AtomicBool = AtomicBool::new(false);

/// Does what the compiler does with the arguments of this process. Under a name with `++` it is always the C++ compiler.
pub fn main(language: Language) -> ExitCode {
    // The compiler gets the same Ctrl-C, and what it leaves behind is removed then.
    let _ = ctrlc::set_handler(|| WAS_STOPPED.store(true, Ordering::Relaxed));
    match run(language) {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            eprintln!("fencepost: error: {message}");
            // As compilers do.
            ExitCode::from(1)
        }
    }
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn run(language: Language) -> Result<u8, String> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let language = match name.to_string_lossy().ends_with("++") {
        true => Language::Cxx,
        false => language,
    };
    let was_stopped = || WAS_STOPPED.load(Ordering::Relaxed);
    fencepost_driver::run_wrapper(language, arguments.collect(), &was_stopped)
        .map_err(|error| error.to_string())
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn run(_: Language) -> Result<u8, String> {
    Err("C and C++ programs can be checked on Linux on x86-64 only".to_owned())
}
