//! `fencepost demo` has its sources with it.

use std::path::Path;
use std::process::Command;

fn demo_in(folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost"))
        .arg("demo")
        .current_dir(folder)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn the_demonstration_shows_the_same_in_every_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let elsewhere = std::env::temp_dir();
    let shown = demo_in(&elsewhere);
    assert!(shown.contains("self.wants[me].store(true, Release);\n   |"));
    assert!(shown.contains("T1's load of `wants1` can come before its earlier store to `wants0`"));
    assert_eq!(shown, demo_in(&root));
}
