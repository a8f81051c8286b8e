//! Every `console` block in the README, the guide and `cmd/*.md` is run and compared.
//!
//! `TRYCMD=overwrite cargo test -p fencepost-cli docs::` writes what the commands print
//! now into the files; read the difference before you commit it.

use std::path::Path;

#[test]
fn every_console_block_prints_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The commands name files as a reader in the repository's root would.
    std::env::set_current_dir(root).expect("the repository's root");
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("fencepost", Path::new(env!("CARGO_BIN_EXE_fencepost")))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .case("README.md")
        .case("docs/*.md")
        .case("docs/stories/*.md")
        .case("crates/cli/tests/cmd/*.md");
}
