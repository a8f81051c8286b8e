//! What the program prints, and what it reads.
//!
//! An execution that nobody looks at shall print nothing. So the standard streams of the C library write to a file in memory,
//! which is emptied before each execution, and the output of one execution can be taken from it. Standard input is at its
//! beginning in each.

use std::ffi::{c_int, c_void};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::hooks::hook;
use crate::real;
use crate::state::state;
use crate::world::outside;

unsafe extern "C" {
    static stdin: *mut libc::FILE;
    static stdout: *mut libc::FILE;
    static stderr: *mut libc::FILE;
    fn __fpurge(stream: *mut libc::FILE);
}

/// Where the C library keeps the descriptor of a stream; part of its binary interface.
const DESCRIPTOR: usize = 112;
/// More output of one execution is not shown.
const MOST: u64 = 64 << 10;

/// The output of the program.
pub(crate) struct Output {
    file: Option<File>,
    is_input_a_file: bool,
}

impl Output {
    /// Lets the streams of the C library write to a file in memory.
    pub(crate) fn capture() -> Self {
        // SAFETY: the name is a text; the result is checked.
        let descriptor = unsafe { libc::memfd_create(c"output".as_ptr(), libc::MFD_CLOEXEC) };
        if descriptor < 0 {
            return Output {
                file: None,
                is_input_a_file: false,
            };
        }
        // SAFETY: the descriptor is new, and belongs to nobody else.
        let file = unsafe { File::from_raw_fd(descriptor) };
        // SAFETY: these are the streams of the C library. A stream has its descriptor there if it says so.
        unsafe {
            for (stream, usual) in [(stdout, 1), (stderr, 2)] {
                let place = stream.byte_add(DESCRIPTOR).cast::<c_int>();
                if libc::fileno(stream) == usual && place.read() == usual {
                    place.write(descriptor);
                }
            }
        }
        Output {
            file: Some(file),
            is_input_a_file: prepare_input(),
        }
    }

    /// Forgets what was printed, and goes back to the beginning of the input.
    pub(crate) fn begin_execution(&mut self) {
        // SAFETY: these are the streams of the C library. No code of the program runs.
        unsafe {
            __fpurge(stdout);
            __fpurge(stderr);
            if self.is_input_a_file {
                __fpurge(stdin);
                libc::lseek(0, 0, libc::SEEK_SET);
            }
        }
        if let Some(file) = &mut self.file
            && file.stream_position().is_ok_and(|length| length > 0)
        {
            let _ = file.set_len(0);
            let _ = file.rewind();
        }
    }

    /// What the last execution has printed.
    pub(crate) fn take(&mut self) -> String {
        // SAFETY: these are the streams of the C library. No code of the program runs.
        unsafe {
            libc::fflush(stdout);
            libc::fflush(stderr);
        }
        let mut bytes = Vec::new();
        if let Some(file) = &mut self.file {
            let _ = file.rewind();
            let _ = file.take(MOST).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Makes sure that each execution can read the same. Returns whether there is a file to read.
fn prepare_input() -> bool {
    // SAFETY: the functions have no preconditions; the structure is written before it is read.
    unsafe {
        let mut status = std::mem::zeroed::<libc::stat>();
        if libc::fstat(0, &raw mut status) == 0 && status.st_mode & libc::S_IFMT == libc::S_IFREG {
            return true;
        }
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if nothing > 0 {
            libc::dup2(nothing, 0);
            libc::close(nothing);
        }
    }
    false
}

hook! {
    fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize = write_bytes;
}

unsafe extern "C" fn write_bytes(
    descriptor: c_int,
    bytes: *const c_void,
    length: usize,
    _returns_to: usize,
) -> isize {
    let to_file = || {
        let file = state().output.file.as_ref().map(AsRawFd::as_raw_fd);
        match (descriptor, file) {
            (1 | 2, Some(file)) => file,
            _ => descriptor,
        }
    };
    let descriptor = outside(to_file, || descriptor);
    // SAFETY: the arguments are passed on.
    unsafe { real::write(descriptor, bytes, length) }
}
