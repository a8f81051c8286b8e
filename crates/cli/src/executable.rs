//! The program itself, to tell it from others that were built from other sources.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use std::time::SystemTime;

/// A checksum of the program. If it was built anew, what it found before may be wrong.
pub fn checksum() -> u64 {
    static CHECKSUM: OnceLock<u64> = OnceLock::new();
    *CHECKSUM.get_or_init(|| {
        let bytes = std::env::current_exe().and_then(fs::read);
        let mut hasher = DefaultHasher::new();
        match bytes {
            Ok(bytes) => bytes.hash(&mut hasher),
            // Then nothing is found again.
            Err(_) => (std::process::id(), SystemTime::now()).hash(&mut hasher),
        }
        hasher.finish()
    })
}
