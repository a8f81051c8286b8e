//! Thread-local storage for the threads of the program: one block per thread id, kept from execution to execution.
//!
//! A block is that of an OS thread, made by libc as any other, so that all that libc keeps in it is in order. The OS thread
//! does nothing but own it. What the program has in its blocks is put back before each execution; what libc has there is
//! left alone, except for `errno`.
//!
//! The blocks of all OS threads are laid out alike, so the parts of one tell where those of the others are.

use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::locks::futex;
use crate::objects::{is_of_program, loaded_objects};
use crate::{real, world};

/// Where the parts of a block that belong to the program and its libraries are.
pub(crate) struct Layout {
    /// The distance of each part from the thread pointer, and its size.
    parts: Vec<(isize, usize)>,
    /// The file of the object that each part is of.
    objects: Vec<PathBuf>,
    errno: isize,
}

impl Layout {
    /// The layout of the blocks of this process.
    pub(crate) fn of_this_process() -> Self {
        let base = world::thread_pointer() as isize;
        let objects = loaded_objects();
        let objects = objects.iter().filter(|object| is_of_program(&object.path));
        let parts = objects.filter_map(|object| {
            let tls = object.tls.as_ref()?;
            Some(((tls.offset?, tls.memory_size), object.path.clone()))
        });
        let (parts, objects) = parts.unzip();
        // SAFETY: it has no preconditions.
        let errno = unsafe { libc::__errno_location() };
        Layout {
            parts,
            objects,
            errno: errno.addr() as isize - base,
        }
    }
}

impl Layout {
    /// The thread in whose block an address is, the object whose part it is in, and the offset in that part.
    pub(crate) fn find(&self, blocks: &[Block], address: usize) -> Option<(usize, PathBuf, usize)> {
        blocks.iter().enumerate().find_map(|(thread, block)| {
            let mut parts = self.parts.iter().zip(&self.objects);
            parts.find_map(|(&(offset, size), object)| {
                let start = block.base.wrapping_add_signed(offset);
                let inside = address.wrapping_sub(start);
                (inside < size).then(|| (thread, object.clone(), inside))
            })
        })
    }
}

/// The block of a thread of the program.
pub(crate) struct Block {
    /// The thread pointer.
    pub(crate) base: usize,
    /// What `pthread_self` returns in the thread.
    pub(crate) handle: libc::pthread_t,
    /// What a thread has in each part of the [`Layout`] when it starts.
    initial: Vec<Vec<u8>>,
}

/// What a new OS thread is told, and what it tells about its block.
struct Report {
    /// The base of the worker's block.
    home: usize,
    base: AtomicUsize,
}

/// The OS threads need room for nothing but this.
const STACK: usize = 64 * 1024;

/// The part of a block.
fn part(base: usize, offset: isize) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(base.wrapping_add_signed(offset))
}

/// Makes the block its own, reports it, and does nothing any more.
extern "C" fn own_block(report: *mut c_void) -> *mut c_void {
    // SAFETY: `Block::new` waits until the base is there, and does not look at it again after that.
    let report: &Report = unsafe { &*report.cast::<Report>() };
    world::set_home(report.home);
    report
        .base
        .store(world::thread_pointer(), Ordering::Release);
    let never = AtomicU32::new(0);
    loop {
        // SAFETY: it waits for a word of this stack, which nobody changes.
        unsafe {
            let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
            let word = never.as_ptr().addr();
            // Not by the function of the C library: that is ours, and this thread looks like one of the program.
            futex::kernel(libc::SYS_futex, [word, wait as usize, 0, 0, 0, 0]);
        }
    }
}

impl Block {
    /// A new block, for threads of the program that the calling OS thread runs.
    pub(crate) fn new(layout: &Layout) -> std::io::Result<Self> {
        let report = Report {
            home: world::thread_pointer(),
            base: AtomicUsize::new(0),
        };
        let mut handle: libc::pthread_t = 0;
        // SAFETY: the attributes are initialized before they are used, and the report outlives its use. The new OS thread
        // shall handle no signals, so all are blocked while it is made.
        let error = unsafe {
            let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
            libc::pthread_attr_init(&raw mut attributes);
            libc::pthread_attr_setstacksize(&raw mut attributes, STACK);
            let mut all = std::mem::zeroed::<libc::sigset_t>();
            let mut before = std::mem::zeroed::<libc::sigset_t>();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            let argument = (&raw const report).cast_mut().cast();
            let attributes = &raw mut attributes;
            let error = real::pthread_create(&raw mut handle, attributes, own_block, argument);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, null_mut());
            libc::pthread_attr_destroy(attributes);
            error
        };
        if error != 0 {
            return Err(std::io::Error::from_raw_os_error(error));
        }
        let base = loop {
            match report.base.load(Ordering::Acquire) {
                0 => std::thread::yield_now(),
                base => break base,
            }
        };
        let initial = layout.parts.iter().map(|&(offset, size)| {
            // SAFETY: it is a part of the block, which is never freed, and whose thread does not touch it.
            unsafe { std::slice::from_raw_parts(part(base, offset), size) }.to_vec()
        });
        Ok(Block {
            base,
            handle,
            initial: initial.collect(),
        })
    }

    /// Takes over what another OS thread has in its block: constructors may have used it before `main`.
    pub(crate) fn take_over(&mut self, layout: &Layout, base: usize) {
        for (initial, &(offset, size)) in self.initial.iter_mut().zip(&layout.parts) {
            // SAFETY: it is a part of the block of an OS thread that lives as long as the check, and is waiting for it.
            let bytes = unsafe { std::slice::from_raw_parts(part(base, offset), size) };
            initial.copy_from_slice(bytes);
        }
    }

    /// The addresses of the parts: the first one of each, and the one behind it.
    pub(crate) fn ranges<'a>(
        &'a self,
        layout: &'a Layout,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        layout.parts.iter().map(|&(offset, size)| {
            let start = self.base.wrapping_add_signed(offset);
            (start, start + size)
        })
    }

    /// Puts back what a thread has there when it starts.
    pub(crate) fn reset(&self, layout: &Layout) {
        for (initial, &(offset, _)) in self.initial.iter().zip(&layout.parts) {
            // SAFETY: it is a part of a block that is never freed, and whose thread does not run.
            unsafe {
                part(self.base, offset).copy_from_nonoverlapping(initial.as_ptr(), initial.len());
            }
        }
        // SAFETY: as above.
        unsafe { part(self.base, layout.errno).cast::<i32>().write(0) };
    }
}
