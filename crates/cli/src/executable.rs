//! The identity of the running executable.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::SystemTime;

/// A checksum of the executable. Results that another build has saved are not used.
pub fn checksum() -> u64 {
    static CHECKSUM: OnceLock<u64> = OnceLock::new();
    *CHECKSUM.get_or_init(|| {
        let bytes = std::env::current_exe().and_then(fs::read);
        let mut hasher = DefaultHasher::new();
        match bytes {
            Ok(bytes) => bytes.hash(&mut hasher),
            // A unique number, so that no saved result is used.
            Err(_) => (std::process::id(), SystemTime::now()).hash(&mut hasher),
        }
        hasher.finish()
    })
}
