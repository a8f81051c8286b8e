//! The functions of the C library that this library has look-alikes of, for its own use and for programs that run without a
//! check.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of this name that comes after ours.
///
/// # Panics
/// If there is none.
pub(crate) fn find(name: &CStr, cache: &AtomicPtr<c_void>) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // Condition variables have a second version, which is the one that programs are linked with.
    let found = match name.to_bytes().starts_with(b"pthread_cond_") {
        // SAFETY: the name and the version are texts.
        true => unsafe { libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()) },
        false => std::ptr::null_mut(),
    };
    let found = match found.is_null() {
        // SAFETY: the name is a text.
        true => unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) },
        false => found,
    };
    assert!(!found.is_null(), "the C library has no {name:?}");
    cache.store(found, Ordering::Relaxed);
    found
}

/// A function of the library behind this one, when it is known.
#[repr(transparent)]
pub(crate) struct Behind(AtomicPtr<c_void>);

impl Behind {
    /// Not known yet.
    pub(crate) const fn unknown() -> Behind {
        Behind(AtomicPtr::new(std::ptr::null_mut()))
    }
}

/// A name that ends with a zero.
#[repr(transparent)]
pub(crate) struct Name<const N: usize>([u8; N]);

/// The name of a function, with a zero at its end.
pub(crate) const fn name<const N: usize>(text: &str) -> Name<N> {
    let mut name = [0; N];
    let mut index = 0;
    while index < text.len() {
        name[index] = text.as_bytes()[index];
        index += 1;
    }
    Name(name)
}

/// Finds a function for the assembly of the hooks.
///
/// # Safety
/// The name must end with a zero.
pub(crate) unsafe extern "C" fn find_behind(name: *const c_char, behind: &Behind) -> *mut c_void {
    // SAFETY: the promise of the caller.
    let name = unsafe { CStr::from_ptr(name) };
    find(name, &behind.0)
}

/// Declares a function of the C library.
macro_rules! real {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)*) => {
        $(
            /// The function of the C library.
            ///
            /// # Safety
            /// As of the function.
            pub(crate) unsafe fn $name($($argument: $type),*) $(-> $result)? {
                static CACHE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
                let name = concat!(stringify!($name), "\0");
                // SAFETY: it ends with a zero, and has no other.
                let name = unsafe { CStr::from_bytes_with_nul_unchecked(name.as_bytes()) };
                let function = find(name, &CACHE);
                type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
                // SAFETY: the function has this type.
                let function: Function = unsafe { transmute(function) };
                // SAFETY: the promise of the caller.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

/// The function of a thread.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;
/// `main`.
pub(crate) type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
type Hook = Option<unsafe extern "C" fn()>;

real! {
    fn __libc_start_main(
        main: Main,
        argc: c_int,
        argv: *mut *mut c_char,
        init: Hook,
        fini: Hook,
        rtld_fini: Hook,
        stack_end: *mut c_void,
    ) -> c_int;
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: Start,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_join(thread: libc::pthread_t, result: *mut *mut c_void) -> c_int;
    fn pthread_detach(thread: libc::pthread_t) -> c_int;
    fn pthread_attr_getdetachstate(
        attributes: *const libc::pthread_attr_t,
        detached: *mut c_int,
    ) -> c_int;
    fn sched_yield() -> c_int;
    fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize;
    fn close(descriptor: c_int) -> c_int;
    fn fclose(stream: *mut libc::FILE) -> c_int;
    fn freopen(
        path: *const c_char,
        mode: *const c_char,
        stream: *mut libc::FILE,
    ) -> *mut libc::FILE;
    fn dup2(from: c_int, to: c_int) -> c_int;
    fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int;
    fn malloc_usable_size(block: *mut c_void) -> usize;
    fn __cxa_atexit(
        handler: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
        object: *mut c_void,
    ) -> c_int;
    fn exit(status: c_int);
    fn abort();
    fn __assert_fail(
        assertion: *const c_char,
        file: *const c_char,
        line: u32,
        function: *const c_char,
    );
}
