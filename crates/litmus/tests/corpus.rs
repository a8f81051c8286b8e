//! Reads every `.litmus` file below the directory in `FENCEPOST_LITMUS_CORPUS`, and does nothing without
//! it.

use std::path::{Path, PathBuf};

use fencepost_litmus::{Limits, parse};

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(directory).expect("the directory can be read");
    for entry in entries {
        let path = entry.expect("the directory can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "litmus")
        {
            files.push(path);
        }
    }
}

#[test]
fn every_file_is_read() {
    let Some(directory) = std::env::var_os("FENCEPOST_LITMUS_CORPUS") else {
        return;
    };
    let mut files = Vec::new();
    collect(Path::new(&directory), &mut files);
    assert!(!files.is_empty());
    let mut refused = Vec::new();
    for file in &files {
        let bytes = std::fs::read(file).expect("the file can be read");
        if let Err(error) = parse(&bytes, &Limits::default()) {
            refused.push(error.render(&file.to_string_lossy()));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n\n"));
}
