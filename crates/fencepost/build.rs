//! A look-alike has what its original in `std` has. Some methods are younger than the oldest supported
//! version of Rust; this sets `rustc_1_86` and so on where the compiler is new enough for them.

fn main() {
    autocfg::rerun_path("build.rs");
    let compiler = autocfg::new();
    compiler.emit_rustc_version(1, 86); // Once::wait, OnceLock::wait
    compiler.emit_rustc_version(1, 91); // AtomicPtr::fetch_ptr_add
    compiler.emit_rustc_version(1, 92); // RwLockWriteGuard::downgrade
}
