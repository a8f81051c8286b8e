//! What a file says of an object: its symbols, and its debug information, which may be in a file of its own.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::{Dwarf, EndianSlice, LittleEndian, Section};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// Debug information is read in place.
pub(super) type Reader = EndianSlice<'static, LittleEndian>;
type Elf = ElfFile64<'static, object::LittleEndian>;

/// Larger files are not read.
const LARGEST: u64 = 2 << 30;

/// A symbol of the file's table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) name: &'static [u8],
}

/// The tables of a file. Symbols are sorted by address.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) functions: Vec<Symbol>,
    pub(super) data: Vec<Symbol>,
    /// The addresses are offsets into the thread's copy.
    pub(super) thread_local: Vec<Symbol>,
    pub(super) dwarf: Option<Arc<Dwarf<Reader>>>,
}

/// Reads a file and what belongs to it. What is not there or damaged is left out.
pub(super) fn read_tables(path: &Path) -> Tables {
    let mut tables = Tables::default();
    let Some(elf) = read_elf(path) else {
        return tables;
    };
    tables.add_symbols(&elf);
    tables.dwarf = read_dwarf(&elf);
    if tables.dwarf.is_none() {
        let separate = separate_files(path, &elf);
        // The same file is not read again.
        let separate = separate.into_iter().filter(|candidate| candidate != path);
        for debug in separate.filter_map(|candidate| read_elf(&candidate)) {
            // A file of another build would give wrong lines.
            let is_same = matches!((elf.build_id(), debug.build_id()), (Ok(a), Ok(b)) if a == b);
            tables.dwarf = is_same.then(|| read_dwarf(&debug)).flatten();
            if tables.dwarf.is_some() {
                tables.add_symbols(&debug);
                break;
            }
        }
    }
    for symbols in [
        &mut tables.functions,
        &mut tables.data,
        &mut tables.thread_local,
    ] {
        // Of names for the same address one that has a size comes last, and is found.
        symbols.sort_by_key(|symbol| (symbol.address, symbol.size));
    }
    tables
}

impl Tables {
    fn add_symbols(&mut self, elf: &Elf) {
        for symbol in elf
            .symbols()
            .chain(elf.dynamic_symbols())
            .filter(|symbol| symbol.is_definition())
        {
            let table = match symbol.kind() {
                SymbolKind::Text => &mut self.functions,
                SymbolKind::Data => &mut self.data,
                SymbolKind::Tls => &mut self.thread_local,
                _ => continue,
            };
            let Ok(name) = symbol.name_bytes() else {
                continue;
            };
            if !name.is_empty() {
                table.push(Symbol {
                    address: symbol.address(),
                    size: symbol.size(),
                    name,
                });
            }
        }
    }
}

/// The symbol that an address is in, and how far. Symbols without a size are taken to have `unsized_reach` bytes.
pub(super) fn symbol_at(
    symbols: &[Symbol],
    address: u64,
    unsized_reach: u64,
) -> Option<(&Symbol, u64)> {
    let end = symbols.partition_point(|symbol| symbol.address <= address);
    // Symbols may lie within one another, but not deeply.
    symbols[..end].iter().rev().take(16).find_map(|symbol| {
        let offset = address - symbol.address;
        let size = if symbol.size == 0 {
            unsized_reach
        } else {
            symbol.size
        };
        (offset < size).then_some((symbol, offset))
    })
}

/// Objects stay loaded until the process ends, and so may what was read of them.
fn read_elf(path: &Path) -> Option<Elf> {
    let metadata = fs::metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return None;
    }
    // Not mapped: the file may be written to while the program runs.
    let contents: &'static [u8] = fs::read(path).ok()?.leak();
    Elf::parse(contents).ok()
}

fn read_dwarf(elf: &Elf) -> Option<Arc<Dwarf<Reader>>> {
    elf.section_by_name(".debug_info")
        .or_else(|| elf.section_by_name(".zdebug_info"))?;
    let load = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let contents = elf
            .section_by_name(id.name())
            .and_then(|section| section_contents(&section));
        Ok(EndianSlice::new(contents.unwrap_or_default(), LittleEndian))
    };
    let dwarf = Dwarf::load(load).ok()?;
    (!dwarf.debug_info.reader().is_empty()).then(|| Arc::new(dwarf))
}

fn section_contents(section: &impl ObjectSection<'static>) -> Option<&'static [u8]> {
    let compressed = section.compressed_data().ok()?;
    // It says itself how long it is.
    if compressed.uncompressed_size
        > LARGEST.min((compressed.data.len() as u64).saturating_mul(1100))
    {
        return None;
    }
    Some(match compressed.decompress().ok()? {
        Cow::Borrowed(contents) => contents,
        Cow::Owned(contents) => contents.leak(),
    })
}

/// Where debuggers look for the debug information of a file that has none.
fn separate_files(path: &Path, elf: &Elf) -> Vec<PathBuf> {
    let global = Path::new("/usr/lib/debug");
    let mut files = Vec::new();
    if let Ok(Some([first, rest @ ..])) = elf.build_id() {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(global.join(format!(".build-id/{first:02x}/{rest}.debug")));
    }
    if let Ok(Some((name, _))) = elf.gnu_debuglink()
        && let Some(folder) = path.parent()
    {
        let name = Path::new(OsStr::from_bytes(name));
        // A name, not a way to elsewhere.
        if let Some(name) = name.file_name() {
            files.push(folder.join(name));
            files.push(folder.join(".debug").join(name));
            files.push(
                global
                    .join(folder.strip_prefix("/").unwrap_or(folder))
                    .join(name),
            );
        }
    }
    files
}
