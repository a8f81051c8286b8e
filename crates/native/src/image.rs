//! The writable memory of the loaded objects: global and static variables.
//!
//! It is copied when `main` begins, and put back for each execution. Any code may have written to it, instrumented or not,
//! so what has changed is found by looking, and not from what the program reports.
#![allow(unsafe_code)] // It is the checked program's memory.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::{ptr, slice};

use crate::objects::{LoadedObject, TlsImage, loaded_objects};
use crate::pages::{PAGE, put_back};

/// Runs of zero pages that are at least as long are looked at only if the system says that they are in use.
const SPARSE: usize = 64 * PAGE;
/// The bits of an entry of `/proc/self/pagemap` of pages that are present or swapped out.
const IN_USE: u64 = 0b11 << 62;
/// How many entries are read at once.
const ENTRIES: usize = 4096;

/// The contents of all writable segments that were captured.
#[derive(Debug)]
pub struct Image {
    objects: Vec<LoadedObject>,
    segments: Vec<Segment>,
    /// What is copied, one after the other.
    dense: Vec<(usize, Vec<u8>)>,
    /// Pages of nothing that nobody had touched.
    sparse: Vec<Range<usize>>,
    pagemap: Option<File>,
    entries: Vec<u8>,
}

/// Writable memory of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The object, as an index into [`Image::objects`].
    pub object: usize,
    /// Its addresses.
    pub range: Range<usize>,
}

impl Image {
    /// Copies the writable memory of all loaded objects, except those that are to be skipped. What the Rust allocator of
    /// this library, the C library and the loader keep must be skipped: it does not go back in time with the program.
    pub fn capture(skip: impl Fn(&Path) -> bool) -> Self {
        let objects = loaded_objects();
        let mapped = writable_mappings();
        let mut image = Image {
            segments: Vec::new(),
            dense: Vec::new(),
            sparse: Vec::new(),
            pagemap: File::open("/proc/self/pagemap").ok(),
            entries: Vec::new(),
            objects: Vec::new(),
        };
        for (index, object) in objects.iter().enumerate() {
            if skip(&object.path) {
                continue;
            }
            for range in &object.writable {
                // The program may have protected or unmapped a part.
                for mapping in mapped.iter().filter(|mapping| {
                    mapping.range.start < range.end && range.start < mapping.range.end
                }) {
                    let range =
                        range.start.max(mapping.range.start)..range.end.min(mapping.range.end);
                    image.segments.push(Segment {
                        object: index,
                        range: range.clone(),
                    });
                    image.capture_range(range, mapping.is_anonymous);
                }
            }
        }
        image.objects = objects;
        image
    }

    /// Puts everything back.
    pub fn restore(&mut self) {
        for (address, saved) in &self.dense {
            // SAFETY: the memory was mapped and writable when it was captured, and the program does not run.
            unsafe { put_back(*address, saved) };
        }
        let sparse = std::mem::take(&mut self.sparse);
        for range in &sparse {
            self.for_pages(range, true, |page| {
                // SAFETY: the page was mapped and writable when it was captured; nothing borrows it.
                let bytes = unsafe { slice::from_raw_parts(page as *const u64, PAGE / 8) };
                if bytes.iter().fold(0, |all, word| all | word) != 0 {
                    // SAFETY: as above; `bytes` is not used any more.
                    unsafe { ptr::write_bytes(page as *mut u8, 0, PAGE) };
                }
            });
        }
        self.sparse = sparse;
    }

    /// Calls `f` for each range of the memory that is put back, first and last address, without pages of nothing that
    /// nobody has touched.
    pub fn for_used(&mut self, mut f: impl FnMut(usize, usize)) {
        for (address, saved) in &self.dense {
            f(*address, *address + saved.len());
        }
        let sparse = std::mem::take(&mut self.sparse);
        for range in &sparse {
            self.for_pages(range, true, |page| f(page, page + PAGE));
        }
        self.sparse = sparse;
    }

