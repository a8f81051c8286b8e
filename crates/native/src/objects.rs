//! The executable and the shared libraries that are loaded.
#![allow(unsafe_code)] // The loader describes them by pointers.

use std::ffi::{CStr, OsStr};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{env, panic, ptr, slice};

use crate::pages::PAGE;

/// A loaded object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadedObject {
    /// The file. The kernel's own library has a name without a folder.
    pub path: PathBuf,
    /// What is added to the addresses of the file.
    pub bias: usize,
    /// All its addresses.
    pub loaded: Vec<Range<usize>>,
    /// Those of its code.
    pub code: Vec<Range<usize>>,
    /// Those that the program may write to: what the loader has made read-only after relocation is not among them.
    pub writable: Vec<Range<usize>>,
    /// Its thread-local variables, if it has any.
    pub tls: Option<TlsImage>,
}

impl LoadedObject {
    /// Whether an address is in the object.
    pub fn contains(&self, address: usize) -> bool {
        self.loaded.iter().any(|range| range.contains(&address))
    }
}

/// What the thread-local variables of an object are at first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsImage {
    /// Where the initial values are.
    pub address: usize,
    /// How many bytes of them there are; what follows is zero.
    pub file_size: usize,
    /// How many bytes there are for each thread.
    pub memory_size: usize,
    /// What the address of each thread's copy is a multiple of.
    pub alignment: usize,
    /// The number of the module, from 1 on. 0 if the loader does not tell.
    pub module: usize,
    /// How far the copy of the thread that asks is from its thread pointer (negative), if it has one already. For objects that
    /// were loaded with the program it is the same in every thread.
    pub offset: Option<isize>,
}

/// All loaded objects, the executable first.
pub fn loaded_objects() -> Vec<LoadedObject> {
    let mut found: Vec<LoadedObject> = Vec::new();
    // SAFETY: the callback takes the pointer for what it is, and the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), ptr::from_mut(&mut found).cast()) };
    if let Some(executable) = found
        .first_mut()
        .filter(|object| object.path.as_os_str().is_empty())
    {
        executable.path = env::current_exe().unwrap_or_default();
    }
    found
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut libc::c_void,
) -> i32 {
    // SAFETY: `loaded_objects` passes its vector, which nothing else uses during the call.
    let found = unsafe { &mut *data.cast::<Vec<LoadedObject>>() };
    // SAFETY: the loader's description is valid during the callback.
    let object = panic::catch_unwind(|| unsafe { describe(&*info) });
    match object {
        Ok(object) => found.push(object),
        // A panic cannot leave the callback.
        Err(_) => return 1,
    }
    0
}

/// # Safety
/// The pointers of `info` are valid.
unsafe fn describe(info: &libc::dl_phdr_info) -> LoadedObject {
    let bias = info.dlpi_addr as usize;
    let mut object = LoadedObject {
        bias,
        ..LoadedObject::default()
    };
    if !info.dlpi_name.is_null() {
        // SAFETY: by contract; the name ends with 0.
        let name = unsafe { CStr::from_ptr(info.dlpi_name) };
        object.path = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    }
    if info.dlpi_phdr.is_null() {
        return object;
    }
    // SAFETY: by contract.
    let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let mut read_only = Vec::new();
    for header in headers {
        let start = bias.wrapping_add(header.p_vaddr as usize);
        let range = start..start.saturating_add(header.p_memsz as usize);
        match header.p_type {
            libc::PT_LOAD => {
                if header.p_flags & libc::PF_X != 0 && header.p_flags & libc::PF_R != 0 {
                    object.code.push(range.clone());
                }
                if header.p_flags & libc::PF_W != 0 {
                    object.writable.push(range.clone());
                }
                object.loaded.push(range);
            }
            // The loader protects whole pages: those that begin within the part, down to the one where it begins.
            libc::PT_GNU_RELRO => {
                read_only.push(range.start & !(PAGE - 1)..range.end & !(PAGE - 1))
            }
            libc::PT_TLS => object.tls = Some(tls_image(info, header, start)),
            _ => {}
        }
    }
    for part in read_only {
        object.writable = object
            .writable
            .iter()
            .flat_map(|range| without(range, &part))
            .collect();
    }
    object
}

/// The C library, the dynamic loader and what belongs to them, and this library. What they keep is not the program's.
const NOT_OF_PROGRAM: [&str; 9] = [
    "libc.so",
    "ld-linux",
    "libfencepost_native",
    "libpthread.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libgcc_s.so",
    "linux-vdso",
];

/// Whether an object is the executable, or a library whose memory is part of the program's.
pub fn is_of_program(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !NOT_OF_PROGRAM.iter().any(|known| name.starts_with(known))
}

/// The addresses of the library that unwinds stacks, if it is loaded by itself.
pub fn unwinder() -> Range<usize> {
    let mut objects = loaded_objects().into_iter();
    let library = objects.find(|object| {
        let name = object.path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("libgcc_s.so")
    });
    let loaded = library.map(|object| object.loaded).unwrap_or_default();
    let start = loaded.iter().map(|range| range.start).min();
    let end = loaded.iter().map(|range| range.end).max();
    start.unwrap_or(0)..end.unwrap_or(0)
}

fn tls_image(info: &libc::dl_phdr_info, header: &libc::Elf64_Phdr, address: usize) -> TlsImage {
    let pointer: usize;
    // SAFETY: the first word at the thread pointer is the thread pointer, as the ABI of x86-64 has it.
    unsafe {
        std::arch::asm!("mov {}, fs:0", out(reg) pointer, options(nostack, readonly, preserves_flags))
    };
    let copy = info.dlpi_tls_data as usize;
    TlsImage {
        address,
        file_size: header.p_filesz as usize,
        memory_size: header.p_memsz as usize,
        alignment: (header.p_align as usize).max(1),
        module: info.dlpi_tls_modid,
        offset: (copy != 0).then(|| copy.wrapping_sub(pointer) as isize),
    }
}

/// A range without the addresses of another one.
pub(crate) fn without(
    range: &Range<usize>,
    part: &Range<usize>,
) -> impl Iterator<Item = Range<usize>> + use<> {
    let before = range.start..range.end.min(part.start);
    let after = range.start.max(part.end)..range.end;
    // Nothing taken away is nothing divided.
    let rest = if part.is_empty() || part.end <= range.start || part.start >= range.end {
        [range.clone(), 0..0]
    } else {
        [before, after]
    };
    rest.into_iter().filter(|range| !range.is_empty())
}
