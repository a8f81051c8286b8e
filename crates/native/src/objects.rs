//! The executable and the shared objects that are loaded, and which of them belong to the program.

use std::ffi::{CStr, c_void};
use std::path::PathBuf;

/// A loaded object.
pub(crate) struct LoadedObject {
    /// Its file; empty for the executable.
    pub(crate) path: PathBuf,
    /// The address and the size of its part of the calling thread's block, if it has one.
    pub(crate) thread_local: Option<(usize, usize)>,
}

/// All loaded objects, the executable first.
pub(crate) fn loaded_objects() -> Vec<LoadedObject> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, list: *mut c_void) -> i32 {
        // SAFETY: `dl_iterate_phdr` passes a valid object, and the pointer that it was given.
        let (info, objects) = unsafe { (&*info, &mut *list.cast::<Vec<LoadedObject>>()) };
        // SAFETY: the name is a text of the dynamic loader, and the object has so many headers.
        let (name, headers) = unsafe {
            let headers = std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into());
            (CStr::from_ptr(info.dlpi_name), headers)
        };
        let size = headers
            .iter()
            .find(|header| header.p_type == libc::PT_TLS)
            .map(|header| header.p_memsz as usize);
        let address = info.dlpi_tls_data.expose_provenance();
        objects.push(LoadedObject {
            path: PathBuf::from(name.to_string_lossy().into_owned()),
            thread_local: size.filter(|_| address != 0).map(|size| (address, size)),
        });
        0
    }
    let mut objects: Vec<LoadedObject> = Vec::new();
    // SAFETY: the callback has the type that is asked for, and the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
    objects
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

/// Whether the object is the executable, or a library whose memory is part of the program's.
pub(crate) fn is_of_program(object: &LoadedObject) -> bool {
    let name = object.path.file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    !NOT_OF_PROGRAM.iter().any(|known| name.starts_with(known))
}
