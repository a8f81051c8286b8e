//! Where the code of the C library and of the dynamic loader is.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::OnceLock;

use libc::{c_int, dl_phdr_info, size_t};

/// The ranges of addresses of their code.
static CODE: OnceLock<Vec<Range<usize>>> = OnceLock::new();

/// Whether an address is in their code. For signal handlers.
pub(super) fn contains(address: usize) -> bool {
    let mut ranges = CODE.get().into_iter().flatten();
    ranges.any(|range| range.contains(&address))
}

/// Finds their code. In a statically linked program it is part of the program's own, and there is
/// none to find.
pub(super) fn find() {
    CODE.get_or_init(|| {
        // The allocator may be that of another library.
        let functions = [
            libc::malloc as *const () as usize,
            libc::sysconf as *const () as usize,
        ];
        let mut search = Search {
            functions,
            // SAFETY: `getauxval` has no preconditions.
            loader: unsafe { libc::getauxval(libc::AT_BASE) } as usize,
            is_past_program: false,
            found: Vec::new(),
        };
        // SAFETY: `visit` has the right signature, and the data that it expects.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
        search.found
    });
}

struct Search {
    /// Functions whose objects are looked for.
    functions: [usize; 2],
    /// Where the dynamic loader was loaded; 0 if there is none.
    loader: usize,
    /// The program comes first.
    is_past_program: bool,
    found: Vec<Range<usize>>,
}

/// Adds the code of one object, if that is looked for.
unsafe extern "C" fn visit(info: *mut dl_phdr_info, _: size_t, search: *mut c_void) -> c_int {
    // SAFETY: `find` passes a search, to which there is no other reference meanwhile.
    let search = unsafe { &mut *search.cast::<Search>() };
    if !std::mem::replace(&mut search.is_past_program, true) {
        return 0;
    }
    // SAFETY: the loader passes a valid structure.
    let info = unsafe { &*info };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    let start = info.dlpi_addr as usize;
    // SAFETY: the object has that many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let headers = headers.iter();
    let code =
        headers.filter(|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    let code = code.map(|header| {
        let start = start.wrapping_add(header.p_vaddr as usize);
        start..start.saturating_add(header.p_memsz as usize)
    });
    let has_function = |range: &Range<usize>| search.functions.iter().any(|f| range.contains(f));
    if (start != 0 && start == search.loader) || code.clone().any(|range| has_function(&range)) {
        search.found.extend(code);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_the_allocator_is_found_and_that_of_the_program_is_not() {
        find();
        let is_static = cfg!(target_feature = "crt-static");
        assert_eq!(contains(libc::malloc as *const () as usize), !is_static);
        assert_eq!(contains(libc::write as *const () as usize), !is_static);
        assert!(!contains(find as *const () as usize));
        assert!(!contains(0));
    }
}