    /// All loaded objects, skipped ones too.
    pub fn objects(&self) -> &[LoadedObject] {
        &self.objects
    }

    /// The memory that is put back.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The object that an address is in.
    pub fn object_at(&self, address: usize) -> Option<&LoadedObject> {
        self.objects.iter().find(|object| object.contains(address))
    }

    /// The thread-local variables of an object, by its index.
    pub fn tls_image(&self, object: usize) -> Option<&TlsImage> {
        self.objects.get(object)?.tls.as_ref()
    }

    /// How many bytes are copied, and how many are known to be zero.
    pub fn size(&self) -> (usize, usize) {
        let dense = self.dense.iter().map(|(_, saved)| saved.len()).sum();
        (dense, self.sparse.iter().map(Range::len).sum())
    }

    fn capture_range(&mut self, range: Range<usize>, is_anonymous: bool) {
        let pages = range.start.next_multiple_of(PAGE)..range.end & !(PAGE - 1);
        // Memory that no file is behind and that nobody has used is zero.
        if is_anonymous && pages.len() >= SPARSE && self.pagemap.is_some() {
            let mut unused: VecDeque<Range<usize>> = VecDeque::from([pages.clone()]);
            self.for_pages(&pages, true, |page| {
                let Some(last) = unused.pop_back() else {
                    return;
                };
                unused.push_back(last.start..page);
                unused.push_back(page + PAGE..last.end);
            });
            unused.retain(|run| run.len() >= SPARSE);
            let mut from = range.start;
            for run in unused {
                self.capture_dense(from..run.start);
                from = run.end;
                // One page that is written is not to make hundreds present.
                // SAFETY: advice about pages that are mapped; their contents do not change.
                unsafe { libc::madvise(run.start as *mut _, run.len(), libc::MADV_NOHUGEPAGE) };
                self.sparse.push(run);
            }
            self.capture_dense(from..range.end);
        } else {
            self.capture_dense(range);
        }
    }

    fn capture_dense(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            // SAFETY: the range is in a mapping that can be read, and nothing writes to it now.
            let contents = unsafe { slice::from_raw_parts(range.start as *const u8, range.len()) };
            self.dense.push((range.start, contents.to_vec()));
        }
    }

    /// Calls `f` for each page of a range that is in use; if the system does not say which are, for all.
    fn for_pages(&mut self, range: &Range<usize>, mut ask: bool, mut f: impl FnMut(usize)) {
        let mut at = range.start;
        while at < range.end {
            let count = ((range.end - at) / PAGE).min(ENTRIES);
            self.entries.resize(count * 8, 0);
            let offset = (at / PAGE * 8) as u64;
            ask = ask
                && self
                    .pagemap
                    .as_ref()
                    .is_some_and(|file| file.read_exact_at(&mut self.entries, offset).is_ok());
            for (index, entry) in self.entries.chunks_exact(8).enumerate() {
                let bits = u64::from_ne_bytes(entry.try_into().unwrap_or([0xff; 8]));
                if !ask || bits & IN_USE != 0 {
                    f(at + index * PAGE);
                }
            }
            at += count * PAGE;
        }
    }
}

/// A mapping that can be read and written.
struct Mapping {
    range: Range<usize>,
    /// No file is behind it, so that pages that were never touched are zero.
    is_anonymous: bool,
}

fn writable_mappings() -> Vec<Mapping> {
    // Without /proc, nothing is known to be writable, and nothing can be put back; the system has it on all machines that
    // programs are built on.
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines().filter_map(parse_mapping).collect()
}

/// Reads `start-end perms offset device inode path`.
fn parse_mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let permissions = fields.next()?;
    let inode = fields.nth(2)?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let mapping = Mapping {
        range: address(start)?..address(end)?,
        is_anonymous: inode == "0" && permissions.ends_with('p'),
    };
    permissions.starts_with("rw").then_some(mapping)
}

#[cfg(test)]
mod tests;
