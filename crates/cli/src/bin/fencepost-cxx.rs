//! `fencepost-cxx`: used as the C++ compiler, it makes programs that can be checked.

#[path = "../wrapper.rs"]
mod wrapper;

fn main() -> std::process::ExitCode {
    wrapper::main(wrapper::Language::Cxx)
}
