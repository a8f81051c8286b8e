//! Compiles small C and C++ programs for the tests.
#![allow(unsafe_code)] // What is compiled is loaded.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, process};

/// A folder that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("fencepost-native-{}-{number}", process::id()));
        fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path.canonicalize().expect("the folder"))
    }

    /// Compiles a source to a shared library; none, with a message, if there is no such compiler.
    pub(crate) fn compile(
        &self,
        compiler: &str,
        name: &str,
        source: &str,
        flags: &[&str],
    ) -> Option<PathBuf> {
        let file = self.0.join(name);
        fs::write(&file, source).expect("the source is written");
        let library = self
            .0
            .join(format!("{name}.{compiler}{}.so", flags.concat()));
        let mut command = Command::new(compiler);
        command
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(name)
            .args(flags)
            .current_dir(&self.0);
        match command.output() {
            Ok(output) => {
                assert!(
                    output.status.success(),
                    "{compiler}: {}",
                    String::from_utf8_lossy(&output.stderr)
                );
                Some(library)
            }
            Err(error) => {
                eprintln!("skipped: {compiler} cannot be run ({error})");
                None
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A library that stays loaded.
pub(crate) struct Library(*mut libc::c_void);

impl Library {
    pub(crate) fn load(path: &Path) -> Self {
        let name = CString::new(path.as_os_str().as_bytes()).expect("a path");
        // SAFETY: the library was compiled by the test; it has no initialisers that do anything.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        assert!(!handle.is_null(), "{} cannot be loaded", path.display());
        Library(handle)
    }

    /// The address of a symbol.
    pub(crate) fn symbol(&self, name: &str) -> usize {
        let text = CString::new(name).expect("a name");
        // SAFETY: the handle is valid, since the library is never unloaded.
        let address = unsafe { libc::dlsym(self.0, text.as_ptr()) } as usize;
        assert_ne!(address, 0, "there is no {name}");
        address
    }
}
