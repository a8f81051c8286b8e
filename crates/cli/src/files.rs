//! Files that are read as a whole.

use std::io::Read;
use std::path::Path;

/// Reads a file, or standard input, but not more than a byte beyond the limit.
pub fn read_up_to(path: &Path, limit: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().take(limit + 1).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(path)?
            .take(limit + 1)
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
