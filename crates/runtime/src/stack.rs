//! The stack of a coroutine, with a reserve below it.
//!
//! On Linux (x86-64 and aarch64) a stack consists of, from its base down: the usable part, the
//! reserve, and a guard page. The reserve cannot be accessed, so that an overflow of the usable
//! part is noticed; `overflow` opens pages of it for code that has to be finished first. A stack of
//! which a page was opened is not used again. The reserve costs address space, but no memory.
//!
//! Elsewhere it is corosensei's default stack.
#![allow(unsafe_code)] // Memory for stacks.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
pub(crate) use corosensei::stack::DefaultStack as CoroutineStack;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
pub(crate) use linux::{Below, CoroutineStack, open_page};

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
mod linux {
    use std::io::{Error, Result};
    use std::mem::ManuallyDrop;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use corosensei::stack::valgrind::ValgrindStackRegistration;
    use corosensei::stack::{MIN_STACK_SIZE, Stack, StackPointer};

    /// How many pages the reserve has. The allocator needs one or two.
    const RESERVE_PAGES: usize = 64;

    /// A stack with a reserve and a guard page.
    pub(crate) struct CoroutineStack {
        base: StackPointer,
        /// The length of the mapping.
        length: usize,
        valgrind: ManuallyDrop<ValgrindStackRegistration>,
    }

    impl CoroutineStack {
        /// Creates a stack whose usable part has at least `size` bytes.
        pub(crate) fn new(size: usize) -> Result<Self> {
            let page = page_size();
            let below = (RESERVE_PAGES + 1) * page;
            let usable = size.max(MIN_STACK_SIZE).checked_next_multiple_of(page);
            let lengths = usable.and_then(|usable| Some((usable, usable.checked_add(below)?)));
            let (usable, length) = lengths.ok_or_else(|| Error::other("the size is too large"))?;
            let flags = libc::MAP_ANONYMOUS | libc::MAP_PRIVATE;
            // SAFETY: a new mapping, at an address that the kernel chooses.
            let memory =
                unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
            if memory == libc::MAP_FAILED {
                return Err(Error::last_os_error());
            }
            let base = memory as usize + length;
            // From here on, dropping it unmaps the memory.
            let stack = CoroutineStack {
                base: StackPointer::new(base).expect("a mapping does not end at 0"),
                length,
                valgrind: ManuallyDrop::new(ValgrindStackRegistration::new(memory.cast(), length)),
            };
            // SAFETY: the range is the upper part of the mapping.
            if unsafe { make_accessible(base - usable, usable) } {
                Ok(stack)
            } else {
                Err(Error::last_os_error())
            }
        }
    }

    impl Drop for CoroutineStack {
        fn drop(&mut self) {
            // SAFETY: it is not used after this, and is dropped once, while its memory is mapped.
            unsafe { ManuallyDrop::drop(&mut self.valgrind) };
            // SAFETY: the mapping belongs to this stack, and no coroutine runs on it any more.
            unsafe { libc::munmap(self.limit().get() as *mut _, self.length) };
        }
    }

    // SAFETY: the lowest page is never accessible. The usable part has at least `MIN_STACK_SIZE`
    // bytes, and both ends are aligned to pages.
    unsafe impl Stack for CoroutineStack {
        #[inline]
        fn base(&self) -> StackPointer {
            self.base
        }

        #[inline]
        fn limit(&self) -> StackPointer {
            let limit = StackPointer::new(self.base.get() - self.length);
            limit.expect("a mapping does not begin at 0")
        }
    }

    /// A part of a stack below its usable part.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub(crate) enum Below {
        Reserve,
        Guard,
    }

    impl Below {
        /// The part that an address is in, of the stack with this limit. For signal handlers.
        pub(crate) fn at(address: usize, limit: usize) -> Option<Below> {
            match address.checked_sub(limit)? / page_size() {
                0 => Some(Below::Guard),
                1..=RESERVE_PAGES => Some(Below::Reserve),
                _ => None,
            }
        }
    }

    /// Makes the page of an address accessible, and returns whether that worked. For signal
    /// handlers.
    ///
    /// # Safety
    /// The address must be in the reserve of a stack that is not used again after its coroutine.
    pub(crate) unsafe fn open_page(address: usize) -> bool {
        let page = page_size();
        // SAFETY: the page is part of a reserve, which nobody else uses.
        unsafe { make_accessible(address / page * page, page) }
    }

    /// # Safety
    /// The range must consist of whole pages of a stack.
    unsafe fn make_accessible(start: usize, length: usize) -> bool {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the caller's promise. Access is only added.
        unsafe { libc::mprotect(start as *mut _, length, access) == 0 }
    }

    /// The size of a page. Where there is a stack, this only loads it.
    fn page_size() -> usize {
        static PAGE_SIZE: AtomicUsize = AtomicUsize::new(0);
        let known = PAGE_SIZE.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: `sysconf` has no preconditions.
        let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        let size = size.try_into().unwrap_or(4096);
        PAGE_SIZE.store(size, Ordering::Relaxed);
        size
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_stack_has_its_size_a_reserve_and_a_guard_page() {
            let stack = CoroutineStack::new(20_001).expect("there is memory");
            let (limit, base, page) = (stack.limit().get(), stack.base().get(), page_size());
            let end = limit + (1 + RESERVE_PAGES) * page;
            assert!((20_001..20_001 + page).contains(&(base - end)));
            assert_eq!(Below::at(limit - 1, limit), None);
            assert_eq!(Below::at(limit, limit), Some(Below::Guard));
            assert_eq!(Below::at(limit + page - 1, limit), Some(Below::Guard));
            assert_eq!(Below::at(limit + page, limit), Some(Below::Reserve));
            assert_eq!(Below::at(end - 1, limit), Some(Below::Reserve));
            assert_eq!(Below::at(end, limit), None);
            // SAFETY: the usable part belongs to the stack, and the address is in its reserve, of
            // which a page is accessible once it was opened.
            unsafe {
                *(end as *mut u8) = 1;
                *((base - 1) as *mut u8) = 1;
                assert!(open_page(end - 1));
                *((end - page) as *mut u8) = 1;
            }
        }

        #[test]
        fn a_stack_of_an_impossible_size_is_an_error() {
            assert!(CoroutineStack::new(usize::MAX).is_err());
            assert!(CoroutineStack::new(usize::MAX / 4).is_err());
        }
    }
}
