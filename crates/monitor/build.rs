//! Sets `rustc_1_88` where the compiler is that new: `hint::select_unpredictable` is younger than the
//! oldest supported version of Rust.

fn main() {
    autocfg::rerun_path("build.rs");
    autocfg::new().emit_rustc_version(1, 88);
}
