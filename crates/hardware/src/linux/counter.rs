//! The time-stamp counter.

/// Reads the counter.
#[inline]
pub(super) fn read_counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction; Linux lets processes use it unless they ask not to.
    unsafe { std::arch::x86_64::_rdtsc() }
}

/// Reads the counter when everything before is done.
pub(super) fn read_counter_in_order() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { std::arch::x86_64::_mm_lfence() };
    read_counter()
}
