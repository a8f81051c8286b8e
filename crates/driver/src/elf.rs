//! As much of the ELF format as is needed to see what an executable is linked with.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// No executable has more, and a file that says so is damaged.
const MOST_BYTES: u64 = 64 << 20;
const MOST_HEADERS: u64 = 4096;

const LOADED: u64 = 1;
const DYNAMIC: u64 = 2;
const TAG_END: u64 = 0;
const TAG_NEEDED: u64 = 1;
const TAG_STRINGS: u64 = 5;
const TAG_STRINGS_SIZE: u64 = 10;

/// What an executable is linked with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Linked {
    /// The shared libraries that it asks for by itself.
    pub libraries: Vec<Vec<u8>>,
    /// Whether the C library calls its `main`.
    pub starts_as_usual: bool,
}

/// What an x86-64 executable is linked with. None if the file is no such executable.
pub fn linked_with(path: &Path) -> Option<Linked> {
    let file = File::open(path)
        .ok()
        .filter(|file| file.metadata().is_ok_and(|m| m.is_file()))?;
    let header = read(&file, 0, 64)?;
    let is_elf64 = header.starts_with(b"\x7fELF\x02\x01");
    let is_x86_64 = number(&header, 18, 2)? == 62;
    let is_executable = matches!(number(&header, 16, 2)?, 2 | 3);
    if !is_elf64 || !is_x86_64 || !is_executable {
        return None;
    }
    let (start, size) = (number(&header, 32, 8)?, number(&header, 54, 2)?);
    let count = number(&header, 56, 2)?.min(MOST_HEADERS);
    if size < 56 {
        return None;
    }
    let mut segments = Vec::new();
    for index in 0..count {
        let header = read(&file, start.checked_add(index * size)?, 56)?;
        let field = |at| number(&header, at, 8);
        segments.push(Segment {
            kind: number(&header, 0, 4)?,
            offset: field(8)?,
            address: field(16)?,
            size: field(32)?,
        });
    }
    let Some(dynamic) = segments.iter().find(|segment| segment.kind == DYNAMIC) else {
        // Linked statically.
        return Some(Linked {
            libraries: Vec::new(),
            starts_as_usual: false,
        });
    };
    let table = read(&file, dynamic.offset, dynamic.size)?;
    let entries = table
        .chunks_exact(16)
        .map(|entry| (number(entry, 0, 8), number(entry, 8, 8)));
    let entries: Vec<(u64, u64)> = entries
        .map_while(|(tag, value)| Some((tag?, value?)))
        .take_while(|(tag, _)| *tag != TAG_END)
        .collect();
    let value = |wanted| {
        entries
            .iter()
            .find(|(tag, _)| *tag == wanted)
            .map(|(_, value)| *value)
    };
    let strings = offset_of(value(TAG_STRINGS)?, &segments)?;
    let names = read(&file, strings, value(TAG_STRINGS_SIZE)?)?;
    let needed = entries.iter().filter(|(tag, _)| *tag == TAG_NEEDED);
    Some(Linked {
        libraries: needed
            .map(|(_, at)| string(&names, *at))
            .collect::<Option<_>>()?,
        starts_as_usual: names
            .split(|byte| *byte == 0)
            .any(|name| name == b"__libc_start_main"),
    })
}

struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    size: u64,
}

/// Where in the file that is which is loaded to this address.
fn offset_of(address: u64, segments: &[Segment]) -> Option<u64> {
    let loaded = segments.iter().filter(|segment| segment.kind == LOADED);
    let mut places = loaded.filter_map(|segment| {
        let distance = address
            .checked_sub(segment.address)
            .filter(|d| *d < segment.size)?;
        segment.offset.checked_add(distance)
    });
    places.next()
}

fn read(file: &File, at: u64, size: u64) -> Option<Vec<u8>> {
    let end = at.checked_add(size)?;
    if size > MOST_BYTES || end > file.metadata().ok()?.len() {
        return None;
    }
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut number = [0; 8];
    number[..size].copy_from_slice(bytes.get(at..at + size)?);
    Some(u64::from_le_bytes(number))
}

/// A string that ends with a zero.
fn string(names: &[u8], at: u64) -> Option<Vec<u8>> {
    let rest = names.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    Some(rest[..end].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::TemporaryFolder;

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn this_test_needs_the_c_library() {
        let linked = linked_with(&std::env::current_exe().unwrap()).unwrap();
        assert!(linked.starts_as_usual);
        let needed = &linked.libraries;
        assert!(
            needed.iter().any(|name| name.starts_with(b"libc.so")),
            "{needed:?}"
        );
    }

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    fn damaged_executables_are_no_executables_or_need_something_else() {
        let folder = TemporaryFolder::new().unwrap();
        let file = folder.path().join("damaged");
        let bytes = std::fs::read("/bin/true").unwrap();
        std::fs::write(&file, &bytes).unwrap();
        let opened = File::options().write(true).open(&file).unwrap();
        for (at, byte) in bytes.iter().enumerate().take(2048) {
            opened.write_all_at(&[!byte], at as u64).unwrap();
            // It must come back.
            let _ = linked_with(&file);
            opened.write_all_at(&[*byte], at as u64).unwrap();
        }
        for length in [0, 3, 63, 64, 100, 500] {
            opened.set_len(length).unwrap();
            opened.write_all_at(&bytes[..length as usize], 0).unwrap();
            assert_eq!(linked_with(&file), None, "{length} bytes");
        }
    }

    #[test]
    fn other_files_are_no_executables() {
        let folder = TemporaryFolder::new().unwrap();
        assert_eq!(linked_with(folder.path()), None);
        let file = folder.path().join("script");
        std::fs::write(&file, "#!/bin/sh\nexit 0\n".repeat(50)).unwrap();
        assert_eq!(linked_with(&file), None);
    }
}
