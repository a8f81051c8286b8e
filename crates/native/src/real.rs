//! The functions of the C library that this library has look-alikes of, for its own use and for programs that run without a
//! check.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of this name that comes after ours.
///
/// It calls nothing that has a look-alike here: that would have to find the function behind it first.
///
/// # Panics
/// If there is none.
///
/// # Safety
/// The name must be a text that ends with a zero.
pub(crate) unsafe fn find(name: *const c_char, cache: &AtomicPtr<c_void>) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the promise of the caller.
    let found = unsafe { look_up(name) };
    if found.is_null() {
        // SAFETY: the name is a text.
        missing(unsafe { CStr::from_ptr(name) });
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// The function of this name that comes after ours, or null.
///
/// # Safety
/// The name must be a text that ends with a zero.
unsafe fn look_up(name: *const c_char) -> *mut c_void {
    let mut found = std::ptr::null_mut();
    // SAFETY: the promise of the caller.
    if unsafe { is_of_condition_variable(name) } {
        // It has a second version, which is the one that programs are linked with.
        // SAFETY: the name and the version are texts.
        found = unsafe { libc::dlvsym(libc::RTLD_NEXT, name, c"GLIBC_2.3.2".as_ptr()) };
    }
    if found.is_null() {
        // SAFETY: the name is a text.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
    }
    found
}

#[cold]
fn missing(name: &CStr) -> ! {
    panic!("the C library has no {name:?}")
}

/// Whether a name begins with `pthread_cond_`.
///
/// # Safety
/// It must be a text that ends with a zero.
unsafe fn is_of_condition_variable(name: *const c_char) -> bool {
    let start = b"pthread_cond_";
    let mut index = 0;
    while index < start.len() {
        // SAFETY: all before are no zeros. It is volatile so that the loop does not become a call.
        if unsafe { name.add(index).read_volatile() } != start[index] as c_char {
            return false;
        }
        index += 1;
    }
    true
}

/// A function that may have to be found.
#[repr(C)]
pub(crate) struct Sought {
    name: *const c_char,
    cache: &'static AtomicPtr<c_void>,
}

// SAFETY: the name is constant.
unsafe impl Sync for Sought {}

impl Sought {
    /// The name must be a text that ends with a zero.
    pub(crate) const fn new(name: *const c_char, cache: &'static AtomicPtr<c_void>) -> Self {
        Sought { name, cache }
    }
}

/// Finds all functions. In a check, threads of the program must not have to: they may come here while the dynamic linker
/// holds its lock, and it would take the calling thread for another one.
pub(crate) fn find_all() {
    unsafe extern "C" {
        // The linker has these names for the bounds of a section.
        static __start_fencepost_sought: Sought;
        static __stop_fencepost_sought: Sought;
    }
    let mut next = &raw const __start_fencepost_sought;
    let end = &raw const __stop_fencepost_sought;
    while next < end {
        // SAFETY: the section consists of these.
        let sought = unsafe { &*next };
        // SAFETY: the name is a text.
        let found = unsafe { look_up(sought.name) };
        sought.cache.store(found, Ordering::Relaxed);
        // SAFETY: it is in the section, or at its end.
        next = unsafe { next.add(1) };
    }
}

/// Adds a function to those that are [found](find_all) at the start of a check.
macro_rules! sought {
    ($name:expr, $cache:expr) => {
        const _: () = {
            #[used]
            #[unsafe(link_section = "fencepost_sought")]
            static SOUGHT: $crate::real::Sought = $crate::real::Sought::new($name, $cache);
        };
    };
}

pub(crate) use sought;

/// A function of the library behind this one, when it is known.
#[repr(transparent)]
pub(crate) struct Behind(AtomicPtr<c_void>);

impl Behind {
    /// Not known yet.
    pub(crate) const fn unknown() -> Behind {
        Behind(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Where it is kept.
    pub(crate) const fn cache(&'static self) -> &'static AtomicPtr<c_void> {
        &self.0
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
    unsafe { find(name, &behind.0) }
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
                static CACHE: std::sync::atomic::AtomicPtr<std::ffi::c_void> =
                    std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());
                const NAME: *const std::ffi::c_char = concat!(stringify!($name), "\0").as_ptr().cast();
                $crate::real::sought!(NAME, &CACHE);
                // SAFETY: it ends with a zero.
                let function = unsafe { $crate::real::find(NAME, &CACHE) };
                type Function = unsafe extern "C" fn($($type),*) $(-> $result)?;
                // SAFETY: the function has this type.
                let function: Function = unsafe { std::mem::transmute(function) };
                // SAFETY: the promise of the caller.
                unsafe { function($($argument),*) }
            }
        )*
    };
}

pub(crate) use real;

/// The function of a thread.
pub(crate) type Start = extern "C" fn(*mut c_void) -> *mut c_void;
/// `main`.
pub(crate) type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
/// The function of a one-time initialization.
pub(crate) type Routine = unsafe extern "C-unwind" fn();
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
    fn pthread_once(once: usize, routine: Routine) -> c_int;
    fn pthread_mutex_lock(mutex: usize) -> c_int;
    fn pthread_mutex_unlock(mutex: usize) -> c_int;
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
